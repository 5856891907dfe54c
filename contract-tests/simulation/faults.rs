//! Faults that are planted: other values of the ports and of the rules. Each has to be found.

use loa::contract::{Phase, PhaseExit};
use loa::events::{ApprovalState, Event, State};
use loa::policy::{StageOutcome, TriggerCounters};
use loa::runner::decide::{Attempt, Live, Rules, Step, Survey, decide, ended, skipped};
use loa::runner::{After, Thinking};

use super::disk::{self, SimDisk};
use super::truth::Truth;
use super::world;

/// Something that is wrong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// The disk.
    Disk(disk::Wrong),
    /// The world.
    World(world::Wrong),
    /// What is done next.
    Next(fn(&State, &Live, &Rules) -> Step),
    /// What follows from an attempt.
    After(After),
}

impl Fault {
    pub(super) fn plant(self, disk: &SimDisk, truth: &mut Truth) {
        match self {
            Self::Disk(wrong) => disk.plant(wrong),
            Self::World(wrong) => truth.wrong = Some(wrong),
            Self::Next(_) | Self::After(_) => {}
        }
    }

    pub(super) fn apply(self, thinking: Thinking) -> Thinking {
        match self {
            Self::Next(next) => Thinking { next, ..thinking },
            Self::After(after) => Thinking { after, ..thinking },
            Self::Disk(_) | Self::World(_) => thinking,
        }
    }
}

/// What would be decided in another state.
fn instead(state: &State, live: &Live, rules: &Rules, change: impl FnOnce(&mut State)) -> Step {
    let mut other = state.clone();
    change(&mut other);
    decide(&other, live, rules)
}

/// Every planted fault: its name, itself, and the seed of a story that finds it.
pub(super) fn all() -> Vec<(&'static str, Fault, u64)> {
    vec![
        ("a sync is left out", Fault::Disk(disk::Wrong::NeverSyncs), 0),
        ("a lock is given to everybody", Fault::Disk(disk::Wrong::LetsEverybodyIn), 70),
        ("a torn end is kept", Fault::Disk(disk::Wrong::KeepsTears), 2),
        ("documents are not written", Fault::Disk(disk::Wrong::WritesNoDocuments), 0),
        ("an exit comes behind the deadline", Fault::World(world::Wrong::ExitBehindDeadline), 1837),
        ("a halt is not heard", Fault::World(world::Wrong::DeafToHalt), 857),
        ("a stage is started twice", Fault::World(world::Wrong::StartsTwice), 1),
        ("what a dead session left goes on", Fault::World(world::Wrong::SweepsNothing), 83),
        ("deaths are not counted", Fault::Next(|s, l, r| instead(s, l, r, |state| state.deaths = 0)), 1100),
        ("a pause is not waited for", Fault::Next(no_pause), 1),
        ("doubt is forgotten", Fault::Next(|s, l, r| instead(s, l, r, no_doubt)), 21),
        ("nobody is asked", Fault::Next(|s, l, r| instead(s, l, r, |state| state.deploy = ApprovalState::Given)), 17),
        ("a phase is skipped unasked", Fault::Next(skips), 5),
        ("a finished phase runs again", Fault::Next(|s, l, r| instead(s, l, r, forgets_a_phase)), 1),
        (
            "what remediation reopens is not",
            Fault::Next(|s, l, r| instead(s, l, r, |state| state.reopened.clear())),
            62,
        ),
        ("remediation has no end", Fault::Next(|s, l, r| instead(s, l, r, no_counters)), 456),
        ("a number is given twice", Fault::Next(|s, l, r| instead(s, l, r, |state| state.starts.clear())), 1),
        ("a signal is not heard", Fault::Next(deaf), 1083),
        ("retries have no end", Fault::After(endless), 19),
        ("a failure is a success", Fault::After(whitewash), 1),
    ]
}

fn no_pause(state: &State, live: &Live, rules: &Rules) -> Step {
    let mut live = live.clone();
    live.pause_ends = None;
    decide(state, &live, rules)
}

fn deaf(state: &State, live: &Live, rules: &Rules) -> Step {
    let mut live = live.clone();
    live.interrupt = None;
    decide(state, &live, rules)
}

fn no_doubt(state: &mut State) {
    for active in state.active.values_mut() {
        active.in_doubt = false;
    }
}

fn no_counters(state: &mut State) {
    state.counters = TriggerCounters::default();
}

fn forgets_a_phase(state: &mut State) {
    if state.checkpoints.len() > 1 {
        state.checkpoints.pop_first();
    }
}

fn skips(state: &State, live: &Live, rules: &Rules) -> Step {
    match decide(state, live, rules) {
        Step::Start { phase: phase @ Phase::Audit, .. } => {
            let checkpoint = Box::new(skipped(state, phase, "a planted fault", live.now().wall()));
            Step::Record(vec![Event::StageSkipped { checkpoint }])
        }
        step => step,
    }
}

fn endless(
    state: &State,
    live: &Live,
    rules: &Rules,
    ended_attempt: (Phase, &Attempt),
    survey: Survey,
    chance: f64,
) -> Vec<Event> {
    let mut other = state.clone();
    for active in other.active.values_mut() {
        active.failures.clear();
    }
    ended(&other, live, rules, ended_attempt, survey, chance)
}

fn whitewash(
    state: &State,
    live: &Live,
    rules: &Rules,
    (phase, attempt): (Phase, &Attempt),
    survey: Survey,
    chance: f64,
) -> Vec<Event> {
    let mut other = attempt.clone();
    if other.end.as_ref().is_ok_and(|end| end.exit == PhaseExit::Blocked) {
        other.end = Ok(StageOutcome::exited(0));
    }
    ended(state, live, rules, (phase, &other), survey, chance)
}
