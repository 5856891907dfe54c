//! What the first programs left: a record and a history in `.loa-run/`, and the checkpoints. Read for ever, written no more.

mod history;
mod record;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use self::history::read_history;
use self::record::{RunRecord, read_record};
use self::session::read_agent;
use super::escalation::read_report;
use super::projection::found_checkpoints_in;
use super::{Layout, StoreError};
use crate::contract::{Checkpoint, EscalationReport, ExecutionId, Phase};
use crate::events::{AgentState, ApprovalState, Dated, PendingEscalation, State};
use crate::system::disk;
use crate::system::files;
use crate::text::Untrusted;

/// An execution that was recorded before there was a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// What is known of it.
    pub state: State,
    /// What happened, oldest first.
    pub history: Vec<Dated>,
    /// Lines of the history that could not be read.
    pub unreadable: usize,
    /// What lies in the place of a checkpoint and is none, with the lines that it is about.
    pub wrong: Vec<String>,
}

/// The execution of format 1 in the workspace; `None` when there is none.
///
/// # Errors
/// [`StoreError`] for the first file that is not valid.
pub fn read_format1(layout: &Layout) -> Result<Option<Earlier>, StoreError> {
    read_in(layout, &layout.run(), &layout.checkpoints())
}

/// An execution of format 1 that was put aside under this name; `None` when there is none.
///
/// # Errors
/// As [`read_format1`].
pub fn archived_format1(layout: &Layout, name: &str) -> Result<Option<Earlier>, StoreError> {
    let known = files::list(&layout.archive())?;
    match known.into_iter().find(|folder| folder.file_name().is_some_and(|file| file == name)) {
        Some(folder) => read_in(layout, &folder, &folder),
        None => Ok(None),
    }
}

/// Puts the files of format 1 of an execution aside, to the other executions that are over. Nothing is deleted.
///
/// # Errors
/// [`StoreError`] for the first file that could not be moved.
pub fn retire_format1(layout: &Layout, execution: &ExecutionId) -> Result<(), StoreError> {
    let run = layout.run();
    if !run.join("run.yaml").exists() {
        return Ok(());
    }
    let folder = layout.archived(&execution.file_name());
    files::ensure_folder(&folder)?;
    // The record last: while it is there, whoever dies in between begins again.
    for name in ["note.yaml", "history.1.jsonl", "history.jsonl", "sessions", "run.yaml"] {
        if run.join(name).symlink_metadata().is_ok() {
            files::rename(&run.join(name), &free_name(&folder, name))?;
        }
    }
    Ok(())
}

fn free_name(folder: &Path, name: &str) -> PathBuf {
    let candidates = (1_u32..).map(|n| if n == 1 { name.to_owned() } else { format!("{name}.{n}") });
    let mut free = candidates.map(|name| folder.join(name)).filter(|path| path.symlink_metadata().is_err());
    free.next().expect("an endless sequence of names has a free one")
}

fn read_in(layout: &Layout, run: &Path, checkpoints: &Path) -> Result<Option<Earlier>, StoreError> {
    let Some(record) = read_record(run)? else { return Ok(None) };
    let (found, wrong) = found_checkpoints_in(disk::host().as_ref(), checkpoints);
    let found = found.into_iter().filter(|checkpoint| checkpoint.execution_id == record.execution_id);
    let checkpoints: BTreeMap<Phase, Checkpoint> = found.map(|checkpoint| (checkpoint.phase, checkpoint)).collect();
    let (history, unreadable) = read_history(run, &record.execution_id)?;
    let mut agents: BTreeMap<Phase, AgentState> = BTreeMap::new();
    for phase in Phase::ALL {
        agents.extend(read_agent(run, *phase, &record.execution_id)?.map(|agent| (*phase, agent)));
    }
    let reports = read_reports(layout, &record.execution_id)?;
    Ok(Some(Earlier { state: state(record, checkpoints, agents, reports), history, unreadable, wrong }))
}

/// A record with what lay beside it as a state of today.
fn state(
    record: RunRecord,
    checkpoints: BTreeMap<Phase, Checkpoint>,
    agents: BTreeMap<Phase, AgentState>,
    reports: BTreeMap<u32, EscalationReport>,
) -> State {
    // A checkpoint counted only when it was newer than the reopening of its phase.
    let stale = |phase: &Phase, at: &jiff::Timestamp| {
        checkpoints.get(phase).is_some_and(|checkpoint| checkpoint.created_at <= *at)
    };
    let reopened: BTreeSet<Phase> =
        record.reopened.iter().filter(|(phase, at)| stale(phase, at)).map(|(phase, _)| *phase).collect();
    // Times in documents of one execution never go back.
    let newest = checkpoints.values().map(|checkpoint| checkpoint.created_at).max();
    let updated_at = newest.map_or(record.updated_at, |newest| newest.max(record.updated_at));
    let pending = record.pending.map(|pending| PendingEscalation {
        number: pending.number,
        trigger: pending.trigger,
        phase: pending.phase,
        reason: Untrusted::default(),
    });
    State {
        sessions: record.sessions,
        epoch: record.epoch,
        overrides: record.overrides,
        status: record.status,
        is_at_work: record.status == crate::events::RunStatus::Running,
        updated_at,
        counters: record.counters,
        checkpoints,
        reopened,
        active: record.active.into_iter().map(|active| (active.phase.into(), active)).collect(),
        findings: record.findings,
        cycle: record.cycle,
        deploy: asked_again(record.deploy),
        escalations: record.escalations,
        reports,
        pending,
        resolutions: record.resolutions,
        agents,
        ..State::new(record.execution_id, record.phases, record.origin, record.started_at)
    }
}

/// Where the approval stands. The record lies where phases may write: one that was given is asked for again.
fn asked_again(recorded: ApprovalState) -> ApprovalState {
    if recorded == ApprovalState::Given { ApprovalState::NotAsked } else { recorded }
}

/// The reports of an execution, by their number.
fn read_reports(layout: &Layout, execution: &ExecutionId) -> Result<BTreeMap<u32, EscalationReport>, StoreError> {
    let prefix = format!("{}-", execution.file_name());
    let mut reports = BTreeMap::new();
    for path in files::list(&layout.escalations())? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".yaml")).map(str::parse);
        let Some(Ok(number)) = number else { continue };
        if let Some(report) = read_report(&path)?.filter(|report| report.execution_id == *execution) {
            reports.insert(number, report);
        }
    }
    Ok(reports)
}
