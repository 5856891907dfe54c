//! A runtime as the judge sees it: how to start it, and where to look. Explained for their authors in
//! `contract-tests/PLUGGING-IN.md`.

use std::collections::BTreeMap;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::case::Knob;
use super::{Column, CompactorWay, Feature, Verb};
use crate::diag::{Diagnostic, closest};
use crate::schema::{Example, Explanation, Rule, Subject};

/// Program and arguments; `{name}` placeholders are filled in, no shell is involved.
pub type Argv = Vec<String>;

/// `fixtures/runtimes/<name>/manifest.yaml`, or a file of yours.
///
/// Placeholders in every argv: `{plan}` the plan file, `{workspace}` the folder (also the working directory), `{dir}` the
/// manifest's own folder, `{judge_dir}` the folder of the judge's program. A program without a slash is looked up beside
/// the judge, then on PATH. One of `run` and `adapter` is there. A clause whose verb is absent is not observed, never passed.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Argv>,
    /// A program that does every verb that is not given as a command: started once a case, in its HOME, and asked by lines of
    /// JSON on its standard input and output. Of the placeholders, `{workspace}` is none here: every ask names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<Argv>,
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
    /// Why it cannot live in the case's own chamber, if so: it is a service that runs elsewhere. Nothing then says who starts its
    /// phases, and its row says that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lives_outside: Option<String>,
    /// Folders that the runtime must be able to write besides those of its case, such as a cache of its own; its row says so.
    /// Everything else of the host it can read and not write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
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

impl Manifest {
    /// The command that does a verb; without one the adapter is asked, if there is one.
    #[must_use]
    pub fn command(&self, verb: Verb) -> Option<&Argv> {
        match verb {
            Verb::Run => self.run.as_ref(),
            Verb::Resume => self.resume.as_ref(),
            Verb::Resolve => self.resolve.as_ref(),
            Verb::Halt => self.halt.as_ref(),
            Verb::State => self.state.as_ref(),
            Verb::Kill => None,
        }
    }

    /// Every command by its key, besides the one that makes the program.
    pub fn commands(&self) -> impl Iterator<Item = (&'static str, &Argv)> {
        let all = [
            ("version", Some(&self.version)),
            ("run", self.run.as_ref()),
            ("adapter", self.adapter.as_ref()),
            ("resume", self.resume.as_ref()),
            ("prepare", self.prepare.as_ref()),
            ("state", self.state.as_ref()),
            ("halt", self.halt.as_ref()),
            ("resolve", self.resolve.as_ref()),
        ];
        all.into_iter().filter_map(|(name, argv)| Some((name, argv?)))
    }

    /// Whether there is a way to have a verb done.
    #[must_use]
    pub fn offers(&self, verb: Verb) -> bool {
        self.command(verb).is_some() || self.adapter.is_some()
    }

    /// Whether the adapter is asked a verb.
    #[must_use]
    pub fn asks(&self, verb: Verb) -> bool {
        self.command(verb).is_none() && self.adapter.is_some()
    }

    /// A pattern of `surface` for this phase and trigger, whose words stand for themselves.
    #[must_use]
    pub fn surfaced(pattern: &str, phase: &str, trigger: &str) -> String {
        pattern.replace("{phase}", &regex::escape(phase)).replace("{trigger}", &regex::escape(trigger))
    }

    /// What stands for the runtime's program: `run`, or else the adapter.
    #[must_use]
    pub fn program(&self) -> Option<&Argv> {
        self.run.as_ref().or(self.adapter.as_ref())
    }
}

/// A manifest that says how the runtime is started.
pub(super) const STARTED: Rule = Rule {
    text: Explanation {
        id: "runtime-start",
        about: "a runtime manifest has a `run` or an `adapter`",
        why: "Without either there is no way to start the runtime, and nothing of it can be judged.",
        mend: "Name the command that runs the plan as `run`, or a program that is asked to run it as `adapter`.",
        example: Some(Example {
            kind: "runtime-manifest",
            path: "mine.yaml",
            wrong: "runtime: mine\nversion: [mine, --version]\n",
            right: "runtime: mine\nversion: [mine, --version]\nadapter: [mine-adapter]\n",
        }),
    },
    check: started,
};

fn started(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let root = subject.document.root();
    // A key that is nearly one of the two is refused under the name that it has: one slip, one finding.
    let meant = root.entries().iter().any(|entry| closest(&entry.key, ["run", "adapter"]).is_some());
    if meant || root.entries().is_empty() {
        return Vec::new();
    }
    let message = "neither `run` nor `adapter`: nothing says how the runtime is started";
    let finding = Diagnostic::error(STARTED.text.id, message).at(root.head()).of("");
    let expected = "`run`: a command that runs the plan, or `adapter`: a program that is asked to";
    vec![finding.expected(expected).found("neither key").help("add the key `run`, or the key `adapter`")]
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
