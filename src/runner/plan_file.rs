//! A plan's file: the document kind `plan`, and reading it.

use std::path::Path;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::PlanError;
use crate::config::Command;
use crate::contract::Phase;
use crate::diag::render::all;
use crate::diag::{Budget, Diagnostic, Format, Node, Value};
use crate::schema::{Checker, Example, Explanation, Kind, Marks, Rule, Subject};

/// A plan's file: the phases to run, in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Plan")]
#[serde(deny_unknown_fields)]
pub struct PlanDocument {
    /// The phases. At least one, none twice.
    #[schemars(length(min = 1))]
    pub phases: Vec<PlannedPhase>,
}

/// The work of a phase as it is written.
pub(super) enum Planned<'a> {
    Command(&'a Command),
    Prompt { prompt: &'a str, backend: Option<&'a str> },
}

/// One phase of a plan's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedPhase {
    /// The phase.
    pub id: Phase,
    /// What to run: its exit code decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// What to tell an agent instead.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The agent that is told it; `runtime.backend` of the configuration by default.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
}

impl PlannedPhase {
    /// The work, when it says one.
    pub(super) fn work(&self) -> Option<Planned<'_>> {
        match (&self.command, &self.prompt) {
            (Some(command), _) => Some(Planned::Command(command)),
            (None, Some(prompt)) => Some(Planned::Prompt { prompt, backend: self.backend.as_deref() }),
            (None, None) => None,
        }
    }
}

/// The document kind of a plan's file.
pub const PLAN: Kind = Kind::of::<PlanDocument>("plan", || {
    vec![json!({ "phases": [
        { "id": "design", "command": ["/usr/local/bin/design", "--brief"] },
        { "id": "implementation", "command": "make build" },
        { "id": "audit", "prompt": "Review the work of this branch.", "backend": "claude" },
    ] })]
})
.place("what `loa-run run --plan` is given")
.known_by(Marks { paths: &[], keys: &["phases"] })
.written_in(Format::Yaml)
.rules(&[PHASE_ONCE, ONE_WORK]);

/// A phase has one command.
const PHASE_ONCE: Rule = Rule {
    text: Explanation {
        id: "phase-once",
        about: "a phase stands once in a plan",
        why: "Each phase has one checkpoint. A second command for it would overwrite what the first one recorded.",
        mend: "Put both commands into one script.",
        example: Some(Example {
            kind: "plan",
            path: "plan.yaml",
            wrong: "phases:\n  - {id: design, command: ./a}\n  - {id: design, command: ./b}\n",
            right: "phases:\n  - {id: design, command: ./a}\n  - {id: audit, command: ./b}\n",
        }),
    },
    check: phase_once,
};

fn phase_once(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let Some(Value::Seq(phases)) = subject.document.root().get("phases").map(|phases| &phases.value) else {
        return Vec::new();
    };
    let ids: Vec<_> = phases.iter().filter_map(|phase| phase.get("id")).collect();
    let twice = (0..ids.len()).filter_map(|at| {
        let word = ids[at].as_str()?;
        let first = ids[..at].iter().find(|earlier| earlier.as_str() == Some(word))?;
        let finding = Diagnostic::error(PHASE_ONCE.text.id, format!("phase `{word}` stands twice in the plan"))
            .at(ids[at].span)
            .of(format!("/phases/{at}/id"))
            .expected("a phase that is not in the plan yet")
            .found(ids[at].describe());
        Some(finding.related(first.span, "here it stands first").help("one command a phase: put both into one script"))
    });
    twice.collect()
}

/// A phase has work, and one kind of it.
const ONE_WORK: Rule = Rule {
    text: Explanation {
        id: "one-work",
        about: "a phase of a plan has a command or a prompt, and not both",
        why: "With neither there is nothing to run; with both nobody knows whose word ends the phase.",
        mend: "Keep one. A program that judges an agent's work is a gate: `runtime.phases.<phase>.verify` of the configuration.",
        example: Some(Example {
            kind: "plan",
            path: "plan.yaml",
            wrong: "phases:\n  - {id: design, command: ./a, prompt: Draw the design.}\n",
            right: "phases:\n  - {id: design, prompt: Draw the design.}\n",
        }),
    },
    check: one_work,
};

fn one_work(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let Some(Value::Seq(phases)) = subject.document.root().get("phases").map(|phases| &phases.value) else {
        return Vec::new();
    };
    let wrong = phases.iter().enumerate().filter_map(|(at, phase)| {
        let (command, prompt) = (phase.get("command"), phase.get("prompt"));
        let finding = |node: &Node, key: &str, message: &str| {
            let finding = Diagnostic::error(ONE_WORK.text.id, message.to_owned()).at(node.head());
            finding.of(format!("/phases/{at}{key}")).expected("`command` or `prompt`").found(node.describe())
        };
        match (command, prompt) {
            (Some(_), Some(prompt)) => {
                let finding = finding(prompt, "/prompt", "this phase has a command and a prompt");
                Some(finding.help("remove one: a gate goes under `runtime.phases.<phase>.verify` of the configuration"))
            }
            // A key that is misspelt is another rule's finding.
            (None, None)
                if !phase.entries().is_empty() && phase.entries().iter().all(|entry| names_no_work(&entry.key)) =>
            {
                let finding = finding(phase, "", "this phase has nothing to do");
                Some(finding.help("say what to run under `command`, or what to tell an agent under `prompt`"))
            }
            _ => None,
        }
    });
    wrong.collect()
}

fn names_no_work(key: &str) -> bool {
    matches!(key, "id" | "backend")
}

/// Reads what stands in a plan's file.
///
/// # Errors
/// [`PlanError::Invalid`].
pub fn read_plan(path: &Path, bytes: &[u8]) -> Result<PlanDocument, PlanError> {
    let budget = Budget::default();
    let name = Utf8PathBuf::from(path.to_string_lossy().into_owned());
    Checker::new(&PLAN).read(bytes, &name, &budget).map_err(|findings| PlanError::Invalid {
        path: path.to_path_buf(),
        findings: all(name.as_str(), bytes, &findings),
    })
}
