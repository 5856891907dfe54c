//! Keeps what lies in the workspace as the journal has it: what a phase, git or a power cut took is written again, and what
//! somebody put there does not count.

use std::path::Path;

use super::{Dispatcher, Ports, Stamps};
use crate::contract::{Phase, PhaseExit};
use crate::events::{Event, Found, State};
use crate::runner::RunError;
use crate::store::{
    Layout, Mismatch, compare, make_room, make_room_for_folders, project_all, put_aside, report_paths, was_put_aside,
    write_checkpoint,
};

/// What a human wants done about checkpoints that are not as the journal has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The journal is right: they are written again.
    Restore,
    /// The phases run again.
    Rerun,
    /// The disk is right: what is there counts.
    Adopt,
}

/// What follows for the journal and the disk, for one mismatch.
#[derive(Debug, Clone, PartialEq)]
struct Repair {
    mismatch: Mismatch,
    /// Whether the journal's checkpoint is written again.
    restore: bool,
    /// Whether what is there is put aside.
    put_aside: bool,
    events: Vec<Event>,
}

/// Decides about one mismatch; `None` where a human has to say what is right. Pure.
fn repair(mismatch: &Mismatch, remedy: Option<Remedy>) -> Option<Repair> {
    let Mismatch { phase, found, concluded, checkpoint, .. } = mismatch.clone();
    let adopted = checkpoint.map(|checkpoint| Event::CheckpointAdopted { checkpoint });
    let reopened = Event::PhaseReopened { phase };
    let (restored, ignored) = (Event::CheckpointRestored { phase, found }, Event::CheckpointIgnored { phase, found });
    let (restore, put_aside, events) = match (concluded, found, remedy) {
        // What nobody concluded here counts for nobody, whatever is wanted.
        (false, _, _) => (false, true, vec![ignored]),
        (true, Found::Different, Some(Remedy::Adopt)) => (true, false, vec![adopted?]),
        (true, Found::Torn, _)
        | (true, _, Some(Remedy::Restore))
        | (true, Found::Missing | Found::Foreign | Found::Different, None) => (true, false, vec![restored]),
        (true, Found::NotACheckpoint, None | Some(Remedy::Adopt)) => return None,
        (true, Found::Missing | Found::Foreign, Some(Remedy::Adopt)) | (true, _, Some(Remedy::Rerun)) => {
            (true, false, vec![restored, reopened])
        }
    };
    Some(Repair { mismatch: mismatch.clone(), restore, put_aside, events })
}

/// Refuses to go on where something lies in the place of a checkpoint that a human has to look at.
pub(super) fn check(layout: &Layout, state: &State, remedy: Option<Remedy>) -> Result<(), RunError> {
    let unclear: Vec<Mismatch> =
        compare(layout, state).into_iter().filter(|mismatch| repair(mismatch, remedy).is_none()).collect();
    if unclear.is_empty() {
        return Ok(());
    }
    let whys = unclear.iter().map(|mismatch| mismatch.why.clone().unwrap_or_default());
    Err(RunError::NotACheckpoint {
        phases: unclear.iter().map(|mismatch| mismatch.phase).collect(),
        why: whys.collect::<Vec<_>>().join("\n"),
        folder: layout.checkpoints(),
    })
}

impl<P: Ports> Dispatcher<P> {
    /// Compares the workspace with the journal and makes it right again. `None` for what is unclear means that this run
    /// wrote it itself, so the journal is right. Whether all was as it should be.
    pub(super) fn put_right(&mut self, remedy: Option<Remedy>) -> Result<bool, RunError> {
        self.make_room_for_folders()?;
        let mismatches = compare(&self.layout, self.journal.state());
        let is_right = mismatches.is_empty();
        for mismatch in mismatches {
            let certain = repair(&mismatch, remedy).or_else(|| repair(&mismatch, Some(Remedy::Restore)));
            let Some(repair) = certain else { continue };
            if repair.put_aside {
                put_aside(&self.layout, &self.layout.checkpoint(repair.mismatch.phase))?;
            }
            for event in repair.events {
                self.record(event)?;
            }
            if repair.restore {
                self.project(repair.mismatch.phase)?;
            }
        }
        for path in project_all(&self.layout, self.journal.state())? {
            self.record(Event::ProjectionRestored { path })?;
        }
        self.stamps = stamps(&self.layout);
        Ok(is_right)
    }

    /// Puts aside what lies in the place of the folders of the projections and is no folder of ours.
    fn make_room_for_folders(&mut self) -> Result<(), RunError> {
        self.is_at_home()?;
        for folder in make_room_for_folders(&self.layout)? {
            self.notice(was_put_aside(&folder));
        }
        Ok(())
    }

    /// Puts aside what lies in the place of files that are written now, or of their folders, and says so.
    pub(super) fn make_room_for(&mut self, paths: &[&Path]) -> Result<(), RunError> {
        self.make_room_for_folders()?;
        for path in paths {
            for moved in make_room(&self.layout, path)? {
                self.notice(was_put_aside(&moved));
            }
        }
        Ok(())
    }

