//! The configuration file as a whole: `.loa.config.yaml`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::loas_own::LoasOwn;
use super::{AutonomousAgent, ContextEditing, Effort, MemorySchema, RunMode, Runtime};

/// What this runtime reads of `.loa.config.yaml`. Every section and every key may be left out; sections that are not
/// named here belong to Loa and pass unread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Configuration", transform = LoasOwn(""))]
#[serde(default)]
pub struct ConfigDocument {
    /// Loa's section about unattended work.
    pub autonomous_agent: AutonomousAgent,
    /// Loa's section about runs and their circuit breaker.
    pub run_mode: RunMode,
    /// Loa's section about how hard a model should think; off when it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Loa's section about editing the context; off unless enabled.
    pub context_editing: ContextEditing,
    /// Loa's section about memories; off unless enabled.
    pub memory_schema: MemorySchema,
    /// This runtime's own section.
    pub runtime: Runtime,
}
