//! One document: a tree with spans, and its lookups.

use super::{Budget, Node, Read, Span, Value, documents};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One YAML document, version 1.2, core schema.
    Yaml,
    /// One JSON value.
    Json,
    /// One JSON value a line, or a single JSON value over several lines.
    JsonLines,
}

/// A document that was read completely.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    root: Node,
}

impl Document {
    pub(super) fn new(root: Node) -> Self {
        Self { root }
    }

    /// Reads the one document of a file; of JSON lines the first.
    ///
    /// # Errors
    /// The finding that keeps it from being read.
    ///
    /// # Panics
    /// Never: a file without a document is an error.
    pub fn read(bytes: &[u8], format: Format, budget: &Budget) -> Read<Self> {
        documents(bytes, format, budget).next().expect("a file without a document is an error")
    }

    /// The outermost value.
    #[must_use]
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The document as JSON has it; see [`Node::to_json`].
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        self.root.to_json()
    }

    /// The value at a JSON pointer (RFC 6901).
    #[must_use]
    pub fn node_at(&self, pointer: &str) -> Option<&Node> {
        self.walk(pointer).map(|(node, _)| node)
    }

    /// Where to point a reader who asks about the value at a JSON pointer: the value itself, a part of it when it is
    /// large (see [`Node::head`]).
    #[must_use]
    pub fn span_of(&self, pointer: &str) -> Option<Span> {
        self.node_at(pointer).map(Node::head)
    }

    /// Where to point a reader who asks what is missing in the mapping at a JSON pointer: the key that holds it, or its
    /// first key where no key does.
    #[must_use]
    pub fn holder_of(&self, pointer: &str) -> Option<Span> {
        self.walk(pointer).map(|(node, key)| key.unwrap_or_else(|| node.head()))
    }

    fn walk(&self, pointer: &str) -> Option<(&Node, Option<Span>)> {
        let mut at = (&self.root, None);
        for token in tokens(pointer) {
            at = match &at.0.value {
                Value::Map(_) => {
                    let entry = at.0.entry(&token)?;
                    (&entry.value, Some(entry.key_span))
                }
                Value::Seq(items) => (items.get(token.parse::<usize>().ok()?)?, None),
                _ => return None,
            };
        }
        Some(at)
    }
}

/// The tokens of a JSON pointer: in them `~1` is a slash and `~0` a tilde.
pub fn tokens(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"))
}
