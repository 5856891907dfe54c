//! Where an execution stands: its record and its checkpoints, folded.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::contract::{Checkpoint, ExecutionState, Phase, PhaseExit, PhaseStatus};
use crate::policy::Execution;
use crate::store::{Layout, RunRecord, StoreError, read_checkpoints, write_checkpoint};

/// The record of an execution and what lies in `.loa-checkpoint/`.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    pub(super) record: RunRecord,
    checkpoints: Vec<Checkpoint>,
}

impl Standing {
    pub(super) fn read(layout: &Layout, record: RunRecord) -> Result<Self, StoreError> {
        let mut standing = Self { record, checkpoints: read_checkpoints(layout)? };
        // A clock may have been set back, or another host's be ahead: what follows must still count as newer.
        let newest = standing.checkpoints().map(|checkpoint| checkpoint.created_at).max();
        standing.record.updated_at = newest.map_or(standing.record.updated_at, |at| at.max(standing.record.updated_at));
        Ok(standing)
    }

    /// Writes a checkpoint, durably first and in memory second.
    pub(super) fn write(&mut self, layout: &Layout, checkpoint: Checkpoint) -> Result<(), StoreError> {
        write_checkpoint(layout, &checkpoint)?;
        self.checkpoints.retain(|other| other.phase != checkpoint.phase);
        self.checkpoints.push(checkpoint);
        Ok(())
    }

    /// A time for the next document: now, and never before an earlier one of this execution.
    pub(super) fn stamp(&mut self, now: Timestamp) -> Timestamp {
        let next = self.record.updated_at + jiff::SignedDuration::from_millis(1);
        self.record.updated_at = now.max(next);
        self.record.updated_at
    }

    /// The phase's checkpoint of this execution, unless the phase was reopened since.
    pub(super) fn checkpoint(&self, phase: Phase) -> Option<&Checkpoint> {
        let own = self.checkpoints.iter().find(|c| c.phase == phase && c.execution_id == self.record.execution_id)?;
        (!self.reopened().contains(&phase)).then_some(own)
    }

    pub(super) fn is_completed(&self, phase: Phase) -> bool {
        self.checkpoint(phase).is_some_and(|checkpoint| checkpoint.exit_code == PhaseExit::Success)
    }

    /// The checkpoint counts only when it is newer than the reopening.
    fn reopened(&self) -> BTreeSet<Phase> {
        let stale = |phase: &Phase, at: &Timestamp| {
            !self.checkpoints.iter().any(|checkpoint| checkpoint.phase == *phase && checkpoint.created_at > *at)
        };
        self.record.reopened.iter().filter(|(phase, at)| stale(phase, at)).map(|(phase, _)| *phase).collect()
    }

    fn fold<'a>(&'a self, reopened: &'a BTreeSet<Phase>) -> Execution<'a> {
        let (id, order) = (&self.record.execution_id, &self.record.phases[..]);
        Execution { id, order, checkpoints: &self.checkpoints, reopened }
    }

    pub(super) fn next_phase(&self) -> Option<Phase> {
        self.fold(&self.reopened()).next_phase()
    }

    pub(super) fn state(&self) -> ExecutionState {
        self.fold(&self.reopened()).state()
    }

    pub(super) fn statuses(&self, active: Option<Phase>) -> Vec<PhaseStatus> {
        self.fold(&self.reopened()).phase_statuses(active)
    }

    pub(super) fn last_checkpoint(&self) -> Option<Checkpoint> {
        self.fold(&self.reopened()).last_checkpoint().cloned()
    }

    /// Checkpoints that belong to another execution and do not count here.
    pub(super) fn foreign(&self) -> Vec<&Checkpoint> {
        self.checkpoints.iter().filter(|checkpoint| checkpoint.execution_id != self.record.execution_id).collect()
    }

    /// This execution's checkpoints.
    pub(super) fn checkpoints(&self) -> impl Iterator<Item = &Checkpoint> {
        self.checkpoints.iter().filter(|checkpoint| checkpoint.execution_id == self.record.execution_id)
    }
}
