//! Optional features of a runtime (Anthropic Context Features) as the judge knows them: their names, and how his own
//! compactor is plugged in.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contract::vocabulary;

vocabulary! {
    /// An optional feature. What nobody claims to have binds nobody.
    pub enum Feature ("feature") {
        /// The effort of a phase, handed on by `LOA_EFFORT_LEVEL` or `LOA_THINKING_BUDGET`.
        Effort = "effort",
        /// Context editing: near-limit signals, and compactions on request.
        ContextEditing = "context-editing",
        /// Memories, handed on by `LOA_MEMORY_FILE`.
        Memory = "memory",
    }
}

/// Where a runtime is told which program compacts a context: one of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactorWay {
    /// A dotted key of `.loa.config.yaml`, which takes a list with the program.
    Config(String),
    /// An environment variable, which takes the program's path.
    Env(String),
}

impl fmt::Display for CompactorWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(key) => write!(f, "`{key}` in .loa.config.yaml"),
            Self::Env(name) => write!(f, "the variable {name}"),
        }
    }
}
