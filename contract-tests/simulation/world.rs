//! The simulated world: clocks that jump and stop, stages that end in every way, people who answer, and what really
//! happened, to be compared with what the journal says.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use loa::contract::{
    Confidence, DetectionMethod, ExecutionId, OperatorRecord, OperatorType, Phase, PhaseExit, ResolutionAction,
    SessionId,
};
use loa::events::{Envelope, Event, Observation, State};
use loa::policy::StageOutcome;
use loa::runner::decide::{Attempt, Stop, Survey};
use loa::runner::{Fact, Ports, RunError, Start};
use loa::system::clock::Moment;

use super::disk::SimDisk;

/// A stage that runs.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) phase: Phase,
    /// When it ends by itself.
    pub(super) ends: Duration,
    /// How, then.
    pub(super) outcome: StageOutcome,
    /// How long it is silent at most.
    pub(super) began: Duration,
    /// How long everything stood still meanwhile.
    pub(super) still: Duration,
    /// The owner told it to end.
    pub(super) stop: Option<Stop>,
    pub(super) overflows: bool,
}

/// What is really so, whatever the program believes. Kept over every death.
#[derive(Debug)]
pub(super) struct Truth {
    pub(super) rng: fastrand::Rng,
    pub(super) steady: Duration,
    pub(super) wall: Timestamp,
    pub(super) job: Option<Job>,
    pub(super) halt: bool,
    /// Since when somebody waits for the session to end.
    pub(super) wanted: Option<Duration>,
    /// The exit that the next end of an attempt has to have.
    pub(super) expected: Option<PhaseExit>,
    /// Every event that was acknowledged, by its number.
    pub(super) seen: BTreeMap<u64, Envelope>,
    pub(super) epoch: u64,
    /// The newest event that was acknowledged and had to be durable.
    pub(super) durable: u64,
    /// Starts that happened.
    pub(super) starts: BTreeSet<(Phase, u32)>,
    /// Phases of which a process really ended with 0.
    pub(super) succeeded: BTreeSet<Phase>,
    /// Phases that are done as far as anybody was told.
    pub(super) done: BTreeSet<Phase>,
    /// Failed attempts of the phase at hand that were told.
    pub(super) failures: u32,
    /// The moment before which no attempt may begin.
    pub(super) not_before: Option<Duration>,
    /// What must not be.
    pub(super) broken: Option<String>,
    pub(super) story: Vec<String>,
    pub(super) tells: bool,
    pub(super) tally: BTreeMap<&'static str, u64>,
    pub(super) settings: Settings,
    pub(super) wrong: Option<Wrong>,
}

/// What a story is about.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) phases: Vec<Phase>,
    pub(super) skipped: BTreeSet<Phase>,
    pub(super) retries: u32,
    pub(super) timeout: Duration,
    pub(super) max_loops: u32,
    pub(super) approval: bool,
}

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
}

/// How long a session may go on when somebody wants its end.
const PATIENCE: Duration = Duration::from_secs(70);
/// How much of the time in which everything stood still may be charged to a stage: what the owner expected to sleep.
const CHARGED: Duration = Duration::from_secs(25);

impl Truth {
    pub(super) fn new(rng: fastrand::Rng, wall: Timestamp, settings: Settings, tells: bool) -> Self {
        Self {
            rng,
            steady: Duration::from_secs(1_000),
            wall,
            job: None,
            halt: false,
            wanted: None,
            expected: None,
            seen: BTreeMap::new(),
            epoch: 0,
            durable: 0,
            starts: BTreeSet::new(),
            succeeded: BTreeSet::new(),
            done: BTreeSet::new(),
            failures: 0,
            not_before: None,
            broken: None,
            story: Vec::new(),
            tells,
            tally: BTreeMap::new(),
            settings,
            wrong: None,
        }
    }

    /// Somebody sets the calendar.
    pub(super) fn jump(&mut self, hours: i64) {
        self.tell(|| format!("the calendar jumps by {hours} hours"));
        self.wall = self.wall.checked_add(SignedDuration::from_hours(hours)).expect("this century");
        // Whoever reads the calendar after a death cannot know how long a pause still was.
        self.not_before = None;
    }

    pub(super) fn stand_still(&mut self, time: Duration) {
        self.pass(time);
        self.wanted = self.wanted.map(|since| since + time);
        if let Some(job) = &mut self.job {
            // The stage may have gone on meanwhile.
            job.still += time;
        }
    }

    pub(super) fn ask_for_halt(&mut self) {
        self.halt = true;
        self.wants_end();
    }

    pub(super) fn wants_end(&mut self) {
        self.wanted = self.wanted.or(Some(self.steady));
    }

