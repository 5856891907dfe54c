//! Where an execution stands (Checkpoint Operations: `ExecutionState`) and what a phase may leave for its checkpoint.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Artifact, Checkpoint, Decision, ExecutionId, Finding, Phase, PhaseError};
use crate::text::Untrusted;

/// Where an execution stands, folded from its checkpoints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Execution state")]
pub struct ExecutionState {
    /// The execution.
    pub execution_id: ExecutionId,
    /// The first phase without a checkpoint of exit 0, or reopened; `learning` when all are done.
    pub current_phase: Phase,
    /// Phases with a checkpoint of exit 0, in phase order.
    pub completed_phases: Vec<Phase>,
    /// The newest checkpoint; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_checkpoint: Option<Checkpoint>,
}

/// What a stage may leave in `LOA_RESULT_FILE` before it ends. Every field is optional; unknown keys are errors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Phase result")]
#[serde(deny_unknown_fields)]
pub struct PhaseResult {
    /// The checkpoint's summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Untrusted>,
    /// Decisions for the checkpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// Artifacts for the checkpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Errors for the checkpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<PhaseError>,
    /// Findings of an audit, for remediation and for the escalation report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What the phase says that it cost; its duration is measured by the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<ReportedMetrics>,
    /// Named values for later stages.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub outputs: serde_json::Map<String, serde_json::Value>,
}

/// The part of the metrics that only the phase itself can know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedMetrics {
    /// Approximate tokens used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// Number of API calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_calls: Option<u64>,
}
