//! `.loa-checkpoint/escalations/` (Escalation Report Schema): a report for machines and the same for people.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::format::{read, yaml_for};
use super::markdown::markdown;
use super::{Layout, StoreError, make_room};
use crate::contract::{EscalationReport, ExecutionId};
use crate::schema::{Checker, ESCALATION_REPORT};
use crate::system::disk;
use crate::system::files::Privacy;

/// Where a report is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportPaths {
    /// For machines.
    pub yaml: PathBuf,
    /// For people.
    pub markdown: PathBuf,
}

/// Where the report of this number is.
#[must_use]
pub fn report_paths(layout: &Layout, execution: &ExecutionId, number: u32) -> ReportPaths {
    let path = |extension| layout.escalation(execution, number, extension);
    ReportPaths { yaml: path("yaml"), markdown: path("md") }
}

/// Writes the report as the `number`th of its execution, durably: whoever is called reads it at once.
///
/// # Errors
/// [`StoreError`].
pub fn write_report(layout: &Layout, report: &EscalationReport, number: u32) -> Result<ReportPaths, StoreError> {
    let paths = report_paths(layout, &report.execution_id, number);
    make_room(layout, &paths.markdown)?;
    make_room(layout, &paths.yaml)?;
    let [yaml, markdown] = report_texts(&paths, report)?;
    layout.disk().write_durably(&paths.markdown, markdown.as_bytes(), Privacy::Shared)?;
    layout.disk().write_durably(&paths.yaml, yaml.as_bytes(), Privacy::Shared)?;
    Ok(paths)
}

/// A report as it is written, for machines and for people.
pub(super) fn report_texts(paths: &ReportPaths, report: &EscalationReport) -> Result<[String; 2], StoreError> {
    Ok([yaml_for(&paths.yaml, report)?, markdown(report)])
}

/// Reads a report; `None` when it is not there.
///
/// # Errors
/// [`StoreError`].
pub fn read_report(path: &Path) -> Result<Option<EscalationReport>, StoreError> {
    static CHECKER: LazyLock<Checker> = LazyLock::new(|| Checker::new(&ESCALATION_REPORT));
    read(disk::host().as_ref(), path, &CHECKER)
}
