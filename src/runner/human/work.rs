//! What is being done at this moment, and whether anybody has to do anything about it. Pure, but for the end of a log.

use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::contract::{Phase, PhaseExit};
use crate::events::{AgentActivity, Envelope, Event, RunStatus, State};
use crate::policy::Redactor;
use crate::store::{Writer, tail};
use crate::system::files;
use crate::text::Untrusted;

/// What it comes to for somebody who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Standing {
    /// It is over.
    #[serde(rename = "finished")]
    Finished,
    /// A stage works.
    #[serde(rename = "working")]
    Working,
    /// It waits, and goes on by itself.
    #[serde(rename = "waiting")]
    Waiting,
    /// Nobody works on it, and nobody has to decide anything: its session was paused, and may be gone on with later.
    #[serde(rename = "resumable")]
    Resumable,
    /// It goes on when a human does something.
    #[serde(rename = "human_needed")]
    HumanNeeded,
}

/// What the phase at work does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Doing {
    /// Its attempt runs.
    #[serde(rename = "running")]
    Running,
    /// It waits before the next attempt.
    #[serde(rename = "backing_off")]
    BackingOff,
    /// It waits until the provider of its agent lifts a limit, or is back.
    #[serde(rename = "waiting_for_provider")]
    WaitingForProvider,
    /// Nobody works on it.
    #[serde(rename = "stopped")]
    Stopped,
}

/// The phase at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkAtHand {
    /// The phase.
    pub phase: Phase,
    /// The number of the attempt that runs, or that follows the wait.
    pub attempt: u32,
    /// What it does.
    pub doing: Doing,
    /// When it goes on, while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_try: Option<Timestamp>,
    /// What it wrote last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_output: Option<LastOutput>,
}

/// The attempt that failed last, in a phase that has not succeeded since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastFailure {
    /// The phase.
    pub phase: Phase,
    /// The attempt.
    pub attempt: u32,
    /// Why, in one line.
    pub reason: Untrusted,
}

/// The last line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastOutput {
    /// The line, without secrets and escapes.
    pub line: Untrusted,
    /// When the log was written to.
    pub at: Timestamp,
    /// How long ago that was, in milliseconds.
    pub ago_ms: u64,
}

impl WorkAtHand {
    /// What the state and its events say. `works`: a process works on it.
    pub(super) fn of(state: &State, envelopes: &[Envelope], works: bool) -> Option<Self> {
        let phase = state.phase_at_work()?;
        let active = state.active_in(phase)?;
        let outage = state.outage_of(phase).map(|outage| outage.pause.not_before);
        let (doing, next_try) = match (works, active.pause, outage.or_else(|| limit(envelopes))) {
            (false, pause, _) => (Doing::Stopped, pause.map(|pause| pause.not_before)),
            (true, Some(pause), _) => (Doing::BackingOff, Some(pause.not_before)),
            (true, None, Some(until)) => (Doing::WaitingForProvider, Some(until)),
            (true, None, None) => (Doing::Running, None),
        };
        Some(Self { phase, attempt: active.attempt, doing, next_try, last_output: None })
    }
}

impl Standing {
    /// What follows from where it stands, from whether its last session was paused, from whether a process works on it, and from
    /// what it does. It says what the code said that the process ended with.
    pub(super) fn of(
        (status, is_paused): (RunStatus, bool),
        works: bool,
        doing: Option<Doing>,
        has_service: bool,
    ) -> Self {
        match (status, works, doing) {
            // A service manager starts it again.
            (RunStatus::Interrupted | RunStatus::Running, false, _) if has_service => Self::Waiting,
            (RunStatus::Interrupted, false, _) if is_paused => Self::Resumable,
            (RunStatus::Completed | RunStatus::Aborted, ..) => Self::Finished,
            (RunStatus::Running, true, Some(Doing::BackingOff | Doing::WaitingForProvider)) => Self::Waiting,
            (RunStatus::Running, true, _) => Self::Working,
            // Without a process nothing goes on before somebody types `resume`.
            _ => Self::HumanNeeded,
        }
    }
}

impl LastFailure {
    pub(super) fn of(state: &State, envelopes: &[Envelope]) -> Option<Self> {
        let failed = envelopes.iter().rev().find_map(|envelope| match &envelope.event {
            Event::AttemptEnded { phase, attempt, exit: Some(exit), reason: Some(reason), .. }
                if *exit != PhaseExit::Success =>
            {
                Some(Self { phase: *phase, attempt: *attempt, reason: reason.clone() })
            }
            _ => None,
        })?;
        (!state.is_completed(failed.phase)).then_some(failed)
    }
}

