//! `.loa-run/sessions/<phase>.yaml` of format 1: the session of a phase's agent.

use std::path::Path;

use serde::Deserialize;

use crate::contract::{ExecutionId, Phase};
use crate::events::AgentState;
use crate::store::StoreError;
use crate::store::format::read_own;
use crate::system::disk;

/// The version of the format.
const VERSION: u32 = 1;

/// What is kept of the agent of a phase. How its earlier invocations ended stands in the file and decides nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct AgentRecord {
    execution_id: ExecutionId,
    backend: String,
    #[serde(default)]
    session: Option<String>,
}

/// The agent of a phase of an execution; `None` when no agent worked on it.
pub(super) fn read_agent(folder: &Path, phase: Phase, id: &ExecutionId) -> Result<Option<AgentState>, StoreError> {
    let record: Option<AgentRecord> =
        read_own(disk::host().as_ref(), &folder.join("sessions").join(format!("{phase}.yaml")), VERSION)?;
    let own = record.filter(|record| record.execution_id == *id);
    Ok(own.map(|record| AgentState { backend: record.backend, session: record.session }))
}
