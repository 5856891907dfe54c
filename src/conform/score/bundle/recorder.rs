//! Writes a bundle while a survey goes on: every observation goes to the disk at once, so that memory stays flat.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::contents::{BundleError, CONTENTS, Contents, REPORT};
use super::exhibit::{Exhibit, place};
use crate::conform::judge::Judged;
use crate::conform::observe::Seen;
use crate::conform::spec::{CaseDocument, ManifestDocument};
use crate::conform::suite::sha256;
use crate::conform::suite::{Candidate, Suite};
use crate::system::files::{self, FileError, Privacy};

/// Takes out of a text what must not be written down.
pub(super) type Redact<'a> = &'a (dyn Fn(&str) -> String + Sync);

/// A bundle in the making. Until it is sealed it has no list of files, and is no bundle.
pub struct Recorder<'a> {
    folder: PathBuf,
    seed: u64,
    suite: String,
    redact: Redact<'a>,
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    contents: Contents,
    attempts: BTreeMap<(String, String), u32>,
    problem: Option<FileError>,
}

impl<'a> Recorder<'a> {
    /// Begins a bundle in a folder that is empty or not there, with what candidates are judged by.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn begin<P: Judged>(
        folder: &Path,
        suite: &Suite<P>,
        candidates: &[Candidate<P>],
        seed: u64,
        redact: Redact<'a>,
    ) -> Result<Self, BundleError> {
        if !files::list(folder)?.is_empty() {
            return Err(BundleError::NotEmpty(folder.to_path_buf()));
        }
        let mut names = BTreeSet::new();
        for candidate in candidates {
            fit(candidate, &mut names, redact)?;
        }
        let folder = folder.to_path_buf();
        let recorder = Self { folder, seed, suite: suite.hash.clone(), redact, written: Mutex::default() };
        for (path, bytes) in suite.files().judging() {
            recorder.write(Utf8Path::new("suite").join(path), bytes)?;
        }
        for candidate in candidates {
            recorder.write(manifest(candidate.manifest.name()), &candidate.source)?;
        }
        Ok(recorder)
    }

    /// Stores an observation and hands on what was stored: that is what must be judged. A write that fails is told by
    /// [`Recorder::seal`].
    ///
    /// # Panics
    /// Never: what is stored was made of JSON.
    pub fn take<P: Judged>(&self, candidate: &Candidate<P>, case: &P::Case, seen: &P::Seen) -> P::Seen {
        let (runtime, case) = (candidate.manifest.name().to_owned(), case.head().id.to_owned());
        let seen = match self.redacted::<P>(seen) {
            Ok(seen) => seen,
            Err(error) => P::Seen::broken(&format!("what was seen cannot be stored: {error}")),
        };
        let attempt = {
            let mut written = self.written();
            let attempt = written.attempts.entry((runtime.clone(), case.clone())).or_default();
            *attempt += 1;
            *attempt
        };
        let (version, manifest) = (Exhibit::<P::Seen>::VERSION, candidate.hash.clone());
        let suite = self.suite.clone();
        let exhibit = Exhibit { version, runtime, case, attempt, seed: self.seed, suite, manifest, seen };
        let text = serde_json::to_string(&exhibit).expect("it was serialized a moment ago") + "\n";
        if let Err(error) = self.write(place(&exhibit.label()), text.as_bytes()) {
            self.written().problem.get_or_insert(error);
        }
        exhibit.seen
    }

    /// What was seen, as a reader of the bundle will read it.
    fn redacted<P: Judged>(&self, seen: &P::Seen) -> serde_json::Result<P::Seen> {
        let mut value = serde_json::to_value(seen)?;
        redact(&mut value, self.redact);
        serde_json::from_str(&value.to_string())
    }

    /// Ends the bundle: the report, then the list of all files.
    ///
    /// # Errors
    /// The first write that failed, also of an observation.
    pub fn seal(self, report: &str) -> Result<(), BundleError> {
        self.write(Utf8PathBuf::from(REPORT), report.as_bytes())?;
        let Written { contents, problem, .. } = self.written.into_inner().unwrap_or_else(PoisonError::into_inner);
        match problem {
            Some(problem) => Err(problem.into()),
            None => Ok(files::write_durably(&self.folder.join(CONTENTS), &contents.written(), Privacy::Private)?),
        }
    }

    fn write(&self, path: Utf8PathBuf, bytes: &[u8]) -> Result<(), FileError> {
        let file = self.folder.join(&path);
        files::ensure_folder(file.parent().unwrap_or(&self.folder))?;
        files::replace(&file, bytes, Privacy::Private)?;
        self.written().contents.files.insert(path, sha256(bytes));
        Ok(())
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a manifest lies.
pub(super) fn manifest(name: &str) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("manifests/{name}.yaml"))
}

/// Whether a candidate can stand in a bundle.
fn fit<P: Judged>(
    candidate: &Candidate<P>,
    names: &mut BTreeSet<String>,
    redact: Redact<'_>,
) -> Result<(), BundleError> {
    let name = candidate.manifest.name();
    let refused = |why| BundleError::Name(name.to_owned(), why);
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(refused("only letters, digits and +-_. may stand in it"));
    }
    if !names.insert(name.to_owned()) {
        return Err(refused("two candidates are called so"));
    }
    let source = String::from_utf8_lossy(&candidate.source);
    if redact(&source) == source { Ok(()) } else { Err(BundleError::Secret(name.to_owned())) }
}

/// Every text of a value; keys are names that the judge gave.
fn redact(value: &mut Value, with: Redact<'_>) {
    match value {
        Value::String(text) => *text = with(text),
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, with)),
        Value::Object(fields) => fields.values_mut().for_each(|field| redact(field, with)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
