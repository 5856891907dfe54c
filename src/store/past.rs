//! All that lies on disk about one execution, the present one or one that was put aside.

use std::path::{Path, PathBuf};

use super::checkpoint::read_checkpoints_in;
use super::escalation::{ReportPaths, read_report};
use super::history::{HistoryEvent, HistoryLine, read_history};
use super::layout::file_name;
use super::record::read_record_in;
use super::{Layout, RunRecord, StoreError};
use crate::contract::{Checkpoint, EscalationReport, ExecutionId};
use crate::system::files;

/// All that lies on disk about one execution.
#[derive(Debug, Clone)]
pub struct Past {
    /// Its record; absent for an execution of another runtime.
    pub record: Option<RunRecord>,
    /// Its checkpoints, in phase order; those of others in the same folder are not among them.
    pub checkpoints: Vec<Checkpoint>,
    /// What happened, oldest first; empty for an execution of before there was a history.
    pub history: Vec<HistoryLine>,
    /// Lines of the history that could not be read.
    pub unreadable: usize,
    /// Its reports, oldest first.
    pub reports: Vec<FiledReport>,
    /// The folder of its logs.
    pub logs: PathBuf,
}

/// A report and where it lies.
#[derive(Debug, Clone)]
pub struct FiledReport {
    /// Its number within the execution, from 1.
    pub number: u32,
    /// The report.
    pub report: EscalationReport,
    /// Where it is.
    pub paths: ReportPaths,
}

/// The names of the executions that were put aside, sorted.
///
/// # Errors
/// [`StoreError::File`].
pub fn archived_names(layout: &Layout) -> Result<Vec<String>, StoreError> {
    let folders = files::list(&layout.archive())?;
    let named = folders.iter().filter(|folder| folder.join("run.yaml").is_file());
    Ok(named.filter_map(|folder| Some(folder.file_name()?.to_str()?.to_owned())).collect())
}

/// Reads all about the present execution, or about one that was put aside under `archived`; `None` when there is none.
///
/// # Errors
/// [`StoreError`] for the first file that is not valid.
pub fn read_past(layout: &Layout, archived: Option<&str>) -> Result<Option<Past>, StoreError> {
    let (run, checkpoints) = match archived {
        Some(name) => (layout.archived(name), layout.archived(name)),
        None => (layout.run(), layout.checkpoints()),
    };
    let record = read_record_in(&run)?;
    let mut checkpoints = read_checkpoints_in(&checkpoints)?;
    let newest = checkpoints.iter().max_by_key(|checkpoint| checkpoint.created_at);
    let id = record.as_ref().map(|record| &record.execution_id).or(newest.map(|newest| &newest.execution_id));
    let Some(id) = id.cloned() else { return Ok(None) };
    checkpoints.retain(|checkpoint| checkpoint.execution_id == id);
    let (history, unreadable) = read_history(&run)?;
    let history = of_execution(history, &id);
    let reports = read_reports(layout, &id)?;
    Ok(Some(Past { record, checkpoints, history, unreadable, reports, logs: run.join("logs") }))
}

/// The lines about one execution. Those of another are there when somebody died while it was put aside.
fn of_execution(lines: Vec<HistoryLine>, id: &ExecutionId) -> Vec<HistoryLine> {
    // The beginning may have rolled over and be lost.
    let mut ours = true;
    let is_ours = |line: &HistoryLine| {
        if let HistoryEvent::SessionStarted { execution, .. } = &line.event {
            ours = execution == id;
        }
        ours
    };
    lines.into_iter().filter(is_ours).collect()
}

/// The reports of one execution, oldest first.
///
/// # Errors
/// [`StoreError`] for the first that is not valid.
pub fn read_reports(layout: &Layout, execution: &ExecutionId) -> Result<Vec<FiledReport>, StoreError> {
    let prefix = format!("{}-", file_name(execution));
    let mut reports = Vec::new();
    for yaml in files::list(&layout.escalations())? {
        let Some(number) = number(&yaml, &prefix) else { continue };
        if let Some(report) = read_report(&yaml)? {
            let paths = ReportPaths { markdown: yaml.with_extension("md"), yaml };
            reports.push(FiledReport { number, report, paths });
        }
    }
    reports.retain(|filed| filed.report.execution_id == *execution);
    reports.sort_by_key(|filed| filed.number);
    Ok(reports)
}

fn number(path: &Path, prefix: &str) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix(prefix)?.strip_suffix(".yaml")?.parse().ok()
}
