//! A candidate, that is a runtime or an agent to be judged: its manifest and the folder that the manifest calls `{dir}`.

use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};

use super::bundle::sha256;
use super::load::{Finding, Suite};
use crate::conform::spec::{Profile, RuntimeProfile};
use crate::diag::Budget;
use crate::schema::Checker;
use crate::system::files::{self, FileError};

/// Longest manifest, in bytes.
const LONGEST: u64 = 1 << 20;

/// A runtime or an agent to be judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<P: Profile = RuntimeProfile> {
    /// Its manifest.
    pub manifest: P::Manifest,
    /// The manifest's folder, absolute.
    pub dir: PathBuf,
    /// SHA-256 in hex of the manifest's file.
    pub hash: String,
    /// That file, as it was read.
    pub source: Vec<u8>,
}

/// A manifest that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CandidateError {
    /// The file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A name that is no UTF-8.
    #[error("{} is not a name in UTF-8", .0.display())]
    Name(PathBuf),
    /// Its content.
    #[error("the manifest is not valid")]
    Content(Vec<Finding>),
}

impl<P: Profile> Candidate<P> {
    /// Reads a manifest from disk.
    ///
    /// # Errors
    /// [`CandidateError`].
    pub fn open(path: &Path) -> Result<Self, CandidateError> {
        let bytes = files::read(path, LONGEST)?;
        let name = Utf8PathBuf::from_path_buf(path.to_path_buf()).map_err(CandidateError::Name)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        Self::read(bytes, &name, dir).map_err(CandidateError::Content)
    }

    /// Checks a manifest that was read already.
    ///
    /// # Errors
    /// Every finding.
    pub(in crate::conform) fn read(source: Vec<u8>, name: &Utf8Path, dir: PathBuf) -> Result<Self, Vec<Finding>> {
        let manifest = Checker::new(P::MANIFEST).read(&source, name, &Budget::default()).map_err(|wrong| {
            let text = String::from_utf8_lossy(&source).into_owned();
            let about = |diagnostic| Finding { file: name.to_owned(), text: text.clone(), diagnostic };
            wrong.into_iter().map(about).collect::<Vec<_>>()
        })?;
        Ok(Self { manifest, dir, hash: sha256(&source), source })
    }
}

impl<P: Profile> Suite<P> {
    /// A bundled candidate, whose files were laid below `root` ([`super::Files::lay_candidates`]).
    ///
    /// # Panics
    /// Never: a manifest lies in a folder of its own.
    #[must_use]
    pub fn candidate(&self, name: &str, root: &Path) -> Option<Candidate<P>> {
        let (path, manifest) = self.manifests.get(name)?;
        let folder = path.parent().expect("a manifest lies in a folder of its own");
        let source = self.files.0[path].clone();
        Some(Candidate { manifest: manifest.clone(), dir: root.join(folder), hash: sha256(&source), source })
    }

    /// The files of the suite.
    #[must_use]
    pub fn files(&self) -> &super::Files {
        &self.files
    }
}
