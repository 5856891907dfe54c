//! What was set otherwise than its makers ship it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that differs from a maker's default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingReport {
    /// What is set.
    pub what: String,
    /// What its makers' default is.
    pub default: String,
    /// Why it differs.
    pub why: String,
}
