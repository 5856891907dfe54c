//! What judge and keeper say to each other: a line of JSON each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::conform::ProcessSeen;

/// The judge's first line: what to start.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Charge {
    pub(super) argv: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) folder: PathBuf,
    /// What to show in the place of the host's places; nothing when the mounts are not our own.
    pub(super) mounts: Option<Mounts>,
}

/// What a chamber shows in the host's stead.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Mounts {
    /// Becomes `/tmp`.
    pub(super) temporary: PathBuf,
    /// Becomes `/etc/resolv.conf`.
    pub(super) resolver: PathBuf,
    /// What must stay visible where it is.
    pub(super) kept: Vec<PathBuf>,
}

/// Each further line of the judge: a signal for the agent, by its number.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) signal: i32,
}

/// What the keeper tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    NotStarted(String),
    Exited(i32),
    Signalled(i32),
    /// What still lived when the dust had settled; the last word.
    Left(Vec<ProcessSeen>),
}
