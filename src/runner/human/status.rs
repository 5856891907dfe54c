//! Where an execution stands, for people and for other programs. Reads only; a run may be working meanwhile.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use crate::contract::{EscalationTrigger, ExecutionId, ExecutionState, Phase, PhaseProgress};
use crate::events::{Outage, RunStatus, State};
use crate::runner::RunError;
use crate::runner::decide::UNVERIFIED;
use crate::runner::dispatch::present;
use crate::store::{Layout, RunStore, read_context_state, report_paths};
use crate::system::lock::Holder;

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
    /// The provider that is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// Why the last session could not go on, when an error ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
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
pub fn status(layout: &Layout, store: &dyn RunStore) -> Result<Status, RunError> {
    let state = known(layout, store)?;
    let process = store.holder()?;
    let working = state.phase_at_work().filter(|_| state.status == RunStatus::Running);
    let statuses = state.phase_statuses(working);
    let line = |phase: &Phase| {
        let summary = state.checkpoint(*phase).map(|checkpoint| checkpoint.summary.clone());
        PhaseLine {
            phase: *phase,
            status: statuses.iter().find(|s| s.phase == *phase).map_or(PhaseProgress::Pending, |s| s.status),
            unverified: summary.as_ref().is_some_and(|summary| summary.starts_with(UNVERIFIED)),
            summary,
        }
    };
    // What the file says is newer; what is wrong with it is for whoever needs it to complain about.
    let context = read_context_state(layout).ok().flatten().map(|state| state.current_tokens);
    let report = |number| report_paths(layout, &state.execution_id, number).yaml;
    let pending = state.pending.as_ref();
    Ok(Status {
        execution_id: state.execution_id.clone(),
        status: state.status,
        process,
        started_at: state.started_at,
        elapsed_ms: u64::try_from(state.counters.elapsed().as_millis()).unwrap_or(u64::MAX),
        remediation_loops: state.counters.remediation_loops(),
        context_tokens: context.or(state.context_tokens).filter(|tokens| *tokens > 0),
        attempt: working.and_then(|phase| state.active_in(phase)).map(|active| active.attempt),
        flags: state.overrides.iter().map(|it| it.flag_alone().to_owned()).collect(),
        phases: state.phases.iter().map(line).collect(),
        pending: pending.map(|p| Pending { trigger: p.trigger, phase: p.phase, report: report(p.number) }),
        outage: state.outage.clone().filter(|outage| outage.answered.is_none()),
        last_error: state.last_error.clone(),
    })
}

/// The contract's `getState`.
///
/// # Errors
/// As [`status`].
pub fn state(layout: &Layout, store: &dyn RunStore) -> Result<ExecutionState, RunError> {
    Ok(known(layout, store)?.execution_state())
}

fn known(layout: &Layout, store: &dyn RunStore) -> Result<State, RunError> {
    let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
    present(store, layout)?.ok_or_else(none)
}
