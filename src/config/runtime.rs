//! Our own section of the configuration, `runtime:`. Closed: a key that it does not have is an error.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{BackendSection, BoundaryMode, BoundarySection, Command, LimitsSection, Network, Notify, Span};
use crate::contract::Phase;

/// A glob that leads nowhere but down: names between slashes, of which none is `.` or `..`.
const PROTECTS: &str = r"^([^/.][^/]*|\.[^/.][^/]*|\.\.[^/]+)(/([^/.][^/]*|\.[^/.][^/]*|\.\.[^/]+))*$";

/// Says to whoever wrote another text what such a glob looks like.
fn shows_globs(schema: &mut Schema) {
    if let Some(items) = schema.get_mut("items").and_then(Value::as_object_mut) {
        items.insert("examples".to_owned(), json!(["tests/**", "Makefile"]));
    }
}

/// Section `runtime`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Runtime {
    /// How failed attempts are repeated, unless a phase says otherwise.
    pub retry: Retry,
    /// What each phase runs.
    pub phases: Phases,
    /// How a context is compacted.
    pub compaction: Compaction,
    /// What keeps phases from the state of runs.
    pub boundary: BoundarySection,
    /// What the processes of a stage may take of the host together, unless a phase says otherwise. A stage that takes more is
    /// ended, and a human is called.
    #[serde(skip_serializing_if = "LimitsSection::is_empty")]
    pub limits: LimitsSection,
    /// The agent of phases that have a `prompt` and name none: a built-in one, such as `claude`, or a name in `backends`.
    #[schemars(length(min = 1))]
    pub backend: String,
    /// How agents are started.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub backends: BTreeMap<String, BackendSection>,
    /// Hours (fractions allowed) that a run waits in all for a provider's limits to be lifted.
    #[schemars(range(min = 0, max = 8760))]
    pub limit_patience_hours: f64,
    /// How long a run waits for the end of one outage: a provider that cannot be reached, or that answers with 5xx. Such as
    /// `90s`, `30m` or `2h`; with `0` an outage is a failed attempt like others, and uses up retries.
    pub outage_patience: Span,
    /// What is done with `submit` and `deploy` where they were cut off in the middle, by their time limit or by the death of the
    /// run, so that nobody knows whether they acted: a person is asked, or they are repeated.
    pub in_doubt: InDoubt,
    /// Exit codes, from 3, with which a command of a phase, or an agent that is any program (`run:`), says that there is such an
    /// outage: it is tried again until it ends otherwise, up to `outage_patience`. Without them only 69 of such an agent does.
    #[schemars(inner(range(min = 3, max = 255)))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outage_codes: Vec<u8>,
    /// How people hear of a call.
    pub notify: Notify,
    /// Variables whose values are taken out of logs, summaries and reports, besides secrets of known shapes.
    pub redact: Vec<String>,
    /// Most bytes of the log of one attempt, in mebibytes: its beginning, and a little of its end where it is longer.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub log_limit_mb: u64,
    /// Whether the checkpoint of a phase that names no artifacts is given the files that changed while it ran. What git
    /// ignores does not count, and beyond fifty thousand files nothing is looked at.
    pub find_artifacts: bool,
    /// Files of the workspace that no phase is to change, such as `tests/**` or `Makefile`: recorded with their contents when
    /// an execution begins, and named where they differ later. Globs relative to the workspace, without `..`.
    #[schemars(length(max = 64), inner(length(max = 256), regex(pattern = PROTECTS)), transform = shows_globs)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protects: Vec<String>,
    /// The folder in which the state of runs is kept, absolute or relative to the workspace; `~/` is the home folder. By
    /// default `$XDG_STATE_HOME/loa-run`.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl Default for Runtime {
    fn default() -> Self {
        let keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY"];
        Self {
            retry: Retry::default(),
            phases: Phases::default(),
            compaction: Compaction::default(),
            boundary: BoundarySection::default(),
            limits: LimitsSection::default(),
            backend: "claude".to_owned(),
            backends: BTreeMap::new(),
            limit_patience_hours: 24.0,
            outage_patience: Span::hours(2),
            in_doubt: InDoubt::default(),
            outage_codes: Vec::new(),
            notify: Notify::default(),
            redact: keys.map(str::to_owned).to_vec(),
            log_limit_mb: 64,
            find_artifacts: true,
            protects: Vec::new(),
            state: None,
        }
    }
}

/// What is done with a phase that acts outside of the workspace and was cut off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InDoubt {
    /// A person is asked.
    #[default]
    Ask,
    /// It is run again, as other phases are: for work that may be done twice.
    Repeat,
}

