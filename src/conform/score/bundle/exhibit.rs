//! One observation as a bundle keeps it: with what it is an observation of.

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::contents::unknown_version;
use super::discrepancy::{Discrepancy, Flaw};

/// `evidence/<runtime>/<case>-<attempt>.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exhibit<S> {
    /// Version of this format: 1.
    pub version: u32,
    /// The candidate.
    pub runtime: String,
    /// The case whose scenario was done; others may be judged from it, too.
    pub case: String,
    /// 1, or 2 for the second time, after a red.
    pub attempt: u32,
    /// The seed.
    pub seed: u64,
    /// SHA-256 in hex of the suite.
    pub suite: String,
    /// SHA-256 in hex of the manifest.
    pub manifest: String,
    /// What was seen.
    pub seen: S,
}

/// What an exhibit is called by: candidate, case, attempt.
pub(super) type Label = (String, String, u32);

impl<S> Exhibit<S> {
    /// The version of the format.
    pub const VERSION: u32 = 1;

    pub(super) fn label(&self) -> Label {
        (self.runtime.clone(), self.case.clone(), self.attempt)
    }
}

/// Where an exhibit lies.
pub(super) fn place((runtime, case, attempt): &Label) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("evidence/{runtime}/{case}-{attempt}.json"))
}

/// Reads an exhibit.
pub(super) fn read<S: DeserializeOwned>(file: &Utf8Path, bytes: &[u8]) -> Result<Exhibit<S>, Box<Discrepancy>> {
    let unreadable =
        |error: serde_json::Error| Box::new(Discrepancy::about(file, Flaw::Unreadable, "an observation", error));
    let value: Value = serde_json::from_slice(bytes).map_err(unreadable)?;
    match value.get("version").and_then(Value::as_u64) {
        Some(1) => serde_json::from_value(value).map_err(unreadable),
        version => {
            let version = version.and_then(|it| u32::try_from(it).ok()).unwrap_or_default();
            Err(Box::new(unknown_version(file, version)))
        }
    }
}
