//! What the five files of a memory folder say against each other.

use std::collections::HashMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::Subject;
use super::lint::IDS_UNIQUE;
use super::together::Trace;
use crate::contract::MemoryCategory;
use crate::diag::{Diagnostic, Node, Span, Value};

/// What is kept of a file of memories.
#[derive(Debug)]
pub struct MemoryTrace {
    path: Utf8PathBuf,
    ids: Vec<Id>,
}

/// An id and where it stands.
#[derive(Debug)]
struct Id {
    text: String,
    span: Span,
    pointer: String,
}

/// The trace of one of the five files; `None` for any other, which nothing keeps beside them.
pub(super) fn trace(subject: &Subject<'_>) -> Option<Trace> {
    let stem = subject.path.file_stem()?;
    MemoryCategory::ALL.iter().find(|category| category.file() == stem)?;
    let root = subject.document.root();
    let ids = match &root.value {
        Value::Seq(items) => items.iter().enumerate().filter_map(|(at, item)| id(item, format!("/{at}/id"))).collect(),
        _ => id(root, "/id".to_owned()).into_iter().collect(),
    };
    Some(Trace::Memories(MemoryTrace { path: subject.path.to_owned(), ids }))
}

fn id(entry: &Node, pointer: String) -> Option<Id> {
    let node = entry.get("id")?;
    Some(Id { text: node.as_str()?.to_owned(), span: node.span, pointer })
}

/// Each id that stands in an earlier file of the same folder too. What stands twice in one file is a finding about that
/// file alone.
pub(super) fn ids_twice<'t>(traces: impl Iterator<Item = (usize, &'t MemoryTrace)>) -> Vec<(usize, Diagnostic)> {
    let mut first: HashMap<(Option<&Utf8Path>, &str), &MemoryTrace> = HashMap::new();
    let mut found = Vec::new();
    for (at, trace) in traces {
        for id in &trace.ids {
            let other = *first.entry((trace.path.parent(), &id.text)).or_insert(trace);
            if other.path != trace.path {
                found.push((at, twice(id, other)));
            }
        }
    }
    found
}

fn twice(id: &Id, other: &MemoryTrace) -> Diagnostic {
    let other = other.path.file_name().unwrap_or_default();
    Diagnostic::warning(IDS_UNIQUE.text.id, format!("the id `{}` stands in `{other}` too", id.text))
        .at(id.span)
        .of(&id.pointer)
        .expected("an id of its own")
        .found(format!("the text {:?}, as in {other}", id.text))
        .help("give one of the two another")
}
