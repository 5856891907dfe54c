//! Which runtimes or agents a command is about.

use std::path::Path;

use tempfile::TempDir;

use super::suite::wrong;
use crate::cli::{ExitStatus, Failure};
use crate::conform::judge::Judged;
use crate::conform::suite::{Candidate, CandidateError, Suite};
use crate::system::scratch;

/// Candidates, and the folder in which the bundled ones lie as long as this lives.
pub(super) struct Candidates<P: Judged> {
    pub(super) all: Vec<Candidate<P>>,
    _laid: TempDir,
}

impl<P: Judged> Candidates<P> {
    /// The candidates that were named, or every bundled one.
    pub(super) fn gather(suite: &Suite<P>, names: &[String]) -> Result<Self, Failure> {
        let laid = scratch::folder("loa-candidates-").map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
        suite.files().lay_candidates(laid.path()).map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
        let all = if names.is_empty() {
            suite.bundled().filter_map(|name| suite.candidate(name, laid.path())).collect()
        } else {
            names.iter().map(|name| named(suite, name, laid.path())).collect::<Result<_, _>>()?
        };
        Ok(Self { all, _laid: laid })
    }
}

fn named<P: Judged>(suite: &Suite<P>, name: &str, laid: &Path) -> Result<Candidate<P>, Failure> {
    if !is_path(name) {
        let bundled: Vec<&str> = suite.bundled().collect();
        return suite.candidate(name, laid).ok_or_else(|| {
            let message = format!("there is no bundled {} `{name}`", P::NAME);
            let failure = Failure::new(ExitStatus::NoInput, message);
            failure.hint(format!("bundled are {}; a manifest of yours is named by its path", bundled.join(", ")))
        });
    }
    Candidate::open(Path::new(name)).map_err(|error| match error {
        CandidateError::Content(findings) => wrong(&findings, "the manifest is not valid"),
        error => Failure::new(ExitStatus::NoInput, error),
    })
}

/// Whether a candidate is named by its manifest's path.
pub(super) fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some()
}
