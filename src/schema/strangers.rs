//! Keys that a schema does not name and tolerates.

use std::collections::HashSet;

use serde_json::Value;

use super::Checker;
use super::expect::resolve;
use super::explain::{escape, title};
use crate::diag::{Diagnostic, Entry, Node, Value as Found, closest};

/// A key that the schema does not name, in a mapping that may have others than the schema names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stranger<'a> {
    entry: &'a Entry,
    /// A key that the schema names, that is not there, and that is spelt nearly the same.
    near: Option<&'a str>,
}

/// Every such key of a document, with the pointer of its mapping; at most [`Checker::MOST_FINDINGS`].
pub(super) fn strangers<'a>(schema: &'a Value, root: &'a Node) -> Vec<(String, Stranger<'a>)> {
    let mut found = Vec::new();
    walk(schema, schema, root, "", &mut found);
    found
}

/// A warning a key.
pub(super) fn warnings(schema: &Value, root: &Node) -> Vec<Diagnostic> {
    let found = strangers(schema, root);
    found.iter().map(|(holder, stranger)| stranger.warning(holder)).collect()
}

/// A warning for each key that is nearly one of those that are read: its value is lost without a word otherwise.
#[must_use]
pub fn misspelt_keys(schema: &Value, root: &Node) -> Vec<Diagnostic> {
    let found = strangers(schema, root);
    found.iter().filter(|(_, key)| key.near.is_some()).map(|(holder, key)| key.warning(holder)).collect()
}

impl Stranger<'_> {
    fn warning(&self, holder: &str) -> Diagnostic {
        let key = &self.entry.key;
        let help = match self.near {
            Some(name) => format!("did you mean `{name}`?"),
            None => "remove the key, or leave it: whoever does not know it passes over it".to_owned(),
        };
        Diagnostic::warning("unknown-key", format!("{} has the key `{key}`, which nothing here reads", title(holder)))
            .at(self.entry.key_span)
            .of(format!("{holder}/{}", escape(key)))
            .found(format!("the key `{key}`"))
            .help(help)
    }
}

fn walk<'a>(
    root: &'a Value,
    schema: &'a Value,
    node: &'a Node,
    pointer: &str,
    found: &mut Vec<(String, Stranger<'a>)>,
) {
    if found.len() > Checker::MOST_FINDINGS {
        return;
    }
    let schema = resolve(root, schema);
    match &node.value {
        Found::Seq(items) => {
            let Some(each) = shapes(root, schema, node).into_iter().find_map(|shape| shape.get("items")) else {
                return;
            };
            for (at, item) in items.iter().enumerate() {
                walk(root, each, item, &format!("{pointer}/{at}"), found);
            }
        }
        Found::Map(entries) => mapping(root, &shapes(root, schema, node), entries, pointer, found),
        _ => {}
    }
}

fn mapping<'a>(
    root: &'a Value,
    shapes: &[&'a Value],
    entries: &'a [Entry],
    pointer: &str,
    found: &mut Vec<(String, Stranger<'a>)>,
) {
    let named = |key: &str| shapes.iter().find_map(|shape| shape.get("properties")?.get(key));
    let open = shapes.iter().all(|shape| shape.get("additionalProperties").is_none());
    let lists_keys = shapes.iter().any(|shape| shape.get("properties").is_some());
    let taken: HashSet<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let properties = shapes.iter().filter_map(|shape| shape.get("properties")?.as_object());
    let free: Vec<&str> =
        properties.flat_map(|known| known.keys()).map(String::as_str).filter(|key| !taken.contains(key)).collect();
    for entry in entries {
        match named(&entry.key) {
            Some(shape) => {
                walk(root, shape, &entry.value, &format!("{pointer}/{}", escape(&entry.key)), found);
            }
            None if open && lists_keys => {
                let near = closest(&entry.key, free.iter().copied());
                found.push((pointer.to_owned(), Stranger { entry, near }));
            }
            None => {}
        }
    }
}

/// A schema and those of its alternatives that a value may mean: a key that any of them names is known.
fn shapes<'a>(root: &'a Value, schema: &'a Value, node: &Node) -> Vec<&'a Value> {
    let choices = ["oneOf", "anyOf"].iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    let choices = choices.map(|choice| resolve(root, choice)).filter(|choice| may_be_meant(choice, node));
    std::iter::once(schema).chain(choices).collect()
}

/// Whether no constant of an alternative, such as its `type`, says otherwise.
fn may_be_meant(choice: &Value, node: &Node) -> bool {
    let properties = choice.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut constants = properties.filter_map(|(key, asked)| Some((node.get(key)?, asked.get("const")?)));
    constants.all(|(value, constant)| value.to_json() == *constant)
}
