//! Why a run could not begin or go on. A phase that fails is no error: that is what a run is about.

use std::io;
use std::path::PathBuf;

use jiff::Timestamp;

use super::{NotRecorded, PlanError};
use crate::contract::{ExecutionId, Phase, PhaseExit, ResolutionAction};
use crate::draw::moment;
use crate::events::{PendingEscalation, State};
use crate::store::StoreError;
use crate::system::files::FileError;

/// Why a run could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another run works in the workspace, or something on disk cannot be read, is not valid, or cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Protected files cannot be recorded, or not compared.
    #[error(transparent)]
    NotRecorded(#[from] NotRecorded),
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
    #[error("{} in {} waits for an answer: {}", pending.trigger, pending.phase, report.display())]
    AwaitsResolution {
        /// The call.
        pending: PendingEscalation,
        /// Its report, for machines.
        report: PathBuf,
    },
    /// There are checkpoints in the workspace, and nothing here knows who wrote them.
    #[error("{} holds checkpoints of {}, which this program did not write: {}", folder.display(), state.execution_id, found(state))]
    NotOurs {
        /// What would be taken over.
        state: Box<State>,
        /// Where they are.
        folder: PathBuf,
    },
    /// Something that is no checkpoint lies in the place of one that was concluded.
    #[error("{} does not hold what was written there:\n{why}", folder.display())]
    NotACheckpoint {
        /// The phases.
        phases: Vec<Phase>,
        /// What is wrong with each.
        why: String,
        /// Where they are.
        folder: PathBuf,
    },
    /// All is done, and a checkpoint cannot be brought to the disk.
    #[error("all phases are done, but the checkpoint of {phase} is not on disk: {found}")]
    Unprojected {
        /// The phase.
        phase: Phase,
        /// What is there.
        found: &'static str,
    },
    /// Nothing waits for an answer.
    #[error("execution {execution} waits for no answer; it is {status}")]
    NothingToResolve {
        /// The execution.
        execution: ExecutionId,
        /// Where it stands.
        status: &'static str,
    },
    /// The call that an answer is for does not wait for one.
    #[error("call {named} waits for no answer{}; {}", was_answered(answered.as_ref()), waits_now(waits.as_ref()))]
    AnotherCall {
        /// The call that was named.
        named: String,
        /// What was answered to it, and when.
        answered: Option<(ResolutionAction, Timestamp)>,
        /// The call that waits, and what names it.
        waits: Option<(String, PendingEscalation)>,
    },
    /// The answer fits no question about a configuration: there is no phase in it that could be passed over.
    #[error("a question about a configuration waits for an answer, and {action} is none")]
    NotAnAnswer {
        /// The answer.
        action: ResolutionAction,
    },
    /// A human ended the execution.
    #[error("execution {execution} was aborted")]
    Aborted {
        /// The execution.
        execution: ExecutionId,
    },
    /// A stage is to run behind a boundary, and the host cannot make one.
    #[error("a boundary is required, and this host cannot make one: {why}")]
    NoBoundary {
        /// Why not.
        why: String,
    },
    /// A stage is to have a network of its own, and cannot.
    #[error("{phase} cannot have the network that it is to have: {why}")]
    NoNetwork {
        /// The stage.
        phase: Phase,
        /// Why not.
        why: String,
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

fn was_answered(answer: Option<&(ResolutionAction, Timestamp)>) -> String {
    answer.map_or_else(String::new, |(action, at)| format!(": it was answered {}, {action}", moment(*at)))
}

fn waits_now(waits: Option<&(String, PendingEscalation)>) -> String {
    waits.map_or_else(
        || "no call waits now".to_owned(),
        |(id, call)| {
            format!("the call that waits now is {id}, {} in {}: {}", call.trigger, call.phase, call.reason.line())
        },
    )
}

/// The phases of an execution with the exit of each, in one line.
fn found(state: &State) -> String {
    let word = |exit: PhaseExit| if exit == PhaseExit::Success { "done" } else { "failed" };
    let phases = state.checkpoints.values().map(|it| format!("{} {}", it.phase, word(it.exit_code)));
    phases.collect::<Vec<_>>().join(", ")
}
