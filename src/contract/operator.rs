//! `.loa-checkpoint/operator-type.yaml`: who operates the run (Loa's operator detection).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::vocabulary;

vocabulary! {
    /// Who operates.
    pub enum OperatorType ("operator type") {
        /// An agent: gates are mandatory, nobody watches.
        Ai = "AI_OPERATOR",
        /// A person: gates are advice.
        Human = "HUMAN_OPERATOR",
    }
}

vocabulary! {
    /// How the operator was recognised.
    pub enum DetectionMethod ("detection method") {
        /// By an environment variable.
        EnvVar = "env_var",
        /// By an agent's own documents in the workspace.
        AgentsMd = "agents_md",
        /// By a fresh heartbeat file.
        Heartbeat = "heartbeat",
        /// By whether a terminal is attached.
        Tty = "tty",
    }
}

vocabulary! {
    /// How sure the detection is.
    pub enum Confidence ("confidence") {
        /// An explicit statement.
        High = "high",
        /// A strong hint.
        Medium = "medium",
        /// A guess.
        Low = "low",
    }
}

/// Who operates the run, and how that was found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Operator type")]
pub struct OperatorRecord {
    /// Who operates.
    pub operator_type: OperatorType,
    /// When it was found out, RFC 3339.
    pub detected_at: Timestamp,
    /// How.
    pub detection_method: DetectionMethod,
    /// How sure.
    pub confidence: Confidence,
}
