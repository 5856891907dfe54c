//! What was started in a case, for readers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that was started. Folders of the case stand in it as `$WORKSPACE`, `$HOME` and `$TMPDIR`, the model's
/// address as `$MODEL`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandReport {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Its environment.
    pub env: BTreeMap<String, String>,
    /// What was done to it meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meanwhile: Option<String>,
    /// How it ended.
    pub end: String,
    /// The requests that the model had, one line each.
    pub requests: Vec<String>,
}
