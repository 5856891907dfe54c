//! A human's answer to an escalation (Escalation Handling: `Resolution`).

use super::RunError;
use super::conclude::skipped;
use super::session::{start_over, take};
use super::standing::Standing;
use crate::contract::{ExecutionId, Phase, Resolution, ResolutionAction};
use crate::policy::Redactor;
use crate::store::{
    ApprovalState, Layout, PendingEscalation, RecordedResolution, RunStatus, read_record, write_record,
};
use crate::system::clock;

/// What an answer led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The execution that goes on; a new one after a reset.
    pub execution: ExecutionId,
    /// The phase that the report was about.
    pub phase: Phase,
    /// Whether `resume` goes on from here.
    pub resumable: bool,
}

/// Records the answer durably, without what the redactor takes out of its notes; `resume` then goes on.
///
/// # Errors
/// [`RunError`]: a run still works here, nothing waits for an answer, or something cannot be read or written.
pub fn resolve(layout: &Layout, resolution: &Resolution, redactor: &Redactor) -> Result<Resolved, RunError> {
    let notes = resolution.notes.as_deref().map(|notes| redactor.text(notes));
    let resolution = &Resolution { notes, ..resolution.clone() };
    let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
    if !layout.record().exists() {
        return Err(none());
    }
    let _lock = take(layout)?;
    let record = read_record(layout)?.ok_or_else(none)?;
    let Some(pending) = record.pending.clone() else {
        let status = record.status.as_str();
        return Err(RunError::NothingToResolve { execution: record.execution_id, status });
    };
    let mut standing = Standing::read(layout, record)?;
    let now = standing.stamp(clock::now().wall());
    let recorded = RecordedResolution { escalation: pending.number, at: now, resolution: resolution.clone() };
    standing.record.resolutions.push(recorded);
    let execution = match resolution.action {
        ResolutionAction::Reset => {
            // It still waits for this answer until the next execution stands in its place.
            write_record(layout, &standing.record)?;
            start_over(layout, &standing.record)?.execution_id
        }
        _ => answer(layout, standing, &pending, resolution)?,
    };
    Ok(Resolved { execution, phase: pending.phase, resumable: resolution.action != ResolutionAction::Abort })
}

/// The answers after which the execution stays the one that it is.
fn answer(
    layout: &Layout,
    mut standing: Standing,
    pending: &PendingEscalation,
    resolution: &Resolution,
) -> Result<ExecutionId, RunError> {
    let record = &mut standing.record;
    record.pending = None;
    record.active = None;
    record.counters.reset(pending.trigger);
    record.status = RunStatus::Resolved;
    match resolution.action {
        ResolutionAction::FixAndResume => go_on(&mut standing, pending.phase),
        ResolutionAction::SkipPhase => skip(layout, &mut standing, pending.phase, resolution)?,
        ResolutionAction::Abort => standing.record.status = RunStatus::Aborted,
        ResolutionAction::Reset => {}
    }
    write_record(layout, &standing.record)?;
    Ok(standing.record.execution_id)
}

fn go_on(standing: &mut Standing, phase: Phase) {
    if standing.record.deploy == ApprovalState::Asked {
        standing.record.deploy = ApprovalState::Given;
    }
    if !standing.is_completed(phase) {
        let now = standing.record.updated_at;
        standing.record.reopened.insert(phase, now);
    }
}

fn skip(layout: &Layout, standing: &mut Standing, phase: Phase, answer: &Resolution) -> Result<(), RunError> {
    if standing.is_completed(phase) {
        return Ok(());
    }
    if phase == Phase::Audit {
        // Nobody waits for its remediation any more.
        standing.record.counters.audit_passed();
    }
    let because = answer.notes.clone().unwrap_or_else(|| "a human answered skip_phase".to_owned());
    let now = standing.stamp(clock::now().wall());
    let id = standing.record.execution_id.clone();
    standing.write(layout, skipped(&id, phase, &because, now))?;
    Ok(())
}
