//! What goes wrong in a story, and the case that makes it happen. A plot is what is drawn, varied and shrunk; the case is
//! made of it.

mod attempt;
mod incident;
mod ramp;
mod sure;
mod twice;

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::json;

use self::attempt::{attempt, with_findings, with_offspring};
use self::incident::{Cause, Incident, Kind};
use self::ramp::Ramp;
use self::sure::{Sure, sure};
use super::draw::seed_of;
use super::{Act, Case, Drive, Expectation, Knob, Limits, Rule, Step, TimeMethod};
use crate::contract::{Phase, ResolutionAction};

/// How the identifier of a story begins.
const PREFIX: &str = "story-";
/// The most steps of a story.
const MOST_STEPS: usize = 30;
/// The most incidents of a story, each of which takes two steps at most, and one of which a third.
const MOST_INCIDENTS: usize = 13;
/// One story in so many is patient.
const PATIENT: usize = 12;
/// How long a runtime waits in it before a retry, in milliseconds.
const BACKOFF: u64 = 1_000;
/// How long a run may take in which time runs out, in milliseconds.
const TIME: u64 = 3_000;
/// The limits of a context that fills, in tokens: other ones than the contract's own.
const SOFT_LIMIT: u64 = 60_000;
pub(in crate::conform) const HARD_LIMIT: u64 = 120_000;

/// What goes wrong in a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    incidents: Vec<Incident>,
    /// What phases print, drawn under this seed; nothing when absent.
    words: Option<u64>,
    /// How often the run is resumed when it is over.
    resumed: u8,
    /// Which of the times that a human is called, counted from 0 and round again, the run is resumed before it is answered.
    unanswered: Option<usize>,
    /// Whether the runtime is asked for its state whenever it stands still, as long as there is room for a step.
    asked: bool,
    /// How the context fills, where the plot is about that.
    ramp: Option<Ramp>,
}

