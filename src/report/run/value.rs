//! What a report of an execution says.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use crate::contract::Checkpoint;
use crate::contract::{
    CompactionLevel, EscalationTrigger, ExecutionId, Finding, Phase, PhaseProgress, ResolutionAction, WarningLevel,
};
use crate::events::{BoundaryDrawn, ChangedFiles, Spent};
use crate::text::Untrusted;

/// One execution, from its beginning to now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// The execution.
    pub execution_id: ExecutionId,
    /// Where it stands, as a word: that of its record, or `died` when its process is gone.
    pub status: &'static str,
    /// When it began.
    pub started_at: Timestamp,
    /// The last moment that is known of it.
    pub last_at: Timestamp,
    /// Time in which stages ran or backed off, in milliseconds.
    pub elapsed_ms: u64,
    /// What agents used, as far as they say so.
    #[serde(skip_serializing_if = "Spent::is_unknown")]
    pub spent: Spent,
    /// How many processes worked on it, one after the other.
    pub sessions: usize,
    /// Its phases, in the order in which they run.
    pub phases: Vec<PhaseReport>,
    /// Every attempt of every phase, in the order in which they began.
    pub attempts: Vec<AttemptReport>,
    /// Pauses before attempts.
    pub waits: Vec<Wait>,
    /// Remediation loops.
    pub remediations: Vec<Remediation>,
    /// Crossings of the context's limits, and compactions.
    pub context: Vec<ContextEvent>,
    /// Limits of providers that the run waited for.
    pub limits: Vec<Limit>,
    /// Outages of providers that the run waited for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<OutageReport>,
    /// Calls for a human, and their answers.
    pub calls: Vec<Call>,
    /// Stretches in which no process worked on it.
    pub gaps: Vec<Gap>,
    /// What was odd and stopped nothing, such as files that a checkpoint leaves out.
    pub notices: Vec<Notice>,
    /// What the last audit found and nobody mended.
    pub findings: Vec<Finding>,
    /// What kept the phases of the last session from its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boundary: Option<BoundaryDrawn>,
    /// What was not as the execution began with it when a session ended last.
    #[serde(skip_serializing_if = "ChangedFiles::is_empty")]
    pub changed_files: ChangedFiles,
    /// Why the last session could not go on, when an error ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Untrusted>,
    /// The hash of the newest event of its journal: an edit of anything before changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Lines of an earlier program's history that could not be read.
    pub unreadable: usize,
}

/// Something odd that stopped nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// When it was noticed.
    pub at: Timestamp,
    /// What.
    pub text: Untrusted,
}

/// One phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseReport {
    /// The phase.
    pub phase: Phase,
    /// Where it stands.
    pub status: PhaseProgress,
    /// Its latest outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
}

/// One attempt of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttemptReport {
    /// The phase.
    pub phase: Phase,
    /// Its number within the phase, from 1; absent when only the outcome of the phase is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended, or the last moment that is known of it.
    pub ended_at: Timestamp,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Untrusted>,
    /// Where what it wrote is, when it is still there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// The last lines of what it wrote, when it failed: without escapes, at most thirty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log_end: Vec<String>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// Exit 0.
    Success,
    /// Exit 1, or what counts as it.
    Retry,
    /// Exit 2, or what counts as it.
    Blocked,
    /// The run was stopped meanwhile.
    Stopped,
    /// The process that watched it died.
    Lost,
    /// It has not ended.
    Running,
}

impl AttemptOutcome {
    /// Whether somebody will want to know why.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Retry | Self::Blocked | Self::Lost)
    }

    /// The outcome for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Success => "exit 0",
            Self::Retry => "exit 1",
            Self::Blocked => "exit 2",
            Self::Stopped => "stopped",
            Self::Lost => "lost: the runtime's process died",
            Self::Running => "running",
        }
    }
}

/// A pause before an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The phase.
    pub phase: Phase,
    /// When it began.
    pub from: Timestamp,
    /// When it ended.
    pub to: Timestamp,
}

/// A failed audit that led back to implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Remediation {
    /// The loop, from 1.
    pub number: u32,
    /// When.
    pub at: Timestamp,
}

/// Something that happened to the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ContextEvent {
    /// A limit was crossed.
    Crossed {
        /// When.
        at: Timestamp,
        /// The phase.
        phase: Phase,
        /// The level that it is at since.
        level: WarningLevel,
        /// Tokens in the context.
        tokens: u64,
    },
    /// An agent compacted it by itself.
    AgentCompacted {
        /// When.
        at: Timestamp,
        /// The phase.
        phase: Phase,
        /// Tokens before, when known.
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
        /// Tokens after, when known.
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
    },
    /// It was compacted.
    Compacted {
        /// When.
        at: Timestamp,
        /// The phase.
        phase: Phase,
        /// How thoroughly.
        level: CompactionLevel,
    },
}

/// A provider's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// When it was reached.
    pub at: Timestamp,
    /// The phase.
    pub phase: Phase,
    /// When the run goes on at the latest.
    pub until: Timestamp,
}

/// A provider that was out of reach or out of order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutageReport {
    /// The phase that waited for it.
    pub phase: Phase,
    /// How it showed when it was found last.
    pub reason: Untrusted,
    /// Since when.
    pub since: Timestamp,
    /// When it was over; absent while it lasts, or when nobody waited any longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Timestamp>,
    /// How long it would have been waited for at most.
    pub until: Timestamp,
    /// Probes that were made or that follow next.
    pub probes: u32,
}

/// A call for a human.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Call {
    /// What names it, so that an answer is taken for no other.
    pub id: String,
    /// Its number, from 1.
    pub number: u32,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub trigger: EscalationTrigger,
    /// Where.
    pub phase: Phase,
    /// What happened, in one line.
    pub reason: Untrusted,
    /// The report for people.
    pub report: PathBuf,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// An answer to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// When.
    pub at: Timestamp,
    /// What to do.
    pub action: ResolutionAction,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Untrusted>,
    /// Phases could reach the place where it was given: it may be one of theirs.
    pub unguarded: bool,
}

/// A stretch in which no process worked on the execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// When it began, as far as it is known.
    pub from: Timestamp,
    /// When it ended.
    pub to: Timestamp,
    /// Why.
    pub cause: GapCause,
}

/// Why no process worked on an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GapCause {
    /// A human was called.
    Human,
    /// The run was interrupted or paused.
    Interrupted,
    /// The process died.
    Died,
}

impl GapCause {
    /// The cause for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Human => "waited for a human",
            Self::Interrupted => "interrupted",
            Self::Died => "the runtime's process was gone",
        }
    }
}
