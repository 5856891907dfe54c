//! A runtime as the judge sees it: how to start it, and where to look. Explained for their authors in
//! `contract-tests/PLUGGING-IN.md`.

use std::collections::BTreeMap;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::case::Knob;
use super::{Column, CompactorWay, Feature};

/// Program and arguments; `{name}` placeholders are filled in, no shell is involved.
pub type Argv = Vec<String>;

/// `fixtures/runtimes/<name>/manifest.yaml`, or a file of yours.
///
/// Placeholders in every argv: `{plan}` the plan file, `{workspace}` the folder (also the working directory), `{dir}` the
/// manifest's own folder, `{judge_dir}` the folder of the judge's program. A program without a slash is looked up beside
/// the judge, then on PATH. A clause whose verb is absent is not observed, never passed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Runtime manifest")]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Short name, equal to the folder's.
    pub runtime: String,
    /// One sentence about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Prints the version.
    pub version: Argv,
    /// Runs the plan from the beginning.
    pub run: Argv,
    /// Goes on with an interrupted or resolved run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Argv>,
    /// Makes the program; run once, in the manifest's folder, only when the program is not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Argv>,
    /// Run in the workspace before each `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<Argv>,
    /// Prints the execution state as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Argv>,
    /// Asks a running runtime to stop and call a human.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt: Option<Argv>,
    /// Hands in a resolution: `{action}` is one of the contract's four words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolve: Option<Argv>,
    /// How compactions can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact: Option<Sight>,
    /// How the judge's own compactor is plugged in: the program that the runtime starts when a context must shrink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compactor: Option<CompactorWay>,
    /// The optional features that it claims to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Feature>,
    /// How context warnings can be seen, besides the event file and `context-state.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn: Option<Sight>,
    /// Where reports appear: a glob relative to the workspace. Without it, new files in the workspace, HOME and TMPDIR and
    /// the output are searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// How the report is surfaced, where the words of phase and trigger do not appear: a regular expression on the output,
    /// in which `{phase}` and `{trigger}` are filled in. It does not count when it also matches a run in which nothing goes
    /// wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<String>,
    /// How the runtime learns how full the context is; absent: it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageWay>,
    /// How the judge may shorten waiting.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub knobs: BTreeMap<Knob, KnobWay>,
    /// Added to the environment of every verb.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How often, in milliseconds, the runtime looks at its signal stream; the judge waits twice as long.
    #[serde(default = "default_poll")]
    #[schemars(range(min = 10, max = 10000))]
    pub poll_ms: u64,
    /// How long, in seconds, one verb may take before it counts as hanging; 20 when not given.
    #[schemars(range(min = 1, max = 600))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_seconds: Option<u64>,
    /// Why it cannot be judged under a clock that runs faster, if so: the cases that need one are not observed then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_fast_clock: Option<String>,
    /// Whether it stays and waits for its human after an escalation.
    #[serde(default)]
    pub waits: bool,
    /// The cells that its makers claim.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<Column, CellWord>,
    /// What people vouch for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attest: Vec<Attestation>,
    /// The cells that it is known to earn; a survey fails when it earns others, better or worse.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<Column, CellWord>,
    /// How to get the program, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
}

crate::contract::vocabulary! {
    /// A cell's word in the matrix.
    pub enum CellWord ("cell word") {
        /// Every MUST of the column passed or warned.
        Full = "Full",
        /// Some did.
        Partial = "Partial",
        /// None failed, and people vouch for what no machine could judge.
        Manual = "Manual",
        /// No MUST passed that a do-nothing program does not pass too.
        None = "None",
    }
}

/// Where something can be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// In the file named by `LOA_EVENT_FILE`.
    EventFile,
    /// On the output: a regular expression with a group `level`. It does not count when it also shows a level in a run in
    /// which nothing goes wrong.
    Output(String),
}

/// How the runtime learns how full the context is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageWay {
    /// A line `{"type":"USAGE","context_tokens":N}` in the file named by `LOA_SIGNAL_FILE`.
    SignalFile,
    /// A line on the phase's stdout, in which `{tokens}` is filled in.
    Stdout(String),
}

/// How a knob is turned; the value is in milliseconds, divided by `per`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnobWay {
    /// A dotted key of `.loa.config.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// An environment variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// Milliseconds per unit of the runtime's own: 1 for milliseconds, 1000 for seconds (decimal fractions are handed).
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub per: u64,
}

/// A clause that a person vouches for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attestation {
    /// The clause.
    pub clause: String,
    /// Who vouches.
    pub by: String,
    /// When.
    pub on: Date,
    /// Until when it counts.
    pub expires: Date,
    /// How it was found out.
    pub evidence: String,
}

fn default_poll() -> u64 {
    200
}

fn one() -> u64 {
    1
}
