//! Section `runtime.backends.<name>`: how one agent program is started.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Prompts, RetryOverride};

/// Which adapter speaks to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Any program that takes its prompt as an argument: `run` says how.
    Command,
}

/// What an agent may do without asking: nobody is there to be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    /// Read.
    Read,
    /// Read, and change files in the workspace; commands only as far as the program allows them then.
    #[default]
    Edit,
    /// Anything.
    All,
}

/// Section `runtime.backends.<name>`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BackendSection {
    /// The adapter; by default the one that has the section's name, and `command` for any other name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<BackendKind>,
    /// The program, by path or by a name to look up in `PATH`; by default the adapter's own.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary: Option<String>,
    /// The model; the program's own default without it.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it may do without asking; `edit` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// Most turns of one invocation, where the program can be told.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Further arguments, behind those that the adapter gives.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables for this program alone: neither gates nor other phases see them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names of variables of our environment that hold its credentials: nothing but this program gets them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<String>,
    /// For `command`: the arguments of an invocation in a new session, with `{prompt}`, `{session}`, `{model}`,
    /// `{effort}` and `{workspace}` to be filled in.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
    /// For `command`: the arguments of an invocation in an earlier session.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Vec<String>>,
    /// What differs from `runtime.retry` where this agent works; what a phase says goes before it.
    pub retry: RetryOverride,
    /// What stands around everything that it is told.
    pub prompts: Prompts,
}

impl BackendSection {
    /// The adapter of the section that has this name.
    #[must_use]
    pub fn kind(&self, name: &str) -> BackendKind {
        self.kind.unwrap_or(match name {
            "claude" => BackendKind::Claude,
            "codex" => BackendKind::Codex,
            _ => BackendKind::Command,
        })
    }
}

/// Backends that need no section.
pub const BUILT_IN: [&str; 2] = ["claude", "codex"];
