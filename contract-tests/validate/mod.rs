//! `loa-validate` and what it stands on: the committed schemas, the documents of `fixtures/documents/`, and bad input.

mod bad_input;
mod ci;
mod commands;
mod corpus;
mod differential;
mod documents;
mod formats;
mod hostile;
mod invariants;
mod program;
mod rules;
mod schemas;
mod surroundings;
mod verdicts;

use camino::{Utf8Path, Utf8PathBuf};

fn root() -> &'static Utf8Path {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder, sorted.
fn files(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a readable entry").into_path()).collect();
    files.sort();
    files
}
