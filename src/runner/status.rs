//! Where an execution stands, for people and for other programs. Reads only; a run may be working meanwhile.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use super::RunError;
use super::conclude::UNVERIFIED;
use super::session::{blank_record, newest};
use super::standing::Standing;
use crate::contract::{EscalationTrigger, ExecutionId, ExecutionState, Phase, PhaseProgress};
use crate::store::{
    Layout, OriginKind, RecordedOverride, RunOrigin, RunStatus, read_checkpoints, read_context_state, read_record,
};
use crate::system::clock;
use crate::system::lock::{Holder, Lock};

/// Where an execution stands.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The execution.
    pub execution_id: ExecutionId,
    /// Where it stands; `running` without a process is a session that died.
    pub status: RunStatus,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Holder>,
    /// When it began.
    pub started_at: Timestamp,
    /// Time in which stages ran or backed off, in milliseconds, as of the last write.
    pub elapsed_ms: u64,
    /// Remediation loops so far.
    pub remediation_loops: u32,
    /// The tokens in the context, as they were last known; absent when nobody said any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// The attempt of the phase that is being worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The flags that it was started with and goes on with, without their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Its phases, in the order in which they run.
    pub phases: Vec<PhaseLine>,
    /// What waits for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
}

/// One phase of a status.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseLine {
    /// The phase.
    pub phase: Phase,
    /// Where it stands.
    pub status: PhaseProgress,
    /// The summary of its checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// An agent calls it done, and no gate does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unverified: bool,
}

/// A report that waits for an answer.
#[derive(Debug, Clone, Serialize)]
pub struct Pending {
    /// Why.
    pub trigger: EscalationTrigger,
    /// Where.
    pub phase: Phase,
    /// The report.
    pub report: PathBuf,
}

/// Where the execution in the workspace stands.
///
/// # Errors
/// [`RunError`]: there is none, or something on disk is not valid.
pub fn status(layout: &Layout) -> Result<Status, RunError> {
    let standing = standing(layout)?;
    let process = Lock::holder(&layout.lock())?;
    // What it says is only shown; what is wrong with it is for whoever needs it to complain about.
    let context = read_context_state(layout).ok().flatten();
    let record = &standing.record;
    let working = record.active.as_ref().filter(|_| record.status == RunStatus::Running);
    let statuses = standing.statuses(working.map(|active| active.phase));
    let line = |phase: &Phase| {
        let summary = standing.checkpoint(*phase).map(|checkpoint| checkpoint.summary.clone());
        PhaseLine {
            phase: *phase,
            status: statuses.iter().find(|s| s.phase == *phase).map_or(PhaseProgress::Pending, |s| s.status),
            unverified: summary.as_ref().is_some_and(|summary| summary.starts_with(UNVERIFIED)),
            summary,
        }
    };
    let pending = record.pending.as_ref();
    Ok(Status {
        execution_id: record.execution_id.clone(),
        status: record.status,
        process,
        started_at: record.started_at,
        elapsed_ms: u64::try_from(record.counters.elapsed().as_millis()).unwrap_or(u64::MAX),
        remediation_loops: record.counters.remediation_loops(),
        context_tokens: context.map(|state| state.current_tokens).filter(|tokens| *tokens > 0),
        attempt: working.map(|active| active.attempt),
        flags: record.overrides.iter().map(flag).collect(),
        phases: record.phases.iter().map(line).collect(),
        pending: pending.map(|p| Pending { trigger: p.trigger, phase: p.phase, report: p.report.clone() }),
    })
}

/// A flag without its value, which may be a secret.
pub(super) fn flag(remembered: &RecordedOverride) -> String {
    remembered.flag.split_once('=').map_or(remembered.flag.as_str(), |(flag, _)| flag).to_owned()
}

/// The contract's `getState`.
///
/// # Errors
/// As [`status`].
pub fn state(layout: &Layout) -> Result<ExecutionState, RunError> {
    Ok(standing(layout)?.state())
}

fn standing(layout: &Layout) -> Result<Standing, RunError> {
    if let Some(record) = read_record(layout)? {
        return Ok(Standing::read(layout, record)?);
    }
    let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
    let id = newest(&read_checkpoints(layout)?).ok_or_else(none)?;
    let origin = RunOrigin { kind: OriginKind::Config, path: None };
    let record = blank_record(id, Phase::ALL.to_vec(), origin, clock::now().wall());
    Ok(Standing::read(layout, record)?)
}
