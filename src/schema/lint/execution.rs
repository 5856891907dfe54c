//! One execution has one id, in every document that speaks of it.

use crate::diag::{Diagnostic, Node};
use crate::schema::{Example, Explanation, Rule, Subject};

/// A document and the checkpoint in it belong to one execution. Several checkpoints of a folder are compared in
/// `together`, under the same id.
pub(in crate::schema) const ONE_EXECUTION: Rule = Rule {
    text: Explanation {
        id: "one-execution",
        about: "every checkpoint of a run, and every document that holds one, has the same `execution_id`",
        why: "A checkpoint of another execution says that a phase is done which this execution never ran; a resume then \
              builds on work that is not there.",
        mend: "Move the checkpoints of the other execution away, such as with `loa-run run --fresh`; mend the id if it was \
               mistyped.",
        example: Some(Example {
            kind: "execution-state",
            path: "state.yaml",
            wrong: "execution_id: exec-1\ncurrent_phase: discovery\ncompleted_phases: [preflight]\nlast_checkpoint:\n  \
                    execution_id: exec-2\n  phase: preflight\n  created_at: \"2026-11-20T09:30:00Z\"\n  exit_code: 0\n  \
                    summary: Done\n",
            right: "execution_id: exec-1\ncurrent_phase: discovery\ncompleted_phases: [preflight]\nlast_checkpoint:\n  \
                    execution_id: exec-1\n  phase: preflight\n  created_at: \"2026-11-20T09:30:00Z\"\n  exit_code: 0\n  \
                    summary: Done\n",
        }),
    },
    check: one_execution,
};

fn one_execution(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let document = subject.document;
    let Some(own) = document.node_at("/execution_id") else { return Vec::new() };
    let mut found = Vec::new();
    for pointer in ["/last_checkpoint/execution_id", "/state/last_checkpoint/execution_id"] {
        let held = document.node_at(pointer).filter(|node| node.as_str().is_some());
        if let Some(node) = held.filter(|node| own.as_str().is_some_and(|own| node.as_str() != Some(own))) {
            found.push(finding(pointer, node, own));
        }
    }
    found
}

fn finding(pointer: &str, node: &Node, own: &Node) -> Diagnostic {
    Diagnostic::error(ONE_EXECUTION.text.id, "the last checkpoint belongs to another execution")
        .at(node.span)
        .of(pointer)
        .expected(own.describe())
        .found(node.describe())
        .help("the two are of one execution, so their ids are equal")
        .related(own.span, "the execution of this document")
}
