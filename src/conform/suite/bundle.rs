//! The files of a suite: those of the program itself, or those of a folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base16ct::lower::encode_string;
use camino::{Utf8Path, Utf8PathBuf};
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

use crate::conform::spec::ProfileName;
use crate::system::files::{self, FileError};
use crate::system::scratch::{self, ScratchError};

static LEDGER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/contract-tests/ledger");
static CASES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/contract-tests/cases");
static RUNTIMES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/fixtures/runtimes");
static AGENT_SUITE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/contract-tests/agent");
static FAULTY: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/fixtures/faulty");
static LAWFUL: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/fixtures/lawful");
static AGENTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/fixtures/agents");
static CLAIMS: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/contract-tests/claims.yaml"));

/// Longest file of a suite, in bytes.
const LONGEST: u64 = 1 << 20;

/// Most of each part of a suite that is a folder.
const MOST: Limits = Limits { file: LONGEST, all: 64 << 20 };

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
    /// A link, which may lead anywhere.
    #[error("{} is a link, and links are not followed here; put the file itself in its place", .0.display())]
    Link(PathBuf),
    /// More than may be read.
    #[error("what lies in {} is larger than {} MiB in all, which is more than is read", .folder.display(), .most >> 20)]
    TooLarge {
        /// The folder.
        folder: PathBuf,
        /// The most that is read, in bytes.
        most: u64,
    },
}

/// The folder of a suite in which its bundled candidates lie.
pub(super) fn candidates_of(profile: ProfileName) -> &'static str {
    match profile {
        ProfileName::Runtime => "runtimes",
        ProfileName::Agent => "agents",
    }
}

/// The files of a suite by their path below its root: `ledger/`, `cases/`, `claims.yaml`, and `runtimes/` or `agents/`.
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
    pub fn bundled(profile: ProfileName) -> Self {
        let mut all = Self::candidates(profile);
        variants(profile, &mut all);
        match profile {
            ProfileName::Runtime => {
                gather(&LEDGER, Utf8Path::new("ledger"), &mut all);
                gather(&CASES, Utf8Path::new("cases"), &mut all);
                all.insert("claims.yaml".into(), CLAIMS.to_vec());
            }
            ProfileName::Agent => gather(&AGENT_SUITE, Utf8Path::new(""), &mut all),
        }
        Self(all)
    }

    fn candidates(profile: ProfileName) -> BTreeMap<Utf8PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        let dir = match profile {
            ProfileName::Runtime => &RUNTIMES,
            ProfileName::Agent => &AGENTS,
        };
        gather(dir, Utf8Path::new(candidates_of(profile)), &mut all);
        all
    }

    /// Those of a folder; the bundled candidates where it has no folder of such.
    ///
    /// # Errors
    /// [`SuiteReadError`] with the path.
    pub fn in_folder(root: &Path, profile: ProfileName) -> Result<Self, SuiteReadError> {
        let mut all = BTreeMap::new();
        let candidates = candidates_of(profile);
        for part in ["ledger", "cases", candidates] {
            if part == "ledger" || root.join(part).is_dir() {
                walk(root, &root.join(part), MOST, &mut all)?;
            }
        }
        let claims = root.join("claims.yaml");
        all.insert("claims.yaml".into(), files::read(&claims, LONGEST)?);
        for kind in VARIANTS {
            all.extend(variants_beside(root, kind, profile)?);
        }
        if !root.join(candidates).is_dir() {
            all.extend(Self::candidates(profile));
        }
        Ok(Self(all))
    }

    /// SHA-256 in hex over the names and contents of ledger, claims and cases; candidates are hashed one by one.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        for (path, bytes) in self.judging() {
            for part in [path.as_str().as_bytes(), bytes] {
                hasher.update((part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        encode_string(&hasher.finalize())
    }

    /// Those that candidates are judged by: ledger, claims and cases.
    pub(in crate::conform) fn judging(&self) -> impl Iterator<Item = (&Utf8Path, &[u8])> {
        self.0.iter().filter(|(path, _)| judges(path)).map(|(path, bytes)| (path.as_path(), bytes.as_slice()))
    }

    /// The texts that lie beside a bundled candidate's manifest, by their path below its folder.
    #[must_use]
    pub fn beside(&self, candidate: &str, profile: ProfileName) -> BTreeMap<String, String> {
        let folder = Utf8Path::new(candidates_of(profile)).join(candidate);
        let files = self.0.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(&folder).ok()?, bytes)));
        let texts = files.filter_map(|(path, bytes)| Some((path.to_string(), String::from_utf8(bytes.clone()).ok()?)));
        texts.collect()
    }

    /// Lays the candidates' folders below `root`, so that what a manifest calls `{dir}` exists.
    ///
    /// # Errors
    /// [`ScratchError`] with the path.
    pub fn lay_candidates(&self, root: &Path) -> Result<(), ScratchError> {
        let candidates = |path: &Utf8Path| ProfileName::ALL.iter().any(|it| path.starts_with(candidates_of(*it)));
        for (path, bytes) in self.0.iter().filter(|(path, _)| candidates(path)) {
            scratch::lay_program(&root.join(path), bytes)?;
        }
        Ok(())
    }
}

