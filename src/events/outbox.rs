//! What people are to be told of: the ends of an execution, until each was taken by whoever delivers it.
//!
//! The event of an end is its entry in the queue, so no death comes between the two. A message has an id that never
//! changes; who has taken it is an event ([`super::Event::Notified`]). What was answered, and what a later session went on
//! from, is told to nobody any more.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Envelope, Event, Pause, RunEnd};
use crate::contract::{EscalationTrigger, ExecutionId, Phase, SessionId};
use crate::system::process::Interrupt;
use crate::text::Untrusted;

/// The most messages that are kept; the oldest goes where one more comes.
const MOST: usize = 16;

/// What is told of a session that ended without saying why.
const DIED: &str = "its process died: somebody killed it, or the machine went down";

/// The messages of an execution.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbox {
    /// The work tree when the execution began.
    #[serde(flatten)]
    pub began: WorkTree,
    /// The session whose death was noticed last, of which people are told once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub death: Option<SessionId>,
    /// It was told that everything is done, and nothing was begun since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_done: bool,
    /// The messages that have not expired, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
}

/// A work tree as git tells it, to say later what changed in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkTree {
    /// Its commit; absent before the first, and outside of a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// It differs from that commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_changed: bool,
    /// The files that git does not know and does not ignore, by their names, each with what tells whether it was changed; absent
    /// outside of a repository, where there are too many, and where an earlier program looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untracked: Option<BTreeMap<String, String>>,
}

/// Something that people are to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id, the same over all tries.
    pub id: String,
    /// The execution that it is about.
    pub execution: ExecutionId,
    /// When it happened.
    pub at: Timestamp,
    /// What.
    pub news: News,
    /// How far its deliveries are, by the name of the receiver.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub deliveries: BTreeMap<String, Delivery>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum News {
    /// Every phase is done.
    Completed,
    /// The run cannot go on now and can be resumed later.
    Paused {
        /// Why.
        pause: Pause,
    },
    /// Somebody had the run stopped, by SIGTERM, and it can be resumed later.
    Terminated,
    /// Something could not be read or written, or the process died.
    Failed {
        /// What, in one line.
        error: Untrusted,
    },
    /// A human is needed.
    Escalated {
        /// The number of the report.
        number: u32,
        /// Why.
        trigger: EscalationTrigger,
        /// The phase.
        phase: Phase,
        /// What happened, in one line.
        reason: Untrusted,
        /// It asks for the approval of a deployment.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        approval: bool,
    },
}

impl News {
    /// In one word: what a receiver chooses by.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Paused { .. } | Self::Terminated => "paused",
            Self::Failed { .. } => "failed",
            Self::Escalated { .. } => "escalated",
        }
    }
}

/// How far the delivery to one receiver is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// How often it was tried.
    pub tries: u32,
    /// It was taken, or refused for good: nothing is tried any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
    /// When it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_at: Option<Timestamp>,
    /// Why it was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Untrusted>,
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// The receiver has it.
    Taken,
    /// The receiver will never take it.
    Refused,
}

impl Outbox {
    /// Takes an event of the execution in.
    pub(super) fn apply(&mut self, execution: &ExecutionId, envelope: &Envelope) {
        // A session that only finds everything done has nothing to tell.
        if let Some(news) = news(&envelope.event).filter(|news| *news != News::Completed || !self.is_done) {
            self.push(Message {
                id: format!("{execution}-{}", envelope.seq),
                execution: execution.clone(),
                at: envelope.at,
                news,
                deliveries: BTreeMap::new(),
            });
        }
        match &envelope.event {
            Event::ExecutionCompleted => self.is_done = true,
            Event::AttemptStarted { .. } | Event::StageSkipped { .. } => self.is_done = false,
            // Whatever ended the session before, the run goes on.
            Event::SessionStarted { .. } => {
                let is_past =
                    |news: &News| matches!(news, News::Paused { .. } | News::Terminated | News::Failed { .. });
                self.messages.retain(|message| !is_past(&message.news));
            }
            Event::Resolved { escalation, .. } => self
                .messages
                .retain(|message| !matches!(message.news, News::Escalated { number, .. } if number == *escalation)),
            // The question that waited is the only call that nobody has answered.
            Event::WeakerWithdrawn => {
                self.messages.retain(|message| !matches!(message.news, News::Escalated { .. }));
            }
            Event::DeathNoticed { session } => self.death = Some(session.clone()),
            Event::Notified { means, failed, message: Some(id), again_at } => {
                let message = self.messages.iter_mut().find(|message| message.id == *id);
                let delivery = message.map(|message| message.deliveries.entry(means.clone()).or_default());
                if let Some(delivery) = delivery.filter(|delivery| delivery.settled != Some(Settled::Taken)) {
                    delivery.tried(failed.as_ref(), *again_at);
                }
            }
            _ => {}
        }
    }

    /// Begins with what the execution before has not told yet.
    pub(super) fn open(&mut self, began: &WorkTree, carried: &[Message]) {
        self.began = began.clone();
        carried.iter().cloned().for_each(|message| self.push(message));
    }

    /// Whether somebody has not taken a message, or was not told yet.
    #[must_use]
    pub fn is_untold(&self) -> bool {
        let is_taken = |delivery: &Delivery| delivery.settled == Some(Settled::Taken);
        self.messages.iter().any(|message| message.deliveries.is_empty() || !message.deliveries.values().all(is_taken))
    }

    /// Queues a message.
    fn push(&mut self, message: Message) {
        self.messages.push(message);
        let over = self.messages.len().saturating_sub(MOST);
        self.messages.drain(..over);
    }
}

impl Delivery {
    fn tried(&mut self, failed: Option<&Untrusted>, again_at: Option<Timestamp>) {
        self.tries += 1;
        self.again_at = again_at;
        self.reason = failed.cloned();
        self.settled = match (failed, again_at) {
            (None, _) => Some(Settled::Taken),
            (Some(_), None) => Some(Settled::Refused),
            (Some(_), Some(_)) => None,
        };
    }
}

/// What people are told of an event; nothing of most.
fn news(event: &Event) -> Option<News> {
    Some(match event {
        Event::ExecutionCompleted => News::Completed,
        Event::SessionEnded { end: RunEnd::Paused { pause } } => News::Paused { pause: *pause },
        // Whoever interrupts a run at its terminal knows of it.
        Event::SessionEnded { end: RunEnd::Interrupted { by: Interrupt::Terminate } } => News::Terminated,
        Event::DeathNoticed { .. } => News::Failed { error: DIED.into() },
        Event::SessionEnded { end: RunEnd::Failed { error } } => News::Failed { error: error.clone() },
        Event::Escalated { number, report, reason, approval } => News::Escalated {
            number: *number,
            trigger: report.trigger,
            phase: report.phase,
            reason: reason.clone(),
            approval: *approval,
        },
        _ => return None,
    })
}
