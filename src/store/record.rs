//! `.loa-run/run.yaml`: what a resume needs and the checkpoints do not say. Ours; format version 1.
//!
//! Beside it may lie `note.yaml`, the same record a little later, written without a sync: it survives our death but no
//! power cut, so it counts only when it is whole and newer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::format::{note, read_noted, read_own, write};
use super::{Layout, StoreError};
use crate::contract::{EscalationTrigger, ExecutionId, Finding, Phase, Resolution, SessionId};
use crate::policy::{Signature, TriggerCounters};
use crate::system::files::{self, Privacy};

/// The newest version of the format.
pub const RECORD_VERSION: u32 = 1;

/// One execution: who works on it, how far its counters are, and what it waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Version of this format: 1.
    pub version: u32,
    /// The execution; the same in its checkpoints.
    pub execution_id: ExecutionId,
    /// Every process lifetime that worked on it, newest last.
    pub sessions: Vec<SessionId>,
    /// Rises with every session: whoever holds a lower one is no longer the owner.
    pub epoch: u64,
    /// Where the plan came from.
    pub origin: RunOrigin,
    /// What the command line said over the configuration, newest last: a resume goes on with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<RecordedOverride>,
    /// The phases of this execution, in the order in which they run.
    pub phases: Vec<Phase>,
    /// Where it stands.
    pub status: RunStatus,
    /// When it began.
    pub started_at: Timestamp,
    /// When this was written; times in documents of one execution never go back.
    pub updated_at: Timestamp,
    /// The counters behind the triggers, elapsed time among them.
    pub counters: TriggerCounters,
    /// Phases whose checkpoint counts only when it is newer than this.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reopened: BTreeMap<Phase, Timestamp>,
    /// The phase that was being worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<Active>,
    /// What the last audit found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What the work looked like when the audit failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<CycleMark>,
    /// Whether a human agreed to the deployment.
    pub deploy: ApprovalState,
    /// How many reports were written.
    pub escalations: u32,
    /// The report that waits for its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingEscalation>,
    /// The answers that were given, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolutions: Vec<RecordedResolution>,
}

/// Where a plan came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunOrigin {
    /// A configuration's `runtime.phases`, or a plan of its own.
    pub kind: OriginKind,
    /// The plan's file, absolute; absent for a configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// A value that the command line put over the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedOverride {
    /// The key with dots.
    pub key: String,
    /// The value, as it was written.
    pub value: String,
    /// The flag that said it.
    pub flag: String,
}

/// What kind of file a plan came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OriginKind {
    /// `.loa.config.yaml`.
    Config,
    /// `--plan`.
    Plan,
}

/// Where an execution stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Nothing ran yet: it was reset.
    Ready,
    /// A session works on it, or died while it did.
    Running,
    /// A signal ended the session; it can be resumed.
    Interrupted,
    /// A human is needed.
    Escalated,
    /// A human answered; it can be resumed.
    Resolved,
    /// Every phase is done.
    Completed,
    /// A human ended it.
    Aborted,
}

impl RunStatus {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Escalated => "escalated",
            Self::Resolved => "resolved",
            Self::Completed => "completed",
            Self::Aborted => "aborted",
        }
    }
}

/// A phase that was being worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Active {
    /// The phase.
    pub phase: Phase,
    /// Its attempt, from 1.
    pub attempt: u32,
    /// How its earlier attempts failed.
    pub failures: Vec<Option<Signature>>,
    /// When its first attempt began; absent in records of earlier programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
}

/// What the work looked like at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CycleMark {
    /// The commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// A digest of the work tree; absent outside a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Signature>,
}

/// Whether a human agreed to the deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Not asked yet.
    NotAsked,
    /// Asked; the pending report is about it.
    Asked,
    /// Given.
    Given,
}

/// A report that waits for its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingEscalation {
    /// Its number within the execution, from 1.
    pub number: u32,
    /// Why.
    pub trigger: EscalationTrigger,
    /// The phase.
    pub phase: Phase,
    /// The report for machines.
    pub report: PathBuf,
}

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedResolution {
    /// The number of the report that it answers.
    pub escalation: u32,
    /// When.
    pub at: Timestamp,
    /// The answer.
    pub resolution: Resolution,
}

/// Writes the record durably.
///
/// # Errors
/// [`StoreError`]; the earlier record is then untouched.
pub fn write_record(layout: &Layout, record: &RunRecord) -> Result<(), StoreError> {
    files::ensure_folder(&layout.run())?;
    write(&layout.record(), record, Privacy::Private)
}

/// Writes the record beside the durable one: a power cut may bring that one back, as if we had died before. For what a
/// resume can do without, such as that a first attempt began.
///
/// # Errors
/// [`StoreError`]; the earlier record is then untouched.
pub fn note_record(layout: &Layout, record: &RunRecord) -> Result<(), StoreError> {
    note(&layout.note(), record, Privacy::Private)
}

/// The record of the workspace's execution; `None` before the first.
///
/// # Errors
/// [`StoreError`], also when it comes from a newer version.
pub fn read_record(layout: &Layout) -> Result<Option<RunRecord>, StoreError> {
    read_record_in(&layout.run())
}

pub(super) fn read_record_in(folder: &Path) -> Result<Option<RunRecord>, StoreError> {
    let record: Option<RunRecord> = read_own(&folder.join("run.yaml"), RECORD_VERSION)?;
    // Half of one, or one that cannot be read, is none.
    let noted: Option<RunRecord> = read_noted(&folder.join(Layout::NOTE), RECORD_VERSION);
    Ok(record.map(|record| noted.filter(|noted| noted.follows(&record)).unwrap_or(record)))
}

impl RunRecord {
    /// Whether this is the same execution in the same session, later.
    fn follows(&self, other: &Self) -> bool {
        let same = (&self.execution_id, self.epoch) == (&other.execution_id, other.epoch);
        same && self.updated_at > other.updated_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files;

    #[test]
    fn a_note_counts_when_it_is_whole_later_and_of_the_same_session() {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(folder.path());
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/formats/1/run.yaml");
        let text = files::read(Path::new(fixture), 1 << 20).expect("a record");
        let record: RunRecord = serde_yaml::from_slice(&text).expect("a record");
        write_record(&layout, &record).expect("written");
        let later = |seconds| record.updated_at + jiff::SignedDuration::from_secs(seconds);
        let read = |note: &RunRecord| {
            note_record(&layout, note).expect("noted");
            read_record(&layout).expect("readable").expect("a record").updated_at
        };
        let noted = RunRecord { updated_at: later(1), ..record.clone() };
        assert_eq!(read(&noted), later(1));
        let earlier = RunRecord { updated_at: later(-1), ..record.clone() };
        assert_eq!(read(&earlier), later(0));
        assert_eq!(read(&RunRecord { epoch: record.epoch + 1, ..noted.clone() }), later(0), "of another session");
        note_record(&layout, &noted).expect("noted");
        let whole = files::read(&layout.note(), 1 << 20).expect("there");
        for length in 0..whole.len() {
            files::replace(&layout.note(), &whole[..length], Privacy::Private).expect("cut");
            assert_eq!(read_record(&layout).expect("readable").expect("a record"), record, "cut at {length}");
        }
        files::replace(&layout.note(), &vec![0; whole.len()], Privacy::Private).expect("zeroed");
        assert_eq!(read_record(&layout).expect("readable"), Some(record));
    }
}
