//! A case of the agent profile: what the model says, what the judge does to the agent, and what must then be seen. The
//! format is explained for its authors in `contract-tests/agent/README.md`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conform::model::{Script, Step};
use crate::conform::spec::AgentExpectation;
use crate::conform::spec::{Draw, TimeMethod};
use crate::contract::vocabulary;

/// One file under `contract-tests/agent/cases/`, whose stem equals `id`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Agent case")]
#[serde(deny_unknown_fields)]
pub struct AgentCase {
    /// Identifier: the clause in lower case, then words, such as `status-004-429-once`.
    pub id: String,
    /// The clause that it judges.
    pub clause: String,
    /// One sentence, shown beside the verdict.
    pub title: String,
    /// Clauses presupposed: when one of them is not green, this case could not run and says which.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Whether it belongs to the quick subset.
    #[serde(default)]
    pub quick: bool,
    /// How time passes.
    #[serde(default)]
    pub time: TimeMethod,
    /// Values drawn under the seed, referred to as `$name` in every text below.
    #[serde(default)]
    pub draw: BTreeMap<String, Draw>,
    /// Files laid into the workspace before the first step: path to content.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// What the agent's memory file says, laid into the workspace under the name that the manifest has for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Knobs of the agent that the case turns. One that the manifest lacks makes a `scaled` case not observed; a `real` case
    /// only takes longer, unless the knob is `effort` or `permissions`.
    #[serde(default)]
    pub knobs: BTreeMap<AgentKnob, KnobValue>,
    /// What the model answers, over all steps together.
    pub model: Script,
    /// What it answers to side requests, by their names, instead of the manifest's reply.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub side: BTreeMap<String, Step>,
    /// What the judge does, in order.
    pub steps: Vec<AgentStep>,
    /// What must be seen; every entry is checked, and all must hold.
    pub expect: Vec<AgentExpectation>,
}

vocabulary! {
    /// A knob by which a case changes an agent's default.
    pub enum AgentKnob ("knob") {
        /// How many times the model may be asked in one run.
        MaxTurns = "max_turns",
        /// How many times a failed request is tried again.
        Retries = "retries",
        /// How long the model may be silent, in milliseconds.
        Silence = "silence",
        /// How many tokens of context bring on a compaction.
        CompactAt = "compact_at",
        /// How hard the model is to think, by a word.
        Effort = "effort",
        /// What the model's commands may do; `read` is nothing that changes anything.
        Permissions = "permissions",
    }
}

impl AgentKnob {
    /// Whether a case that turns it means nothing without it; the others only take longer.
    #[must_use]
    pub fn is_the_point(self) -> bool {
        matches!(self, Self::Effort | Self::Permissions)
    }
}

/// What a knob is turned to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum KnobValue {
    /// A number, in the knob's unit.
    Figure(u64),
    /// A word.
    Word(String),
}

impl std::fmt::Display for KnobValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Figure(figure) => figure.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

/// One thing that the judge does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentStep {
    /// Starts the agent in a new session by its `run`, and waits for its end.
    Run(Errand),
    /// Starts it in an earlier session by its `resume`, and waits for its end.
    Resume(Errand),
}

impl AgentStep {
    /// The word of the verb.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Resume(_) => "resume",
        }
    }

    /// What is asked.
    #[must_use]
    pub fn errand(&self) -> &Errand {
        match self {
            Self::Run(errand) | Self::Resume(errand) => errand,
        }
    }
}

/// What an agent is started with, and what happens to it meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Errand {
    /// What it is asked to do.
    pub prompt: String,
    /// The session of a `resume`.
    #[serde(default)]
    pub session: WhichSession,
    /// Where it is started.
    #[serde(default, skip_serializing_if = "WhichFolder::is_usual")]
    pub folder: WhichFolder,
    /// What is wrong with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoilt: Option<Spoilt>,
    /// What another one is asked to do, which is started in the same folder at the same time, in a session of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// A signal to the agent's own process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturb: Option<Disturbance>,
    /// Once the model was asked so often in this step, the judge has seen enough and ends the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub stop_after_requests: Option<usize>,
    /// How many seconds the step may take; an agent that is still there then did not end by itself.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 600))]
    pub limit_s: u64,
}

/// Which session is resumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhichSession {
    /// The one that the agent named in the first step.
    #[default]
    First,
    /// One of the same form that nobody ever had.
    Unknown,
}

/// In which folder an agent is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhichFolder {
    /// In the workspace.
    #[default]
    Workspace,
    /// In another folder, which is empty.
    Elsewhere,
}

impl WhichFolder {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::Workspace
    }
}

vocabulary! {
    /// What is wrong with a call.
    pub enum Spoilt ("way to spoil a call") {
        /// The prompt is left out.
        NoPrompt = "no_prompt",
        /// There is an option that nobody knows.
        UnknownFlag = "unknown_flag",
        /// It is told to work in a folder that is not there.
        MissingFolder = "missing_folder",
    }
}

/// A signal, and when it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disturbance {
    /// The signal, without `SIG`: `INT`, `TERM`, `HUP` or `KILL`.
    pub signal: String,
    /// When.
    pub when: Occasion,
}

/// When a signal is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Occasion {
    /// Once the model was asked so often in this step; with a stalled answer, the agent then waits for it.
    Requests(usize),
    /// Once this file of the workspace is there; a tool's own command makes it, so the tool then runs.
    File(String),
}

fn default_limit() -> u64 {
    60
}
