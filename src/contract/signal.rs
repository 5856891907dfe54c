//! One line of the signal stream or of the event stream (Signal Types; Context Editing Signals).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CompactionLevel, WarningLevel};

/// A signal between a stage and the runtime: one JSON object a line, told apart by `type`.
///
/// `USAGE` and `COMPACTION_REQUEST` go from the stage to the runtime, the others from the runtime to the stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Signal")]
#[serde(tag = "type")]
pub enum Signal {
    /// How many tokens the stage's context holds now. Ours: the contract names no way in. Goes before what an agent's
    /// backend reports, until the agent compacts its context or is started anew.
    #[serde(rename = "USAGE")]
    Usage {
        /// Tokens in the context.
        context_tokens: u64,
    },
    /// The stage asks for a compaction.
    #[serde(rename = "COMPACTION_REQUEST")]
    CompactionRequest {
        /// Classes of content that may go.
        clear_targets: Vec<String>,
        /// Classes of content that must stay.
        preserve: Vec<String>,
    },
    /// The runtime's view of the usage.
    #[serde(rename = "CONTEXT_CURRENT")]
    ContextCurrent {
        /// Tokens in the context.
        current_tokens: u64,
    },
    /// A threshold was crossed.
    #[serde(rename = "CONTEXT_WARNING")]
    ContextWarning {
        /// How close to the limits.
        level: WarningLevel,
        /// Tokens in the context.
        current_tokens: u64,
        /// The contract's `percentUsed`.
        percent_used: f64,
        /// What to do about it.
        recommendation: String,
    },
    /// The runtime asks for, or performs, a compaction. Ours: the contract gives the method no message.
    #[serde(rename = "COMPACTION")]
    Compaction {
        /// How thorough.
        level: CompactionLevel,
    },
    /// Usage reached the configured share of the limit.
    #[serde(rename = "CONTEXT_NEAR_LIMIT")]
    ContextNearLimit {
        /// Tokens in the context.
        current_tokens: u64,
        /// The limit that the share refers to.
        limit_tokens: u64,
        /// `current_tokens / limit_tokens`, in percent.
        percent_used: f64,
    },
    /// A compaction ended.
    #[serde(rename = "COMPACTION_COMPLETE")]
    CompactionComplete {
        /// Tokens that went.
        tokens_freed: u64,
        /// Items that went.
        items_cleared: u64,
        /// Usage afterwards, in percent.
        new_percent: f64,
    },
}
