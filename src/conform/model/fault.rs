//! What is wrong with a script that its schema lets pass, and the rule that says it of a document.

use super::playbook::Playbook;
use super::script::Script;
use crate::diag::{Diagnostic, Node};
use crate::schema::{Example, Explanation, Rule, Subject};

/// One thing wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}; {help}", if pointer.is_empty() { "the script" } else { pointer })]
pub struct Fault {
    /// JSON pointer into the script; empty for the script as a whole.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Fault {
    pub(super) fn new(pointer: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into(), help: help.into() }
    }
}

impl Script {
    /// Everything that keeps the script from being played; nothing when it can be.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        Playbook::new(self).err().unwrap_or_default()
    }
}

/// A script that its schema accepts can be played.
pub(super) const CAN_BE_PLAYED: Rule = Rule {
    text: Explanation {
        id: "cannot-be-played",
        about: "every step has one meaning, every pattern compiles, and every group that a reply names is there",
        why: "A script that breaks half-way through a case would be held against the agent.",
        mend: "One content or one fate a step; a group that a reply names in `{{braces}}` stands in the route's own pattern.",
        example: Some(Example {
            kind: "model-script",
            path: "model.yaml",
            wrong: "steps:\n  - {text: Done., stall: before_headers, reset: in_stream}\n",
            right: "steps:\n  - {text: Done.}\n  - {reset: in_stream}\n",
        }),
    },
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    // What cannot be read as a script has been refused by the schema already.
    let Ok(script) = serde_json::from_value::<Script>(subject.document.to_json()) else { return Vec::new() };
    let finding = |fault: Fault| {
        let mut finding =
            Diagnostic::error(CAN_BE_PLAYED.text.id, fault.message).of(fault.pointer.clone()).help(fault.help);
        let node = subject.document.node_at(&fault.pointer);
        (finding.span, finding.found) = (node.map(Node::head), node.map(Node::describe));
        finding
    };
    script.faults().into_iter().map(finding).collect()
}
