//! What goes wrong in a story, and the case that makes it happen. A plot is what is drawn, varied and shrunk; the case is
//! made of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fastrand::Rng;
use serde_json::{Value, json};

use super::draw::seed_of;
use super::{Act, Case, Drive, Expectation, Knob, Rule, Step, TimeMethod};
use crate::contract::{Phase, ResolutionAction};

/// How the identifier of a story begins.
const PREFIX: &str = "story-";
/// The most steps of a story.
const MOST_STEPS: usize = 30;
/// The most incidents of a story, each of which takes two steps at most.
const MOST_INCIDENTS: usize = 14;
/// Starts that end with 1 after which every reading of the contract calls a human.
const USED_UP: u32 = 4;
/// The stories over which each cause is sure to come up in each phase.
const SURE: usize = 60;
/// How long a run may take in which time runs out, in milliseconds, and how long the phase takes in which it does.
const TIME: u64 = 3_000;
const TOO_LONG: u64 = 4_000;
/// The limits of a context that fills, and what its phase says of it, in tokens.
const SOFT_LIMIT: u64 = 80_000;
pub(in crate::conform) const HARD_LIMIT: u64 = 150_000;
const FULL: [u64; 4] = [150_000, 150_000, 151_000, 152_000];
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
    /// It ends with 1 whenever it runs.
    NeverPasses,
    /// It ends with 2.
    Blocked,
    Unknown(i64),
    Dies(&'static str),
    /// The runtime is killed while it runs.
    Killed,
    /// A person asks the runtime to halt while it runs.
    Halted,
    /// Its command cannot be started.
    Unstartable,
    /// Its context is full, and stays so.
    Overflows,
    /// It takes longer than the run may. What a human can do about that is another matter: the story ends here.
    OutOfTime,
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
    Unstartable,
    Halted,
    Overflow,
    OutOfTime,
}

impl Cause {
    const ALL: [Self; 10] = [
        Self::Failed,
        Self::Exhausted,
        Self::Blocked,
        Self::Unknown,
        Self::Signal,
        Self::Killed,
        Self::Unstartable,
        Self::Halted,
        Self::Overflow,
        Self::OutOfTime,
    ];

    /// Whether a manifest may lack the way to bring it about: of a runtime without one such a story is not observed.
    fn wants_a_way(self) -> bool {
        matches!(self, Self::Halted | Self::Overflow | Self::OutOfTime)
    }

    fn kind(self, phase: Phase, rng: &mut Rng) -> Kind {
        match self {
            Self::Failed => Kind::Fails(rng.u32(1..=2)),
            // After its first failures it may be another phase that runs: how often in all is a matter of remediation.
            Self::Exhausted if phase == Phase::Audit => Kind::NeverPasses,
            Self::Exhausted => Kind::Fails(USED_UP),
            Self::Blocked => Kind::Blocked,
            Self::Unknown => Kind::Unknown(UNKNOWN[rng.usize(0..UNKNOWN.len())]),
            Self::Signal => Kind::Dies(SIGNALS[rng.usize(0..SIGNALS.len())]),
            Self::Killed => Kind::Killed,
            Self::Unstartable => Kind::Unstartable,
            Self::Halted => Kind::Halted,
            Self::Overflow => Kind::Overflows,
            Self::OutOfTime => Kind::OutOfTime,
        }
    }
}

impl Kind {
    #[cfg(test)]
    fn cause(self) -> Cause {
        match self {
            Self::Fails(USED_UP..) | Self::NeverPasses => Cause::Exhausted,
            Self::Fails(_) => Cause::Failed,
            Self::Blocked => Cause::Blocked,
            Self::Unknown(_) => Cause::Unknown,
            Self::Dies(_) => Cause::Signal,
            Self::Killed => Cause::Killed,
            Self::Unstartable => Cause::Unstartable,
            Self::Halted => Cause::Halted,
            Self::Overflows => Cause::Overflow,
            Self::OutOfTime => Cause::OutOfTime,
        }
    }