    /// What the owner is told next, if it wants to be woken then.
    pub(super) fn next(&mut self, until: Moment) -> Fact {
        if self.wanted.is_some_and(|since| self.steady > since + PATIENCE) {
            self.breaks("somebody wants the session to end, and it goes on");
        }
        let left = until.since(self.moment());
        let Some(mut job) = self.job.take() else {
            self.pass(left);
            return Fact::Tick;
        };
        if let Some(stop) = job.stop {
            return self.stopped(&job, stop);
        }
        if job.overflows {
            job.overflows = false;
            self.job = Some(job);
            return Fact::Overflowed;
        }
        let runs = job.ends.saturating_sub(self.steady);
        // Of an end and a deadline that are both over, either may be noticed first.
        let overdue = runs.is_zero() && left.is_zero();
        if runs > left || (overdue && self.rng.bool()) {
            self.pass(left);
            self.job = Some(job);
            return Fact::Tick;
        }
        self.pass(runs);
        self.ends(&job)
    }

    /// A stage ends by itself.
    fn ends(&mut self, job: &Job) -> Fact {
        if job.outcome.exit == PhaseExit::Success {
            self.succeeded.insert(job.phase);
        }
        self.expected = Some(job.outcome.exit);
        self.tell(|| format!("{} ends: {:?}", job.phase, job.outcome.exit));
        Fact::Ended(Box::new(super::story::attempt(Ok(job.outcome.clone()))))
    }

    /// A stage was told to end.
    fn stopped(&mut self, job: &Job, stop: Stop) -> Fact {
        let own = self.steady.saturating_sub(job.began).saturating_sub(job.still);
        if matches!(stop, Stop::Late(limit) if own + CHARGED < limit) {
            self.breaks(format!("{} is stopped as late after {own:?} of its own", job.phase));
        }
        if job.ends <= self.steady {
            let ended = self.ends(job);
            if self.wrong != Some(Wrong::ExitBehindDeadline) {
                return ended;
            }
        }
        self.tell(|| format!("{} is stopped: {stop:?}", job.phase));
        Fact::Ended(Box::new(super::story::attempt(Err(stop))))
    }

    /// A session ended: nobody waits for that any more.
    pub(super) fn confirm_end(&mut self) {
        self.wanted = None;
    }

    pub(super) fn moment(&self) -> Moment {
        Moment::of(self.wall, self.steady)
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.steady += time;
        self.wall = self.wall.checked_add(time).expect("this century");
    }

    pub(super) fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.tells {
            let line = format!("{:>10.3} s  {}", self.steady.as_secs_f64(), what());
            self.story.push(line);
        }
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    pub(super) fn breaks(&mut self, why: impl Into<String>) {
        let why = why.into();
        self.tell(|| format!("BROKEN: {why}"));
        self.broken.get_or_insert(why);
    }

    fn started(&mut self, start: &Start, state: &State, disk: &SimDisk) {
        let Start { phase, attempt, .. } = *start;
        self.count("attempt starts");
        self.tell(|| format!("{phase} starts, attempt {attempt}"));
        if self.job.is_some() {
            self.breaks(format!("{phase} starts while another stage runs"));
        }
        if !self.starts.insert((phase, attempt)) {
            self.breaks(format!("{phase} starts twice as attempt {attempt}"));
        }
        if self.done.contains(&phase) {
            self.breaks(format!("{phase} is done and starts again"));
        }
        if self.settings.skipped.contains(&phase) {
            self.breaks(format!("{phase} is to be skipped and starts"));
        }
        if self.failures > self.settings.retries {
            self.breaks(format!("{phase} starts after {} failures", self.failures));
        }
        if self.not_before.is_some_and(|moment| self.steady < moment) {
            self.breaks(format!("{phase} starts before its pause is over"));
        }
        if deaths(self.seen.values()) >= 4 {
            self.breaks(format!("{phase} starts after four deaths without an outcome"));
        }
        self.is_allowed(phase);
        self.is_announced(phase, attempt, state, disk);
        self.draw(phase);
    }

    /// What has to come before a phase did.
    fn is_allowed(&mut self, phase: Phase) {
        let before = self.settings.phases.iter().take_while(|other| **other != phase);
        if let Some(missing) = before.copied().find(|other| !self.done.contains(other)) {
            self.breaks(format!("{phase} starts before {missing} is done"));
        }
        if !self.settings.approval {
            return;
        }
        let approved = self.seen.values().any(|it| matches!(it.event, Event::Escalated { approval: true, .. }));
        if phase == Phase::Deploy && !approved {
            self.breaks("deploy starts and nobody was asked");
        }
        let since = self.seen.values().rev().skip(1).find_map(|it| match &it.event {
            Event::AttemptStarted { phase: other, .. } if *other == phase => Some(true),
            Event::AttemptEnded { phase: other, exit: Some(_), .. } if *other == phase => Some(false),
            Event::Resolved { .. } => Some(false),
            _ => None,
        });
        if matches!(phase, Phase::Deploy | Phase::Submit) && since == Some(true) {
            self.breaks(format!("{phase} was cut off, and starts again unasked"));
        }
    }

