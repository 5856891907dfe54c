//! A case: what the judge does to a runtime and what it must then see. Cases are data; the format is explained for their
//! authors in `contract-tests/README.md`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Expectation, Feature, Situation};
use crate::contract::vocabulary;

/// One file under `contract-tests/cases/`, whose stem equals `id`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Contract case")]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Identifier: the clause in lower case, then words, such as `exit-004-three-retries`.
    pub id: String,
    /// The clause that it judges.
    pub clause: String,
    /// One sentence, shown beside the verdict.
    pub title: String,
    /// Whether it belongs to the quick subset.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// Clauses presupposed: when one of them is not green, this case could not run and says which.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Ways into the runtime that it must offer; without one of them the case is not observed.
    #[serde(default)]
    pub requires: Vec<WayIn>,
    /// The optional feature that it is about: a clause with `when: claimed` binds only whose manifest names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
    /// What the judge's own compactor prints whenever the runtime starts it; without a way to plug it in the case is not
    /// observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compactor: Option<serde_json::Value>,
    /// How time passes.
    #[serde(default)]
    pub time: TimeMethod,
    /// Values drawn under the seed, referred to as `$name` in every text below, also as keys of `phases`.
    #[serde(default)]
    pub draw: BTreeMap<String, Draw>,
    /// Keys of `.loa.config.yaml`, dotted; null removes one of the judge's own defaults.
    #[serde(default)]
    pub config: BTreeMap<String, serde_json::Value>,
    /// Where the limits of the context stand that `config` sets.
    #[serde(default, skip_serializing_if = "Limits::is_usual")]
    pub limits: Limits,
    /// Files laid into the workspace before the first step: path to content.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Knobs that the case turns, in milliseconds. One that the manifest lacks makes a `scaled` case not observed; a `real`
    /// case only takes longer.
    #[serde(default)]
    pub knobs: BTreeMap<Knob, u64>,
    /// What each attempt of a phase does; the last entry serves every later attempt. A phase not named exits 0.
    #[serde(default)]
    pub phases: BTreeMap<String, Vec<Vec<Act>>>,
    /// What the judge does, in order; nothing in a case that says `wherever`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// The situation in which the expectations must hold, in whatever was seen of any other case. Such a case does nothing by
    /// itself and is judged last, from what was seen of all that were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wherever: Option<Situation>,
    /// What must be seen; every entry is checked, and all must hold.
    pub expect: Vec<Expectation>,
}

/// A way by which a phase hands something to the runtime, besides its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WayIn {
    /// `LOA_RESULT_FILE` is set in the environment of the phase.
    ResultFile,
}

/// Where the limits of the context stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limits {
    /// In the configuration, and in the environment as `CONTEXT_SOFT_LIMIT` and `CONTEXT_HARD_LIMIT`.
    #[default]
    Both,
    /// In the configuration alone.
    Configuration,
}

impl Limits {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::Both
    }
}

/// How time passes in a case; stands with the verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimeMethod {
    /// As on the wall.
    #[default]
    Real,
    /// Limits scaled down by knobs.
    Scaled,
    /// Limits as they are, and a clock that runs two hours a second, on a busy machine down to half an hour, for the runtime and
    /// everything that it starts (`faketime`); where there is none the case is not observed.
    Accelerated,
}

vocabulary! {
    /// A knob by which a manifest lets the judge shorten waiting. All values are milliseconds.
    pub enum Knob ("knob") {
        /// The backoff before the first retry.
        InitialBackoff = "initial_backoff",
        /// The longest backoff.
        MaxBackoff = "max_backoff",
        /// How long a run may take before a human is called (8 hours by the contract).
        RunTimeout = "run_timeout",
    }
}

/// How a value is drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// One of these phases; never the same as another draw of a phase in the case.
    Phase(Vec<String>),
    /// An integer in a closed range.
    Integer([i64; 2]),
    /// One of these integers.
    Code(Vec<i64>),
    /// A word that occurs nowhere else, of this many characters.
    Nonce(u8),
}

/// One thing that an attempt of a phase does. The judge orders it, the probe does it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// Prints a line to stdout.
    Stdout(String),
    /// Prints a line to stderr.
    Stderr(String),
    /// Leaves a phase result (JSON) where `LOA_RESULT_FILE` points.
    Result(serde_json::Value),
    /// Reports this many tokens in the way of the manifest's `usage`, then waits for a reaction or twice its `poll`.
    Usage(u64),
    /// Appends a line to `LOA_SIGNAL_FILE`, then waits for a reaction or twice the manifest's `poll`.
    Signal(serde_json::Value),
    /// Writes a file of the workspace.
    Write {
        /// Path, relative to the workspace.
        path: String,
        /// Content.
        content: String,
    },
    /// Deletes a file of the workspace.
    Delete(String),
    /// Waits, in milliseconds.
    Sleep(u64),
    /// Waits until the runtime's `halt` has answered, and ten polls more, in which it must heed it.
    UntilHalted,
    /// Leaves a grandchild in the phase's process group that sleeps for ever.
    Spawn,
    /// Ends with this code (a number, or a drawn `$name`).
    Exit(serde_json::Value),
    /// Dies by this signal, such as `KILL`.
    Die(String),
    /// Stays until it is ended from outside.
    Hang,
}

/// One thing that the judge does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Starts the runtime by its `run` verb and waits until it ends or has settled.
    Run(Drive),
    /// The same by its `resume` verb.
    Resume(Drive),
    /// Hands a resolution to its `resolve` verb.
    Resolve(String),
    /// Asks its `state` verb.
    State,
    /// Writes a file of the workspace, as somebody outside would.
    Write {
        /// Path, relative to the workspace.
        path: String,
        /// Content.
        content: String,
    },
    /// Deletes a file of the workspace.
    Delete(String),
    /// Changes top-level keys of a YAML mapping in the workspace, as somebody with an editor would; the rest stays.
    Edit {
        /// Path, relative to the workspace.
        path: String,
        /// Keys to set.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        set: BTreeMap<String, serde_json::Value>,
        /// Keys to remove, with everything below them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remove: Vec<String>,
    },
    /// Lays a fresh workspace with the same plan; later steps work there.
    Fresh,
}

/// What happens to the runtime while it runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// SIGKILL to the runtime's own process while this phase runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill_during: Option<String>,
    /// SIGKILL to the runtime's own process when an attempt of this phase is over and the runtime has had time to notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill_after: Option<String>,
    /// SIGKILL to the runtime's own process as soon as there is anything where this phase's checkpoint belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill_at_checkpoint: Option<String>,
    /// The manifest's `halt` verb while this phase runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt_during: Option<String>,
    /// The command of this phase cannot be started until the step is over: its program is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstartable: Option<String>,
}
