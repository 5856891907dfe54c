//! Why a run could not begin or go on. A phase that fails is no error: that is what a run is about.

use std::io;
use std::path::PathBuf;

use super::PlanError;
use crate::contract::ExecutionId;
use crate::store::{PendingEscalation, StoreError};
use crate::system::files::FileError;
use crate::system::lock::LockError;

/// Why a run could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another run works in the workspace, or the lock cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Something on disk cannot be read, is not valid, or cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The plan cannot be executed.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// An execution is there that is not finished.
    #[error("execution {execution} in this workspace is not finished; it is {status}")]
    Unfinished {
        /// The execution.
        execution: ExecutionId,
        /// Where it stands.
        status: &'static str,
    },
    /// There is nothing to resume, to halt or to show.
    #[error("there is no execution in {}", workspace.display())]
    NoExecution {
        /// The workspace.
        workspace: PathBuf,
    },
    /// A report waits for an answer.
    #[error("{} in {} waits for an answer: {}", pending.trigger, pending.phase, pending.report.display())]
    AwaitsResolution {
        /// The report.
        pending: PendingEscalation,
    },
    /// Nothing waits for an answer.
    #[error("execution {execution} waits for no answer; it is {status}")]
    NothingToResolve {
        /// The execution.
        execution: ExecutionId,
        /// Where it stands.
        status: &'static str,
    },
    /// A human ended the execution.
    #[error("execution {execution} was aborted")]
    Aborted {
        /// The execution.
        execution: ExecutionId,
    },
    /// The host refused something that a run needs.
    #[error("cannot {what}")]
    Host {
        /// What was tried.
        what: &'static str,
        /// What the host said.
        source: io::Error,
    },
}
