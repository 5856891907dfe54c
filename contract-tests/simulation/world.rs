//! The simulated world as one session sees it, and the people around it.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use loa::contract::{
    Confidence, DetectionMethod, ExecutionId, OperatorRecord, OperatorType, Phase, ResolutionAction, SessionId,
};
use loa::events::{BoundaryDrawn, ChangedFiles, Envelope, Observation, PinnedFile, State, WorkTree};
use loa::runner::decide::{Attempt, Stop, Survey};
use loa::runner::{Ports, RunError, Start};
use loa::system::clock::Moment;

use super::disk::SimDisk;
use super::truth::Truth;

/// More events than any lawful story has.
const MOST_EVENTS: u64 = 20_000;

/// A planted fault that lies in the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// An exit that happened is not told when a deadline has passed.
    ExitBehindDeadline,
    /// A request for a halt is not seen.
    DeafToHalt,
    /// Some stages are started twice.
    StartsTwice,
    /// What a dead session left is not ended.
    SweepsNothing,
    /// A stage waits for its provider and does not say so.
    HidesLimits,
}

/// The world as one session sees it.
#[derive(Debug)]
pub(super) struct World {
    pub(super) truth: Rc<RefCell<Truth>>,
    pub(super) disk: SimDisk,
}

impl Ports for World {
    fn now(&mut self) -> Moment {
        self.truth.borrow().moment()
    }

    fn chance(&mut self) -> f64 {
        self.truth.borrow_mut().rng.f64()
    }

    fn pulse(&self) -> Duration {
        Duration::from_secs(20)
    }

    fn deploy_files(&mut self, _: &State) -> Result<Vec<PinnedFile>, RunError> {
        Ok(Vec::new())
    }

    fn changed_files(&mut self, _: &State) -> ChangedFiles {
        ChangedFiles::default()
    }

    fn strays(&mut self, _: Timestamp) -> Vec<String> {
        Vec::new()
    }

    fn ready(&mut self, _: &ExecutionId, _: Option<&SessionId>) -> Result<usize, RunError> {
        let mut truth = self.truth.borrow_mut();
        truth.halt = false;
        truth.wanted = None;
        (truth.left, truth.followed) = (None, None);
        truth.waited = Duration::ZERO;
        // The guard, and the sweep after it, end what a dead session left.
        let left = if truth.wrong == Some(Wrong::SweepsNothing) { None } else { truth.job.take() };
        Ok(usize::from(left.is_some()))
    }

    fn boundary(&mut self) -> BoundaryDrawn {
        BoundaryDrawn::default()
    }

    fn start(&mut self, start: &Start, state: &State) -> Result<(), RunError> {
        let mut truth = self.truth.borrow_mut();
        if self.disk.is_dead() {
            return Ok(());
        }
        if truth.rng.u8(..) == 0 && truth.disturbs() {
            truth.count("starts refused by the host");
            return Err(refused("start a process"));
        }
        truth.started(start, state, &self.disk);
        if truth.wrong == Some(Wrong::StartsTwice) && truth.rng.u8(0..10) == 0 {
            truth.job = None;
            truth.started(start, state, &self.disk);
        }
        Ok(())
    }

    fn stop(&mut self, stop: Stop) {
        if let Some(job) = &mut self.truth.borrow_mut().job {
            job.stop = Some(stop);
        }
    }

    fn look_after(&mut self) -> Option<String> {
        None
    }

    fn halt_requested(&mut self) -> bool {
        let truth = self.truth.borrow();
        truth.halt && truth.wrong != Some(Wrong::DeafToHalt)
    }

    fn forget_halt(&mut self) -> Result<(), RunError> {
        self.truth.borrow_mut().halt = false;
        Ok(())
    }

    fn survey(&mut self, _: Phase, _: &Attempt) -> (Survey, Vec<String>) {
        let mut truth = self.truth.borrow_mut();
        let tree = truth.settings.script.is_none().then(|| format!("{:x}", truth.rng.u8(0..3)));
        (Survey { artifacts: Vec::new(), head: None, tree }, Vec::new())
    }

    fn end_what_is_left(&mut self) -> usize {
        let left = self.truth.borrow_mut().job.take();
        usize::from(left.is_some())
    }

    fn work_tree(&mut self) -> WorkTree {
        WorkTree::default()
    }

    fn operator(&mut self) -> OperatorRecord {
        OperatorRecord {
            operator_type: OperatorType::Human,
            detected_at: self.truth.borrow().wall,
            detection_method: DetectionMethod::Tty,
            confidence: Confidence::Low,
        }
    }

    fn surroundings(&mut self) -> Result<Vec<String>, RunError> {
        let mut truth = self.truth.borrow_mut();
        if truth.rng.u8(..) == 0 && truth.disturbs() {
            truth.count("sessions refused by the host");
            return Err(refused("read the surroundings"));
        }
        Ok(Vec::new())
    }

    fn event(&mut self, envelope: &Envelope, state: &State) {
        let mut truth = self.truth.borrow_mut();
        truth.told(envelope, state);
        if envelope.seq > MOST_EVENTS {
            truth.breaks("the journal has no end");
            // Whoever writes without end is stopped by nothing else.
            self.disk.die_after(Some(0));
        }
    }

    fn observation(&mut self, _: Timestamp, _: &Observation) {}
}

/// The host refuses something.
pub(super) fn refused(what: &'static str) -> RunError {
    RunError::Host { what, source: std::io::Error::from(std::io::ErrorKind::PermissionDenied) }
}

/// The answers of a human, none of which makes a story endless.
pub(super) fn answer(rng: &mut fastrand::Rng, calls: u32) -> ResolutionAction {
    match rng.u8(0..4) {
        _ if calls > 4 => ResolutionAction::Abort,
        0 | 1 => ResolutionAction::FixAndResume,
        2 => ResolutionAction::SkipPhase,
        _ => ResolutionAction::Abort,
    }
}

/// Where the simulated workspace lies.
pub(super) fn workspace() -> &'static Path {
    Path::new("/simulated/workspace")
}