impl LastOutput {
    pub(super) fn of(log: &Path, writer: Writer, now: Timestamp) -> Option<Self> {
        let at = files::modified(log)?;
        let line = tail(log, 1, writer, &Redactor::default()).pop()?;
        let ago = now.duration_since(at).max(SignedDuration::ZERO);
        Some(Self { line: line.into(), at, ago_ms: u64::try_from(ago.as_millis()).unwrap_or(u64::MAX) })
    }
}

/// The time until now that counts towards the limit of the run and is not journaled yet, as the events tell it: an attempt runs, or
/// a pause lasts. A wait for a provider is nobody's time.
pub(super) fn uncharged(envelopes: &[Envelope], now: Timestamp) -> Duration {
    let between = |from: Timestamp, to: Timestamp| Duration::try_from(to.duration_since(from)).unwrap_or_default();
    let (mut sum, mut since, mut is_out) = (Duration::ZERO, None, false);
    for Envelope { at, event, .. } in envelopes {
        match event {
            Event::SessionStarted { .. } | Event::SessionEnded { .. } => {
                (sum, since, is_out) = (Duration::ZERO, None, false);
            }
            Event::TimeCharged { .. } => (sum, since) = (Duration::ZERO, since.map(|_| *at)),
            Event::AttemptEnded { .. } | Event::LimitReached { .. } | Event::OutageMet(_) => {
                sum += since.take().map(|since| between(since, *at)).unwrap_or_default();
                is_out = matches!(event, Event::OutageMet(_));
            }
            Event::OutageOver { .. } => (since, is_out) = (Some(*at), false),
            Event::AttemptStarted { .. }
            | Event::BackedOff { .. }
            | Event::Agent { agent: AgentActivity::Attempt { .. }, .. } => since = since.or((!is_out).then_some(*at)),
            _ => {}
        }
    }
    sum + since.map(|since| between(since, now)).unwrap_or_default()
}

