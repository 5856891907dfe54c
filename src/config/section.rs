//! Loa's own sections of the configuration, as far as the contract touches them. Keys that are not named here are Loa's
//! business and pass unread.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::loas_own::LoasOwn;
use crate::contract::{BudgetRange, EffortLevel};

/// Section `autonomous_agent`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = LoasOwn("autonomous_agent"))]
pub struct AutonomousAgent {
    /// Who operates the run.
    pub operator: Operator,
    /// Remediation loops that may follow a failed audit before a human is called.
    #[schemars(range(min = 1, max = 1000))]
    pub max_remediation_loops: u32,
    /// Whether the run stops before `deploy` until a human agrees.
    pub require_human_deploy_approval: bool,
    /// The limits of the context.
    pub context: ContextSection,
}

impl Default for AutonomousAgent {
    fn default() -> Self {
        Self {
            operator: Operator::default(),
            max_remediation_loops: 3,
            require_human_deploy_approval: true,
            context: ContextSection::default(),
        }
    }
}

/// Section `autonomous_agent.operator`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = LoasOwn("autonomous_agent.operator"))]
pub struct Operator {
    /// Who operates: to be found out, a human, or an agent.
    #[serde(rename = "type")]
    pub kind: OperatorChoice,
}

/// What the configuration says about the operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OperatorChoice {
    /// To be found out from the surroundings.
    #[default]
    Auto,
    /// A human.
    Human,
    /// An agent.
    Ai,
}

/// Section `autonomous_agent.context`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = LoasOwn("autonomous_agent.context"))]
pub struct ContextSection {
    /// Tokens from which on a standard compaction is due; below `hard_limit_tokens`.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub soft_limit_tokens: u64,
    /// Tokens from which on an emergency compaction is due.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub hard_limit_tokens: u64,
}

impl Default for ContextSection {
    fn default() -> Self {
        let limits = crate::contract::ContextLimits::default();
        Self { soft_limit_tokens: limits.soft, hard_limit_tokens: limits.hard }
    }
}

/// Section `run_mode`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = LoasOwn("run_mode"))]
pub struct RunMode {
    /// Bounds of a run.
    pub defaults: RunDefaults,
    /// Thresholds of the circuit breaker.
    pub circuit_breaker: CircuitBreaker,
}

/// Section `run_mode.defaults`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = LoasOwn("run_mode.defaults"))]
pub struct RunDefaults {
    /// Hours of work, backoff included and waiting for people excluded, after which a human is called. May be a fraction.
    #[schemars(range(min = 0.000_001, max = 8760))]
    pub timeout_hours: f64,
}

impl Default for RunDefaults {
    fn default() -> Self {
        Self { timeout_hours: 8.0 }
    }
}

/// Section `run_mode.circuit_breaker`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CircuitBreaker {
    /// Consecutive failures of the same kind after which a human is called.
    #[schemars(range(min = 1, max = 1000))]
    pub same_issue_threshold: u32,
    /// Consecutive cycles without any change after which a human is called.
    #[schemars(range(min = 1, max = 1000))]
    pub no_progress_threshold: u32,
}

impl Default for CircuitBreaker {
    fn default() -> Self {
        Self { same_issue_threshold: 3, no_progress_threshold: 5 }
    }
}

/// Section `effort`. Without the section the model's own default applies; with it, what it leaves out is Loa's default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = LoasOwn("effort"))]
pub struct Effort {
    /// Level of every skill that `per_skill` does not name.
    pub default_level: EffortLevel,
    /// Thinking tokens of each level.
    pub budget_ranges: BudgetSection,
    /// Levels of single skills.
    pub per_skill: BTreeMap<String, EffortLevel>,
}

impl Default for Effort {
    fn default() -> Self {
        Self { default_level: EffortLevel::Medium, budget_ranges: BudgetSection::default(), per_skill: BTreeMap::new() }
    }
}

/// Section `effort.budget_ranges`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BudgetSection {
    /// Range of `low`.
    pub low: BudgetRange,
    /// Range of `medium`.
    pub medium: BudgetRange,
    /// Range of `high`.
    pub high: BudgetRange,
}

impl Default for BudgetSection {
    fn default() -> Self {
        Self {
            low: BudgetRange { min: 1024, max: 4000 },
            medium: BudgetRange { min: 8000, max: 16_000 },
            high: BudgetRange { min: 24_000, max: 32_000 },
        }
    }
}

/// Section `context_editing`. Off unless `enabled: true` stands in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = LoasOwn("context_editing"))]
pub struct ContextEditing {
    /// Whether the runtime signals that the context nears its limit.
    pub enabled: bool,
    /// Share of the hard limit, in percent, from which on it does.
    #[schemars(range(min = 1, max = 100))]
    pub compact_threshold_percent: u8,
    /// How many of the newest turns survive every compaction.
    pub preserve_recent_turns: u32,
    /// Classes of content that may go.
    pub clear_targets: Vec<String>,
    /// Classes of content that must stay.
    pub preserve_artifacts: Vec<String>,
}

impl Default for ContextEditing {
    fn default() -> Self {
        let words = |words: [&str; 3]| words.map(str::to_owned).into();
        Self {
            enabled: false,
            compact_threshold_percent: 80,
            preserve_recent_turns: 5,
            clear_targets: words(["stale_tool_results", "completed_phase_details", "superseded_file_reads"]),
            preserve_artifacts: words(["trajectory_events", "quality_gate_results", "decision_records"]),
        }
    }
}

/// Section `memory_schema`. Off unless `enabled: true` stands in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = LoasOwn("memory_schema"))]
pub struct MemorySchema {
    /// Whether the runtime reads memories.
    pub enabled: bool,
    /// The folder that holds them, relative to the workspace.
    #[schemars(length(min = 1))]
    pub storage_dir: String,
}

impl Default for MemorySchema {
    fn default() -> Self {
        Self { enabled: false, storage_dir: "grimoires/loa/memory".to_owned() }
    }
}
