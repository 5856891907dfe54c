//! The order of a trajectory.

use jiff::Timestamp;

use crate::diag::{Diagnostic, Node};
use crate::schema::{Example, Explanation, Sequence, SequenceRule, Subject};

/// Time does not run backwards. The checkpoints of a folder are compared in `together`, under the same id.
pub(in crate::schema) const TIME_ORDER: SequenceRule = SequenceRule {
    text: Explanation {
        id: "time-order",
        about: "what is recorded later has no earlier time: the lines of a trajectory, the checkpoints in phase order",
        why: "Times that run backwards come from two writers, a clock that was set, or a file that was put there by hand; \
              whoever looks for the newest record by its time finds the wrong one.",
        mend: "Find out which of the two was written by something else. A phase that ran again before its successors did is \
               in order; the warning goes once they ran.",
        example: Some(Example {
            kind: "trajectory",
            path: "2026-11-20.jsonl",
            wrong: "{\"ts\":\"2026-11-20T09:30:00Z\",\"agent\":\"implementing-tasks\",\"action\":\"began\"}\n\
                    {\"ts\":\"2026-11-20T09:29:00Z\",\"agent\":\"implementing-tasks\",\"action\":\"ended\"}\n",
            right: "{\"ts\":\"2026-11-20T09:30:00Z\",\"agent\":\"implementing-tasks\",\"action\":\"began\"}\n\
                    {\"ts\":\"2026-11-20T09:30:00Z\",\"agent\":\"implementing-tasks\",\"action\":\"ended\"}\n",
        }),
    },
    begin: || Box::new(Order { last: None }),
};

struct Order {
    last: Option<Timestamp>,
}

impl Sequence for Order {
    fn next(&mut self, subject: &Subject<'_>) -> Vec<Diagnostic> {
        let root = subject.document.root();
        let read = |key: &'static str| {
            let node = root.get(key)?;
            Some((key, node, node.as_str()?.parse::<Timestamp>().ok()?))
        };
        let Some((key, node, time)) = read("ts").or_else(|| read("timestamp")) else { return Vec::new() };
        match self.last.replace(time) {
            Some(last) if last > time => vec![backwards(key, node, last)],
            _ => Vec::new(),
        }
    }
}

fn backwards(key: &str, node: &Node, last: Timestamp) -> Diagnostic {
    Diagnostic::warning(TIME_ORDER.text.id, "the line before this one is later")
        .at(node.span)
        .of(format!("/{key}"))
        .expected(format!("{last} or later"))
        .found(node.describe())
        .help("look whether two writers share the file")
}
