//! Builds the tree from what a reader meets, and holds the budgets of depth, nodes and aliases.
//!
//! Depth is counted before a level is opened: a tree of a hundred thousand levels could be built, and would overflow the
//! stack when it is walked or dropped.

use std::collections::HashMap;
use std::mem::size_of;

use super::Read;
use crate::diag::{Budget, Diagnostic, Entry, Limit, Node, Place, Span, Value};

/// A tree that is being built.
pub(super) struct Builder<'b> {
    budget: &'b Budget,
    open: Vec<Open>,
    root: Option<Node>,
    nodes: u64,
    copied: u64,
    anchors: HashMap<usize, Copied>,
}

/// A list or mapping whose end has not been met.
struct Open {
    start: Place,
    anchor: usize,
    holder: Holder,
}

enum Holder {
    Seq(Vec<Node>),
    Map { entries: Vec<Entry>, key: Option<(String, Span)> },
}

/// A value that aliases may repeat. `0` is no anchor.
struct Copied {
    node: Node,
    nodes: u64,
    bytes: u64,
    depth: u64,
}

/// The anchor of a value that has none.
pub(super) const NO_ANCHOR: usize = 0;

impl<'b> Builder<'b> {
    pub(super) fn new(budget: &'b Budget) -> Self {
        Self { budget, open: Vec::new(), root: None, nodes: 0, copied: 0, anchors: HashMap::new() }
    }

    /// Whether the next thing must be a key.
    pub(super) fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { holder: Holder::Map { key: None, .. }, .. }))
    }

    /// The span of the key whose value is awaited.
    pub(super) fn pending_key(&self) -> Option<Span> {
        match self.open.last() {
            Some(Open { holder: Holder::Map { key: Some((_, span)), .. }, .. }) => Some(*span),
            _ => None,
        }
    }

    pub(super) fn key(&mut self, text: String, span: Span) {
        if let Some(Open { holder: Holder::Map { key, .. }, .. }) = self.open.last_mut() {
            *key = Some((text, span));
        }
    }

    pub(super) fn scalar(&mut self, value: Value, span: Span, anchor: usize) -> Read<()> {
        self.count(1, span)?;
        self.attach(Node { span, value }, anchor)
    }

    pub(super) fn open_seq(&mut self, span: Span, anchor: usize) -> Read<()> {
        self.open(Holder::Seq(Vec::new()), span, anchor)
    }

    pub(super) fn open_map(&mut self, span: Span, anchor: usize) -> Read<()> {
        self.open(Holder::Map { entries: Vec::new(), key: None }, span, anchor)
    }

    fn open(&mut self, holder: Holder, span: Span, anchor: usize) -> Read<()> {
        self.count(1, span)?;
        if self.open.len() as u64 >= self.budget.depth {
            return Err(self.budget.exceeded(Limit::Depth, Some(span.start.one())).into());
        }
        self.open.push(Open { start: span.start, anchor, holder });
        Ok(())
    }

    /// Ends the innermost list or mapping.
    pub(super) fn close(&mut self, end: Place) -> Read<()> {
        let Open { start, anchor, holder } = self.open.pop().expect("a reader closes only what it opened");
        let value = match holder {
            Holder::Seq(items) => Value::Seq(items),
            Holder::Map { entries, .. } => Value::Map(without_duplicates(entries)?),
        };
        self.attach(Node { span: Span { start, end: end.max(start) }, value }, anchor)
    }

    /// Repeats an anchored value.
    pub(super) fn alias(&mut self, anchor: usize, span: Span) -> Read<()> {
        let Some(copied) = self.anchors.get(&anchor) else {
            return Err(Diagnostic::error("alias", "an alias repeats the value that it stands in")
                .at(span)
                .help("write the value out")
                .into());
        };
        let (nodes, bytes, depth) = (copied.nodes, copied.bytes, copied.depth);
        self.count(nodes, span)?;
        self.charge(bytes, span)?;
        if self.open.len() as u64 + depth > self.budget.depth {
            return Err(self.budget.exceeded(Limit::Depth, Some(span)).into());
        }
        let value = self.anchors[&anchor].node.value.clone();
        self.attach(Node { span, value }, NO_ANCHOR)
    }

    /// The finished tree; `None` when nothing was met.
    pub(super) fn finish(self) -> Option<Node> {
        self.root
    }

    fn attach(&mut self, node: Node, anchor: usize) -> Read<()> {
        if anchor != NO_ANCHOR {
            let (nodes, bytes, depth) = measure(&node);
            self.charge(bytes, node.span)?;
            self.anchors.insert(anchor, Copied { node: node.clone(), nodes, bytes, depth });
        }
        match self.open.last_mut().map(|open| &mut open.holder) {
            None => self.root = Some(node),
            Some(Holder::Seq(items)) => items.push(node),
            Some(Holder::Map { entries, key }) => {
                let (key, key_span) = key.take().expect("a reader gives the key before the value");
                entries.push(Entry { key, key_span, value: node });
            }
        }
        Ok(())
    }

    fn count(&mut self, nodes: u64, span: Span) -> Read<()> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > self.budget.nodes { Err(self.budget.exceeded(Limit::Nodes, Some(span)).into()) } else { Ok(()) }
    }

    fn charge(&mut self, bytes: u64, span: Span) -> Read<()> {
        self.copied = self.copied.saturating_add(bytes);
        if self.copied > self.budget.aliases {
            Err(self.budget.exceeded(Limit::Aliases, Some(span)).into())
        } else {
            Ok(())
        }
    }
}

