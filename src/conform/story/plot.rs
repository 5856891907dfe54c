//! What goes wrong in a story, and the case that makes it happen. A plot is what is drawn, varied and shrunk; the case is
//! made of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fastrand::Rng;
use serde_json::json;

use super::Rule;
use crate::conform::draw::seed_of;
use crate::conform::{Act, Case, Drive, Expectation, Knob, Step};
use crate::contract::{Phase, ResolutionAction};

/// How the identifier of a story begins.
const PREFIX: &str = "story-";
/// The most steps of a story.
const MOST_STEPS: usize = 30;
/// The most incidents of a story, each of which takes two steps at most.
const MOST_INCIDENTS: usize = 14;
/// Starts that end with 1 after which every reading of the contract calls a human.
const USED_UP: u32 = 4;
/// Codes that the contract does not know, among them those that shells give.
const UNKNOWN: [i64; 9] = [3, 17, 64, 77, 125, 126, 127, 137, 255];
/// Those that a program written in Rust does not catch.
const SIGNALS: [&str; 4] = ["KILL", "TERM", "HUP", "ABRT"];

/// What goes wrong in a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    incidents: Vec<Incident>,
    /// What phases print, drawn under this seed; nothing when absent.
    words: Option<u64>,
    /// Whether the run is resumed once more when it is over.
    resumed: bool,
}

/// One thing that goes wrong, and what a human answers where one is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Incident {
    phase: Phase,
    kind: Kind,
    answer: ResolutionAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It ends with 1, so many times.
    Fails(u32),
    /// It ends with 2.
    Blocked,
    Unknown(i64),
    Dies(&'static str),
    /// The runtime is killed while it runs.
    Killed,
}

/// What may go wrong, whatever is drawn beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Failed,
    Exhausted,
    Blocked,
    Unknown,
    Signal,
    Killed,
}

impl Cause {
    const ALL: [Self; 6] = [Self::Failed, Self::Exhausted, Self::Blocked, Self::Unknown, Self::Signal, Self::Killed];

    fn kind(self, rng: &mut Rng) -> Kind {
        match self {
            Self::Failed => Kind::Fails(rng.u32(1..=2)),
            Self::Exhausted => Kind::Fails(USED_UP),
            Self::Blocked => Kind::Blocked,
            Self::Unknown => Kind::Unknown(UNKNOWN[rng.usize(0..UNKNOWN.len())]),
            Self::Signal => Kind::Dies(SIGNALS[rng.usize(0..SIGNALS.len())]),
            Self::Killed => Kind::Killed,
        }
    }
}

impl Kind {
    #[cfg(test)]
    fn cause(self) -> Cause {
        match self {
            Self::Fails(USED_UP..) => Cause::Exhausted,
            Self::Fails(_) => Cause::Failed,
            Self::Blocked => Cause::Blocked,
            Self::Unknown(_) => Cause::Unknown,
            Self::Dies(_) => Cause::Signal,
            Self::Killed => Cause::Killed,
        }
    }

    fn calls_a_human(self) -> bool {
        !matches!(self, Self::Fails(1..USED_UP) | Self::Killed)
    }

    fn ends_the_step(self) -> bool {
        self.calls_a_human() || self == Self::Killed
    }

    /// What an attempt does at its end, and how many attempts do.
    fn acts(self) -> (Act, u32) {
        match self {
            Self::Fails(times) => (Act::Exit(json!(1)), times),
            Self::Blocked => (Act::Exit(json!(2)), 1),
            Self::Unknown(code) => (Act::Exit(json!(code)), 1),
            Self::Dies(signal) => (Act::Die(signal.to_owned()), 1),
            Self::Killed => (Act::Hang, 1),
        }
    }
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = self.phase;
        match self.kind {
            Kind::Fails(times) => write!(f, "{phase} fails {times} times")?,
            Kind::Blocked => write!(f, "{phase} is blocked")?,
            Kind::Unknown(code) => write!(f, "{phase} ends with {code}")?,
            Kind::Dies(signal) => write!(f, "{phase} dies by {signal}")?,
            Kind::Killed => write!(f, "the runtime is killed in {phase}")?,
        }
        if self.kind.calls_a_human() { write!(f, ", answered by {}", self.answer) } else { Ok(()) }
    }
}

