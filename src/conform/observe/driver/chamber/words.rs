//! What judge and keeper say to each other: a line of JSON each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::system::process::ProcessExit;

/// What the judge orders.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// The first order: what to show in the host's stead; nothing when the mounts are not our own.
    Furnish(Option<Mounts>),
    /// Three descriptors come with it: standard input, output and error.
    Start { number: u64, argv: Vec<String>, env: BTreeMap<String, String>, folder: PathBuf },
    /// A signal by its number, for the process that was started under this one, or for its whole group.
    Signal { number: u64, signal: i32, whole: bool },
}

/// What a chamber shows in the host's stead. Everything else can be read there and not written.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Mounts {
    /// Folders that can be written, the case's own among them.
    pub(super) writable: Vec<PathBuf>,
    /// Becomes `/tmp`.
    pub(super) temporary: PathBuf,
    /// What must stay visible where it is.
    pub(super) kept: Vec<PathBuf>,
    /// What is shown in the place of what: first the file, then where.
    pub(super) shown: Vec<(PathBuf, PathBuf)>,
}

/// What the keeper tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// The first word: why the chamber could not be furnished, if it could not.
    Furnished(Option<String>),
    /// It runs, under this id of the keeper's world.
    Started {
        number: u64,
        id: u32,
    },
    NotStarted {
        number: u64,
        why: String,
    },
    Ended {
        number: u64,
        end: End,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Exited(i32),
    Signalled(i32),
}

impl From<End> for ProcessExit {
    fn from(end: End) -> Self {
        match end {
            End::Exited(code) => Self::Exited(code),
            End::Signalled(signal) => Self::Signalled(signal),
        }
    }
}

/// One of these as a line.
pub(super) fn line(words: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(words).expect("plain data is JSON");
    line.push(b'\n');
    line
}

/// Takes the next whole line from what has come.
///
/// # Errors
/// When it says nothing that is known.
pub(super) fn next<T: DeserializeOwned>(bytes: &mut Vec<u8>) -> Option<Result<T, serde_json::Error>> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let line: Vec<u8> = bytes.drain(..=end).collect();
    Some(serde_json::from_slice(&line))
}