/// The folders of variants.
const VARIANTS: [&str; 2] = ["faulty", "lawful"];

/// The bundled variants of a profile.
fn variants(profile: ProfileName, all: &mut BTreeMap<Utf8PathBuf, Vec<u8>>) {
    for (kind, dir) in VARIANTS.into_iter().zip([&FAULTY, &LAWFUL]) {
        let dir = match profile {
            ProfileName::Runtime => Some(dir),
            ProfileName::Agent => dir.get_dir("agents"),
        };
        for file in dir.into_iter().flat_map(Dir::files) {
            let name = file.path().file_name().and_then(|name| name.to_str());
            let name = name.expect("files of this project have UTF-8 names");
            all.insert(Utf8Path::new(kind).join(name), file.contents().to_vec());
        }
    }
}

/// The variants that belong to a suite in a folder: in it, or in `fixtures/` beside it.
fn variants_beside(
    root: &Path,
    kind: &str,
    profile: ProfileName,
) -> Result<BTreeMap<Utf8PathBuf, Vec<u8>>, SuiteReadError> {
    let Some(folder) = variant_folder(root, kind, profile) else { return Ok(BTreeMap::new()) };
    let mut found = BTreeMap::new();
    for path in files::list(&folder)?.into_iter().filter(|path| path.is_file()) {
        let name = PathBuf::from(path.file_name().unwrap_or_default());
        let name = Utf8PathBuf::from_path_buf(name).map_err(SuiteReadError::Name)?;
        found.insert(Utf8Path::new(kind).join(name), files::read(&path, LONGEST)?);
    }
    Ok(found)
}

/// Where the variants of a suite lie that is a folder: `faulty` or `lawful` in it, or else in `fixtures/` beside it.
#[must_use]
pub fn variant_folder(root: &Path, kind: &str, profile: ProfileName) -> Option<PathBuf> {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_path_buf());
    let up = if profile == ProfileName::Agent { root.parent().and_then(Path::parent) } else { root.parent() };
    let beside = up.map(|up| up.join("fixtures").join(kind));
    let beside = beside.map(|it| if profile == ProfileName::Agent { it.join("agents") } else { it });
    [Some(root.join(kind)), beside].into_iter().flatten().find(|folder| folder.is_dir())
}

/// Whether candidates are judged by this file: pages for people may change without a new measurement.
fn judges(path: &Utf8Path) -> bool {
    path == "claims.yaml" || path.starts_with("ledger") || path.starts_with("cases")
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
    encode_string(&Sha256::digest(bytes))
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

/// The most that is read of a folder, in bytes.
#[derive(Debug, Clone, Copy)]
pub(in crate::conform) struct Limits {
    /// Of one file.
    pub file: u64,
    /// Of all files together.
    pub all: u64,
}

/// The files below a folder by their path below `root`, added to those of `found`. Links are not followed: they may lead out of
/// the folder.
pub(in crate::conform) fn walk(
    root: &Path,
    folder: &Path,
    limits: Limits,
    found: &mut BTreeMap<Utf8PathBuf, Vec<u8>>,
) -> Result<(), SuiteReadError> {
    let mut left = limits.all;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in files::list(&folder)? {
            if path.is_symlink() {
                return Err(SuiteReadError::Link(path));
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).expect("a listed path lies below its folder").to_path_buf();
            let name = Utf8PathBuf::from_path_buf(name).map_err(SuiteReadError::Name)?;
            let bytes = files::read(&path, limits.file)?;
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| SuiteReadError::TooLarge { folder: root.to_path_buf(), most: limits.all })?;
            found.insert(name, bytes);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(root: &Path, all: u64) -> Result<usize, SuiteReadError> {
        let mut found = BTreeMap::new();
        walk(root, root, Limits { file: 8, all }, &mut found).map(|()| found.len())
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test writes what is read")]
    fn links_and_what_is_too_large_are_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let place = |name: &str| root.path().join(name);
        std::fs::create_dir(place("inner")).expect("a folder");
        for name in ["one", "inner/two"] {
            std::fs::write(place(name), "12345678").expect("a file");
        }
        assert_eq!(walked(root.path(), 16).expect("it fits"), 2);
        assert!(matches!(walked(root.path(), 15), Err(SuiteReadError::TooLarge { most: 15, .. })));
        std::fs::write(place("inner/two"), "123456789").expect("a file");
        assert!(matches!(walked(root.path(), 99), Err(SuiteReadError::File(_))));
        std::fs::remove_dir_all(place("inner")).expect("removed");
        std::os::unix::fs::symlink(root.path().parent().expect("a folder"), place("inner")).expect("a link");
        assert!(matches!(walked(root.path(), 99), Err(SuiteReadError::Link(path)) if path == place("inner")));
    }
}
