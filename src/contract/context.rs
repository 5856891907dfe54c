//! How full the agent's context is (Context Signals Interface).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::vocabulary;

vocabulary! {
    /// How close the context is to its limits (`CONTEXT_WARNING`).
    pub enum WarningLevel ("warning level") {
        /// Below the soft limit.
        None = "none",
        /// At or above the soft limit.
        Soft = "soft",
        /// At or above the hard limit.
        Hard = "hard",
    }
}

vocabulary! {
    /// How thorough a compaction is asked for (`requestCompaction`).
    pub enum CompactionLevel ("compaction level") {
        /// At the soft limit.
        Standard = "standard",
        /// At the hard limit.
        Emergency = "emergency",
    }
}

/// The two thresholds, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimits {
    /// Standard compaction from here on.
    pub soft: u64,
    /// Emergency compaction from here on.
    pub hard: u64,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self { soft: 80_000, hard: 150_000 }
    }
}

/// The result of checking the limits (`ContextWarning`, with the contract's own camelCase names).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextWarning {
    /// How close to the limits.
    pub level: WarningLevel,
    /// Tokens in the context now.
    pub current_tokens: u64,
    /// Share of the limit in force, in percent: of the soft limit below the hard one, of the hard limit from there on.
    pub percent_used: f64,
    /// What to do about it.
    pub recommendation: String,
}

/// `.loa-checkpoint/context-state.yaml`: the last known state of the context. The contract names the file and no
/// fields; these are ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Context state")]
pub struct ContextState {
    /// Version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// Soft limit in force, in tokens.
    pub soft_limit: u64,
    /// Hard limit in force, in tokens.
    pub hard_limit: u64,
    /// Tokens in the context at `updated_at`.
    pub current_tokens: u64,
    /// How close to the limits.
    pub warning_level: WarningLevel,
    /// The contract's `percentUsed`.
    pub percent_used: f64,
    /// Share of the hard limit in percent, which rises steadily where `percent_used` jumps.
    pub percent_of_hard: f64,
    /// What to do about it.
    pub recommendation: String,
    /// When this was written, RFC 3339.
    pub updated_at: Timestamp,
}
