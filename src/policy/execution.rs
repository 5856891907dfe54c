//! Where an execution stands: the fold of its checkpoints (Checkpoint Operations; `PhaseStatus`).

use std::collections::BTreeSet;

use crate::contract::{Checkpoint, ExecutionId, ExecutionState, Phase, PhaseExit, PhaseProgress, PhaseStatus};

/// What is known of an execution. The checkpoints decide; nothing else says what is done.
#[derive(Debug, Clone, Copy)]
pub struct Execution<'a> {
    /// Its identifier. Checkpoints of another execution are passed over.
    pub id: &'a ExecutionId,
    /// Its phases in the order in which they run; never empty.
    pub order: &'a [Phase],
    /// The checkpoints, one a phase at most, in any order.
    pub checkpoints: &'a [Checkpoint],
    /// Phases that must run again although their checkpoint says 0: remediation reopened them.
    pub reopened: &'a BTreeSet<Phase>,
}

impl<'a> Execution<'a> {
    /// The next phase to run; `None` when all are done.
    #[must_use]
    pub fn next_phase(&self) -> Option<Phase> {
        self.order.iter().copied().find(|phase| !self.is_completed(*phase))
    }

    /// Whether there is something to go on from: a checkpoint of this execution, and a phase left to run.
    #[must_use]
    pub fn can_resume(&self) -> bool {
        self.own().next().is_some() && self.next_phase().is_some()
    }

    /// The contract's `ExecutionState`. When all is done, the current phase is the last one.
    ///
    /// # Panics
    /// When `order` is empty.
    #[must_use]
    pub fn state(&self) -> ExecutionState {
        let last = *self.order.last().expect("an execution has at least one phase");
        ExecutionState {
            execution_id: self.id.clone(),
            current_phase: self.next_phase().unwrap_or(last),
            completed_phases: self.order.iter().copied().filter(|phase| self.is_completed(*phase)).collect(),
            last_checkpoint: self.last_checkpoint().cloned(),
        }
    }