    fn calls_a_human(self) -> bool {
        !matches!(self, Self::Fails(1..USED_UP) | Self::Killed)
    }

    fn ends_the_step(self) -> bool {
        self.calls_a_human() || self == Self::Killed
    }

    fn wants_a_way(self) -> bool {
        self.leaves_it_open() || self == Self::OutOfTime
    }

    /// Whether the phase may be done or not when it is over.
    fn leaves_it_open(self) -> bool {
        matches!(self, Self::Halted | Self::Overflows)
    }

    /// What an attempt does at its end, and how many attempts do.
    fn acts(self) -> (Vec<Act>, u32) {
        let exit = |code: i64| Act::Exit(json!(code));
        match self {
            Self::Fails(times) => (vec![exit(1)], times),
            Self::NeverPasses => (vec![exit(1)], 1),
            Self::Blocked => (vec![exit(2)], 1),
            Self::Unknown(code) => (vec![exit(code)], 1),
            Self::Dies(signal) => (vec![Act::Die(signal.to_owned())], 1),
            Self::Killed => (vec![Act::Hang], 1),
            Self::Halted => (vec![Act::UntilHalted, exit(0)], 1),
            Self::Unstartable => (Vec::new(), 0),
            Self::Overflows => (FULL.map(Act::Usage).into_iter().chain([exit(0)]).collect(), 1),
            Self::OutOfTime => (vec![Act::Sleep(TOO_LONG), exit(0)], 1),
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
            Kind::NeverPasses => write!(f, "{phase} never passes")?,
            Kind::Halted => write!(f, "a person halts the run in {phase}")?,
            Kind::Unstartable => write!(f, "{phase} cannot be started")?,
            Kind::Overflows => write!(f, "the context stays full in {phase}")?,
            Kind::OutOfTime => return write!(f, "{phase} takes longer than the run may"),
        }
        if self.kind.calls_a_human() { write!(f, ", answered by {}", self.answer) } else { Ok(()) }
    }
}

/// The stories of a seed, numbered from 1.
pub(super) fn stories(seed: u64, count: usize) -> Vec<Case> {
    (1..=count).map(|number| Plot::of(seed, number).case(&name(number))).collect()
}

