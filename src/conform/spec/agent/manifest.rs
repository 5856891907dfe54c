//! An agent as the judge sees it: how to start it, what of it differs from its makers' defaults, and where its stream says
//! what. Everything that is special about one agent stands here, so that one more agent needs a manifest and no code.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conform::spec::AgentKnob;
use crate::conform::spec::{Argv, Attestation, CellWord, Column, Reason};
use crate::contract::vocabulary;

/// `fixtures/agents/<name>/manifest.yaml`, or a file of yours.
///
/// Placeholders in every argv, in `env` and in `files`: `{prompt}`, `{session}`, `{address}` the model's server
/// (`http://127.0.0.1:PORT`), `{workspace}` (also the working directory), `{home}`, `{dir}` the manifest's own folder,
/// `{judge_dir}` the folder of the judge's program. An argument that is `{knobs}` becomes the arguments of the knobs that
/// the case turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Agent manifest")]
#[serde(deny_unknown_fields)]
pub struct AgentManifest {
    /// Short name, equal to the folder's.
    pub agent: String,
    /// One sentence about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Prints the version.
    pub version: Argv,
    /// Does `{prompt}` in a new session, and ends.
    pub run: Argv,
    /// Does `{prompt}` in session `{session}`, and ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Argv>,
    /// What the agent's environment needs so that it finds the model: address and a dummy key. The environment holds nothing
    /// else but an allow-list, and `settings`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How it is logged in instead where the model says that a quota is used up: with the kind of account that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_login: Option<QuotaLogin>,
    /// Files laid below its HOME: path to content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Everything else that differs from its makers' defaults, in every case; listed in its row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// The file in the working folder that it reads before everything else, such as `AGENTS.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Arguments that make it work in `{folder}` instead of where it is started; they take the place of `{knobs}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folder: Argv,
    /// Words that stand in the verbs for the sake of `{prompt}` alone, such as `-p`: a call without a prompt has none of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt_option: Argv,
    /// What a case may change.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub knobs: BTreeMap<AgentKnob, AgentKnobWay>,
    /// Where its output says what. The output is read as one JSON value a line.
    #[serde(default)]
    pub stream: StreamSigns,
    /// Requests that the agent makes besides its turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side: Vec<SideRequest>,
    /// What people vouch for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attest: Vec<Attestation>,
    /// The cells that it is known to earn; a survey fails when it earns others, better or worse.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<Column, CellWord>,
    /// The clauses that it is known to break, and why; a survey fails on any other red, and on one of these that is none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reds: BTreeMap<String, Reason>,
    /// How to get the program, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// Why nobody can measure it: then it is never started, and its row says this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_reach: Option<String>,
}

/// A login with an account whose allowance of a day or some hours can be used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaLogin {
    /// Variables that are set.
    pub env: BTreeMap<String, String>,
    /// Variables of the manifest's `env` that are left out then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
    /// Why the usual login does not do.
    pub why: String,
}

/// Something in every case that differs from the makers' default: exactly one of `env`, `flag` and `file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Variables that are set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// An argument that stands in `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
    /// A line, or a part of one, that stands in one of `files`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What its makers' default is.
    pub default: String,
    /// Why it differs.
    pub why: String,
}

/// How a knob is turned. `{value}` is the case's word, or its figure divided by `per`, and `plus` more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentKnobWay {
    /// Variables that are set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Arguments that take the place of `{knobs}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Argv,
    /// Arguments of the verbs that are left out then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Argv,
    /// JSON files below its HOME, and what is merged into each: objects are merged, everything else is replaced. A value that
    /// is `{value}` and nothing else becomes the number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub json: BTreeMap<String, Value>,
    /// The case's unit divided by this is the agent's.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub per: u64,
    /// What is added then: an agent that counts attempts counts one more than it retries.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub plus: u64,
    /// What its makers' default is.
    pub default: String,
}

