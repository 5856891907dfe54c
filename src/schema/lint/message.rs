//! Rules about the messages of a session.

use std::collections::{HashMap, HashSet};

use crate::diag::{Diagnostic, Node, Value};
use crate::schema::{Example, Explanation, Rule, Sequence, SequenceRule, Subject};

/// The order of a log.
pub(in crate::schema) const MESSAGE_ORDER: SequenceRule = SequenceRule {
    text: Explanation {
        id: "message-order",
        about: "in a log `seq` rises from message to message of a session, and no message has the id of another",
        why: "Whoever replays a log, or joins a session late, asks for what comes after a number. A number that falls or \
              comes twice loses messages.",
        mend: "Look at who wrote the log: two writers, or one that started to count anew.",
        example: Some(Example {
            kind: "messages",
            path: "messages.json",
            wrong: "{\"id\":\"7f1b7f0a-3d0c-4f52-9d3c-0f8f6a1c2b01\",\"sessionId\":\"s-1\",\"ts\":\"2026-11-20T09:30:00Z\",\
                    \"level\":\"info\",\"seq\":2,\"type\":\"heartbeat\",\"payload\":{}}\n\
                    {\"id\":\"7f1b7f0a-3d0c-4f52-9d3c-0f8f6a1c2b02\",\"sessionId\":\"s-1\",\"ts\":\"2026-11-20T09:30:01Z\",\
                    \"level\":\"info\",\"seq\":2,\"type\":\"heartbeat\",\"payload\":{}}\n",
            right: "{\"id\":\"7f1b7f0a-3d0c-4f52-9d3c-0f8f6a1c2b01\",\"sessionId\":\"s-1\",\"ts\":\"2026-11-20T09:30:00Z\",\
                    \"level\":\"info\",\"seq\":2,\"type\":\"heartbeat\",\"payload\":{}}\n\
                    {\"id\":\"7f1b7f0a-3d0c-4f52-9d3c-0f8f6a1c2b02\",\"sessionId\":\"s-1\",\"ts\":\"2026-11-20T09:30:01Z\",\
                    \"level\":\"info\",\"seq\":3,\"type\":\"heartbeat\",\"payload\":{}}\n",
        }),
    },
    begin: || Box::new(Order::default()),
};

/// A piece of a longer message.
pub(in crate::schema) const PARTIAL_RANGE: Rule = Rule {
    text: Explanation {
        id: "partial-range",
        about: "a piece of a message has an `index` below its `total`",
        why: "The reader waits for `total` pieces, counted from 0, and puts them together by their index.",
        mend: "Count the pieces from 0.",
        example: Some(Example {
            kind: "messages",
            path: "messages.json",
            wrong: "{\"id\":\"7f1b7f0a-3d0c-4f52-9d3c-0f8f6a1c2b01\",\"sessionId\":\"s-1\",\"ts\":\"2026-11-20T09:30:00Z\",\
                    \"level\":\"info\",\"seq\":2,\"type\":\"log\",\"payload\":{\"text\":\"a\",\"partial\":{\"id\":\"p\",\
                    \"index\":2,\"total\":2}}}\n",
            right: "{\"id\":\"7f1b7f0a-3d0c-4f52-9d3c-0f8f6a1c2b01\",\"sessionId\":\"s-1\",\"ts\":\"2026-11-20T09:30:00Z\",\
                    \"level\":\"info\",\"seq\":2,\"type\":\"log\",\"payload\":{\"text\":\"a\",\"partial\":{\"id\":\"p\",\
                    \"index\":1,\"total\":2}}}\n",
        }),
    },
    check: partial_range,
};

#[derive(Default)]
struct Order {
    last: HashMap<String, i128>,
    ids: HashSet<String>,
}

impl Sequence for Order {
    fn next(&mut self, subject: &Subject<'_>) -> Vec<Diagnostic> {
        let root = subject.document.root();
        let mut found = Vec::new();
        if let (Some(session), Some(node)) = (root.get("sessionId").and_then(Node::as_str), root.get("seq"))
            && let Value::Int(seq @ 0..) = node.value
        {
            match self.last.get(session) {
                Some(last) if *last >= seq => found.push(out_of_order(node, *last)),
                _ => {
                    self.last.insert(session.to_owned(), seq);
                }
            }
        }
        if let Some((node, id)) = root.get("id").and_then(|node| Some((node, node.as_str()?)))
            && !self.ids.insert(id.to_owned())
        {
            found.push(
                Diagnostic::error(MESSAGE_ORDER.text.id, "another message has this id")
                    .at(node.span)
                    .of("/id")
                    .expected("an id of its own")
                    .found(node.describe()),
            );
        }
        found
    }
}

fn out_of_order(node: &Node, last: i128) -> Diagnostic {
    Diagnostic::error(MESSAGE_ORDER.text.id, "`seq` does not rise")
        .at(node.span)
        .of("/seq")
        .expected(format!("more than {last}, which stands before it"))
        .found(node.describe())
        .help("a log is appended in the order of `seq`")
}

fn partial_range(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let number = |key: &str| {
        let node = subject.document.node_at(&format!("/payload/partial/{key}"))?;
        if let Value::Int(number) = node.value { Some((node, number)) } else { None }
    };
    let (Some((node, index)), Some((_, total))) = (number("index"), number("total")) else { return Vec::new() };
    if index >= 0 && index < total {
        return Vec::new();
    }
    vec![
        Diagnostic::error(PARTIAL_RANGE.text.id, format!("there is no piece {index} of {total}"))
            .at(node.span)
            .of("/payload/partial/index")
            .expected(format!("less than {total}, counted from 0"))
            .found(node.describe()),
    ]
}
