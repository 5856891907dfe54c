//! Which receivers are to be told of which message, and what follows from what they answer. Pure.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::events::{Event, Message, News, Settled, State};
use crate::policy::Backoff;
use crate::runner::receivers::Receiver;
use crate::text::Untrusted;

/// The pauses between tries.
const PAUSES: Backoff =
    Backoff { initial: Duration::from_secs(1), multiplier: 2.0, max: Duration::from_mins(15), jitter: 0.25 };
/// The longest pause that a server can ask for.
const LONGEST: Duration = Duration::from_hours(24);

/// What became of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has it.
    Taken,
    /// It may take it later.
    Later {
        /// Why it did not.
        reason: Untrusted,
        /// How long it wants to be left alone.
        after: Option<Duration>,
    },
    /// It will never take it: to try again would only be a nuisance.
    Never {
        /// Why.
        reason: Untrusted,
    },
}

impl Outcome {
    /// Why it was not taken.
    #[must_use]
    pub fn reason(&self) -> Option<&Untrusted> {
        match self {
            Self::Taken => None,
            Self::Later { reason, .. } | Self::Never { reason } => Some(reason),
        }
    }
}

/// A message that a receiver has not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undelivered {
    /// The message.
    #[serde(rename = "message")]
    pub id: String,
    /// The end that it is about: `completed`, `paused`, `failed` or `escalated`.
    pub event: &'static str,
    /// The receiver.
    pub receiver: String,
    /// How often it was tried.
    pub tries: u32,
    /// Why it was not taken; absent where nobody has tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Untrusted>,
    /// It was refused for good: it is tried again only where somebody insists.
    pub refused: bool,
    /// When it is tried again; absent where it is due now, and where it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again_at: Option<Timestamp>,
}

/// The messages that receivers want and have not taken, whether they were tried or the session died before.
#[must_use]
pub fn undelivered(state: &State, receivers: &[Receiver]) -> Vec<Undelivered> {
    let left = wanted(state, receivers).map(|(message, receiver)| {
        let delivery = message.deliveries.get(&receiver.name).cloned().unwrap_or_default();
        let settled = delivery.settled;
        let left = Undelivered {
            id: message.id.clone(),
            event: message.news.word(),
            receiver: receiver.name.clone(),
            tries: delivery.tries,
            reason: delivery.reason,
            refused: settled == Some(Settled::Refused),
            again_at: delivery.again_at,
        };
        (settled, left)
    });
    left.filter(|(settled, _)| *settled != Some(Settled::Taken)).map(|(_, left)| left).collect()
}

/// Which message each receiver is to be told now. With `insists` also what is to be tried later, and what was refused.
#[must_use]
pub fn due<'a>(
    state: &'a State,
    receivers: &'a [Receiver],
    now: Timestamp,
    insists: bool,
) -> Vec<(&'a Message, &'a Receiver)> {
    use Settled::{Refused, Taken};
    let is_due = |message: &Message, receiver: &Receiver| match message.deliveries.get(&receiver.name) {
        None => true,
        Some(delivery) if insists => delivery.settled != Some(Taken),
        Some(delivery) => match delivery.settled {
            Some(Taken | Refused) => false,
            // A clock that was set back makes no pause longer than it may be.
            None => delivery.again_at.is_none_or(|at| at <= now || at.duration_since(now).unsigned_abs() > LONGEST),
        },
    };
    wanted(state, receivers).filter(|(message, receiver)| is_due(message, receiver)).collect()
}

/// When something is to be tried again that nobody has taken yet; `None` when there is no such thing.
#[must_use]
pub fn next_try(state: &State, receivers: &[Receiver]) -> Option<Timestamp> {
    let open = wanted(state, receivers).map(|(message, receiver)| match message.deliveries.get(&receiver.name) {
        None => Some(Timestamp::MIN),
        Some(delivery) if delivery.settled.is_some() => None,
        Some(delivery) => Some(delivery.again_at.unwrap_or(Timestamp::MIN)),
    });
    open.flatten().min()
}

fn wanted<'a>(state: &'a State, receivers: &'a [Receiver]) -> impl Iterator<Item = (&'a Message, &'a Receiver)> {
    let messages = state.outbox.iter().flat_map(|outbox| &outbox.messages);
    messages.flat_map(move |message| {
        receivers.iter().filter(|receiver| receiver.wants(&message.news)).map(move |receiver| (message, receiver))
    })
}