    /// An attempt that starts is announced on the disk, so that a power cut would not forget it.
    fn is_announced(&mut self, phase: Phase, attempt: u32, state: &State, disk: &SimDisk) {
        let text = disk.durable_journal(state.execution_id.as_str());
        let told = format!("\"event\":\"attempt_started\",\"phase\":\"{phase}\",\"attempt\":{attempt},");
        if !text.contains(&told) {
            self.breaks(format!("{phase} starts and nothing durable announces attempt {attempt}"));
        }
    }

    fn draw(&mut self, phase: Phase) {
        let outcome = match self.rng.u8(0..20) {
            0..=11 => StageOutcome::exited(0),
            12..=15 => StageOutcome::exited(1),
            16 => StageOutcome::exited(2),
            17 => StageOutcome::exited(i32::from(self.rng.u8(3..))),
            18 => StageOutcome::signalled("KILL"),
            _ => StageOutcome::spawn_failed("no such file"),
        };
        let limit = u64::try_from(self.settings.timeout.as_millis()).expect("minutes");
        let lasts = match self.rng.u8(0..10) {
            0..=5 => self.rng.u64(1..limit / 10),
            6..=8 => self.rng.u64(1..limit),
            _ => self.rng.u64(limit..2 * limit),
        };
        let overflows = self.rng.u8(0..60) == 0;
        let ends = self.steady + Duration::from_millis(lasts);
        self.job = Some(Job { phase, ends, outcome, began: self.steady, still: Duration::ZERO, stop: None, overflows });
    }

    fn told(&mut self, envelope: &Envelope, state: &State) {
        let seq = envelope.seq;
        if envelope.epoch < self.epoch {
            self.breaks(format!("epoch {} appends after epoch {}", envelope.epoch, self.epoch));
        }
        self.epoch = envelope.epoch;
        if self.seen.keys().next_back().is_some_and(|last| last + 1 != seq) {
            self.breaks(format!("event {seq} does not follow"));
        }
        if let Event::AttemptEnded { exit, .. } = &envelope.event
            && let Some(expected) = self.expected.take()
            && *exit != Some(expected)
        {
            self.breaks(format!("a stage ended with {expected:?} and is recorded with {exit:?}"));
        }
        if lasts(&envelope.event) {
            self.durable = seq;
        }
        self.seen.insert(seq, envelope.clone());
        self.tell(|| format!("journal {seq}: {}", serde_json::to_string(&envelope.event).expect("plain data")));
        self.check(&envelope.event, state);
        self.learn(&envelope.event);
    }

    /// What an event must not say.
    fn check(&mut self, event: &Event, state: &State) {
        match event {
            Event::StageConcluded { checkpoint, .. } => {
                self.count("phases concluded");
                let phase = checkpoint.phase;
                if checkpoint.exit_code == PhaseExit::Success && !self.succeeded.contains(&phase) {
                    self.breaks(format!("{phase} is concluded with 0 and never ended with 0"));
                }
            }
            Event::StageSkipped { checkpoint } => {
                self.count("phases skipped");
                if !self.settings.skipped.contains(&checkpoint.phase) {
                    self.breaks(format!("{} is skipped and nobody asked for it", checkpoint.phase));
                }
            }
            Event::BackedOff { .. } => self.count("retries"),
            Event::Remediation { .. } => {
                self.count("remediations");
                let since = self.seen.values().rev().take_while(|it| !matches!(it.event, Event::Resolved { .. }));
                let loops = since.filter(|it| matches!(it.event, Event::Remediation { .. })).count();
                if loops > self.settings.max_loops as usize {
                    self.breaks(format!("{loops} remediation loops, and no human"));
                }
            }
            Event::Escalated { .. } => self.count("calls of a human"),
            Event::SessionDied { .. } => self.count("deaths noticed"),
            Event::CheckpointRestored { .. } => self.count("checkpoints restored"),
            Event::CheckpointIgnored { .. } => self.count("forged checkpoints ignored"),
            Event::ExecutionCompleted => self.completed(state),
            _ => {}
        }
    }

