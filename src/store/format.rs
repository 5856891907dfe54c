//! How documents are written and read back, and what happens when one is not what it should be.
//!
//! Written: YAML with every string quoted, so that no reader, old or new, takes a date or a `no` for something else.
//! Read: size first, then the form, then the version of formats that carry one, then the schema, and the types last.
//! A document of a newer version is refused and left as it is: an old program must not lose what it cannot understand.
//!
//! | format | version | since |
//! |---|---|---|
//! | `runs/<execution>/journal.jsonl` of the state, in every line | 2 | 0.2.0 |
//! | `workspace.json` of the state | 1 | 0.2.0 |
//! | `.loa-checkpoint/context-state.yaml` | 1 | 0.1.0 |
//! | `.loa-run/run.yaml`, `.loa-run/sessions/<phase>.yaml`, `.loa-run/history.jsonl`: read and no longer written | 1 | 0.1.0 |
//!
//! Checkpoints and escalation reports are the contract's and carry no version.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use camino::Utf8PathBuf;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::debug_span;

use crate::diag::render::all;
use crate::diag::{Budget, Diagnostic};
use crate::schema::Checker;
use crate::system::disk::Disk;
use crate::system::files::{FileError, Privacy};
use crate::system::lock::LockError;

/// A document that could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file itself.
    #[error(transparent)]
    File(#[from] FileError),
    /// What stands in it.
    #[error("{} is not valid:\n{findings}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The diagnostics, rendered.
        findings: String,
    },
    /// It was written by a newer program; it was not touched.
    #[error("{} has format version {found}, this program knows {known}; it was left as it is", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version in it.
        found: u64,
        /// The newest version that this program reads.
        known: u32,
    },
    /// Somebody else is the owner, or the lock cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Another owner has taken over: nothing more is written.
    #[error("another process has taken over this execution, with epoch {epoch}")]
    Superseded {
        /// The epoch of the newest event, as far as it is known.
        epoch: u64,
    },
    /// A line of a journal is not the one that was written.
    #[error("{}:{line}: the journal was edited or damaged: the hash of this line does not follow from the lines before", path.display())]
    Edited {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// A value that has no form in YAML.
    #[error("cannot write {} as YAML: {reason}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// A value as YAML, every string quoted.
///
/// # Errors
/// When the value has no form in YAML.
pub fn to_yaml(value: &impl Serialize) -> Result<String, serde_yaml::ser::Error> {
    let mut options = serde_yaml::SerializerOptions::default();
    options.quote_all = true;
    let mut text = String::new();
    serde_yaml::to_fmt_writer_with_options(&mut text, value, options)?;
    Ok(text)
}

/// Writes a document whole, and leaves it to the next sync to make it durable: what a power cut takes is written again.
pub(super) fn project(disk: &dyn Disk, path: &Path, text: &str, privacy: Privacy) -> Result<(), StoreError> {
    let file = path.file_name().and_then(|name| name.to_str());
    let _span = debug_span!(target: "store", "projection", file, bytes = text.len()).entered();
    Ok(disk.replace(path, text.as_bytes(), privacy)?)
}

pub(super) fn yaml_for(path: &Path, value: &impl Serialize) -> Result<String, StoreError> {
    to_yaml(value).map_err(|error| StoreError::Unwritable { path: path.into(), reason: error.to_string() })
}

/// Reads a document of a kind; `None` when the file is not there. The schema is only compiled for one that is.
pub(super) fn read<T: DeserializeOwned>(
    disk: &dyn Disk,
    path: &Path,
    checker: &LazyLock<Checker>,
) -> Result<Option<T>, StoreError> {
    bytes(disk, path)?.map(|bytes| parse(path, &bytes, checker)).transpose()
}

/// Reads a document of a kind from its bytes.
pub(super) fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8], checker: &Checker) -> Result<T, StoreError> {
    checker.read(bytes, &shown(path), &Budget::default()).map_err(|findings| invalid(path, bytes, &findings))
}

/// Reads a document that only we write, by its type alone.
pub(super) fn read_own<T: DeserializeOwned>(disk: &dyn Disk, path: &Path, known: u32) -> Result<Option<T>, StoreError> {
    let Some(bytes) = bytes(disk, path)? else { return Ok(None) };
    check_version(path, &bytes, known)?;
    let typed = std::str::from_utf8(&bytes).map_err(|error| error.to_string());
    let typed = typed.and_then(|text| serde_yaml::from_str(text).map_err(|error| error.to_string()));
    typed.map(Some).map_err(|findings| StoreError::Invalid { path: path.to_path_buf(), findings })
}

/// The error for a document with findings, each rendered with the line that it is about.
fn invalid(path: &Path, bytes: &[u8], findings: &[Diagnostic]) -> StoreError {
    StoreError::Invalid { path: path.to_path_buf(), findings: all(&path.display().to_string(), bytes, findings) }
}

pub(super) fn bytes(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match disk.read(path, Budget::default().bytes) {
        Err(error) if error.is_not_found() => Ok(None),
        bytes => bytes.map(Some),
    }
}

/// The path as the checks take it, which look at its name only.
fn shown(path: &Path) -> Utf8PathBuf {
    Utf8PathBuf::from(path.to_string_lossy().into_owned())
}

fn check_version(path: &Path, bytes: &[u8], known: u32) -> Result<(), StoreError> {
    #[derive(serde::Deserialize)]
    struct Head {
        version: u64,
    }
    match std::str::from_utf8(bytes).map(serde_yaml::from_str::<Head>) {
        Ok(Ok(head)) if head.version > u64::from(known) => {
            Err(StoreError::Newer { path: path.to_path_buf(), found: head.version, known })
        }
        // Anything else that is wrong with it is for the full check to say.
        _ => Ok(()),
    }
}
