//! Section `runtime.backends.<name>.prompts`: what stands around everything that an agent is told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Section `runtime.backends.<name>.prompts`. A value that begins with `@` names a file in the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Prompts {
    /// Before the system prompt of a new session, or in its place where there is none.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_system: Option<String>,
    /// Behind it.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_system: Option<String>,
    /// Before every prompt.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_user: Option<String>,
    /// Behind it.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_user: Option<String>,
}

impl Prompts {
    /// Each with its key.
    #[must_use]
    pub fn entries(&self) -> [(&'static str, Option<&str>); 4] {
        let Self { pre_system, post_system, pre_user, post_user } = self;
        [
            ("pre_system", pre_system.as_deref()),
            ("post_system", post_system.as_deref()),
            ("pre_user", pre_user.as_deref()),
            ("post_user", post_user.as_deref()),
        ]
    }
}
