//! Optional features (Anthropic Context Features): effort and context editing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::vocabulary;

vocabulary! {
    /// How hard a model should think.
    pub enum EffortLevel ("effort level") {
        /// Little.
        Low = "low",
        /// Normal.
        Medium = "medium",
        /// Much.
        High = "high",
    }
}

/// A closed range of thinking tokens, `min <= max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetRange {
    /// Least, in tokens.
    pub min: u64,
    /// Most, in tokens.
    pub max: u64,
}

/// The range of each level (`EffortConfig.budget_ranges`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetRanges {
    /// Range of `low`.
    pub low: BudgetRange,
    /// Range of `medium`.
    pub medium: BudgetRange,
    /// Range of `high`.
    pub high: BudgetRange,
}

/// Section `effort` of the configuration (`EffortConfig`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffortConfig {
    /// Level of every skill that `per_skill` does not name.
    pub default_level: EffortLevel,
    /// Range of each level.
    pub budget_ranges: BudgetRanges,
    /// Levels of single skills.
    #[serde(default)]
    pub per_skill: BTreeMap<String, EffortLevel>,
}

/// Section `context_editing` of the configuration (`ContextEditingConfig`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextEditingConfig {
    /// Off unless true.
    #[serde(default)]
    pub enabled: bool,
    /// Share of the limit, in percent, from which on the runtime signals.
    #[schemars(range(min = 1, max = 100))]
    pub compact_threshold_percent: u8,
    /// How many of the newest turns survive every compaction.
    pub preserve_recent_turns: u32,
    /// Classes of content that may go.
    #[serde(default)]
    pub clear_targets: Vec<String>,
    /// Classes of content that must stay.
    #[serde(default)]
    pub preserve_artifacts: Vec<String>,
}
