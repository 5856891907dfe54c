//! Section `runtime.backends.<name>`: how one agent program is started.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DockerSection, Prompts, RetryOverride};
use crate::contract::vocabulary;

vocabulary! {
    /// Which adapter speaks to the program.
    pub enum BackendKind ("adapter of a backend") {
        /// Claude Code.
        Claude = "claude",
        /// Codex CLI.
        Codex = "codex",
        /// `OpenCode`.
        OpenCode = "opencode",
        /// Gemini CLI.
        Gemini = "gemini",
        /// Qwen Code.
        Qwen = "qwen",
        /// Aider.
        Aider = "aider",
        /// pi.
        Pi = "pi",
        /// Any program that takes its prompt as an argument: `run` says how.
        Command = "command",
        /// Any agent that speaks the Agent Client Protocol on its standard input and output: `run` starts it.
        Acp = "acp",
    }
}

impl BackendKind {
    /// The program that it speaks to, which is also the name of the backend that needs no section; `None` where only the
    /// configuration can say it.
    #[must_use]
    pub fn program(self) -> Option<&'static str> {
        match self {
            Self::Command | Self::Acp => None,
            kind => Some(kind.as_str()),
        }
    }
}

/// Backends that need no section.
pub fn built_in<'a>() -> impl Iterator<Item = &'a str> {
    BackendKind::ALL.iter().filter_map(|kind| kind.program())
}

/// What an agent may do without asking: nobody is there to be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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

/// How much of a subscription a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Most prompts in a cycle of five hours, by whomever they are; the next one waits for the next cycle.
    #[schemars(range(min = 1))]
    pub prompts: u64,
    /// A moment at which a cycle begins; by default the beginning of Unix time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Timestamp>,
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
    /// For `claude`: how much of its subscription may be used, as its logs count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// The container that it runs in; this host without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker: Option<DockerSection>,
    /// For `command`: the arguments of an invocation in a new session, with `{prompt}`, `{session}`, `{model}`,
    /// `{effort}` and `{workspace}` to be filled in. For `acp`: what starts the agent, taken as it stands.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
    /// For `command`: the arguments of an invocation in an earlier session.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Vec<String>>,
    /// For `acp`: the mode of every session, by the agent's own name for it; such as one in which it asks nobody.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// For `acp`: the method by which to authenticate, by the agent's own name for it; none without it.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
    /// For `acp`: the prompt that makes the agent compact its context, such as `/compact`, where it is known to.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact: Option<String>,
    /// What differs from `runtime.retry` where this agent works; what a phase says goes before it.
    pub retry: RetryOverride,
    /// What stands around everything that it is told.
    pub prompts: Prompts,
}

impl BackendSection {
    /// The adapter of the section that has this name.
    #[must_use]
    pub fn kind(&self, name: &str) -> BackendKind {
        self.kind.unwrap_or_else(|| name.parse().unwrap_or(BackendKind::Command))
    }
}
