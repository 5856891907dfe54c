//! Which kind a document is, by where it lies and by what stands in it.

use camino::Utf8Path;

use super::Kind;
use crate::diag::{Node, Value};

/// How documents of a kind are recognised.
#[derive(Debug, Clone, Copy)]
pub struct Marks {
    /// Tails of paths: parts between slashes, in which `*` stands for anything.
    pub paths: &'static [&'static str],
    /// Keys that the outermost mapping has, all of them; of a list, its first entry.
    pub keys: &'static [&'static str],
}

impl Marks {
    /// Recognised by nothing: somebody has to name the kind.
    pub const NONE: Self = Self { paths: &[], keys: &[] };
}

/// The kind of a file by its path, and why.
#[must_use]
pub fn by_path<'k>(kinds: &'k [Kind], path: &Utf8Path) -> Option<(&'k Kind, String)> {
    kinds.iter().find_map(|kind| {
        let pattern = kind.marks().paths.iter().find(|pattern| is_tail(pattern, path))?;
        Some((kind, format!("its path ends in `{pattern}`")))
    })
}

/// The kind of a document by its keys, and why; of several the one with the most keys.
#[must_use]
pub fn by_content<'k>(kinds: &'k [Kind], root: &Node) -> Option<(&'k Kind, String)> {
    let node = match &root.value {
        Value::Seq(items) => items.first()?,
        _ => root,
    };
    let has_all = |kind: &&Kind| {
        let keys = kind.marks().keys;
        !keys.is_empty() && keys.iter().all(|key| node.get(key).is_some())
    };
    // The first of the greatest, so that the order of the kinds decides between equals.
    let most = kinds.iter().filter(has_all).map(|kind| kind.marks().keys.len()).max()?;
    let kind = kinds.iter().filter(has_all).find(|kind| kind.marks().keys.len() == most)?;
    let keys: Vec<String> = kind.marks().keys.iter().map(|key| format!("`{key}`")).collect();
    let noun = if keys.len() == 1 { "key" } else { "keys" };
    Some((kind, format!("it has the {noun} {}", keys.join(", "))))
}

/// Whether the last parts of a path are those of a pattern.
fn is_tail(pattern: &str, path: &Utf8Path) -> bool {
    let parts: Vec<&str> = path.components().map(|part| part.as_str()).collect();
    let wanted: Vec<&str> = pattern.split('/').collect();
    parts.len() >= wanted.len() && wanted.iter().zip(&parts[parts.len() - wanted.len()..]).all(|(a, b)| is_like(a, b))
}

/// Whether a name is like a pattern with at most one `*`.
fn is_like(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Budget, Document, Format};
    use crate::schema::contract_kinds;

    #[test]
    fn a_path_tells_the_kind_by_its_tail() {
        let kinds = contract_kinds();
        for (path, expected) in [
            (".loa-checkpoint/design.yaml", Some("checkpoint")),
            ("/w/.loa-checkpoint/phase-design.yaml", Some("checkpoint")),
            ("/w/.loa-checkpoint/context-state.yaml", Some("context-state")),
            ("/w/.loa-checkpoint/operator-type.yaml", Some("operator-type")),
            (".loa-checkpoint/escalations/exec-1-1.yaml", Some("escalation-report")),
            ("grimoires/loa/memory/facts.yaml", Some("memory")),
            ("grimoires/loa/a2a/trajectory/2026-11-20.jsonl", Some("trajectory")),
            ("sessions/s-1/messages.json", Some("messages")),
            ("sessions/s-1/messages-0001.json", Some("messages")),
            ("design.yaml", None),
            ("loa-checkpoint/design.yaml", None),
            (".loa-checkpoint/notes.yaml", None),
        ] {
            let found = by_path(&kinds, Utf8Path::new(path)).map(|(kind, _)| kind.name());
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn a_document_tells_the_kind_by_its_keys() {
        let kinds = contract_kinds();
        for kind in &kinds {
            let schema = kind.schema();
            for example in schema["examples"].as_array().expect("examples") {
                let text = example.to_string();
                let document = Document::read(text.as_bytes(), Format::Json, &Budget::default()).expect("JSON");
                let found = by_content(&kinds, document.root()).map(|(kind, _)| kind.name());
                // A phase's result has no key that it must have, and that of a resolution is one of many documents.
                let expected = Some(kind.name()).filter(|name| !["phase-result", "resolution"].contains(name));
                assert_eq!(found, expected, "{text}");
            }
        }
    }
}
