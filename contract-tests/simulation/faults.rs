//! Faults that are planted: other values of the ports and of the rules. Each has to be found.

use std::time::Duration;

use jiff::Timestamp;
use loa::contract::{Phase, PhaseExit};
use loa::events::{ApprovalState, Event, Message, State};
use loa::policy::{StageOutcome, TriggerCounters};
use loa::runner::decide::{Attempt, Live, Rules, Step, Stop, Survey, decide, ended, outage, skipped};
use loa::runner::{After, Receiver, Thinking, due};
use loa::store::{FileStore, RunStore};

use super::disk::{self, SimDisk};
use super::store::{self, WrongStore};
use super::truth::Truth;
use super::world;

/// Something that is wrong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// The disk.
    Disk(disk::Wrong),
    /// The world.
    World(world::Wrong),
    /// What is between the owner and its journal.
    Store(store::Wrong),
    /// What is done next.
    Next(fn(&State, &Live, &Rules) -> Step),
    /// What follows from an attempt.
    After(After),
    /// What follows from an outage.
    Outage(fn(&State, &Live, &Rules, Phase, &str, f64) -> Step),
    /// What its owner is told of an attempt.
    Left(fn(&mut Attempt)),
    /// What is to be told to whom.
    Due(Due),
}

/// Says what is to be told to whom; see [`due`].
pub(super) type Due = for<'a> fn(&'a State, &'a [Receiver], Timestamp, bool) -> Vec<(&'a Message, &'a Receiver)>;

impl Fault {
    pub(super) fn plant(self, disk: &SimDisk, truth: &mut Truth) {
        match self {
            Self::Disk(wrong) => disk.plant(wrong),
            Self::World(wrong) => truth.wrong = Some(wrong),
            Self::Left(change) => truth.change = Some(change),
            Self::Store(_) | Self::Next(_) | Self::After(_) | Self::Outage(_) | Self::Due(_) => {}
        }
    }

    pub(super) fn apply(self, thinking: Thinking) -> Thinking {
        match self {
            Self::Next(next) => Thinking { next, ..thinking },
            Self::After(after) => Thinking { after, ..thinking },
            Self::Outage(outage) => Thinking { outage, ..thinking },
            Self::Disk(_) | Self::World(_) | Self::Store(_) | Self::Left(_) | Self::Due(_) => thinking,
        }
    }

    /// What is to be told to whom.
    pub(super) fn due(fault: Option<Self>) -> Due {
        match fault {
            Some(Self::Due(wrong)) => wrong,
            _ => due,
        }
    }