    /// The newest checkpoint; of two with one timestamp, that of the later phase.
    #[must_use]
    pub fn last_checkpoint(&self) -> Option<&'a Checkpoint> {
        self.own().max_by_key(|checkpoint| (checkpoint.created_at, self.position(checkpoint.phase)))
    }

    /// Where each of the eight phases stands, in the contract's order; `active` is the phase at work or in backoff.
    #[must_use]
    pub fn phase_statuses(&self, active: Option<Phase>) -> Vec<PhaseStatus> {
        Phase::ALL
            .iter()
            .map(|&phase| {
                let exit_code = self.exit_of(phase);
                PhaseStatus { phase, status: self.progress(phase, exit_code, active), exit_code }
            })
            .collect()
    }

    fn progress(&self, phase: Phase, exit: Option<PhaseExit>, active: Option<Phase>) -> PhaseProgress {
        match exit {
            _ if active == Some(phase) => PhaseProgress::InProgress,
            None => PhaseProgress::Pending,
            Some(_) if self.reopened.contains(&phase) => PhaseProgress::Pending,
            Some(PhaseExit::Success) => PhaseProgress::Completed,
            Some(PhaseExit::Retry | PhaseExit::Blocked) => PhaseProgress::Failed,
        }
    }

    fn is_completed(&self, phase: Phase) -> bool {
        !self.reopened.contains(&phase) && self.exit_of(phase) == Some(PhaseExit::Success)
    }

    fn exit_of(&self, phase: Phase) -> Option<PhaseExit> {
        self.own().find(|checkpoint| checkpoint.phase == phase).map(|checkpoint| checkpoint.exit_code)
    }

    fn own(&self) -> impl Iterator<Item = &'a Checkpoint> {
        self.checkpoints.iter().filter(|checkpoint| checkpoint.execution_id == *self.id)
    }

    fn position(&self, phase: Phase) -> Option<usize> {
        self.order.iter().position(|other| *other == phase)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::contract::Phase::{Audit, Deploy, Design, Discovery, Implementation, Learning, Preflight, Submit};
    use crate::contract::PhaseExit::{Blocked, Retry, Success};

    fn id(text: &str) -> ExecutionId {
        ExecutionId::new(text).expect("not empty")
    }

    fn checkpoint(phase: Phase, exit_code: PhaseExit, second: i64) -> Checkpoint {
        Checkpoint {
            execution_id: id("exec-1"),
            phase,
            created_at: Timestamp::from_second(second).expect("in range"),
            exit_code,
            summary: crate::text::Untrusted::default(),
            decisions: Vec::new(),
            artifacts: Vec::new(),
            errors: Vec::new(),
            metrics: None,
        }
    }

    /// Asks a question about the checkpoints of `(phase, exit)`, written one a second.
    fn with<T>(written: &[(Phase, PhaseExit)], reopened: &[Phase], ask: impl FnOnce(Execution<'_>) -> T) -> T {
        let written = (0..).zip(written).map(|(second, (phase, exit))| checkpoint(*phase, *exit, second));
        let (checkpoints, reopened): (Vec<_>, _) = (written.collect(), reopened.iter().copied().collect());
        ask(Execution { id: &id("exec-1"), order: Phase::ALL, checkpoints: &checkpoints, reopened: &reopened })
    }

    #[test]
    fn the_current_phase_is_the_first_without_success() {
        let all: Vec<_> = Phase::ALL.iter().map(|phase| (*phase, Success)).collect();
        for (written, reopened, next, current) in [
            (&[][..], &[][..], Some(Preflight), Preflight),
            (&all[..2], &[], Some(Design), Design),
            (&[(Preflight, Success), (Discovery, Retry)], &[], Some(Discovery), Discovery),
            (&[(Preflight, Success), (Discovery, Blocked)], &[], Some(Discovery), Discovery),
            (&[(Preflight, Success), (Design, Success)], &[], Some(Discovery), Discovery),
            (&all[..5], &[Implementation, Audit], Some(Implementation), Implementation),
            (&all, &[], None, Learning),
            (&all, &[Deploy], Some(Deploy), Deploy),
        ] {
            with(written, reopened, |execution| {
                assert_eq!(execution.next_phase(), next, "{written:?} {reopened:?}");
                assert_eq!(execution.state().current_phase, current, "{written:?} {reopened:?}");
                assert_eq!(execution.can_resume(), !written.is_empty() && next.is_some(), "{written:?}");
            });
        }
    }

    #[test]
    fn the_state_counts_only_exit_zero_and_names_the_newest_checkpoint() {
        with(&[(Discovery, Success), (Preflight, Success), (Design, Retry)], &[], |execution| {
            let state = execution.state();
            assert_eq!(state.completed_phases, [Preflight, Discovery]);
            assert_eq!(state.last_checkpoint.expect("three were written").phase, Design);
        });
        with(&[(Preflight, Success), (Discovery, Success)], &[Preflight], |execution| {
            assert_eq!(execution.state().completed_phases, [Discovery]);
        });
        with(&[], &[], |execution| assert_eq!(execution.state().last_checkpoint, None));
    }

    #[test]
    fn of_one_second_the_later_phase_is_the_newest() {
        let checkpoints = [checkpoint(Design, Success, 7), checkpoint(Discovery, Success, 7)];
        let (id, reopened) = (id("exec-1"), BTreeSet::new());
        let execution = Execution { id: &id, order: Phase::ALL, checkpoints: &checkpoints, reopened: &reopened };
        assert_eq!(execution.last_checkpoint().expect("two").phase, Design);
    }

    #[test]
    fn checkpoints_of_another_execution_do_not_count() {
        let checkpoints = [checkpoint(Preflight, Success, 1)];
        let (other, reopened) = (id("exec-2"), BTreeSet::new());
        let execution = Execution { id: &other, order: Phase::ALL, checkpoints: &checkpoints, reopened: &reopened };
        assert!(!execution.can_resume());
        assert_eq!(execution.state().current_phase, Preflight);
        assert_eq!(execution.state().last_checkpoint, None);
    }

    #[test]
    fn a_plan_may_have_an_order_of_its_own() {
        let checkpoints = [checkpoint(Submit, Success, 1)];
        let (id, reopened, order) = (id("exec-1"), BTreeSet::new(), [Submit, Preflight]);
        let execution = Execution { id: &id, order: &order, checkpoints: &checkpoints, reopened: &reopened };
        assert_eq!(execution.next_phase(), Some(Preflight));
        assert_eq!(execution.phase_statuses(None).len(), 8, "a report speaks of all eight");
    }

    #[test]
    fn every_phase_has_a_status() {
        let written = [(Preflight, Success), (Discovery, Success), (Design, Blocked)];
        with(&written, &[Discovery], |execution| {
            let statuses = execution.phase_statuses(Some(Implementation));
            let of = |phase: Phase| {
                let found = statuses.iter().find(|status| status.phase == phase).expect("all eight");
                (found.status, found.exit_code)
            };
            assert_eq!(of(Preflight), (PhaseProgress::Completed, Some(Success)));
            assert_eq!(of(Discovery), (PhaseProgress::Pending, Some(Success)), "reopened");
            assert_eq!(of(Design), (PhaseProgress::Failed, Some(Blocked)));
            assert_eq!(of(Implementation), (PhaseProgress::InProgress, None));
            assert_eq!(of(Learning), (PhaseProgress::Pending, None));
        });
        with(&[(Design, Retry)], &[], |execution| {
            assert_eq!(execution.phase_statuses(Some(Design))[2].status, PhaseProgress::InProgress, "its next attempt");
        });
    }
}