/// The stories of a seed, numbered from 1.
pub(in crate::conform) fn stories(seed: u64, count: usize) -> Vec<Case> {
    (1..=count).map(|number| Plot::of(seed, number).case(&name(number))).collect()
}

/// The identifier of a story.
pub(in crate::conform) fn name(number: usize) -> String {
    format!("{PREFIX}{number:03}")
}

impl Plot {
    /// The number of a story, by the identifier of its case; `None` for any other case.
    #[must_use]
    pub fn number(case: &str) -> Option<usize> {
        case.strip_prefix(PREFIX)?.parse().ok()
    }

    /// The plot of the story of this number under a seed.
    #[must_use]
    pub fn of(seed: u64, number: usize) -> Self {
        let mut rng = Rng::with_seed(seed_of(seed, &name(number)));
        let mut pairs = pairs();
        Rng::with_seed(seed_of(seed, PREFIX)).shuffle(&mut pairs);
        let (cause, phase) = pairs[number.saturating_sub(1) % pairs.len()];
        let answer = answer(&mut rng);
        let kind = cause.kind(&mut rng);
        Self::draw(&mut rng).with(Incident { phase, kind, answer })
    }

    /// The same, in which an incident is sure to come up.
    fn with(mut self, incident: Incident) -> Self {
        self.incidents.retain(|it| it.phase != incident.phase);
        for before in self.incidents.iter_mut().filter(|it| it.phase < incident.phase) {
            if before.answer == ResolutionAction::Abort {
                before.answer = ResolutionAction::FixAndResume;
            }
        }
        self.incidents.truncate(MOST_INCIDENTS - 1);
        self.incidents.push(incident);
        self.incidents.sort_by_key(|it| it.phase);
        self
    }

    /// A plot in which up to two things go wrong in each phase.
    #[must_use]
    pub fn draw(rng: &mut Rng) -> Self {
        let mut plot = Self { incidents: Vec::new(), words: Some(rng.u64(..)), resumed: rng.u8(0..5) < 2 };
        for &phase in Phase::ALL {
            for _ in 0..[0, 0, 0, 0, 1, 1, 1, 2][rng.usize(0..8)] {
                plot.incidents.push(incident(rng, phase));
            }
        }
        plot.incidents.truncate(MOST_INCIDENTS);
        plot
    }

    /// The same with one incident more, fewer or other.
    #[must_use]
    pub fn varied(&self, rng: &mut Rng) -> Self {
        let mut plot = Self { words: Some(rng.u64(..)), ..self.clone() };
        let at = rng.usize(0..=plot.incidents.len());
        if at < plot.incidents.len() && rng.bool() {
            plot.incidents.remove(at);
        }
        if plot.incidents.len() < MOST_INCIDENTS && rng.u8(0..3) > 0 {
            let phase = Phase::ALL[rng.usize(0..Phase::ALL.len())];
            plot.incidents.push(incident(rng, phase));
            // A phase's own incidents stay in their order.
            plot.incidents.sort_by_key(|it| it.phase);
        }
        plot.resumed ^= rng.u8(0..8) == 0;
        plot
    }

    /// Every plot that is this one with one thing less, the largest steps first.
    pub(super) fn smaller(&self) -> Vec<Self> {
        let without = |left_out: std::ops::Range<usize>| {
            let mut plot = self.clone();
            plot.incidents.drain(left_out);
            plot
        };
        let count = self.incidents.len();
        let half = count / 2;
        let halves = if half > 1 { vec![half..count, 0..half] } else { Vec::new() };
        let each = (0..count).map(|at| at..at + 1);
        let mut smaller: Vec<Self> = halves.into_iter().chain(each).map(without).collect();
        for at in 0..self.incidents.len() {
            if let Kind::Fails(times @ 2..) = self.incidents[at].kind {
                let mut plot = self.clone();
                plot.incidents[at].kind = Kind::Fails(times / 2);
                smaller.push(plot);
            }
        }
        if self.resumed {
            smaller.push(Self { resumed: false, ..self.clone() });
        }
        if self.words.is_some() {
            smaller.push(Self { words: None, ..self.clone() });
        }
        smaller
    }