/// What the execution before still has to tell when another takes its place: that it was done. Whoever puts an unfinished
/// one aside knows of it.
#[must_use]
pub fn carried(before: &State, receivers: &[Receiver]) -> Vec<Message> {
    let is_open = |message: &&Message| {
        message.news == News::Completed
            && receivers.iter().any(|receiver| {
                let settled = message.deliveries.get(&receiver.name).is_some_and(|it| it.settled.is_some());
                receiver.wants(&message.news) && !settled
            })
    };
    before.outbox.iter().flat_map(|outbox| &outbox.messages).filter(is_open).cloned().collect()
}

/// The event of a try. `chance` lies in `0.0..=1.0`.
#[must_use]
pub fn tried(message: &Message, receiver: &str, outcome: &Outcome, now: Timestamp, chance: f64) -> Event {
    let tries = message.deliveries.get(receiver).map_or(0, |delivery| delivery.tries);
    let (failed, again_at) = match outcome {
        Outcome::Taken => (None, None),
        Outcome::Never { reason } => (Some(reason.clone()), None),
        Outcome::Later { reason, after } => {
            let pause = PAUSES.delay(tries, chance).max(after.unwrap_or_default()).min(LONGEST);
            (Some(reason.clone()), now.checked_add(pause).ok().or(Some(now)))
        }
    };
    Event::Notified { means: receiver.to_owned(), failed, message: Some(message.id.clone()), again_at }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::config::NotifyOn;
    use crate::contract::{ExecutionId, Phase};
    use crate::events::{EVENT_VERSION, Envelope, Pause, RunEnd, RunOrigin, WorkTree};
    use crate::runner::receivers::Means;

    fn now() -> Timestamp {
        "2026-01-31T10:00:00Z".parse().expect("a time")
    }

    fn receiver(name: &str, on: &[NotifyOn]) -> Receiver {
        let (means, time) = (Means::Command(vec!["say".to_owned()]), Duration::from_secs(1));
        Receiver { name: name.to_owned(), on: on.to_vec(), time, means }
    }

    /// The state after these events of a run with an outbox.
    fn after(events: Vec<Event>) -> State {
        let execution = ExecutionId::new("exec-1").expect("an id");
        let (phases, origin, overrides) = (vec![Phase::Design], RunOrigin::config(), Vec::new());
        let first = Event::ExecutionStarted { execution, phases, origin, overrides };
        let opened = Event::OutboxOpened { began: WorkTree::default(), carried: Vec::new() };
        let all = (1..).zip([first, opened].into_iter().chain(events));
        let envelopes: Vec<Envelope> =
            all.map(|(seq, event)| Envelope { version: EVENT_VERSION, seq, at: now(), epoch: 1, event }).collect();
        State::fold(&envelopes).expect("an execution")
    }

    fn paused() -> Event {
        Event::SessionEnded { end: RunEnd::Paused { pause: Pause::AgentCancelled } }
    }

    fn told(to: &str, failed: Option<&str>, again_in: Option<i64>) -> Event {
        Event::Notified {
            means: to.to_owned(),
            failed: failed.map(Untrusted::from),
            message: Some("exec-1-3".to_owned()),
            again_at: again_in.map(|seconds| now() + SignedDuration::from_secs(seconds)),
        }
    }

    #[test]
    fn a_message_is_due_until_each_receiver_that_wants_it_has_it_or_never_will() {
        let receivers =
            [receiver("a", &NotifyOn::ALL), receiver("b", &[NotifyOn::Paused]), receiver("c", &[NotifyOn::Completed])];
        for (events, expected, insisted) in [
            (vec![], "", ""),
            (vec![paused()], "a b", "a b"),
            (vec![paused(), told("a", None, None)], "b", "b"),
            (vec![paused(), told("a", Some("busy"), Some(60))], "b", "a b"),
            (vec![paused(), told("a", Some("busy"), Some(0))], "a b", "a b"),
            (vec![paused(), told("a", Some("no"), None), told("b", None, None)], "", "a"),
            (vec![paused(), told("a", None, None), told("a", Some("twice"), Some(0))], "b", "b"),
        ] {
            let state = after(events.clone());
            let names = |insists| {
                let due = due(&state, &receivers, now(), insists);
                due.iter().map(|(_, receiver)| receiver.name.as_str()).collect::<Vec<_>>().join(" ")
            };
            assert_eq!((names(false).as_str(), names(true).as_str()), (expected, insisted), "{events:?}");
        }
    }

    #[test]
    fn a_journal_of_a_program_that_tried_once_has_nothing_to_tell() {
        let lines = [
            r#"{"event":"execution_started","execution":"exec-1","phases":["design"],"origin":{"kind":"config"}}"#,
            r#"{"event":"session_ended","end":{"how":"paused","pause":{"cause":"agent_cancelled"}}}"#,
            r#"{"event":"notified","means":"webhook","failed":"status 503"}"#,
        ];
        let envelope = |(seq, line): (u64, &str)| {
            let event = serde_json::from_str(line).expect("an event of format 2");
            Envelope { version: EVENT_VERSION, seq, at: now(), epoch: 1, event }
        };
        let mut envelopes: Vec<Envelope> = (1..).zip(lines).map(envelope).collect();
        let everybody = [receiver("webhook", &NotifyOn::ALL)];
        let state = State::fold(&envelopes).expect("an execution");
        assert_eq!((state.outbox.as_ref(), due(&state, &everybody, now(), true)), (None, Vec::new()));
        // From the next session on its ends are told.
        let opened = Event::OutboxOpened { began: WorkTree::default(), carried: Vec::new() };
        for (seq, event) in (4..).zip([opened, Event::ExecutionCompleted]) {
            envelopes.push(Envelope { version: EVENT_VERSION, seq, at: now(), epoch: 2, event });
        }
        let state = State::fold(&envelopes).expect("an execution");
        assert_eq!(due(&state, &everybody, now(), false).len(), 1);
    }

    #[test]
    fn an_event_says_what_an_outcome_means_and_pauses_grow() {
        let state = after(vec![paused()]);
        let message = &state.outbox.as_ref().expect("opened").messages[0];
        let later =
            |after: Option<u64>| Outcome::Later { reason: "busy".into(), after: after.map(Duration::from_secs) };
        for (tries, outcome, pause) in [
            (0, Outcome::Taken, None),
            (0, Outcome::Never { reason: "no".into() }, None),
            (0, later(None), Some(1)),
            (3, later(None), Some(8)),
            (30, later(None), Some(900)),
            (0, later(Some(120)), Some(120)),
            (0, later(Some(1_000_000)), Some(86_400)),
        ] {
            let mut message = message.clone();
            message.deliveries.entry("a".to_owned()).or_default().tries = tries;
            let Event::Notified { failed, again_at, message: Some(id), .. } =
                tried(&message, "a", &outcome, now(), 0.0)
            else {
                panic!("another event")
            };
            let waits = again_at.map(|at| at.duration_since(now()).as_secs());
            assert_eq!(
                (waits, failed.is_none(), id.as_str()),
                (pause, outcome == Outcome::Taken, "exec-1-3"),
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn what_was_answered_or_gone_on_from_expires_and_what_was_done_is_carried_on() {
        let session = || Event::SessionStarted {
            session: crate::contract::SessionId::new("s").expect("an id"),
            pid: 1,
            resumed: true,
            swept: 0,
            phases: vec![Phase::Design],
            origin: RunOrigin::config(),
            overrides: Vec::new(),
        };
        let everybody = [receiver("a", &NotifyOn::ALL)];
        let gone_on = after(vec![paused(), session()]);
        assert_eq!(due(&gone_on, &everybody, now(), true), []);
        let failed = Event::SessionEnded { end: RunEnd::Failed { error: "no room".into() } };
        assert_eq!(due(&after(vec![failed, session()]), &everybody, now(), true), []);
        let completed = after(vec![paused(), Event::ExecutionCompleted]);
        assert_eq!(carried(&completed, &everybody).len(), 1, "a pause is of no interest any more");
        assert_eq!(carried(&completed, &[]), []);
        assert_eq!(carried(&completed, &[receiver("a", &[NotifyOn::Failed])]), []);
        let many = after(vec![paused(); 40]);
        assert_eq!(many.outbox.expect("opened").messages.len(), 16);
    }
}