/// The stories of a seed, numbered from 1. In some the runtime waits so long before a retry that it can be told from noise; of
/// those in which the context fills, every other one has its limits in the configuration alone.
pub(super) fn stories(seed: u64, count: usize) -> Vec<Case> {
    let mut told: Vec<Case> = (1..=count).map(|number| Plot::of(seed, number).case(&name(number))).collect();
    for (number, case) in (1..).zip(&mut told) {
        if usize::is_multiple_of(number, PATIENT) && case.time == TimeMethod::Real {
            case.knobs.extend([(Knob::InitialBackoff, BACKOFF), (Knob::MaxBackoff, BACKOFF)]);
        }
    }
    for case in told.iter_mut().filter(|case| !case.config.is_empty()).step_by(2) {
        case.limits = Limits::Configuration;
    }
    told
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
        let wants_a_way = sure.iter().any(|it| it.cause.wants_a_way());
        let mut incident =
            |it: Sure| Incident { phase: it.phase, kind: it.cause.kind(it.phase, &mut rng), answer: it.answer };
        let sure: Vec<Incident> = sure.into_iter().map(&mut incident).collect();
        Self::drawn(&mut rng, wants_a_way).with(&sure)
    }

    /// The case of the story of this number, as `score` tells it.
    #[must_use]
    pub fn told(seed: u64, number: usize) -> Option<Case> {
        stories(seed, number).pop()
    }

    /// One in which nothing goes wrong and nobody says anything.
    #[must_use]
    pub fn plain() -> Self {
        Self { incidents: Vec::new(), words: None, resumed: 0, unanswered: None, asked: false, ramp: None }
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
        let mut plot = Self {
            words: Some(rng.u64(..)),
            resumed: u8::from(rng.u8(0..5) < 2),
            unanswered: (rng.u8(0..3) == 0).then(|| rng.usize(0..3)),
            asked: rng.u8(0..3) == 0,
            ..Self::plain()
        };
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
        plot.resumed ^= u8::from(rng.u8(0..8) == 0);
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
        if self.resumed > 0 {
            smaller.push(Self { resumed: 0, ..self.clone() });
        }
        if self.words.is_some() {
            smaller.push(Self { words: None, ..self.clone() });
        }
        if self.unanswered.is_some() {
            smaller.push(Self { unanswered: None, ..self.clone() });
        }
        if self.asked {
            smaller.push(Self { asked: false, ..self.clone() });
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
        let limits = match &self.ramp {
            Some(ramp) => ramp.configured(),
            None => fills.then_some([SOFT_LIMIT, HARD_LIMIT]),
        };
        let limits = limits.into_iter().flat_map(|limits| ["soft", "hard"].into_iter().zip(limits));
        let limits =
            limits.map(|(which, tokens)| (format!("autonomous_agent.context.{which}_limit_tokens"), json!(tokens)));
        let again =
            ["", "; it is resumed once more"].get(usize::from(self.resumed)).unwrap_or(&"; it is resumed twice more");
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
        let (mut over, mut opened) = (BTreeSet::new(), BTreeSet::new());
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
            if incident.kind.leaves_it_open() && answer != ResolutionAction::Reset {
                over.insert(incident.phase);
                opened.insert(incident.phase);
            }
            match answer {
                _ if incident.kind == Kind::OutOfTime => break,
                _ if !incident.kind.calls_a_human() => {}
                ResolutionAction::Abort => break,
                ResolutionAction::SkipPhase => drop(over.insert(incident.phase)),
                // Whatever was done or passed over is not; which attempt of a phase comes next is known unless it may have
                // been done.
                ResolutionAction::Reset => over.retain(|phase| opened.contains(phase)),
                ResolutionAction::FixAndResume => {}
            }
        }
        happening
    }

    fn phases(&self) -> BTreeMap<String, Vec<Vec<Act>>> {
        let mut words = self.words.map(Rng::with_seed);
        let mut phases: BTreeMap<String, Vec<Vec<Act>>> = BTreeMap::new();
        let happening = self.happening();
        let fills = happening.iter().any(|it| it.kind == Kind::Overflows);
        for incident in &happening {
            let (last, times) = incident.kind.acts();
            let attempts = phases.entry(incident.phase.to_string()).or_default();
            attempts.extend((0..times).map(|_| {
                let acts = attempt(words.as_mut(), fills, last.clone());
                let acts = if incident.kind.calls_a_human() { with_offspring(acts, words.as_mut()) } else { acts };
                if incident.finds() { with_findings(acts, words.as_mut()) } else { acts }
            }));
        }
        let never = |phase: Phase| happening.iter().any(|it| it.phase == phase && it.kind == Kind::NeverPasses);
        for &phase in Phase::ALL.iter().filter(|phase| !never(**phase)) {
            let success = attempt(words.as_mut(), fills, vec![Act::Exit(json!(0))]);
            let ramp = self.ramp.as_ref().filter(|ramp| ramp.is_in(phase));
            let success = ramp.map(Ramp::usages).into_iter().flatten().chain(success).collect();
            phases.entry(phase.to_string()).or_default().push(success);
        }
        phases
    }

    fn steps(&self) -> Vec<Step> {
        let (mut steps, mut calls) = (vec![Step::Run(Drive::default())], 0);
        let happening = self.happening();
        let all_calls = happening.iter().filter(|it| it.kind.calls_a_human()).count();
        let unanswered = self.unanswered.and_then(|which| which.checked_rem(all_calls));
        for incident in happening {
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
                Kind::Killed => steps.push(Step::Resume(Drive::default())),
                kind if kind.calls_a_human() => {
                    let is_early = unanswered == Some(calls);
                    calls += 1;
                    steps.extend(is_early.then(|| Step::Resume(Drive::default())));
                    steps.extend([Step::Resolve(incident.answer.to_string()), Step::Resume(Drive::default())]);
                }
                _ => {}
            }
        }
        steps.extend((0..self.resumed).map(|_| Step::Resume(Drive::default())));
        steps.truncate(MOST_STEPS);
        if self.asked { with_questions(steps) } else { steps }
    }
}

/// The same steps, and the runtime is asked for its state after each run and resume, as long as there is room.
fn with_questions(steps: Vec<Step>) -> Vec<Step> {
    let mut room = MOST_STEPS - steps.len();
    let mut asked = Vec::with_capacity(MOST_STEPS);
    for step in steps {
        let is_over = matches!(step, Step::Run(_) | Step::Resume(_)) && room > 0;
        asked.push(step);
        if is_over {
            asked.push(Step::State);
            room -= 1;
        }
    }
    asked
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

/// What a human answers with whom the story can go on: a phase that never passes is passed over, and never run again.
fn lasting(incident: &Incident, never_passes: bool) -> ResolutionAction {
    use ResolutionAction::{FixAndResume, Reset, SkipPhase};
    match (incident.kind, incident.answer) {
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

#[cfg(test)]
mod tests;
