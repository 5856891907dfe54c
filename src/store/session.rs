//! `.loa-run/sessions/<phase>.yaml`: the agent's session in a phase, and how its invocations ended. Ours; format version 1.

use serde::{Deserialize, Serialize};

use jiff::Timestamp;

use super::format::{read_own, write};
use super::{Layout, StoreError};
use crate::contract::{ExecutionId, Phase};
use crate::policy::ClassName;
use crate::system::files::{self, Privacy};

/// The newest version of the format.
pub const SESSION_VERSION: u32 = 1;

/// What is known of the agent that works on a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRecord {
    /// Version of this format: 1.
    pub version: u32,
    /// The execution that it works for.
    pub execution_id: ExecutionId,
    /// The phase.
    pub phase: Phase,
    /// The backend that the session belongs to.
    pub backend: String,
    /// The session to go on with; absent before the agent has named it, and when there is none to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Every invocation that ended, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invocations: Vec<InvocationRecord>,
}

/// How one invocation ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InvocationRecord {
    /// When.
    pub ended_at: Timestamp,
    /// The attempt of the phase that it belonged to, from 1.
    pub attempt: u32,
    /// The session that it worked in, when it named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The class.
    pub class: ClassName,
    /// The process's exit code, when it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended the process, when one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// What the class was read from.
    pub evidence: String,
}

/// Writes the record of a phase's agent durably.
///
/// # Errors
/// [`StoreError`]; the earlier record is then untouched.
pub fn write_agent_record(layout: &Layout, record: &AgentRecord) -> Result<(), StoreError> {
    files::ensure_folder(&layout.sessions())?;
    write(&layout.session(record.phase), record, Privacy::Private)
}

/// The record of a phase's agent; `None` when no agent worked on it.
///
/// # Errors
/// [`StoreError`], also when it comes from a newer version.
pub fn read_agent_record(layout: &Layout, phase: Phase) -> Result<Option<AgentRecord>, StoreError> {
    read_own(&layout.session(phase), SESSION_VERSION)
}