    /// Looks whether anything about the checkpoints was touched since we wrote them, which costs next to nothing, and only
    /// then compares them.
    pub(super) fn look_after_checkpoints(&mut self) -> Result<(), RunError> {
        if stamps(&self.layout) == self.stamps {
            return Ok(());
        }
        self.put_right(None).map(drop)
    }

    /// Writes the checkpoint of a phase as the journal has it.
    pub(super) fn project(&mut self, phase: Phase) -> Result<(), RunError> {
        let Some(checkpoint) = self.journal.state().checkpoints.get(&phase).cloned() else { return Ok(()) };
        let path = self.layout.checkpoint(phase);
        self.make_room_for(&[&path])?;
        write_checkpoint(&self.layout, &checkpoint)?;
        let index = Phase::ALL.iter().position(|other| *other == phase);
        if let Some(known) = index.and_then(|index| self.stamps.get_mut(index)) {
            *known = self.layout.disk().stamp(&path);
        }
        Ok(())
    }

    /// Makes the projections durable, for whoever reads them after the run has stopped.
    pub(super) fn sync_projections(&self) -> Result<(), RunError> {
        self.is_at_home()?;
        let mut paths: Vec<_> = Phase::ALL.iter().map(|phase| self.layout.checkpoint(*phase)).collect();
        paths.extend([self.layout.context_state(), self.layout.operator()]);
        let state = self.journal.state();
        for number in state.reports.keys() {
            let report = report_paths(&self.layout, &state.execution_id, *number);
            paths.extend([report.yaml, report.markdown]);
        }
        Ok(self.layout.disk().sync_all(&paths)?)
    }

    /// Before a run says that all is done: every phase of it has a checkpoint on disk that says so.
    pub(super) fn confirm(&mut self) -> Result<(), RunError> {
        let is_right = self.put_right(None)?;
        self.restore_signals()?;
        let state = self.journal.state();
        let success = |phase: &Phase| {
            state.checkpoints.get(phase).is_some_and(|checkpoint| checkpoint.exit_code == PhaseExit::Success)
        };
        debug_assert!(state.phases.iter().all(success), "a run completes when every phase is done");
        let mut left = if is_right { Vec::new() } else { compare(&self.layout, state) };
        left.retain(|mismatch| mismatch.concluded);
        match left.first() {
            None => Ok(()),
            Some(mismatch) => Err(RunError::Unprojected { phase: mismatch.phase, found: mismatch.found.words() }),
        }
    }
}

fn stamps(layout: &Layout) -> Stamps {
    Phase::ALL.iter().map(|phase| layout.disk().stamp(&layout.checkpoint(*phase))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_is_right_unless_a_human_says_otherwise() {
        use Found::{Different, Foreign, Missing, NotACheckpoint, Torn};
        let words = |event: &Event| match event {
            Event::CheckpointRestored { .. } => "restored",
            Event::CheckpointIgnored { .. } => "ignored",
            Event::CheckpointAdopted { .. } => "adopted",
            Event::PhaseReopened { .. } => "reopened",
            other => panic!("{other:?}"),
        };
        let rows = [
            (true, Missing, None, Some(&["restored"][..])),
            (true, Torn, None, Some(&["restored"])),
            (true, Different, None, Some(&["restored"])),
            (true, Foreign, None, Some(&["restored"])),
            (true, NotACheckpoint, None, None),
            (true, NotACheckpoint, Some(Remedy::Restore), Some(&["restored"])),
            (true, NotACheckpoint, Some(Remedy::Rerun), Some(&["restored", "reopened"])),
            (true, NotACheckpoint, Some(Remedy::Adopt), None),
            (true, Different, Some(Remedy::Rerun), Some(&["restored", "reopened"])),
            (true, Different, Some(Remedy::Adopt), Some(&["adopted"])),
            (true, Missing, Some(Remedy::Adopt), Some(&["restored", "reopened"])),
            (true, Torn, Some(Remedy::Rerun), Some(&["restored"])),
            (false, Different, None, Some(&["ignored"])),
            (false, Different, Some(Remedy::Adopt), Some(&["ignored"])),
            (false, Foreign, Some(Remedy::Adopt), Some(&["ignored"])),
            (false, NotACheckpoint, None, Some(&["ignored"])),
        ];
        let id = crate::contract::ExecutionId::new("exec-1").expect("not empty");
        let now = jiff::Timestamp::UNIX_EPOCH;
        let state = State::new(id, Phase::ALL.to_vec(), crate::events::RunOrigin::config(), now);
        let checkpoint = crate::runner::decide::skipped(&state, Phase::Design, "a test", now);
        for (concluded, found, remedy, expected) in rows {
            let checkpoint = (found == Different).then(|| Box::new(checkpoint.clone()));
            let (phase, why) = (Phase::Design, None);
            let mismatch = Mismatch { phase, found, concluded, checkpoint, why };
            let events = repair(&mismatch, remedy).map(|repair| repair.events.iter().map(words).collect::<Vec<_>>());
            assert_eq!(events.as_deref(), expected, "{concluded} {found:?} {remedy:?}");
        }
    }
}
