//! What is told apart by an id is told apart.

use std::collections::HashMap;

use crate::diag::{Diagnostic, Node, Value};
use crate::schema::{Example, Explanation, Rule, Subject};

/// Ids of one list differ.
pub(in crate::schema) const IDS_UNIQUE: Rule = Rule {
    text: Explanation {
        id: "ids-unique",
        about: "ids are unique within their list: decisions, findings, memories over all five files, the phases of a report",
        why: "Whoever refers to a decision or a finding does so by its id. Two of one id cannot be told apart, and the \
              same-issue trigger counts them as one.",
        mend: "Give the later one an id of its own.",
        example: Some(Example {
            kind: "phase-result",
            path: "result.yaml",
            wrong: "findings:\n  - {id: F-1, severity: low, category: style, description: a}\n  - {id: F-1, severity: low, \
                    category: style, description: b}\n",
            right: "findings:\n  - {id: F-1, severity: low, category: style, description: a}\n  - {id: F-2, severity: low, \
                    category: style, description: b}\n",
        }),
    },
    check: ids_unique,
};

/// Each list and the key that tells its items apart.
const LISTS: [(&str, &str); 7] = [
    ("", "id"),
    ("/decisions", "id"),
    ("/findings", "id"),
    ("/state/phases", "phase"),
    ("/state/remaining_findings", "id"),
    ("/state/last_checkpoint/decisions", "id"),
    ("/context/last_decisions", "id"),
];

fn ids_unique(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (pointer, key) in LISTS {
        if let Some(Value::Seq(items)) = subject.document.node_at(pointer).map(|node| &node.value) {
            twice(items, pointer, key, &mut found);
        }
    }
    found
}

fn twice(items: &[Node], pointer: &str, key: &str, found: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<&str, &Node> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        let Some((node, id)) = item.get(key).and_then(|node| Some((node, node.as_str()?))) else { continue };
        let Some(first) = seen.insert(id, node) else { continue };
        found.push(
            Diagnostic::warning(IDS_UNIQUE.text.id, format!("the {key} `{id}` stands twice in one list"))
                .at(node.span)
                .of(format!("{pointer}/{at}/{key}"))
                .expected("an id of its own")
                .found(node.describe())
                .help("give the later one another")
                .related(first.span, "before"),
        );
    }
}