/// Nodes, bytes and depth of a tree.
fn measure(node: &Node) -> (u64, u64, u64) {
    /// A node with its share of the list or mapping that holds it.
    const NODE: u64 = 64;
    const _: () = assert!(size_of::<Node>() <= 64);
    let mut sum = (1, NODE, 0);
    let mut add = |(nodes, bytes, depth): (u64, u64, u64), key: usize| {
        sum = (sum.0 + nodes, sum.1 + bytes + key as u64, sum.2.max(depth + 1));
    };
    match &node.value {
        Value::Seq(items) if items.is_empty() => sum.2 = 1,
        Value::Map(entries) if entries.is_empty() => sum.2 = 1,
        Value::Seq(items) => items.iter().for_each(|item| add(measure(item), 0)),
        Value::Map(entries) => entries.iter().for_each(|entry| add(measure(&entry.value), entry.key.len())),
        Value::Str(text) => sum.1 += text.len() as u64,
        _ => {}
    }
    sum
}

/// A mapping in which no key stands twice.
fn without_duplicates(entries: Vec<Entry>) -> Read<Vec<Entry>> {
    match first_pair(&entries) {
        None => Ok(entries),
        Some((first, second)) => {
            let (first, second) = (&entries[first], &entries[second]);
            Err(Diagnostic::error("duplicate-key", format!("the key `{}` stands twice in one mapping", second.key))
                .at(second.key_span)
                .found(format!("`{}` again; it stands at {} already", second.key, first.key_span.start))
                .help("keep one of the two; readers disagree about which one counts")
                .related(first.key_span, "first here")
                .into())
        }
    }
}

/// The first key that stands there again, with its first place.
///
/// Nearly every mapping is small, and there every pair is looked at; a large one costs no more than its sort.
fn first_pair(entries: &[Entry]) -> Option<(usize, usize)> {
    const SMALL: usize = 12;
    let same = |a: usize, b: usize| entries[a].key == entries[b].key;
    if entries.len() <= SMALL {
        return (1..entries.len())
            .find_map(|second| (0..second).find(|first| same(*first, second)).map(|first| (first, second)));
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|a, b| entries[*a].key.cmp(&entries[*b].key).then(a.cmp(b)));
    let pairs = order.windows(2).filter(|pair| same(pair[0], pair[1]));
    pairs.min_by_key(|pair| pair[1]).map(|pair| (pair[0], pair[1]))
}
