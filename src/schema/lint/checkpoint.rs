//! Rules about one checkpoint.

use crate::contract::Phase;
use crate::diag::{Diagnostic, Node, Value};
use crate::schema::{Example, Explanation, Rule, Subject};

/// A checkpoint in `.loa-checkpoint/` is found by its name.
pub(in crate::schema) const STEM_EQUALS_PHASE: Rule = Rule {
    text: Explanation {
        id: "stem-equals-phase",
        about: "a checkpoint in `.loa-checkpoint/` is named after its phase",
        why: "A runtime finds a checkpoint by its name alone. One under another phase's name makes that phase look done.",
        mend: "Rename the file to `<phase>.yaml`, or mend `phase` if the name is right.",
        example: Some(Example {
            kind: "checkpoint",
            path: ".loa-checkpoint/audit.yaml",
            wrong: "execution_id: exec-1\nphase: design\ncreated_at: \"2026-11-20T09:30:00Z\"\nexit_code: 0\nsummary: Done\n",
            right: "execution_id: exec-1\nphase: audit\ncreated_at: \"2026-11-20T09:30:00Z\"\nexit_code: 0\nsummary: Done\n",
        }),
    },
    check: stem_equals_phase,
};

/// Some of Loa's texts look for `phase-audit.yaml`; the contract knows `audit.yaml`.
pub(in crate::schema) const PHASE_PREFIX: Rule = Rule {
    text: Explanation {
        id: "phase-prefix",
        about: "a checkpoint's name is `<phase>.yaml`, without `phase-` before it",
        why: "One checklist of Loa's looks for `phase-audit.yaml`, the contract for `audit.yaml`. A runtime that keeps to the \
              contract never reads the file, and the phase runs again.",
        mend: "Rename the file to `<phase>.yaml`.",
        // What is wrong is the name, which no text can show.
        example: None,
    },
    check: phase_prefix,
};

/// What the exit code says and what the errors say.
pub(in crate::schema) const EXIT_CODE_AGAINST_ERRORS: Rule = Rule {
    text: Explanation {
        id: "exit-code-against-errors",
        about: "`exit_code` agrees with `errors`: 0 has no error that cannot be recovered from, 1 has one that can be",
        why: "The runtime acts on `exit_code` alone: 0 goes on, 1 tries again. An error that says that neither helps is then \
              never seen by anybody.",
        mend: "Record 2 where a human is needed, or set `recoverable: true` if trying again may help.",
        example: Some(Example {
            kind: "checkpoint",
            path: "checkpoint.yaml",
            wrong: "execution_id: exec-1\nphase: audit\ncreated_at: \"2026-11-20T09:30:00Z\"\nexit_code: 0\nsummary: Done\n\
                    errors:\n  - {code: NO_TOKEN, message: no token, recoverable: false}\n",
            right: "execution_id: exec-1\nphase: audit\ncreated_at: \"2026-11-20T09:30:00Z\"\nexit_code: 2\nsummary: Done\n\
                    errors:\n  - {code: NO_TOKEN, message: no token, recoverable: false}\n",
        }),
    },
    check: exit_code_against_errors,
};

/// Who skips a phase says why.
pub(in crate::schema) const SKIP_WITHOUT_DECISION: Rule = Rule {
    text: Explanation {
        id: "skip-without-decision",
        about: "a phase that was skipped has a decision that says who skipped it and why",
        why: "The contract has no exit code for a skip: it is recorded as 0. Without a decision nobody can tell later \
              whether the phase was meant to be left out.",
        mend: "Add an entry to `decisions`, or remove `SKIPPED:` from the summary if the phase ran.",
        example: Some(Example {
            kind: "checkpoint",
            path: "checkpoint.yaml",
            wrong: "execution_id: exec-1\nphase: deploy\ncreated_at: \"2026-11-20T09:30:00Z\"\nexit_code: 0\n\
                    summary: \"SKIPPED: by configuration\"\n",
            right: "execution_id: exec-1\nphase: deploy\ncreated_at: \"2026-11-20T09:30:00Z\"\nexit_code: 0\n\
                    summary: \"SKIPPED: by configuration\"\ndecisions:\n  - id: D-001\n    description: Skip deploy\n    \
                    reasoning: Released by hand\n    timestamp: \"2026-11-20T09:30:00Z\"\n",
        }),
    },
    check: skip_without_decision,
};

