//! What really happens, whatever the program believes: the clocks, the stage that runs, and how it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use loa::contract::{Phase, PhaseExit};
use loa::events::Envelope;
use loa::policy::StageOutcome;
use loa::runner::Fact;
use loa::runner::decide::Stop;
use loa::system::clock::Moment;

use super::world::Wrong;

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
    /// Everything stood still in this session.
    pub(super) stood_still: bool,
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
    /// How many disturbances there might have been until now.
    pub(super) disturbances: u32,
    /// How many of them there were.
    pub(super) disturbed: u32,
    /// The disturbances, by number, that are left out of this story.
    pub(super) left_out: BTreeSet<u32>,
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
    /// Before so many writes most sessions die, unless they are over before.
    pub(super) lives: u64,
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
            stood_still: false,
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
            disturbances: 0,
            disturbed: 0,
            left_out: BTreeSet::new(),
        }
    }

    /// Something is about to go wrong: whether it does.
    pub(super) fn disturbs(&mut self) -> bool {
        let number = self.disturbances;
        self.disturbances += 1;
        let disturbs = !self.left_out.contains(&number);
        self.disturbed += u32::from(disturbs);
        disturbs
    }

    /// Somebody sets the calendar.
    pub(super) fn jump(&mut self, hours: i64) {
        self.tell(|| format!("the calendar jumps by {hours} hours"));
        self.wall = self.wall.checked_add(SignedDuration::from_hours(hours)).expect("this century");
        // Whoever reads the calendar after a death cannot know how long a pause still was.
        self.not_before = None;
    }

    /// Everything stands still, once in a session at most: where that is usual, it is charged.
    pub(super) fn stand_still(&mut self, time: Duration) {
        if std::mem::replace(&mut self.stood_still, true) {
            return;
        }
        self.count("machine stood still");
        self.tell(|| format!("everything stands still for {} s", time.as_secs()));
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
        Fact::Ended(Box::new(super::session::attempt(Ok(job.outcome.clone()))))
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
        Fact::Ended(Box::new(super::session::attempt(Err(stop))))
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
}
