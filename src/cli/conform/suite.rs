//! Opening a suite, and saying what is wrong with it.

use std::path::Path;

use crate::cli::console::say;
use crate::cli::{ExitStatus, Failure};
use crate::conform::{Files, Finding, Profile, Suite};
use crate::diag::render::{Source, full};

/// The suite of a folder, or that of the program itself.
pub(super) fn open<P: Profile>(folder: Option<&Path>) -> Result<Suite<P>, Failure> {
    let files = match folder {
        None => Files::bundled(P::NAME),
        Some(folder) => Files::in_folder(folder, P::NAME).map_err(|error| {
            Failure::new(ExitStatus::NoInput, error).hint("a suite has ledger/, cases/ and claims.yaml")
        })?,
    };
    Suite::load(files).map_err(|findings| wrong(&findings, "the suite is not valid"))
}

/// Prints findings; the failure counts them.
pub(super) fn wrong(findings: &[Finding], what: &str) -> Failure {
    for Finding { file, text, diagnostic } in findings {
        say(format_args!("{}\n", full(&Source::new(file.as_str(), text), diagnostic)));
    }
    Failure::new(ExitStatus::Config, format!("{what}: {} findings", findings.len()))
}
