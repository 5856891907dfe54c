//! Reports that were written before.

use std::path::Path;

use camino::Utf8Path;

use crate::cli::{ExitStatus, Failure};
use crate::conform::{CONFORMANCE_REPORT, ConformanceReport, Finding};
use crate::diag::Budget;
use crate::schema::Checker;
use crate::system::files;

/// Longest report, in bytes.
const LONGEST: u64 = 64 << 20;

/// The report of a file.
pub(super) fn report(path: &Path) -> Result<ConformanceReport, Failure> {
    let bytes = files::read(path, LONGEST).map_err(|error| {
        Failure::new(ExitStatus::NoInput, error).hint("`loa-conform score` writes report.json into its --out")
    })?;
    parsed(&bytes, &path.to_string_lossy())
}

/// The report of a text.
pub(super) fn parsed(bytes: &[u8], name: &str) -> Result<ConformanceReport, Failure> {
    let budget = Budget { bytes: LONGEST, nodes: LONGEST, ..Budget::default() };
    Checker::new(&CONFORMANCE_REPORT).read(bytes, Utf8Path::new(name), &budget).map_err(|findings| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let about = |diagnostic| Finding { file: name.into(), text: text.clone(), diagnostic };
        let findings: Vec<Finding> = findings.into_iter().map(about).collect();
        super::suite::wrong(&findings, "the report is not valid")
    })
}
