//! Everything that the judge saw of one case of the agent profile, on its own clock. The only input of the verdict.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::conform::model::RequestSeen;
use crate::conform::observe::{OutputLine, ProcessSeen};
use crate::system::clock::Millis;

/// What was seen of one case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentObservation {
    /// The values that were drawn, by name.
    pub drawn: BTreeMap<String, serde_json::Value>,
    /// One entry a step, in order.
    pub steps: Vec<AgentStepSeen>,
    /// The files that the case asks for, after the last step: path to bytes, absent when there is none.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What this machine did not let the judge see.
    pub unseen: Vec<String>,
    /// Why the rig itself failed, if it did: the case is then a harness error.
    pub rig_error: Option<String>,
    /// The case's folder, when it was asked to stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// What a step did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentStepSeen {
    /// `run` or `resume`.
    pub verb: String,
    /// What was started, the case's folders and the model's address named by words: `$WORKSPACE`, `$HOME`, `$TMPDIR`, `$MODEL`.
    pub argv: Vec<String>,
    /// What its environment held besides programs, language, terminal and folders; likewise.
    pub env: BTreeMap<String, String>,
    /// When it began.
    pub started: Millis,
    /// When it ended.
    pub ended: Millis,
    /// How it ended.
    pub end: AgentEnd,
    /// The signal that was sent, and when.
    pub signal: Option<SignalSent>,
    /// What the model was asked meanwhile, in order.
    pub requests: Vec<RequestSeen>,
    /// Both outputs, line by line, in order of arrival.
    pub output: Vec<OutputLine>,
    /// What another agent did that was started at the same time; the requests of both stand above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Box<AgentStepSeen>>,
    /// Processes that were still alive after the agent's own end, and were then ended by the judge.
    pub left: Vec<ProcessSeen>,
}

/// How an agent ended. A signal is never an exit code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(String),
    /// By the judge, which had seen enough requests.
    SeenEnough,
    /// By the judge, because the step's time was over.
    OutOfTime,
    /// It could not be started: why.
    NotStarted(String),
    /// The manifest has no such verb, or the session's name was never told.
    NotAsked(String),
}

/// A signal that the judge sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalSent {
    /// Its name, such as `SIGTERM`.
    pub name: String,
    /// When.
    pub at: Millis,
}