/// Section `runtime.retry`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// Retries of a phase after its first attempt. The contract allows 3, and no more are taken.
    #[schemars(range(max = 3))]
    pub max: u32,
    /// Delay before the first retry, in milliseconds.
    #[schemars(range(max = 86_400_000))]
    pub initial_ms: u64,
    /// Factor from one delay to the next.
    #[schemars(range(min = 1, max = 100))]
    pub multiplier: f64,
    /// Longest delay, in milliseconds.
    #[schemars(range(max = 86_400_000))]
    pub max_ms: u64,
    /// Largest share of the delay that is added at random.
    #[schemars(range(min = 0, max = 0.25))]
    pub jitter: f64,
}

impl Retry {
    /// The most retries of a phase (Exit Code Handling: "retry, max 3").
    pub const MOST: u32 = 3;
}

impl Default for Retry {
    fn default() -> Self {
        Self { max: Self::MOST, initial_ms: 5000, multiplier: 2.0, max_ms: 60_000, jitter: 0.25 }
    }
}

/// Section `retry` of a phase, and of an agent: what it does otherwise than `runtime.retry` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetryOverride {
    /// Retries after the first attempt. A phase takes at most 3; an agent that is asked outside of a run takes all.
    #[schemars(range(max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// Delay before the first retry, in milliseconds.
    #[schemars(range(max = 86_400_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ms: Option<u64>,
    /// Factor from one delay to the next.
    #[schemars(range(min = 1, max = 100))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier: Option<f64>,
    /// Longest delay, in milliseconds.
    #[schemars(range(max = 86_400_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ms: Option<u64>,
    /// Largest share of the delay that is added at random.
    #[schemars(range(min = 0, max = 0.25))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<f64>,
}

impl RetryOverride {
    /// The general rule with this phase's own values in it.
    #[must_use]
    pub fn over(&self, general: Retry) -> Retry {
        Retry {
            max: self.max.unwrap_or(general.max),
            initial_ms: self.initial_ms.unwrap_or(general.initial_ms),
            multiplier: self.multiplier.unwrap_or(general.multiplier),
            max_ms: self.max_ms.unwrap_or(general.max_ms),
            jitter: self.jitter.unwrap_or(general.jitter),
        }
    }
}

/// Section `runtime.phases`: one entry a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Phases {
    /// Checks before any work begins.
    pub preflight: PhaseSection,
    /// What is to be built.
    pub discovery: PhaseSection,
    /// How it is to be built.
    pub design: PhaseSection,
    /// The work itself.
    pub implementation: PhaseSection,
    /// The quality gate.
    pub audit: PhaseSection,
    /// Handing the work in for review.
    pub submit: PhaseSection,
    /// Bringing the work to its users.
    pub deploy: PhaseSection,
    /// What the run taught.
    pub learning: PhaseSection,
}

impl Phases {
    /// The entry of a phase.
    #[must_use]
    pub fn get(&self, phase: Phase) -> &PhaseSection {
        match phase {
            Phase::Preflight => &self.preflight,
            Phase::Discovery => &self.discovery,
            Phase::Design => &self.design,
            Phase::Implementation => &self.implementation,
            Phase::Audit => &self.audit,
            Phase::Submit => &self.submit,
            Phase::Deploy => &self.deploy,
            Phase::Learning => &self.learning,
        }
    }
}

/// Section `runtime.phases.<phase>`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PhaseSection {
    /// What to run: its exit code decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// What to tell an agent, in place of a command.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The agent that is told it; `runtime.backend` by default.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// A gate that runs after the command succeeded or the agent is done; its exit code then decides instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Command>,
    /// Variables for the phase's environment, besides those that the runtime sets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Longest duration of one attempt in milliseconds; an attempt that takes longer is ended and retried.
    #[schemars(range(min = 1, max = 2_592_000_000_u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Longest time in milliseconds in which an attempt says nothing; one that is silent for longer is ended and retried.
    #[schemars(range(min = 1, max = 2_592_000_000_u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,
    /// What differs from `runtime.boundary.mode`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boundary: Option<BoundaryMode>,
    /// What differs from `runtime.boundary.network`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// What differs from `runtime.retry`.
    #[schemars(extend("properties" = { "max": { "maximum": Retry::MOST } }))]
    pub retry: RetryOverride,
    /// What differs from `runtime.limits`.
    #[serde(skip_serializing_if = "LimitsSection::is_empty")]
    pub limits: LimitsSection,
    /// Whether the phase is passed over, recorded as a success that says so.
    pub skip: bool,
}

/// Section `runtime.compaction`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Compaction {
    /// What to run when a command's context must shrink; without it the need is recorded and nothing is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
}
