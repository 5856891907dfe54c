//! Waits for a human's answer (Escalation Handling: `awaitResolution`), for whoever wants a process that does.

use std::time::Duration;

use crate::events::RunStatus;
use crate::runner::RunError;
use crate::runner::dispatch::present;
use crate::store::{Layout, RunStore};
use crate::system::process::{Interrupt, Interrupts};

/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// What a wait for an answer ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// It was answered, and the execution can go on.
    Answered,
    /// There is nothing to go on with: it was called off, or somebody else brought it to its end.
    Over(RunStatus),
    /// A signal came.
    Interrupted(Interrupt),
}

/// Waits until the execution that called a human was answered. Owns nothing meanwhile: answers come from other processes.
///
/// # Errors
/// [`RunError`]: there is no execution, or its journal cannot be read.
pub async fn await_resolution(
    layout: &Layout,
    store: &dyn RunStore,
    interrupts: &mut Interrupts,
) -> Result<Awaited, RunError> {
    loop {
        let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
        match present(store, layout)?.ok_or_else(none)?.status {
            RunStatus::Resolved | RunStatus::Ready => return Ok(Awaited::Answered),
            over @ (RunStatus::Aborted | RunStatus::Completed) => return Ok(Awaited::Over(over)),
            RunStatus::Escalated | RunStatus::Running | RunStatus::Interrupted => {}
        }
        tokio::select! {
            interrupt = interrupts.next() => return Ok(Awaited::Interrupted(interrupt)),
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}
