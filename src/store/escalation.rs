//! `.loa-checkpoint/escalations/` (Escalation Report Schema): a report for machines and the same for people.

use std::path::{Path, PathBuf};

use super::format::{read, write};
use super::markdown::markdown;
use super::{Layout, StoreError};
use crate::contract::EscalationReport;
use crate::schema::{Checker, ESCALATION_REPORT};
use crate::system::files::{self, Privacy};

/// Where a report is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportPaths {
    /// For machines.
    pub yaml: PathBuf,
    /// For people.
    pub markdown: PathBuf,
}

/// Writes the report as the `number`th of its execution, durably.
///
/// # Errors
/// [`StoreError`].
pub fn write_report(layout: &Layout, report: &EscalationReport, number: u32) -> Result<ReportPaths, StoreError> {
    files::ensure_folder(&layout.escalations())?;
    let path = |extension| layout.escalation(&report.execution_id, number, extension);
    let paths = ReportPaths { yaml: path("yaml"), markdown: path("md") };
    files::write_durably(&paths.markdown, markdown(report).as_bytes(), Privacy::Shared)?;
    write(&paths.yaml, report, Privacy::Shared)?;
    Ok(paths)
}

/// Reads a report; `None` when it is not there.
///
/// # Errors
/// [`StoreError`].
pub fn read_report(path: &Path) -> Result<Option<EscalationReport>, StoreError> {
    read(path, &Checker::new(&ESCALATION_REPORT), None)
}