/// Until when a provider's limit is waited for, where that is the newest that is known of the agent.
fn limit(envelopes: &[Envelope]) -> Option<Timestamp> {
    envelopes.iter().rev().find_map(|envelope| match &envelope.event {
        Event::LimitReached { until, .. } => Some(Some(*until)),
        Event::Agent { agent: AgentActivity::Attempt { .. }, .. }
        | Event::AttemptStarted { .. }
        | Event::AttemptEnded { .. }
        | Event::SessionStarted { .. } => Some(None),
        _ => None,
    })?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ExecutionId;
    use crate::events::{Begins, EVENT_VERSION, Outage, RunOrigin, Waiting};

    fn told(events: Vec<Event>) -> (State, Vec<Envelope>) {
        let first = Event::ExecutionStarted {
            execution: ExecutionId::new("exec-1").expect("an id"),
            phases: vec![Phase::Design],
            origin: RunOrigin::config(),
            overrides: Vec::new(),
        };
        let at = Timestamp::UNIX_EPOCH;
        let envelope = |(seq, event)| Envelope { version: EVENT_VERSION, seq, epoch: 1, at, event };
        let envelopes: Vec<Envelope> = (1..).zip(std::iter::once(first).chain(events)).map(envelope).collect();
        (State::fold(&envelopes).expect("it begins"), envelopes)
    }

    fn started(attempt: u32) -> Event {
        Event::AttemptStarted { phase: Phase::Design, stage: None, attempt, of: 4 }
    }

    fn ended(exit: PhaseExit) -> Event {
        let reason = (exit != PhaseExit::Success).then(|| "exit 1: no route".into());
        Event::AttemptEnded {
            phase: Phase::Design,
            stage: None,
            attempt: 1,
            exit: Some(exit),
            reason,
            context_tokens: None,
        }
    }

    fn paused() -> Event {
        Event::BackedOff {
            phase: Phase::Design,
            stage: None,
            attempt: 2,
            failure: None,
            reason: "exit 1: no route".into(),
            delay_ms: 5,
            not_before: Timestamp::MAX,
        }
    }

    fn outage() -> Event {
        Event::OutageMet(Outage {
            phase: Phase::Design,
            reason: "no network".into(),
            since: Timestamp::UNIX_EPOCH,
            probe: 1,
            pause: Waiting { not_before: Timestamp::MAX, delay_ms: 5 },
            waited_ms: 5,
            until: Timestamp::MAX,
            answered: None,
        })
    }

    fn limit() -> Event {
        Event::LimitReached { phase: Phase::Design, until: Timestamp::MAX }
    }

    fn over() -> Event {
        Event::OutageOver { phase: Phase::Design }
    }

    fn asked() -> Event {
        let begins = Begins::New;
        let agent = AgentActivity::Attempt { number: 2, backend: "claude".to_owned(), begins, session: None };
        Event::Agent { phase: Phase::Design, agent }
    }

    #[test]
    fn what_a_phase_does_follows_from_its_newest_events() {
        let until = Some(Timestamp::MAX);
        for (events, works, expected) in [
            (vec![started(1)], true, Some((1, Doing::Running, None))),
            (vec![started(1)], false, Some((1, Doing::Stopped, None))),
            (vec![started(1), ended(PhaseExit::Retry), paused()], true, Some((2, Doing::BackingOff, until))),
            (vec![started(1), ended(PhaseExit::Retry), paused()], false, Some((2, Doing::Stopped, until))),
            (vec![started(1), limit()], true, Some((1, Doing::WaitingForProvider, until))),
            (vec![started(1), limit(), asked()], true, Some((1, Doing::Running, None))),
            (vec![started(1), outage()], true, Some((1, Doing::WaitingForProvider, until))),
            (vec![started(1), outage(), over()], true, Some((1, Doing::Running, None))),
            (vec![started(1), outage()], false, Some((1, Doing::Stopped, None))),
            (vec![], true, None),
        ] {
            let (state, envelopes) = told(events);
            let work = WorkAtHand::of(&state, &envelopes, works);
            assert_eq!(work.map(|work| (work.attempt, work.doing, work.next_try)), expected, "{envelopes:?}");
        }
    }

    #[test]
    fn what_is_not_journaled_yet_counts_while_an_attempt_runs_or_a_pause_lasts() {
        let charged = || Event::TimeCharged { elapsed_ms: 1 };
        // Each event comes ten seconds after the one before, and is looked at ten seconds after the last.
        for (events, seconds) in [
            (vec![], 0),
            (vec![started(1)], 10),
            (vec![started(1), asked()], 20),
            (vec![started(1), charged()], 10),
            (vec![started(1), ended(PhaseExit::Success)], 10),
            (vec![started(1), ended(PhaseExit::Retry), paused()], 20),
            (vec![started(1), ended(PhaseExit::Retry), charged(), paused(), started(2)], 20),
            (vec![started(1), limit()], 10),
            (vec![started(1), limit(), asked()], 20),
            (vec![started(1), outage()], 10),
            (vec![started(1), outage(), asked()], 10),
            (vec![started(1), outage(), asked(), over()], 20),
            (vec![started(1), Event::SessionEnded { end: crate::events::RunEnd::Escalated }], 0),
        ] {
            let (_, mut envelopes) = told(events);
            let at = |number: usize| {
                Timestamp::UNIX_EPOCH + SignedDuration::from_secs(10 * i64::try_from(number).expect("few"))
            };
            envelopes.iter_mut().enumerate().for_each(|(number, envelope)| envelope.at = at(number));
            let found = uncharged(&envelopes, at(envelopes.len()));
            assert_eq!(found, Duration::from_secs(seconds), "{envelopes:?}");
        }
    }

    #[test]
    fn a_failure_is_told_until_its_phase_succeeds() {
        let (state, envelopes) = told(vec![started(1), ended(PhaseExit::Retry), paused()]);
        let failure = LastFailure::of(&state, &envelopes).expect("it failed");
        assert_eq!((failure.attempt, failure.reason.raw()), (1, "exit 1: no route"));
        let (state, envelopes) = told(vec![started(1), ended(PhaseExit::Success)]);
        assert_eq!(LastFailure::of(&state, &envelopes), None);
    }

    #[test]
    fn whoever_asks_learns_whether_anybody_is_needed() {
        use RunStatus::{Aborted, Completed, Escalated, Interrupted, Ready, Resolved, Running};
        for (status, works, doing, standing) in [
            (Completed, false, None, Standing::Finished),
            (Aborted, false, None, Standing::Finished),
            (Running, true, Some(Doing::Running), Standing::Working),
            (Running, true, None, Standing::Working),
            (Running, true, Some(Doing::BackingOff), Standing::Waiting),
            (Running, true, Some(Doing::WaitingForProvider), Standing::Waiting),
            (Running, false, Some(Doing::Stopped), Standing::HumanNeeded),
            (Interrupted, false, Some(Doing::Stopped), Standing::HumanNeeded),
            (Escalated, false, None, Standing::HumanNeeded),
            (Escalated, true, None, Standing::HumanNeeded),
            (Resolved, false, None, Standing::HumanNeeded),
            (Ready, false, None, Standing::HumanNeeded),
        ] {
            let of = |has_service| Standing::of((status, false), works, doing, has_service);
            assert_eq!(of(false), standing, "{status:?} {works} {doing:?}");
            // A service starts again what ended before its time, and answers nobody.
            let expected = if matches!(status, Running | Interrupted) && !works { Standing::Waiting } else { standing };
            assert_eq!(of(true), expected, "{status:?} {works} {doing:?}");
        }
        // Patience that was spent is no question.
        let paused = |has_service| Standing::of((Interrupted, true), false, Some(Doing::Stopped), has_service);
        assert_eq!((paused(false), paused(true)), (Standing::Resumable, Standing::Waiting));
    }
}
