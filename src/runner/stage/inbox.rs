//! What a stage tells the owner of the execution.

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};

use super::super::RunError;
use super::super::decide::Attempt;
use crate::events::{Event, Observation};
use crate::system::clock::{self, Moment};
use crate::system::process::Interrupt;

/// How many letters may wait for the owner; a stage that writes more is slowed down.
const QUEUE: usize = 64;

/// Something that the owner of an execution is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// Time passed.
    Tick,
    /// A signal asks us to end.
    Interrupted(Interrupt),
    /// Something happened in the stage that is to be journaled.
    Happened(Event),
    /// Something was seen that is not journaled.
    Observed(Observation),
    /// The stage wrote something that nobody is shown.
    Heard,
    /// The context of the stage stayed at its hard limit.
    Overflowed,
    /// The provider of the stage's agent has a limit, and it is reached.
    LimitReached {
        /// When the stage would go on at the latest.
        until: Timestamp,
        /// When the limit is lifted, as far as that is known.
        known: Option<Timestamp>,
    },
    /// The stage's agent does nothing any more but try to reach its provider.
    Unreached {
        /// Since then.
        since: Moment,
    },
    /// The stage goes on after a limit, or its agent reached its provider after all.
    LimitLifted,
    /// The provider of the stage's agent cannot be reached or is out of order.
    OutageMet {
        /// How it showed, in one line.
        reason: String,
    },
    /// The agent was answered, or failed for another reason.
    OutageOver,
    /// The attempt ended.
    Ended(Box<Attempt>),
}

/// A fact with the time at which it was one.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) at: Moment,
    pub(crate) fact: Fact,
    /// Whoever waits until it is taken in, and durable.
    pub(crate) taken: Option<oneshot::Sender<Taken>>,
}

/// What whoever told a fact hears when it is taken in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Taken {
    /// When the next probe of an outage begins.
    pub(crate) probe_at: Option<Moment>,
    /// When patience for that outage ends.
    pub(crate) patience_ends: Option<Timestamp>,
}

/// What comes from a stage.
#[derive(Debug)]
pub(crate) enum Mail {
    Letter(Letter),
    /// Something could not be read or written.
    Failed(RunError),
}

/// The way to the owner of the execution.
#[derive(Debug, Clone)]
pub(crate) struct Inbox {
    sender: mpsc::Sender<Mail>,
}

impl Inbox {
    /// The way, and the owner's end of it.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Mail>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Self { sender }, receiver)
    }

    /// Tells a fact, and goes on.
    pub(crate) async fn tell(&self, fact: Fact) {
        self.post(Mail::Letter(Letter { at: clock::now(), fact, taken: None })).await;
    }

    /// Tells a fact, and goes on when it is taken in: what is to be journaled is journaled then.
    pub(crate) async fn announce(&self, fact: Fact) -> Taken {
        let (taken, wait) = oneshot::channel();
        self.post(Mail::Letter(Letter { at: clock::now(), fact, taken: Some(taken) })).await;
        // An owner that is gone takes nothing in; it ends us next.
        wait.await.unwrap_or_default()
    }

    /// Something could not be read or written.
    pub(crate) async fn failed(&self, error: RunError) {
        self.post(Mail::Failed(error)).await;
    }

    async fn post(&self, mail: Mail) {
        // Nobody reads any more: whoever owned the execution is ending us.
        let _ = self.sender.send(mail).await;
    }
}
