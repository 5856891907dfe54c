//! Documents that were written before: read, checked, and what is wrong with one shown on its lines.

use std::path::Path;

use camino::Utf8Path;
use serde::de::DeserializeOwned;

use crate::cli::{ExitStatus, Failure};
use crate::conform::score::{CONFORMANCE_REPORT, ConformanceReport};
use crate::conform::suite::Finding;
use crate::diag::Budget;
use crate::schema::{Checker, Kind};
use crate::system::files;

/// Longest report or other document, in bytes.
pub(super) const LONGEST: u64 = 64 << 20;

/// The report of a file.
pub(super) fn report(path: &Path) -> Result<ConformanceReport, Failure> {
    document(&CONFORMANCE_REPORT, path, "the report")
        .map_err(|failure| failure.hint("`loa-conform score` writes report.json into its --out"))
}

/// The report of a text.
pub(super) fn parsed(bytes: &[u8], name: &str) -> Result<ConformanceReport, Failure> {
    checked(&CONFORMANCE_REPORT, bytes, name, "the report")
}

/// A document of a kind; `what` says what it ought to be.
pub(super) fn document<T: DeserializeOwned>(kind: &Kind, path: &Path, what: &str) -> Result<T, Failure> {
    let bytes = files::read(path, LONGEST).map_err(|error| Failure::new(ExitStatus::NoInput, error))?;
    checked(kind, &bytes, &path.to_string_lossy(), what)
}

fn checked<T: DeserializeOwned>(kind: &Kind, bytes: &[u8], name: &str, what: &str) -> Result<T, Failure> {
    let budget = Budget { bytes: LONGEST, nodes: LONGEST, ..Budget::default() };
    Checker::new(kind).read(bytes, Utf8Path::new(name), &budget).map_err(|findings| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let about = |diagnostic| Finding { file: name.into(), text: text.clone(), diagnostic };
        let findings: Vec<Finding> = findings.into_iter().map(about).collect();
        super::suite::wrong(&findings, &format!("{what} is not valid"))
    })
}