/// The identifier of a story.
pub(super) fn name(number: usize) -> String {
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
        let sure = sure(seed, number);
        let wants_a_way = sure.iter().any(|(cause, _)| cause.wants_a_way());
        let mut incident = |(cause, phase): (Cause, Phase)| Incident {
            phase,
            kind: cause.kind(phase, &mut rng),
            answer: answer(&mut rng),
        };
        let sure: Vec<Incident> = sure.into_iter().map(&mut incident).collect();
        Self::drawn(&mut rng, wants_a_way).with(&sure)
    }

    /// The same, in which these are sure to come up.
    fn with(mut self, sure: &[Incident]) -> Self {
        self.incidents.retain(|it| it.kind != Kind::OutOfTime && sure.iter().all(|sure| sure.phase != it.phase));
        self.incidents.truncate(MOST_INCIDENTS - sure.len());
        self.incidents.extend(sure);
        self.incidents.sort_by_key(|it| it.phase);
        let last = sure.iter().map(|it| it.phase).max();
        for before in self.incidents.iter_mut().filter(|it| Some(it.phase) < last) {
            if before.answer == ResolutionAction::Abort {
                before.answer = ResolutionAction::FixAndResume;
            }
        }
        self
    }

    /// A plot in which up to two things go wrong in each phase.
    #[must_use]
    pub fn draw(rng: &mut Rng) -> Self {
        let wants_a_way = rng.u8(0..4) == 0;
        Self::drawn(rng, wants_a_way)
    }

    /// As [`Plot::draw`], with or without what a manifest may lack the way for.
    fn drawn(rng: &mut Rng, wants_a_way: bool) -> Self {
        let mut plot = Self { incidents: Vec::new(), words: Some(rng.u64(..)), resumed: rng.u8(0..5) < 2 };
        for &phase in Phase::ALL {
            for _ in 0..[0, 0, 0, 0, 1, 1, 1, 2][rng.usize(0..8)] {
                plot.incidents.push(incident(rng, phase, wants_a_way));
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
            let wants_a_way = plot.incidents.iter().any(|it| it.kind.wants_a_way()) || rng.u8(0..4) == 0;
            plot.incidents.push(incident(rng, phase, wants_a_way));
            // A phase's own incidents stay in their order.
            plot.incidents.sort_by_key(|it| it.phase);
        }
        plot.resumed ^= rng.u8(0..8) == 0;
        plot
    }

    /// Every plot that is this one with one thing less, the largest steps first.
    pub(in crate::conform) fn smaller(&self) -> Vec<Self> {
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
        let happening = self.happening();
        let told: Vec<String> = happening.iter().map(ToString::to_string).collect();
        let told = if told.is_empty() { "nothing goes wrong".to_owned() } else { told.join("; ") };
        let comes_up = |kind: Kind| happening.iter().any(|it| it.kind == kind);
        let (runs_out, fills) = (comes_up(Kind::OutOfTime), comes_up(Kind::Overflows));
        let time = runs_out.then_some((Knob::RunTimeout, TIME));
        let limits = [("soft", SOFT_LIMIT), ("hard", HARD_LIMIT)].into_iter().filter(|_| fills);
        let limits =
            limits.map(|(which, tokens)| (format!("autonomous_agent.context.{which}_limit_tokens"), json!(tokens)));
        let again = if self.resumed { "; it is resumed once more" } else { "" };
        Case {
            id: id.to_owned(),
            clause: "EXIT-001".to_owned(),
            title: format!("A drawn story: {told}{again}."),
            needs: vec!["EXIT-001".to_owned()],
            time: if runs_out { TimeMethod::Scaled } else { TimeMethod::Real },
            config: limits.collect(),
            knobs: [(Knob::InitialBackoff, 50), (Knob::MaxBackoff, 100)].into_iter().chain(time).collect(),
            phases: self.phases(),
            steps: self.steps(),
            expect: Rule::ALL.iter().map(|rule| Expectation::Lawful(*rule)).collect(),
            ..Case::default()
        }
    }

    /// The incidents that can come up: none after the run was given up or its time is over, or of a phase that is passed over
    /// or may be done. Where the runtime is met in a phase, that is the first attempt of the phase in a step. Two failures in
    /// a row would be one, which might call a human.
    fn happening(&self) -> Vec<Incident> {
        let mut over = BTreeSet::new();
        let mut happening: Vec<Incident> = Vec::new();
        for incident in &self.incidents {
            let retried = happening.last().is_some_and(|it| it.phase == incident.phase && !it.kind.ends_the_step());
            let cannot = match incident.kind {
                Kind::Killed | Kind::Halted | Kind::Unstartable | Kind::Fails(_) | Kind::NeverPasses => retried,
                _ => false,
            };
            if cannot || over.contains(&incident.phase) {
                continue;
            }
            let never_passes = happening.iter().any(|it| it.kind == Kind::NeverPasses);
            let answer = lasting(incident, never_passes);
            happening.push(Incident { answer, ..*incident });
            if incident.kind.leaves_it_open() {
                over.insert(incident.phase);
            }
            match answer {
                _ if incident.kind == Kind::OutOfTime => break,
                _ if !incident.kind.calls_a_human() => {}
                ResolutionAction::Abort => break,
                ResolutionAction::SkipPhase => drop(over.insert(incident.phase)),
                ResolutionAction::Reset | ResolutionAction::FixAndResume => {}
            }
        }
        happening
    }

    fn phases(&self) -> BTreeMap<String, Vec<Vec<Act>>> {
        let mut words = self.words.map(Rng::with_seed);
        let mut phases: BTreeMap<String, Vec<Vec<Act>>> = BTreeMap::new();
        let happening = self.happening();
        for incident in &happening {
            let (last, times) = incident.kind.acts();
            let attempts = phases.entry(incident.phase.to_string()).or_default();
            attempts.extend((0..times).map(|_| attempt(words.as_mut(), last.clone())));
        }
        let never = |phase: Phase| happening.iter().any(|it| it.phase == phase && it.kind == Kind::NeverPasses);
        for &phase in Phase::ALL.iter().filter(|phase| !never(**phase)) {
            let success = attempt(words.as_mut(), vec![Act::Exit(json!(0))]);
            phases.entry(phase.to_string()).or_default().push(success);
        }
        phases
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::Run(Drive::default())];
        for incident in self.happening() {
            if let Some(Step::Run(drive) | Step::Resume(drive)) = steps.last_mut() {
                let phase = Some(incident.phase.to_string());
                match incident.kind {
                    Kind::Killed => drive.kill_during = phase,
                    Kind::Halted => drive.halt_during = phase,
                    Kind::Unstartable => drive.unstartable = phase,
                    _ => {}
                }
            }
            match incident.kind {
                Kind::OutOfTime => return steps,
                Kind::Killed => steps.push(Step::Resume(Drive::default())),
                kind if kind.calls_a_human() => {
                    steps.extend([Step::Resolve(incident.answer.to_string()), Step::Resume(Drive::default())]);
                }
                _ => {}
            }
        }
        steps.extend(self.resumed.then(|| Step::Resume(Drive::default())));
        steps.truncate(MOST_STEPS);
        steps
    }
}

