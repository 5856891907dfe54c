//! The files of a bundle, and the list of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::discrepancy::{Discrepancy, Flaw};
use crate::conform::suite::{Limits, SuiteReadError, sha256, walk};
use crate::system::files::FileError;

/// Most of a bundle: a report of many runtimes is large, and the whole is held in memory.
const MOST: Limits = Limits { file: 256 << 20, all: 1 << 30 };

/// The list of a bundle's files.
pub(super) const CONTENTS: &str = "contents.json";
/// The report of a bundle.
pub(super) const REPORT: &str = "report.json";

/// A bundle that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Something is there already.
    #[error("{} is not empty; a bundle holds nothing but one measurement", .0.display())]
    NotEmpty(PathBuf),
    /// There is no list of files.
    #[error("{} is no bundle: it has no {CONTENTS}", .0.display())]
    NoBundle(PathBuf),
    /// A name that cannot be a file's, or that two candidates share.
    #[error("`{0}` cannot name a folder of a bundle: {1}")]
    Name(String, &'static str),
    /// A manifest that must not be passed on.
    #[error("the manifest of {0} holds what looks like a secret, and a bundle keeps manifests as they are")]
    Secret(String),
    /// A file or folder.
    #[error(transparent)]
    File(#[from] FileError),
    /// Reading it.
    #[error(transparent)]
    Read(#[from] SuiteReadError),
}

/// The files of a bundle, by their path below its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle(pub(super) BTreeMap<Utf8PathBuf, Vec<u8>>);

/// `contents.json`: the hash of every other file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contents {
    pub(super) version: u32,
    pub(super) files: BTreeMap<Utf8PathBuf, String>,
}

impl Contents {
    /// The version of the format.
    pub(super) const VERSION: u32 = 1;

    pub(super) fn written(&self) -> Vec<u8> {
        let text = serde_json::to_string_pretty(self).expect("a list of files is plain data");
        (text + "\n").into_bytes()
    }
}

impl Default for Contents {
    fn default() -> Self {
        Self { version: Self::VERSION, files: BTreeMap::new() }
    }
}

impl Bundle {
    /// Reads a bundle from its folder.
    ///
    /// # Errors
    /// [`BundleError`] with the path.
    pub fn read(folder: &Path) -> Result<Self, BundleError> {
        let mut all = BTreeMap::new();
        walk(folder, folder, MOST, &mut all)?;
        if all.contains_key(Utf8Path::new(CONTENTS)) {
            Ok(Self(all))
        } else {
            Err(BundleError::NoBundle(folder.to_path_buf()))
        }
    }

    /// The report's text; none when it is missing.
    #[must_use]
    pub fn report(&self) -> Option<&[u8]> {
        self.0.get(Utf8Path::new(REPORT)).map(Vec::as_slice)
    }

    /// Files below a folder of the bundle, by their path below that folder.
    pub(super) fn below(&self, folder: &str) -> impl Iterator<Item = (&Utf8Path, &[u8])> {
        self.0.iter().filter_map(move |(path, bytes)| Some((path.strip_prefix(folder).ok()?, bytes.as_slice())))
    }

    /// Where the files are not those of the list.
    pub(super) fn unlisted(&self) -> Vec<Discrepancy> {
        let listed = self.0.get(Utf8Path::new(CONTENTS)).map(|bytes| serde_json::from_slice::<Contents>(bytes));
        let contents = match listed {
            Some(Ok(contents)) if contents.version == Contents::VERSION => contents,
            Some(Ok(contents)) => return vec![unknown_version(CONTENTS, contents.version)],
            Some(Err(error)) => return vec![Discrepancy::about(CONTENTS, Flaw::Unreadable, "a list", error)],
            None => return vec![Discrepancy::about(CONTENTS, Flaw::MissingFile, "it", "nothing")],
        };
        let mut found = Vec::new();
        for (path, hash) in &contents.files {
            match self.0.get(path).map(|bytes| sha256(bytes)) {
                None => found.push(Discrepancy::about(path, Flaw::MissingFile, short(hash), "no such file")),
                Some(now) if now != *hash => {
                    found.push(Discrepancy::about(path, Flaw::ChangedFile, short(hash), short(&now)));
                }
                Some(_) => {}
            }
        }
        let strangers = self.0.keys().filter(|path| *path != CONTENTS && !contents.files.contains_key(*path));
        found.extend(strangers.map(|path| Discrepancy::about(path, Flaw::ExtraFile, "not listed", "a file")));
        found
    }
}

/// A format from a newer or an unknown version is not guessed at.
pub(super) fn unknown_version(file: impl AsRef<str>, version: u32) -> Discrepancy {
    let stated = format!("format {version}");
    Discrepancy::about(file.as_ref(), Flaw::Unreadable, stated, "this program reads format 1")
}

fn short(hash: &str) -> String {
    format!("{hash:.12}")
}
