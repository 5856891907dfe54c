//! `.loa-run/run.yaml` of format 1: what a resume needed and the checkpoints did not say.
//!
//! Beside it may lie `note.yaml`, the same record a little later, written without a sync: it counts only when it is whole
//! and newer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;

use crate::contract::{EscalationTrigger, ExecutionId, Finding, Phase, SessionId};
use crate::events::{Active, ApprovalState, CycleMark, RecordedOverride, RecordedResolution, RunOrigin, RunStatus};
use crate::policy::TriggerCounters;
use crate::store::StoreError;
use crate::store::format::{bytes, read_own};
use crate::system::disk;

/// The version of the format.
const VERSION: u32 = 1;
/// The last line of a note that was written to its end.
const WHOLE: &[u8] = b"# whole\n";

/// One execution: who works on it, how far its counters are, and what it waits for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunRecord {
    /// Version of this format: 1.
    pub(super) version: u32,
    /// The execution; the same in its checkpoints.
    pub(super) execution_id: ExecutionId,
    /// Every process lifetime that worked on it, newest last.
    pub(super) sessions: Vec<SessionId>,
    /// Rises with every session: whoever holds a lower one is no longer the owner.
    pub(super) epoch: u64,
    /// Where the plan came from.
    pub(super) origin: RunOrigin,
    /// What the command line said over the configuration, newest last: a resume goes on with it.
    #[serde(default)]
    pub(super) overrides: Vec<RecordedOverride>,
    /// The phases of this execution, in the order in which they run.
    pub(super) phases: Vec<Phase>,
    /// Where it stands.
    pub(super) status: RunStatus,
    /// When it began.
    pub(super) started_at: Timestamp,
    /// When this was written; times in documents of one execution never go back.
    pub(super) updated_at: Timestamp,
    /// The counters behind the triggers, elapsed time among them.
    pub(super) counters: TriggerCounters,
    /// Phases whose checkpoint counts only when it is newer than this.
    #[serde(default)]
    pub(super) reopened: BTreeMap<Phase, Timestamp>,
    /// The phase that was being worked on.
    #[serde(default)]
    pub(super) active: Option<Active>,
    /// What the last audit found.
    #[serde(default)]
    pub(super) findings: Vec<Finding>,
    /// What the work looked like when the audit failed last.
    #[serde(default)]
    pub(super) cycle: Option<CycleMark>,
    /// Whether a human agreed to the deployment.
    pub(super) deploy: ApprovalState,
    /// How many reports were written.
    pub(super) escalations: u32,
    /// The report that waits for its answer.
    #[serde(default)]
    pub(super) pending: Option<PendingEscalation>,
    /// The answers that were given, newest last.
    #[serde(default)]
    pub(super) resolutions: Vec<RecordedResolution>,
}

/// A report that waits for its answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PendingEscalation {
    /// Its number within the execution, from 1.
    pub(super) number: u32,
    /// Why.
    pub(super) trigger: EscalationTrigger,
    /// The phase.
    pub(super) phase: Phase,
    /// The report for machines.
    pub(super) report: PathBuf,
}

/// The record in a folder; `None` when there is none.
pub(super) fn read_record(folder: &Path) -> Result<Option<RunRecord>, StoreError> {
    let record: Option<RunRecord> = read_own(disk::host().as_ref(), &folder.join("run.yaml"), VERSION)?;
    let noted = read_note(&folder.join("note.yaml"));
    Ok(record.map(|record| noted.filter(|noted| noted.follows(&record)).unwrap_or(record)))
}

/// Half of a note, or one that cannot be read, is none.
fn read_note(path: &Path) -> Option<RunRecord> {
    let noted = bytes(disk::host().as_ref(), path).ok()??;
    if noted.ends_with(WHOLE) { read_own(disk::host().as_ref(), path, VERSION).ok()? } else { None }
}

impl RunRecord {
    /// Whether this is the same execution in the same session, later.
    fn follows(&self, other: &Self) -> bool {
        let same = (&self.execution_id, self.epoch) == (&other.execution_id, other.epoch);
        same && self.updated_at > other.updated_at
    }
}
