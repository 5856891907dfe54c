//! Stops an execution from another process (trigger `manual`).

use super::resolve::owned;
use crate::contract::{EscalationTrigger, ExecutionId};
use crate::events::{Event, RunStatus, WorkTree};
use crate::runner::decide::{Cause, call_human};
use crate::runner::session::new_session;
use crate::runner::{Call, RunError};
use crate::store::{FileStore, Journal, Layout, Place, RunStore, StoreError, forget_halt, request_halt, write_report};
use crate::system::clock;
use crate::system::lock::{Holder, LockError};

/// What asking for a halt led to.
#[derive(Debug)]
pub enum Halted {
    /// The process that works on it was asked; it ends its stage, writes the report and exits.
    Asked(Holder),
    /// Nobody worked on it; the report is written.
    Done {
        /// The execution.
        execution: ExecutionId,
        /// What people are to be told.
        call: Call,
    },
}

/// Asks for a halt. Whoever works on the execution sees the request within moments.
///
/// # Errors
/// [`RunError`]: nothing is there to halt, a report already waits, or something cannot be read or written.
pub fn halt(layout: &Layout, place: &Place) -> Result<Halted, RunError> {
    match owned(layout, place) {
        Err(RunError::Store(StoreError::Lock(LockError::Held { .. }))) => {
            request_halt(place)?;
            // It may have ended in this moment; then the request is cleared away by the next session.
            match FileStore::new(place.clone(), layout.clone()).holder()? {
                Some(holder) => Ok(Halted::Asked(holder)),
                None => halt_idle(layout, owned(layout, place)?),
            }
        }
        owned => halt_idle(layout, owned?),
    }
}

fn halt_idle(layout: &Layout, (mut journal, place): (Journal, Place)) -> Result<Halted, RunError> {
    forget_halt(&place)?;
    let state = journal.state();
    if let Some(pending) = state.pending.clone() {
        let report = crate::store::report_paths(layout, &state.execution_id, pending.number).yaml;
        return Err(RunError::AwaitsResolution { pending, report });
    }
    if matches!(state.status, RunStatus::Completed | RunStatus::Aborted) {
        let (execution, status) = (state.execution_id.clone(), state.status.as_str());
        return Err(RunError::NothingToResolve { execution, status });
    }
    let phase = state.execution_state().current_phase;
    let session = state.sessions.last().cloned().unwrap_or_else(new_session);
    let reason = "somebody asked for a halt while nothing ran".into();
    let cause = Cause { trigger: EscalationTrigger::Manual, phase, active: None, reason, approval: false };
    let now = clock::now().wall();
    let (number, event) = call_human(state, &session, &cause, now);
    // First, where an earlier program began it: what follows is told.
    let opened = journal
        .state()
        .outbox
        .is_none()
        .then(|| Event::OutboxOpened { began: WorkTree::default(), carried: Vec::new() });
    journal.record_all(now, opened.into_iter().chain([event]).collect(), &mut |_, _| {})?;
    let state = journal.state();
    write_report(layout, state.reports.get(&number).expect("the event that was journaled holds it"), number)?;
    let call = Call::pending(state, layout).expect("a call was just journaled");
    Ok(Halted::Done { execution: state.execution_id.clone(), call })
}