/// Where the stream says what. A key that is missing leaves its clauses not observed. An empty list says that the agent has
/// no such event: then what it ought to tell is not told, which is red.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamSigns {
    /// An event that names the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Vec<Sign>>,
    /// The events that count tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Vec<UsageSign>>,
    /// Events that say how the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Vec<FailureSign>>,
    /// Words and figures that a failure is told by, and the class that each means. A status of HTTP needs no entry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, FailureClass>,
    /// An event that says that the context was compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Vec<Sign>>,
    /// An event that says that the run ended at its bound of turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_limit: Option<Vec<Sign>>,
    /// An exit code that says so, and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_limit_exit: Option<i32>,
    /// Events that tell what the model answered: `read` points at the text, or at a piece of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Vec<Sign>>,
    /// The events with which a stream ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Vec<EndSign>>,
    /// Events that tell how many tokens the context has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<SizeSign>>,
    /// An event that says that the model stopped because its answer had become too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off: Option<Vec<Sign>>,
    /// An event that says that the model refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Vec<Sign>>,
    /// An event that says that a command was not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<Vec<Sign>>,
    /// An event that says that a compaction failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_failure: Option<Vec<Sign>>,
}

/// An event of the stream, and where in it something stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sign {
    /// What the event is recognised by: JSON pointer to the value that stands there, or to a list of values one of which
    /// does. At least one.
    pub when: BTreeMap<String, Value>,
    /// Where the thing itself stands: a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
}

/// An event that says how a run failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailureSign {
    /// What the event is recognised by: JSON pointer to the value that stands there, or to a list of values one of which
    /// does. At least one.
    pub when: BTreeMap<String, Value>,
    /// Where status or class stand, the most telling first: JSON pointers to a field, never to a sentence. Empty: the event
    /// says that something failed, but only prose says what.
    pub read: Vec<String>,
}

/// An event with which a stream ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndSign {
    /// What the event is recognised by: JSON pointer to the value that stands there, or to a list of values one of which
    /// does. At least one.
    pub when: BTreeMap<String, Value>,
    /// Where it says how the run ended: JSON pointers to fields, never to a sentence. A run that went well has other values
    /// there, taken together, than one that did not.
    pub read: Vec<String>,
}

/// Events that tell how many tokens the context has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeSign {
    /// What the event is recognised by: JSON pointer to the value that stands there, or to a list of values one of which
    /// does. At least one.
    pub when: BTreeMap<String, Value>,
    /// Pointers whose sum it is; with or without the last answer's own tokens.
    pub size: Vec<String>,
}

/// Events that count tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageSign {
    /// What the event is recognised by: JSON pointer to the value that stands there, or to a list of values one of which
    /// does. At least one.
    pub when: BTreeMap<String, Value>,
    /// Pointers whose sum is what went in, cached tokens included.
    pub input: Vec<String>,
    /// Pointers whose sum came out.
    pub output: Vec<String>,
    /// Over what the last such event of a step counts.
    pub scope: UsageScope,
}

vocabulary! {
    /// Over what a usage counts.
    pub enum UsageScope ("scope") {
        /// The last request.
        Request = "request",
        /// All requests of the run.
        Run = "run",
        /// All requests of the session.
        Session = "session",
    }
}

vocabulary! {
    /// What a failure means for whoever started the agent.
    pub enum FailureClass ("class") {
        /// Trying again later may help.
        Transient = "transient",
        /// It will not.
        Permanent = "permanent",
        /// The context is full.
        Overflow = "overflow",
        /// What a day, or some hours, allow is used up; trying again soon does not help.
        Quota = "quota",
    }
}

impl FailureClass {
    /// The class of a status of HTTP, as far as the status alone says it.
    #[must_use]
    pub fn of_status(status: u64) -> Option<Self> {
        match status {
            408 | 409 | 429 | 500..=599 => Some(Self::Transient),
            400..=499 => Some(Self::Permanent),
            _ => None,
        }
    }
}

/// A request that is no turn, known by the last message in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SideRequest {
    /// What it is for: `compaction`, `title`, …
    pub name: String,
    /// A regular expression that the last message matches, and that of no turn does.
    pub r#match: String,
    /// What the model answers.
    pub reply: String,
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(figure: &u64) -> bool {
    *figure == 0
}
