//! Section `runtime.notify`: how people hear of a call who do not look at the terminal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Command;

/// Section `runtime.notify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    /// What to run when a human is called. It is told all in `LOA_ESCALATION_…` variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Where to post the call as JSON, `http` or `https`. Who knows such an address can often use it: it is never shown.
    #[schemars(regex(pattern = "^https?://."))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// Longest time for each of them, in milliseconds; what takes longer is given up.
    #[schemars(range(min = 1, max = 600_000))]
    pub timeout_ms: u64,
}

impl Default for Notify {
    fn default() -> Self {
        Self { command: None, webhook: None, timeout_ms: 10_000 }
    }
}
