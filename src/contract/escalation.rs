//! Calling a human (Escalation Protocol).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::vocabulary;
use super::{Checkpoint, Decision, ExecutionId, Phase, PhaseExit, SessionId};
use crate::text::Untrusted;

vocabulary! {
    /// Why a human is called (`EscalationTrigger`).
    pub enum EscalationTrigger ("escalation trigger") {
        /// Three remediation loops did not satisfy the audit.
        MaxLoops = "max_loops",
        /// The same issue came a third time in a row.
        SameIssue = "same_issue",
        /// Five cycles changed nothing.
        NoProgress = "no_progress",
        /// The run took as long as it may.
        Timeout = "timeout",
        /// The context stayed at its hard limit.
        ContextOverflow = "context_overflow",
        /// Anything else: a blocked phase, an unknown code, somebody's wish.
        Manual = "manual",
    }
}

impl EscalationTrigger {
    /// The word, and what it says to somebody who has not read the contract.
    #[must_use]
    pub fn explained(self) -> String {
        let why = match self {
            Self::MaxLoops => "the audit still fails after the last remediation loop",
            Self::SameIssue => "it fails the same way each time",
            Self::NoProgress => "trying again does not help",
            Self::Timeout => "the run took as long as it may",
            Self::ContextOverflow => "the agent's context is full",
            Self::Manual => "it needs a person's decision",
        };
        format!("{self} ({why})")
    }
}

vocabulary! {
    /// Where one phase stands (`PhaseStatus.status`).
    pub enum PhaseProgress ("phase status") {
        /// Ended with exit 0, or skipped.
        Completed = "completed",
        /// Running, or waiting for its next attempt.
        InProgress = "in_progress",
        /// Ended otherwise.
        Failed = "failed",
        /// Not started.
        Pending = "pending",
    }
}

vocabulary! {
    /// How much a finding matters (`Finding.severity`).
    pub enum Severity ("severity") {
        /// Must be mended before anything else.
        Critical = "critical",
        /// Must be mended.
        High = "high",
        /// Should be mended.
        Medium = "medium",
        /// May be mended.
        Low = "low",
    }
}

vocabulary! {
    /// What a human decides (`Resolution.action`).
    pub enum ResolutionAction ("resolution") {
        /// The cause is mended: run the failed phase again.
        FixAndResume = "fix_and_resume",
        /// Go on with the next phase and record the skip.
        SkipPhase = "skip_phase",
        /// Start over.
        Reset = "reset",
        /// Stop for good; keep what is there.
        Abort = "abort",
    }
}

/// What a human decided about an escalation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resolution {
    /// The decision.
    pub action: ResolutionAction,
    /// Remarks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// Everything a human needs to decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Escalation report")]
pub struct EscalationReport {
    /// The execution; equals that of its checkpoints.
    pub execution_id: ExecutionId,
    /// The session in which it happened.
    pub session_id: SessionId,
    /// Why.
    pub trigger: EscalationTrigger,
    /// The phase that failed.
    pub phase: Phase,
    /// When, RFC 3339.
    pub timestamp: Timestamp,
    /// The state at that moment.
    pub state: EscalationState,
    /// What helps to decide.
    pub context: EscalationContext,
}

/// State snapshot of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EscalationState {
    /// Every phase and where it stands.
    pub phases: Vec<PhaseStatus>,
    /// The newest checkpoint; absent when a human is called before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_checkpoint: Option<Checkpoint>,
    /// What the audit found and nobody mended.
    pub remaining_findings: Vec<Finding>,
}

/// Where one phase stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseStatus {
    /// The phase.
    pub phase: Phase,
    /// Where it stands.
    pub status: PhaseProgress,
    /// Its last exit, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<PhaseExit>,
}

/// One finding of an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Identifier, stable over audits.
    pub id: Untrusted,
    /// How much it matters.
    pub severity: Severity,
    /// What kind it is.
    pub category: Untrusted,
    /// What is wrong.
    pub description: Untrusted,
}

/// What helps a human to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EscalationContext {
    /// The last decisions, newest last.
    pub last_decisions: Vec<Decision>,
    /// How many remediation loops were run.
    pub remediation_attempts: u32,
    /// What to try, for people.
    pub suggested_actions: Vec<Untrusted>,
}
