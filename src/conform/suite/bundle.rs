//! The files of a suite: those of the program itself, or those of a folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

use crate::system::files::{self, FileError};
use crate::system::scratch::{self, ScratchError};

static LEDGER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/contract-tests/ledger");
static CASES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/contract-tests/cases");
static RUNTIMES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/fixtures/runtimes");
static CLAIMS: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/contract-tests/claims.yaml"));

/// Longest file of a suite, in bytes.
const LONGEST: u64 = 1 << 20;

/// Largest program that is hashed, in bytes.
const LARGEST_PROGRAM: u64 = 1 << 30;

/// A suite that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SuiteReadError {
    /// A file or folder.
    #[error(transparent)]
    File(#[from] FileError),
    /// A name that is no UTF-8.
    #[error("{} is not a name in UTF-8", .0.display())]
    Name(PathBuf),
}

/// The files of a suite by their path below its root: `ledger/`, `cases/`, `claims.yaml`, `runtimes/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files(pub(super) BTreeMap<Utf8PathBuf, Vec<u8>>);

impl FromIterator<(Utf8PathBuf, Vec<u8>)> for Files {
    fn from_iter<I: IntoIterator<Item = (Utf8PathBuf, Vec<u8>)>>(files: I) -> Self {
        Self(files.into_iter().collect())
    }
}

impl Files {
    /// Those of the program itself.
    #[must_use]
    pub fn bundled() -> Self {
        let mut all = Self::runtimes();
        gather(&LEDGER, Utf8Path::new("ledger"), &mut all);
        gather(&CASES, Utf8Path::new("cases"), &mut all);
        all.insert("claims.yaml".into(), CLAIMS.to_vec());
        Self(all)
    }

    fn runtimes() -> BTreeMap<Utf8PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        gather(&RUNTIMES, Utf8Path::new("runtimes"), &mut all);
        all
    }

    /// Those of a folder; the bundled runtimes where it has no folder `runtimes`.
    ///
    /// # Errors
    /// [`SuiteReadError`] with the path.
    pub fn in_folder(root: &Path) -> Result<Self, SuiteReadError> {
        let mut all = BTreeMap::new();
        for part in ["ledger", "cases", "runtimes"] {
            if part == "ledger" || root.join(part).is_dir() {
                walk(root, &root.join(part), &mut all)?;
            }
        }
        let claims = root.join("claims.yaml");
        all.insert("claims.yaml".into(), files::read(&claims, LONGEST)?);
        if !root.join("runtimes").is_dir() {
            all.extend(Self::runtimes());
        }
        Ok(Self(all))
    }

    /// SHA-256 in hex over the names and contents of ledger, claims and cases; runtimes are hashed one by one.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        for (path, bytes) in self.0.iter().filter(|(path, _)| !path.starts_with("runtimes")) {
            for part in [path.as_str().as_bytes(), bytes] {
                hasher.update((part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        hex(&hasher.finalize())
    }

    /// Lays the runtimes' folders below `root`, so that what a manifest calls `{dir}` exists.
    ///
    /// # Errors
    /// [`ScratchError`] with the path.
    pub fn lay_runtimes(&self, root: &Path) -> Result<(), ScratchError> {
        for (path, bytes) in self.0.iter().filter(|(path, _)| path.starts_with("runtimes")) {
            scratch::lay_program(&root.join(path), bytes)?;
        }
        Ok(())
    }
}

/// SHA-256 in hex of a program's file; `None` when it cannot be read.
pub(in crate::conform) fn hash_of(program: &Path) -> Option<String> {
    files::read(program, LARGEST_PROGRAM).ok().map(|bytes| sha256(&bytes))
}

/// The hash by which the ledger remembers a line of the contract: SHA-256 in hex, white space folded.
#[must_use]
pub fn line_hash(line: &str) -> String {
    sha256(line.split_whitespace().collect::<Vec<_>>().join(" ").as_bytes())
}

/// SHA-256 in hex.
pub(in crate::conform) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
        text
    })
}

fn gather(dir: &Dir<'_>, below: &Utf8Path, all: &mut BTreeMap<Utf8PathBuf, Vec<u8>>) {
    for file in dir.files() {
        let name = file.path().to_str().expect("files of this project have UTF-8 names");
        all.insert(below.join(name), file.contents().to_vec());
    }
    for inner in dir.dirs() {
        gather(inner, below, all);
    }
}

fn walk(root: &Path, folder: &Path, all: &mut BTreeMap<Utf8PathBuf, Vec<u8>>) -> Result<(), SuiteReadError> {
    for path in files::list(folder)? {
        if path.is_dir() {
            walk(root, &path, all)?;
            continue;
        }
        let name = path.strip_prefix(root).expect("a listed path lies below its folder").to_path_buf();
        let name = Utf8PathBuf::from_path_buf(name).map_err(SuiteReadError::Name)?;
        all.insert(name, files::read(&path, LONGEST)?);
    }
    Ok(())
}
