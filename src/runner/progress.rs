//! What a run tells whoever watches it, as it happens.

use std::path::Path;
use std::time::Duration;

use crate::contract::{CompactionLevel, ContextWarning, ExecutionId, Phase, PhaseExit, SessionId};
use crate::system::process::Piece;

/// One thing that happened.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A session begins to work on an execution.
    SessionStarted {
        /// The execution.
        execution: &'a ExecutionId,
        /// The session.
        session: &'a SessionId,
        /// Whether an earlier session worked on it.
        resumed: bool,
        /// Processes of that session that were still there and were ended.
        swept: usize,
    },
    /// A phase is passed over.
    PhaseSkipped {
        /// The phase.
        phase: Phase,
    },
    /// An attempt of a phase begins.
    AttemptStarted {
        /// The phase.
        phase: Phase,
        /// The attempt, from 1.
        attempt: u32,
        /// How many there may be.
        of: u32,
        /// Elapsed time of the execution.
        elapsed: Duration,
    },
    /// A stage wrote something.
    Output {
        /// The phase.
        phase: Phase,
        /// What.
        piece: &'a Piece,
    },
    /// The gate of a phase begins.
    GateStarted {
        /// The phase.
        phase: Phase,
    },
    /// An attempt failed and another follows.
    Retry {
        /// The phase.
        phase: Phase,
        /// How it failed.
        reason: &'a str,
        /// When the next attempt begins.
        delay: Duration,
    },
    /// A failed audit is followed by another implementation.
    Remediation {
        /// The loop, from 1.
        number: u32,
        /// How many there may be.
        of: u32,
    },
    /// A threshold of the context was crossed.
    ContextWarning {
        /// The phase.
        phase: Phase,
        /// The warning.
        warning: &'a ContextWarning,
    },
    /// The context is compacted.
    Compaction {
        /// The phase.
        phase: Phase,
        /// How thoroughly.
        level: CompactionLevel,
        /// Whether a command is there that does it.
        configured: bool,
    },
    /// A phase ended.
    PhaseEnded {
        /// The phase.
        phase: Phase,
        /// How.
        exit: PhaseExit,
        /// Its summary.
        summary: &'a str,
        /// How long it took, the waits between its attempts included.
        duration: Duration,
        /// Its checkpoint.
        checkpoint: &'a Path,
    },
    /// Something odd that does not stop the run.
    Notice {
        /// What.
        text: &'a str,
    },
}

/// Somebody who watches.
pub trait Listener {
    /// Takes note. Must not wait for long: meanwhile the run watches nothing.
    fn on(&mut self, progress: &Progress<'_>);
}

/// Nobody watches.
impl Listener for () {
    fn on(&mut self, _: &Progress<'_>) {}
}