fn incident(rng: &mut Rng, phase: Phase, wants_a_way: bool) -> Incident {
    let cause = match rng.u8(0..if wants_a_way { 26 } else { 22 }) {
        0..6 => Cause::Failed,
        6 => Cause::Exhausted,
        7..12 => Cause::Blocked,
        12..14 => Cause::Unknown,
        14 => Cause::Signal,
        15..20 => Cause::Killed,
        20..22 => Cause::Unstartable,
        22..24 => Cause::Halted,
        24 => Cause::Overflow,
        _ => Cause::OutOfTime,
    };
    Incident { phase, kind: cause.kind(phase, rng), answer: answer(rng) }
}

/// What a human answers with whom the story can go on: a phase that may be done is not passed over, and one that never passes
/// is, and never run again.
fn lasting(incident: &Incident, never_passes: bool) -> ResolutionAction {
    use ResolutionAction::{FixAndResume, Reset, SkipPhase};
    match (incident.kind, incident.answer) {
        (kind, SkipPhase) if kind.leaves_it_open() => FixAndResume,
        (Kind::NeverPasses, FixAndResume | Reset) => SkipPhase,
        (_, Reset) if never_passes => FixAndResume,
        (_, answer) => answer,
    }
}

fn answer(rng: &mut Rng) -> ResolutionAction {
    match rng.u8(0..12) {
        0..8 => ResolutionAction::FixAndResume,
        8..10 => ResolutionAction::SkipPhase,
        10 => ResolutionAction::Reset,
        _ => ResolutionAction::Abort,
    }
}

