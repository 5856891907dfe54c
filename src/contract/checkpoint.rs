//! The record of one phase's outcome (Checkpoint Schema; Checkpoint File Format).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::vocabulary;
use super::{ExecutionId, Phase, PhaseExit};
use crate::text::Untrusted;

/// One phase's outcome, kept as `.loa-checkpoint/<phase>.yaml`.
///
/// Unknown keys are tolerated on reading: the contract is silent about them and other runtimes write them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Checkpoint")]
pub struct Checkpoint {
    /// The execution that this outcome belongs to.
    pub execution_id: ExecutionId,
    /// The phase; equals the file's stem.
    pub phase: Phase,
    /// When the checkpoint was written, RFC 3339.
    pub created_at: Timestamp,
    /// How the phase ended. An unknown code is recorded as 2 with an entry in `errors`.
    pub exit_code: PhaseExit,
    /// What happened, for people.
    pub summary: Untrusted,
    /// Decisions made during the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// Files that the phase created, modified or deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Errors that the phase met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<PhaseError>,
    /// What the phase cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
}

/// A decision and why it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Identifier, by convention `D-NNN`.
    pub id: Untrusted,
    /// What was decided.
    pub description: Untrusted,
    /// Why.
    pub reasoning: Untrusted,
    /// When; the contract asks for a string and no particular form.
    pub timestamp: Untrusted,
}

/// A file that a phase touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// Path, relative to the workspace.
    pub path: Untrusted,
    /// What was done to it.
    pub action: ArtifactAction,
    /// Size after the phase, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
}

vocabulary! {
    /// What a phase did to a file.
    pub enum ArtifactAction ("artifact action") {
        /// It did not exist before.
        Created = "created",
        /// It existed and its content changed.
        Modified = "modified",
        /// It no longer exists.
        Deleted = "deleted",
    }
}

/// An error that a phase met (the contract's `Error`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseError {
    /// A stable code, such as `PHASE_TIMEOUT`.
    pub code: Untrusted,
    /// What happened, for people.
    pub message: Untrusted,
    /// Whether trying again may help.
    pub recoverable: bool,
}

/// What a phase cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Metrics {
    /// Duration of the phase in milliseconds, from its first start to its outcome: attempts that failed, and the waits
    /// between them, count. What a session that died spent on it does not.
    pub duration_ms: u64,
    /// Approximate tokens used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// Number of API calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_calls: Option<u64>,
}