    /// The case in which it happens. Every rule of the model is expected to be kept in it.
    #[must_use]
    pub fn case(&self, id: &str) -> Case {
        let told: Vec<String> = self.incidents.iter().map(ToString::to_string).collect();
        let told = if told.is_empty() { "nothing goes wrong".to_owned() } else { told.join("; ") };
        let again = if self.resumed { "; it is resumed once more" } else { "" };
        Case {
            id: id.to_owned(),
            clause: "EXIT-001".to_owned(),
            title: format!("A drawn story: {told}{again}."),
            needs: vec!["EXIT-001".to_owned()],
            knobs: BTreeMap::from([(Knob::InitialBackoff, 50), (Knob::MaxBackoff, 100)]),
            phases: self.phases(),
            steps: self.steps(),
            expect: Rule::ALL.iter().map(|rule| Expectation::Lawful(*rule)).collect(),
            ..Case::default()
        }
    }

    /// The incidents that can come up: none after the run was given up, or of a phase that is passed over. The runtime is
    /// killed in the first attempt of a phase in a step. Two failures in a row would be one, which might call a human, and how
    /// often audit may fail is a matter of remediation.
    fn happening(&self) -> Vec<Incident> {
        let mut passed = BTreeSet::new();
        let mut happening: Vec<Incident> = Vec::new();
        for incident in &self.incidents {
            let retried = happening.last().is_some_and(|it| it.phase == incident.phase && !it.kind.ends_the_step());
            let cannot = match incident.kind {
                Kind::Killed => retried,
                Kind::Fails(times) => retried || incident.phase == Phase::Audit && times >= USED_UP,
                _ => false,
            };
            if cannot || passed.contains(&incident.phase) {
                continue;
            }
            happening.push(*incident);
            match incident.answer {
                _ if !incident.kind.calls_a_human() => {}
                ResolutionAction::Abort => break,
                ResolutionAction::SkipPhase => drop(passed.insert(incident.phase)),
                ResolutionAction::Reset | ResolutionAction::FixAndResume => {}
            }
        }
        happening
    }

    fn phases(&self) -> BTreeMap<String, Vec<Vec<Act>>> {
        let mut words = self.words.map(Rng::with_seed);
        let mut phases: BTreeMap<String, Vec<Vec<Act>>> = BTreeMap::new();
        for incident in self.happening() {
            let (last, times) = incident.kind.acts();
            let attempts = phases.entry(incident.phase.to_string()).or_default();
            attempts.extend((0..times).map(|_| attempt(words.as_mut(), last.clone())));
        }
        for &phase in Phase::ALL {
            let success = attempt(words.as_mut(), Act::Exit(json!(0)));
            phases.entry(phase.to_string()).or_default().push(success);
        }
        phases
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::Run(Drive::default())];
        for incident in self.happening() {
            if incident.kind == Kind::Killed
                && let Some(Step::Run(drive) | Step::Resume(drive)) = steps.last_mut()
            {
                drive.kill_during = Some(incident.phase.to_string());
                steps.push(Step::Resume(Drive::default()));
            }
            if incident.kind.calls_a_human() {
                steps.extend([Step::Resolve(incident.answer.to_string()), Step::Resume(Drive::default())]);
            }
        }
        steps.extend(self.resumed.then(|| Step::Resume(Drive::default())));
        steps.truncate(MOST_STEPS);
        steps
    }
}

