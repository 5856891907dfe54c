//! Stops an execution from another process (trigger `manual`).

use super::escalate::{Cause, call_human};
use super::recorder::escalated;
use super::session::take;
use super::standing::Standing;
use super::{Call, RunError};
use crate::contract::{EscalationTrigger, ExecutionId};
use crate::store::{History, Layout, RunStatus, read_record};
use crate::system::clock;
use crate::system::files::{self, Privacy};
use crate::system::lock::{Holder, Lock, LockError};

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
pub fn halt(layout: &Layout) -> Result<Halted, RunError> {
    let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
    if !layout.run().is_dir() {
        return Err(none());
    }
    let lock = match take(layout) {
        Err(RunError::Lock(LockError::Held { .. })) => {
            files::write_durably(&layout.halt_request(), b"halt\n", Privacy::Private)?;
            // It may have ended in this moment; then the request is cleared away by the next session.
            return match Lock::holder(&layout.lock())? {
                Some(holder) => Ok(Halted::Asked(holder)),
                None => halt_idle(layout, take(layout)?),
            };
        }
        lock => lock?,
    };
    halt_idle(layout, lock)
}

fn halt_idle(layout: &Layout, _lock: Lock) -> Result<Halted, RunError> {
    files::remove(&layout.halt_request())?;
    let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
    let record = read_record(layout)?.ok_or_else(none)?;
    match (&record.status, &record.pending) {
        (_, Some(pending)) => return Err(RunError::AwaitsResolution { pending: pending.clone() }),
        (RunStatus::Completed | RunStatus::Aborted, _) => {
            let status = record.status.as_str();
            return Err(RunError::NothingToResolve { execution: record.execution_id, status });
        }
        _ => {}
    }
    let mut standing = Standing::read(layout, record)?;
    let phase = standing.state().current_phase;
    let session = standing.record.sessions.last().cloned().unwrap_or_else(super::session::new_session);
    let reason = "somebody asked for a halt while nothing ran";
    let cause = Cause { trigger: EscalationTrigger::Manual, phase, active: None, reason };
    let now = standing.stamp(clock::now().wall());
    let report = call_human(layout, &mut standing, &session, &cause, now)?;
    let call = Call { trigger: cause.trigger, phase, reason: reason.to_owned(), report };
    // The report stands; that its line is missing in the history changes nothing.
    let _ = History::open(layout).and_then(|mut history| history.append(clock::now().wall(), escalated(&call)));
    Ok(Halted::Done { execution: standing.record.execution_id, call })
}
