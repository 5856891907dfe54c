//! What a run tells whoever watches it, as it happens.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::{AgentEnd, End};
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
    /// An attempt of a phase ended.
    AttemptEnded {
        /// The phase.
        phase: Phase,
        /// The attempt.
        attempt: u32,
        /// How; `None` when the run stopped meanwhile.
        exit: Option<PhaseExit>,
        /// Why it failed, in one line.
        reason: Option<&'a str>,
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
        /// Who does it.
        means: CompactionMeans,
    },
    /// An agent is told what to do.
    AgentStarted {
        /// The phase.
        phase: Phase,
        /// The name of its backend.
        backend: &'a str,
        /// The session that it goes on with; a new one without.
        session: Option<&'a str>,
    },
    /// The model of an agent answered.
    AgentTurn {
        /// The phase.
        phase: Phase,
        /// Answers so far in this attempt.
        turns: u32,
        /// Tokens in its context, as far as it said.
        tokens: Option<u64>,
    },
    /// An agent's provider failed, and the agent tries again by itself.
    AgentRetrying {
        /// The phase.
        phase: Phase,
        /// The provider's status, when it answered.
        status: Option<u16>,
        /// The pause before it tries, when it is known.
        wait: Option<Duration>,
    },
    /// An agent compacted its context.
    AgentCompacted {
        /// The phase.
        phase: Phase,
        /// Tokens before, when known.
        before: Option<u64>,
        /// Tokens after, when known.
        after: Option<u64>,
    },
    /// An invocation of an agent ended.
    AgentEnded {
        /// The phase.
        phase: Phase,
        /// How.
        end: &'a AgentEnd,
        /// Answers of the model in this attempt.
        turns: u32,
    },
    /// A provider's limit is reached; the run waits.
    LimitReached {
        /// The phase.
        phase: Phase,
        /// When it goes on at the latest.
        until: Timestamp,
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
        /// What it says to have used of a model's tokens.
        tokens: Option<u64>,
        /// Its checkpoint.
        checkpoint: &'a Path,
    },
    /// People were told of a call, or not.
    Notified {
        /// By what: `command` or `webhook`.
        means: &'a str,
        /// Why they were not.
        failed: Option<&'a str>,
    },
    /// A session ended.
    SessionEnded {
        /// How.
        end: &'a End,
    },
    /// Something odd that does not stop the run.
    Notice {
        /// What.
        text: &'a str,
    },
}

/// Who compacts a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionMeans {
    /// The configured command.
    Command,
    /// The agent, by itself: it was given the limit.
    Agent,
    /// The agent, when it is asked to.
    Request,
    /// Nobody: the need is recorded.
    Nobody,
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