fn incident(rng: &mut Rng, phase: Phase) -> Incident {
    let cause = match rng.u8(0..20) {
        0..6 => Cause::Failed,
        6 => Cause::Exhausted,
        7..12 => Cause::Blocked,
        12..14 => Cause::Unknown,
        14 => Cause::Signal,
        _ => Cause::Killed,
    };
    Incident { phase, kind: cause.kind(rng), answer: answer(rng) }
}

fn answer(rng: &mut Rng) -> ResolutionAction {
    match rng.u8(0..12) {
        0..8 => ResolutionAction::FixAndResume,
        8..10 => ResolutionAction::SkipPhase,
        10 => ResolutionAction::Reset,
        _ => ResolutionAction::Abort,
    }
}

/// Every cause in every phase. How often audit may fail is a matter of remediation.
fn pairs() -> Vec<(Cause, Phase)> {
    let all = Cause::ALL.iter().flat_map(|cause| Phase::ALL.iter().map(|phase| (*cause, *phase)));
    all.filter(|pair| *pair != (Cause::Exhausted, Phase::Audit)).collect()
}

/// What an attempt does: sometimes it prints something, little or much, and then it ends.
fn attempt(words: Option<&mut Rng>, last: Act) -> Vec<Act> {
    let talk = words.and_then(|rng| {
        let word: String = (0..12).map(|_| rng.lowercase()).collect();
        match rng.u8(0..10) {
            0..5 => None,
            5..7 => Some(vec![Act::Stdout(word)]),
            7..9 => Some(vec![Act::Stderr(word)]),
            _ => Some(vec![Act::Stdout(word.repeat(80)); 30]),
        }
    });
    talk.into_iter().flatten().chain([last]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_the_same_under_the_same_seed_and_goes_on_for_thirty_steps_at_most() {
        let told = stories(7, 60);
        assert_eq!(told, stories(7, 60));
        assert_ne!(told[..10], stories(8, 10)[..]);
        assert!(told.iter().all(|case| (1..=MOST_STEPS).contains(&case.steps.len())));
        assert!(told.iter().any(|case| case.steps.len() >= 10), "some are long");
    }

    /// Each thing that can go wrong does in each phase where it can, and each answer is given.
    #[test]
    fn over_the_stories_of_a_few_seeds_every_pair_of_phase_and_incident_comes_up() {
        let mut pairs = BTreeSet::new();
        for number in 1..=6000 {
            for it in Plot::of(1, number).happening() {
                let kind = match it.kind {
                    Kind::Fails(times) => format!("fails {times}"),
                    Kind::Unknown(_) => "unknown".to_owned(),
                    Kind::Dies(_) => "dies".to_owned(),
                    kind => format!("{kind:?}"),
                };
                pairs.insert((it.phase, kind, it.kind.calls_a_human().then_some(it.answer)));
            }
        }
        // Four kinds call a human, who gives one of four answers; three do not. Audit never uses up its retries.
        assert_eq!(pairs.len(), 8 * (4 * 4 + 3) - 4);
    }

    #[test]
    fn over_the_stories_of_a_score_every_cause_comes_up_in_every_phase() {
        for seed in 0..50 {
            let happening: Vec<Incident> = (1..=60).flat_map(|number| Plot::of(seed, number).happening()).collect();
            for (cause, phase) in pairs() {
                let comes_up = |it: &Incident| it.phase == phase && it.kind.cause() == cause;
                assert!(happening.iter().any(comes_up), "seed {seed}: {cause:?} in {phase}");
            }
        }
    }

    #[test]
    fn what_is_smaller_has_one_thing_less() {
        let plot = Plot::of(3, 5);
        assert!(plot.incidents.len() > 1);
        let smaller = plot.smaller();
        assert!(smaller.len() > plot.incidents.len());
        assert!(smaller.iter().all(|it| *it != plot && it.incidents.len() <= plot.incidents.len()));
        let nothing = Plot { incidents: Vec::new(), words: None, resumed: false };
        assert!(nothing.smaller().is_empty());
        assert_eq!(nothing.case("x").steps, [Step::Run(Drive::default())]);
    }
}