    /// What is known since an event.
    fn learn(&mut self, event: &Event) {
        match event {
            Event::StageConcluded { checkpoint, .. } | Event::StageSkipped { checkpoint } => {
                (self.failures, self.not_before) = (0, None);
                if checkpoint.exit_code == PhaseExit::Success {
                    self.done.insert(checkpoint.phase);
                }
            }
            Event::BackedOff { delay_ms, .. } => {
                self.failures += 1;
                self.not_before = Some(self.steady + Duration::from_millis(*delay_ms));
            }
            Event::Resolved { .. } => (self.failures, self.not_before) = (0, None),
            Event::Remediation { .. } => {
                for phase in [Phase::Implementation, Phase::Audit] {
                    self.done.remove(&phase);
                    self.succeeded.remove(&phase);
                }
            }
            Event::PhaseReopened { phase } => drop(self.done.remove(phase)),
            _ => {}
        }
    }

    /// A session is over: what the journal holds now is compared with what was acknowledged. A power cut may have taken
    /// the newest events, but none that had to be durable, nor any before one.
    pub(super) fn compare(&mut self, recorded: &[Envelope], after_power_cut: bool) {
        let must = if after_power_cut { self.durable } else { self.seen.keys().next_back().copied().unwrap_or(0) };
        for (seq, envelope) in std::mem::take(&mut self.seen) {
            let there = recorded.get(usize::try_from(seq - 1).expect("small"));
            if there.is_some_and(|there| *there != envelope) {
                self.breaks(format!("event {seq} is another one now"));
            }
            if there.is_none() && seq <= must {
                self.breaks(format!("event {seq} was acknowledged and is lost"));
            }
        }
        if after_power_cut {
            // The name of an owner that never did anything durable may be given again.
            self.epoch = recorded.last().map_or(0, |newest| newest.epoch);
        }
        self.seen = recorded.iter().map(|envelope| (envelope.seq, envelope.clone())).collect();
        // What was written in the moment of a death counts, although nobody heard of it.
        let (succeeded, not_before) = (self.succeeded.clone(), self.not_before);
        (self.failures, self.not_before) = (0, None);
        self.done.clear();
        for envelope in recorded {
            self.learn(&envelope.event);
        }
        self.succeeded = succeeded;
        self.not_before = self.not_before.and(not_before);
    }

    fn completed(&mut self, state: &State) {
        self.count("executions completed");
        for phase in self.settings.phases.clone() {
            if !self.done.contains(&phase) || state.next_phase().is_some() {
                self.breaks(format!("completed, and {phase} is not done"));
            }
        }
    }
}

/// What a power cut must not take once it was acknowledged.
fn lasts(event: &Event) -> bool {
    matches!(
        event,
        Event::ExecutionStarted { .. }
            | Event::AttemptStarted { .. }
            | Event::BackedOff { .. }
            | Event::StageConcluded { .. }
            | Event::StageSkipped { .. }
            | Event::Remediation { .. }
            | Event::Escalated { .. }
            | Event::Resolved { .. }
            | Event::ExecutionCompleted
    )
}

/// How many sessions died since an attempt had an outcome, or a human answered.
fn deaths<'a>(events: impl DoubleEndedIterator<Item = &'a Envelope>) -> usize {
    let since = events.rev().take_while(|envelope| {
        !matches!(envelope.event, Event::AttemptEnded { exit: Some(_), .. } | Event::Resolved { .. })
    });
    since.filter(|envelope| matches!(envelope.event, Event::SessionDied { .. })).count()
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

    fn ready(&mut self, _: &ExecutionId, _: Option<&SessionId>) -> Result<usize, RunError> {
        let mut truth = self.truth.borrow_mut();
        truth.halt = false;
        truth.wanted = None;
        truth.expected = None;
        // The guard, and the sweep after it, end what a dead session left.
        let left = if truth.wrong == Some(Wrong::SweepsNothing) { None } else { truth.job.take() };
        Ok(usize::from(left.is_some()))
    }

    fn start(&mut self, start: &Start, state: &State) -> Result<(), RunError> {
        let mut truth = self.truth.borrow_mut();
        if self.disk.is_dead() {
            return Ok(());
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

    fn halt_requested(&mut self) -> bool {
        let truth = self.truth.borrow();
        truth.halt && truth.wrong != Some(Wrong::DeafToHalt)
    }

    fn forget_halt(&mut self) -> Result<(), RunError> {
        self.truth.borrow_mut().halt = false;
        Ok(())
    }

    fn survey(&mut self, _: Phase, _: &Attempt) -> (Survey, Vec<String>) {
        let tree = format!("{:x}", self.truth.borrow_mut().rng.u8(0..3));
        (Survey { artifacts: Vec::new(), head: None, tree: Some(tree) }, Vec::new())
    }

    fn end_what_is_left(&mut self) -> usize {
        let left = self.truth.borrow_mut().job.take();
        usize::from(left.is_some())
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
        Ok(Vec::new())
    }

    fn event(&mut self, envelope: &Envelope, state: &State) {
        self.truth.borrow_mut().told(envelope, state);
    }

    fn observation(&mut self, _: Timestamp, _: &Observation) {}
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