    /// The owner's way to its journal.
    pub(super) fn store(fault: Option<Self>, store: FileStore) -> Box<dyn RunStore> {
        match fault {
            Some(Self::Store(wrong)) => Box::new(WrongStore::new(store, wrong)),
            _ => Box::new(store),
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
        ("a lock is given to everybody", Fault::Disk(disk::Wrong::LetsEverybodyIn), 17),
        ("a torn end is kept", Fault::Disk(disk::Wrong::KeepsTears), 17),
        ("documents are not written", Fault::Disk(disk::Wrong::WritesNoDocuments), 0),
        ("an exit comes behind the deadline", Fault::World(world::Wrong::ExitBehindDeadline), 1407),
        ("a halt is not heard", Fault::World(world::Wrong::DeafToHalt), 126),
        ("a stage is started twice", Fault::World(world::Wrong::StartsTwice), 4),
        ("what a dead session left goes on", Fault::World(world::Wrong::SweepsNothing), 4),
        ("deaths are not counted", Fault::Next(|s, l, r| instead(s, l, r, |state| state.deaths = 0)), 687),
        ("a pause is not waited for", Fault::Next(no_pause), 8),
        ("doubt is forgotten", Fault::Next(|s, l, r| instead(s, l, r, no_doubt)), 14),
        ("nobody is asked", Fault::Next(|s, l, r| instead(s, l, r, |state| state.deploy = ApprovalState::Given)), 4),
        ("a phase is skipped unasked", Fault::Next(skips), 5),
        ("a finished phase runs again", Fault::Next(|s, l, r| instead(s, l, r, forgets_a_phase)), 1),
        (
            "what remediation reopens is not",
            Fault::Next(|s, l, r| instead(s, l, r, |state| state.reopened.clear())),
            17,
        ),
        ("remediation has no end", Fault::Next(|s, l, r| instead(s, l, r, no_counters)), 202),
        ("a number is given twice", Fault::Next(|s, l, r| instead(s, l, r, |state| state.starts.clear())), 3),
        ("a signal is not heard", Fault::Next(deaf), 81),
        ("a wait for a provider is not told", Fault::World(world::Wrong::HidesLimits), 65),
        ("silence has no end", Fault::Next(patient), 24),
        ("time is charged at the end only", Fault::Next(uncharged), 4),
        ("an agent's session is dropped at each start", Fault::Next(drops_sessions), 14),
        ("what a provider asks for is forgotten", Fault::Left(|left| left.wait = None), 105),
        ("a refused result is hidden", Fault::Left(|left| left.result_refused = None), 4),
        ("an agent's word is believed", Fault::Left(|left| left.unverified = false), 8),
        ("an old epoch is not refused", Fault::Store(store::Wrong::KnowsNoEpoch), 10),
        ("a checkpoint is written before its event", Fault::Store(store::Wrong::JournalsLate), 7),
        ("a failure is lost at a kill", Fault::Store(store::Wrong::ForgetsFailures), 8),
        ("asking counts as an approval", Fault::Next(|s, l, r| instead(s, l, r, approves)), 4),
        ("the run has no end", Fault::Next(endless_run), 217),
        ("a run ends before its time", Fault::Next(short_run), 217),
        ("an outage is charged to the retries", Fault::Outage(charges_outages), 14),
        ("patience with an outage begins anew after a death", Fault::Outage(forgets_patience), 75),
        ("retries have no end", Fault::After(endless), 21),
        ("a failure is a success", Fault::Left(whitewash), 3),
        ("a message is lost at a kill", Fault::Due(lost_at_a_kill), 0),
        ("a message is given up when it is not taken at once", Fault::Due(once), 1),
        ("a message is told again after it was taken", Fault::Due(for_ever), 0),
        ("that a message was taken is not journaled", Fault::Store(store::Wrong::ForgetsReceipts), 0),
    ]
}

fn charges_outages(state: &State, live: &Live, rules: &Rules, phase: Phase, reason: &str, chance: f64) -> Step {
    let step = outage(state, live, rules, phase, reason, chance);
    let Step::Record(mut events) = step else { return step };
    let (attempt, now) = (state.next_attempt(phase), live.now().wall());
    let reason = reason.into();
    let charged = Event::BackedOff { phase, stage: None, attempt, failure: None, reason, delay_ms: 0, not_before: now };
    events.push(charged);
    Step::Record(events)
}

fn forgets_patience(state: &State, live: &Live, rules: &Rules, phase: Phase, reason: &str, chance: f64) -> Step {
    // The first probe of an attempt that began within the outage.
    let began = live.running.map(|running| running.began);
    let is_first = began.zip(live.probe_at).is_some_and(|(began, probe)| probe.since(began).is_zero());
    let mut other = state.clone();
    if is_first {
        other.outage.iter_mut().for_each(|outage| outage.waited_ms = 0);
    }
    outage(&other, live, rules, phase, reason, chance)
}

/// What a session had to tell that died before its end is told to nobody.
fn lost_at_a_kill<'a>(
    state: &'a State,
    receivers: &'a [Receiver],
    now: Timestamp,
    insists: bool,
) -> Vec<(&'a Message, &'a Receiver)> {
    if state.is_at_work { Vec::new() } else { due(state, receivers, now, insists) }
}

/// Nothing is tried twice.
fn once<'a>(
    state: &'a State,
    receivers: &'a [Receiver],
    now: Timestamp,
    insists: bool,
) -> Vec<(&'a Message, &'a Receiver)> {
    due(state, receivers, now, insists).into_iter().filter(|(message, _)| message.deliveries.is_empty()).collect()
}

/// Whoever has taken a message is told all the same.
fn for_ever<'a>(
    state: &'a State,
    receivers: &'a [Receiver],
    _: Timestamp,
    _: bool,
) -> Vec<(&'a Message, &'a Receiver)> {
    let messages = state.outbox.iter().flat_map(|outbox| &outbox.messages);
    messages.flat_map(|message| receivers.iter().map(move |receiver| (message, receiver))).collect()
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

fn patient(state: &State, live: &Live, rules: &Rules) -> Step {
    match decide(state, live, rules) {
        Step::Stop(Stop::Silent(_)) => Step::Wait(None),
        step => step,
    }
}

fn uncharged(state: &State, live: &Live, rules: &Rules) -> Step {
    let mut live = live.clone();
    live.uncharged = Duration::ZERO;
    decide(state, &live, rules)
}

fn drops_sessions(state: &State, live: &Live, rules: &Rules) -> Step {
    match decide(state, live, rules) {
        Step::Start { mut events, phase, attempt } => {
            events.insert(0, Event::AgentSessionDropped { phase });
            Step::Start { events, phase, attempt }
        }
        step => step,
    }
}

fn approves(state: &mut State) {
    if state.deploy == ApprovalState::Asked {
        (state.deploy, state.pending) = (ApprovalState::Given, None);
    }
}

fn endless_run(state: &State, live: &Live, rules: &Rules) -> Step {
    within(state, live, rules, Duration::MAX)
}

fn short_run(state: &State, live: &Live, rules: &Rules) -> Step {
    within(state, live, rules, rules.bounds.triggers.timeout / 2)
}

fn within(state: &State, live: &Live, rules: &Rules, timeout: Duration) -> Step {
    let mut other = rules.clone();
    other.bounds.triggers.timeout = timeout;
    decide(state, live, &other)
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

fn whitewash(attempt: &mut Attempt) {
    if attempt.end.as_ref().is_ok_and(|end| end.exit == PhaseExit::Blocked) {
        attempt.end = Ok(StageOutcome::exited(0));
    }
}