/// The stem of a file in `.loa-checkpoint/`.
fn stem<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    let folder = subject.path.parent()?.file_name()?;
    subject.path.file_stem().filter(|_| folder == ".loa-checkpoint")
}

fn stem_equals_phase(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let phase = subject.document.root().get("phase");
    let (Some(stem), Some(phase)) = (stem(subject), phase) else { return Vec::new() };
    if stem.starts_with("phase-") {
        return Vec::new();
    }
    let Some(word) = phase.as_str().filter(|word| *word != stem && word.parse::<Phase>().is_ok()) else {
        return Vec::new();
    };
    let message = format!("the file is named `{stem}` and its phase is `{word}`");
    vec![
        Diagnostic::error(STEM_EQUALS_PHASE.text.id, message)
            .at(phase.span)
            .of("/phase")
            .expected(format!("`{stem}`, or the name `{word}.yaml`"))
            .found(phase.describe())
            .help("rename the file or mend the phase: a runtime finds a checkpoint by its name"),
    ]
}

fn phase_prefix(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let Some(stem) = stem(subject) else { return Vec::new() };
    let Some(rest) = stem.strip_prefix("phase-") else { return Vec::new() };
    let name = subject.document.root().get("phase").and_then(Node::as_str).unwrap_or(rest);
    vec![
        Diagnostic::error(PHASE_PREFIX.text.id, "no runtime looks for a checkpoint of this name")
            .at(subject.document.root().head())
            .expected(format!("the name `{name}.yaml`"))
            .found(format!("the name `{stem}.yaml`"))
            .help("rename the file; `phase-` stands in one of Loa's checklists and not in the contract"),
    ]
}

fn exit_code_against_errors(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let root = subject.document.root();
    let (Some(exit), Some(Value::Seq(errors))) = (root.get("exit_code"), root.get("errors").map(|node| &node.value))
    else {
        return Vec::new();
    };
    let lost = |error: &&Node| error.get("recoverable").is_some_and(|word| word.value == Value::Bool(false));
    let first = errors.iter().position(|error| lost(&error));
    let (message, at) = match (&exit.value, first) {
        (Value::Int(0), Some(at)) => ("`exit_code` says success and an error cannot be recovered from", at),
        (Value::Int(1), Some(at)) if errors.iter().all(|error| lost(&error)) => {
            ("`exit_code` says that trying again may help and no error can be recovered from", at)
        }
        _ => return Vec::new(),
    };
    let finding = Diagnostic::warning(EXIT_CODE_AGAINST_ERRORS.text.id, message)
        .at(exit.span)
        .of("/exit_code")
        .expected("2, or errors that can be recovered from")
        .found(exit.describe())
        .help("record 2 where a human is needed");
    let recoverable = errors[at].get("recoverable").map_or(errors[at].head(), |node| node.span);
    vec![finding.related(recoverable, "this error")]
}

fn skip_without_decision(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let root = subject.document.root();
    let Some(summary) =
        root.get("summary").filter(|node| node.as_str().is_some_and(|text| text.starts_with("SKIPPED:")))
    else {
        return Vec::new();
    };
    let decided =
        root.get("decisions").is_some_and(|node| matches!(&node.value, Value::Seq(items) if !items.is_empty()));
    if decided {
        return Vec::new();
    }
    vec![
        Diagnostic::warning(SKIP_WITHOUT_DECISION.text.id, "the phase was skipped and nobody says why")
            .at(summary.span)
            .of("/summary")
            .expected("an entry in `decisions` that says who skipped it and why")
            .found("no decision")
            .help("add the decision, or remove `SKIPPED:` if the phase ran"),
    ]
}