/// What is sure to come up in the story of this number: over the first sixty of a seed every cause does in every phase. What
/// a manifest may lack the way for is in few of them.
fn sure(seed: u64, number: usize) -> Vec<(Cause, Phase)> {
    let mut rng = Rng::with_seed(seed_of(seed, PREFIX));
    let mut pairs = pairs();
    rng.shuffle(&mut pairs);
    pairs.sort_by_key(|(cause, _)| !cause.wants_a_way());
    let mut stories: Vec<Vec<(Cause, Phase)>> = vec![Vec::new(); SURE];
    for (place, pair) in pairs.into_iter().enumerate() {
        let first = if pair.0.wants_a_way() { 0 } else { place };
        let mut turns = (first..first + SURE).map(|turn| turn % SURE);
        let turn = turns.find(|turn| fits(&stories[*turn], pair)).expect("there are more stories than phases");
        stories[turn].push(pair);
    }
    rng.shuffle(&mut stories);
    stories.swap_remove(number.saturating_sub(1) % SURE)
}

/// Whether something can come up in a story besides what is sure to: once a phase, and before the time is over.
fn fits(story: &[(Cause, Phase)], (cause, phase): (Cause, Phase)) -> bool {
    story.iter().all(|(other, at)| {
        let kept_apart = *at != phase && other.wants_a_way() == cause.wants_a_way();
        let before = |(one, when): (Cause, Phase), then: Phase| one != Cause::OutOfTime || then < when;
        kept_apart && before((*other, *at), phase) && before((cause, phase), *at)
    })
}

/// Every cause in every phase.
fn pairs() -> Vec<(Cause, Phase)> {
    Cause::ALL.iter().flat_map(|cause| Phase::ALL.iter().map(|phase| (*cause, *phase))).collect()
}

/// What an attempt does: sometimes it prints something or leaves a result, little or much, and then it ends.
fn attempt(words: Option<&mut Rng>, last: Vec<Act>) -> Vec<Act> {
    let talk = words.and_then(|rng| {
        let word: String = (0..12).map(|_| rng.lowercase()).collect();
        match rng.u8(0..12) {
            0..5 => None,
            5..7 => Some(vec![Act::Stdout(word)]),
            7..9 => Some(vec![Act::Stderr(word)]),
            9 => Some(vec![Act::Stdout(word.repeat(80)); 30]),
            10 => Some(vec![Act::Result(result(&word, 1))]),
            _ => Some(vec![Act::Result(result(&word, 60))]),
        }
    });
    talk.into_iter().flatten().chain(last).collect()
}

/// What a phase supplies, with so many decisions; in texts that YAML might read as something else.
fn result(word: &str, decisions: usize) -> Value {
    let odd = ["yes", "1e3", "null", "- a: b # c", "\"\\'", "two\nlines\n", " space ", "ünï 漢字", "2026-01-31"];
    let decision = |number: usize| {
        let (id, odd) = (format!("D-{:03}", number + 1), odd[number % odd.len()]);
        json!({ "id": id, "description": format!("{word} {number}"), "reasoning": odd, "timestamp": "2026-01-31T13:00:00Z" })
    };
    json!({ "decisions": (0..decisions).map(decision).collect::<Vec<_>>() })
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
    fn over_the_stories_that_are_drawn_every_pair_of_phase_and_incident_comes_up() {
        let (mut pairs, mut rng) = (BTreeSet::new(), Rng::with_seed(1));
        for _ in 0..20_000 {
            for it in Plot::draw(&mut rng).happening() {
                let kind = match it.kind {
                    Kind::Fails(times) => format!("fails {times}"),
                    Kind::Unknown(_) => "unknown".to_owned(),
                    Kind::Dies(_) => "dies".to_owned(),
                    kind => format!("{kind:?}"),
                };
                let answered = it.kind.calls_a_human() && it.kind != Kind::OutOfTime;
                pairs.insert((it.phase, kind, answered.then_some(it.answer)));
            }
        }
        // Five kinds call a human who gives one of four answers, two one who gives one of three, one ends the story; three
        // do not. An audit that never passes is passed over or given up.
        let never_passes = pairs.iter().filter(|(_, kind, _)| kind == "NeverPasses").count();
        assert_eq!((pairs.len() - never_passes, never_passes), (8 * (5 * 4 + 2 * 3 + 3 + 1) - 4, 2));
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
