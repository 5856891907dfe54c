//! Reads the memories of a repository when a session starts, and hands them to its stages (Memory Schema). Keeping them is
//! Loa's affair: nothing here writes to where they lie.

use std::path::Path;

use serde_json::Value;

use crate::diag::{Budget, Format, documents};
use crate::runner::RunError;
use crate::schema::Foreign;
use crate::store::{Layout, write_memories};
use crate::system::files;

/// The schema of a repository that has one.
const SCHEMA: &str = ".claude/schemas/memory.schema.json";
/// The most entries that are handed on.
const MOST: usize = 10_000;

/// Reads every entry under `folder` of the workspace and writes those that are valid into one file for the stages. What
/// was wrong with the others is for people; nothing about a memory stops a run.
///
/// # Errors
/// [`RunError`] when the file for the stages cannot be written.
pub(super) fn surface(layout: &Layout, folder: &str) -> Result<Vec<String>, RunError> {
    let mut said = Vec::new();
    let schema = schema(layout.workspace(), &mut said);
    let mut entries = Vec::new();
    let listed = files::list(&layout.workspace().join(folder)).unwrap_or_default();
    for path in listed.iter().filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        let name = path.strip_prefix(layout.workspace()).unwrap_or(path).display();
        match read(path) {
            Err(reason) => said.push(format!("the memory {name} is not used: {reason}")),
            Ok(found) => {
                for (number, entry) in (1..).zip(found) {
                    match schema.as_ref().and_then(|schema| schema.wrong(&entry)) {
                        Some(wrong) => said.push(format!("entry {number} of the memory {name} is not used: {wrong}")),
                        None => entries.push(entry),
                    }
                }
            }
        }
    }
    entries.truncate(MOST);
    write_memories(layout, &entries)?;
    Ok(said)
}

fn schema(workspace: &Path, said: &mut Vec<String>) -> Option<Foreign> {
    let bytes = files::read(&workspace.join(SCHEMA), Budget::default().bytes).ok()?;
    let compiled =
        serde_json::from_slice(&bytes).map_err(|error| error.to_string()).and_then(|schema| Foreign::new(&schema));
    compiled.map_err(|reason| said.push(format!("memories are not checked: {SCHEMA} is no schema: {reason}"))).ok()
}

/// The entries of a file: a list, or one by itself.
fn read(path: &Path) -> Result<Vec<Value>, String> {
    let budget = Budget::default();
    let bytes = files::read(path, budget.bytes).map_err(|error| format!("{error}: {}", error.source))?;
    let mut found = Vec::new();
    for document in documents(&bytes, Format::Yaml, &budget) {
        match document.map_err(|finding| finding.message)?.to_json() {
            Value::Array(entries) => found.extend(entries),
            entry => found.push(entry),
        }
    }
    Ok(found)
}
