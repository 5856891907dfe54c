//! Opening a suite, and saying what is wrong with it.

use std::path::{Path, PathBuf};

use crate::cli::console::say;
use crate::cli::{ExitStatus, Failure};
use crate::conform::judge::Judged;
use crate::conform::spec::ProfileName;
use crate::conform::suite::{Files, Finding, Suite};
use crate::diag::render::{Source, full};

/// The suite of a folder, or that of the program itself.
pub(super) fn open<P: Judged>(folder: Option<&Path>) -> Result<Suite<P>, Failure> {
    let files = match folder {
        None => Files::bundled(P::NAME),
        Some(folder) => Files::in_folder(folder, P::NAME).map_err(|error| {
            Failure::new(ExitStatus::NoInput, error).hint("a suite has ledger/, cases/ and claims.yaml")
        })?,
    };
    Suite::load(files).map_err(|findings| wrong(&findings, "the suite is not valid"))
}

/// The suite that somebody writes in the current folder, where `new` writes, if there is one.
pub(super) fn being_written(profile: ProfileName) -> Option<PathBuf> {
    let folder = match profile {
        ProfileName::Runtime => Path::new("contract-tests"),
        ProfileName::Agent => Path::new("contract-tests/agent"),
    };
    folder.join("ledger").is_dir().then(|| folder.to_path_buf())
}

/// Prints findings; the failure counts them.
pub(super) fn wrong(findings: &[Finding], what: &str) -> Failure {
    for Finding { file, text, diagnostic } in findings {
        say(format_args!("{}\n", full(&Source::new(file.as_str(), text), diagnostic)));
    }
    Failure::new(ExitStatus::Config, format!("{what}: {} findings", findings.len()))
}
