//! What really happens, whatever the program believes: the clocks, the stage that runs, and how it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use loa::contract::{Phase, PhaseExit};
use loa::events::{AgentActivity, Begins, Envelope, Event, Observation};
use loa::policy::StageOutcome;
use loa::runner::Fact;
use loa::runner::decide::{Attempt, Stop};
use loa::system::clock::Moment;
use loa::system::process::{Piece, Stream};

use super::job::{InOutage, Job, Saying, left_by};
use super::world::Wrong;

/// What is really so, whatever the program believes. Kept over every death.
#[derive(Debug)]
pub(super) struct Truth {
    pub(super) rng: fastrand::Rng,
    /// What becomes of messages is drawn apart, so that a story is the same with and without them.
    pub(super) post: fastrand::Rng,
    /// The messages that somebody has taken, and how often.
    pub(super) told: BTreeMap<String, u32>,
    /// Those of which that is on the disk.
    pub(super) acknowledged: BTreeSet<String>,
    pub(super) steady: Duration,
    pub(super) wall: Timestamp,
    pub(super) job: Option<Job>,
    pub(super) halt: bool,
    /// How often everything stood still in this session.
    pub(super) stood_still: u32,
    /// Somebody removed checkpoints in this session.
    pub(super) meddled: bool,
    /// Since when somebody waits for the session to end.
    pub(super) wanted: Option<Duration>,
    /// What the attempt left that ended by itself and is not recorded yet.
    pub(super) left: Option<Attempt>,
    /// What the last attempt left that is recorded, until something follows from it.
    pub(super) followed: Option<Attempt>,
    /// The sessions that agents named, by their phase, as long as they have to be gone on with.
    pub(super) agents: BTreeMap<Phase, String>,
    /// What the stage cannot do, and cannot go on without.
    pub(super) stage_fails: Option<&'static str>,
    /// How long the session waited for providers.
    pub(super) waited: Duration,
    /// The provider that is out of order: whose, and until when.
    pub(super) outage: Option<(Phase, Duration)>,
    /// Since when outages of the attempt that runs may be one to its owner: a provider that comes and goes is waited for as one.
    pub(super) first_outage: Option<Duration>,
    /// How long that outage was waited for, probes apart.
    pub(super) outage_waited: Duration,
    /// The least and the most time that may be charged to the run.
    pub(super) charged: (Duration, Duration),
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
    /// Failed attempts that were told, of phases that have no outcome yet.
    pub(super) failures: BTreeMap<Phase, u32>,
    /// The moment before which no attempt of a phase may begin.
    pub(super) not_before: BTreeMap<Phase, Duration>,
    /// The phase that a human was called for last.
    pub(super) called_for: Option<Phase>,
    /// What must not be.
    pub(super) broken: Option<String>,
    pub(super) story: Vec<String>,
    pub(super) tells: bool,
    pub(super) tally: BTreeMap<&'static str, u64>,
    pub(super) settings: Settings,
    pub(super) wrong: Option<Wrong>,
    /// What is changed in what the owner is told of an attempt.
    pub(super) change: Option<fn(&mut Attempt)>,
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
    /// Those that an agent works on.
    pub(super) agents: BTreeSet<Phase>,
    pub(super) retries: u32,
    pub(super) timeout: Duration,
    /// How long a stage may be silent.
    pub(super) idle: Option<Duration>,
    /// How long a session may wait for providers.
    pub(super) patience: Duration,
    /// How long an outage may be waited for.
    pub(super) outage_patience: Duration,
    pub(super) max_loops: u32,
    /// How long the run may take.
    pub(super) run_limit: Duration,
    pub(super) approval: bool,
    /// Before so many writes most sessions die, unless they are over before.
    pub(super) lives: u64,
    /// How the attempts end, where that is not drawn; nothing disturbs such a story.
    pub(super) script: Option<Script>,
}

/// How each attempt ends: `None` for one that does not end by itself.
pub(super) type Script = BTreeMap<(Phase, u32), Option<StageOutcome>>;

/// How long a session may go on when somebody wants its end.
const PATIENCE: Duration = Duration::from_secs(70);
/// How much of each time in which everything stood still may be charged to a stage: what the owner expected to sleep.
const CHARGED: Duration = Duration::from_secs(25);

/// How much is lost where milliseconds are cut.
const ROUNDED: Duration = Duration::from_secs(1);

/// The agent of a stage tells that its provider is out of order.
fn tells_outage(job: &mut Job, now: Duration) -> Fact {
    job.outage = Some(InOutage::Tells);
    job.waits = Some((job.waits.map_or(now, |(since, _)| since), now));
    Fact::OutageMet { reason: "status 503".to_owned() }
}

impl Truth {
    pub(super) fn new(rng: fastrand::Rng, wall: Timestamp, settings: Settings) -> Self {
        Self {
            post: fastrand::Rng::with_seed(rng.clone().u64(..)),
            told: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            rng,
            steady: Duration::from_secs(1_000),
            wall,
            job: None,
            halt: false,
            stood_still: 0,
            meddled: false,
            wanted: None,
            left: None,
            followed: None,
            agents: BTreeMap::new(),
            stage_fails: None,
            waited: Duration::ZERO,
            outage: None,
            first_outage: None,
            outage_waited: Duration::ZERO,
            charged: (Duration::ZERO, Duration::ZERO),
            seen: BTreeMap::new(),
            epoch: 0,
            durable: 0,
            starts: BTreeSet::new(),
            succeeded: BTreeSet::new(),
            done: BTreeSet::new(),
            failures: BTreeMap::new(),
            not_before: BTreeMap::new(),
            called_for: None,
            broken: None,
            story: Vec::new(),
            tells: false,
            tally: BTreeMap::new(),
            settings,
            wrong: None,
            change: None,
            disturbances: 0,
            disturbed: 0,
            left_out: BTreeSet::new(),
        }
    }

    /// Something is about to go wrong: whether it does.
    pub(super) fn disturbs(&mut self) -> bool {
        let number = self.disturbances;
        self.disturbances += 1;
        let disturbs = !self.left_out.contains(&number) && self.settings.script.is_none();
        self.disturbed += u32::from(disturbs);
        disturbs
    }

    /// Somebody sets the calendar.
    pub(super) fn jump(&mut self, hours: i64) {
        self.tell(|| format!("the calendar jumps by {hours} hours"));
        self.wall = self.wall.checked_add(SignedDuration::from_hours(hours)).expect("this century");
        // Whoever reads the calendar after a death cannot know how long a pause still was.
        self.not_before.clear();
        self.first_outage = self.first_outage.map(|_| Duration::ZERO);
    }

    /// Everything stands still, three times in a session at most: where that is usual, it is charged.
    pub(super) fn stand_still(&mut self, time: Duration) {
        if self.stood_still == 3 {
            return;
        }
        self.stood_still += 1;
        self.count("machine stood still");
        self.tell(|| format!("everything stands still for {} s", time.as_secs()));
        self.pass(time);
        self.wanted = self.wanted.map(|since| since + time);
        if let Some(job) = &mut self.job {
            job.stood_still(time);
        }
        self.charged.1 += time.min(CHARGED);
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
        let Some(job) = self.job.take() else {
            // What is left of the wait that a dead session began is nobody's time; a pause before a retry is the run's.
            let backs_off = self.not_before.values().any(|until| *until > self.steady);
            if self.outage.is_some() && !backs_off {
                self.pass(left);
            } else {
                self.pass_charged(left);
            }
            return Fact::Tick;
        };
        if let Some(stop) = job.stop {
            return self.stopped(&job, stop);
        }
        let rests = job.rests(self.steady);
        // Of an end and a deadline that are both over, either may be noticed first.
        let overdue = rests.is_zero() && left.is_zero();
        let is_first = rests <= left && !(overdue && self.rng.bool());
        let time = if is_first { rests } else { left };
        if job.waits.is_some() {
            self.pass(time);
        } else {
            self.pass_charged(time);
        }
        if is_first {
            return self.happens(job);
        }
        self.job = Some(job);
        Fact::Tick
    }

    /// The stage has come to what it tells next.
    fn happens(&mut self, mut job: Job) -> Fact {
        self.is_in_time(&job);
        if let Some(at) = job.outage {
            let fact = self.within_outage(&mut job, at);
            self.job = Some(job);
            return fact;
        }
        if let Some((since, until)) = job.waits {
            job.goes_on(self.steady);
            self.waited += until.saturating_sub(since);
            if self.waited > self.settings.patience {
                self.breaks(format!("{} waited for its provider, {:?} in all", job.phase, self.waited));
            }
            self.job = Some(job);
            return Fact::LimitLifted;
        }
        let Some((_, saying)) = job.sayings.pop_front() else { return self.ends(&job) };
        let fact = self.says(&mut job, saying);
        self.job = Some(job);
        fact
    }

    fn says(&mut self, job: &mut Job, saying: Saying) -> Fact {
        let phase = job.phase;
        self.tell(|| format!("{phase}: {saying:?}"));
        if matches!(saying, Saying::Gate | Saying::Invokes | Saying::Session(_)) {
            job.writes(self.steady);
        }
        match saying {
            Saying::Gate => Fact::Happened(Event::GateStarted { phase }),
            Saying::Writes => {
                job.writes(self.steady);
                let piece = Piece { stream: Stream::Stdout, bytes: b"at work\n".to_vec() };
                if self.rng.bool() { Fact::Heard } else { Fact::Observed(Observation::Output { phase, piece }) }
            }
            Saying::Invokes => {
                let (backend, begins, session) = ("agent".to_owned(), Begins::New, None);
                let agent = AgentActivity::Attempt { number: 1, backend, begins, session };
                Fact::Happened(Event::Agent { phase, agent })
            }
            Saying::Session(session) => {
                self.count("agents' sessions");
                Fact::Happened(Event::Agent { phase, agent: AgentActivity::Session { session } })
            }
            Saying::Overflows => Fact::Overflowed,
            Saying::Limit(wait) => {
                self.count("providers' limits");
                job.waits = Some((self.steady, self.steady + wait));
                if self.wrong == Some(Wrong::HidesLimits) {
                    return Fact::Heard;
                }
                let until = self.wall.checked_add(wait).expect("this century");
                Fact::LimitReached { until, known: self.rng.bool().then_some(until) }
            }
            Saying::Outage(length) => {
                self.count("outages");
                self.first_outage.get_or_insert(self.steady);
                (self.outage, self.outage_waited) = (Some((phase, self.steady + length)), Duration::ZERO);
                tells_outage(job, self.steady)
            }
            Saying::Fails => {
                self.count("stages that cannot go on");
                self.stage_fails = Some("write to the log of a stage");
                Fact::Tick
            }
        }
    }

    /// What comes next within an outage: the agent asks again, and is answered or not.
    fn within_outage(&mut self, job: &mut Job, at: InOutage) -> Fact {
        let now = self.steady;
        if at != InOutage::Asks {
            self.asks(job);
            return Fact::Heard;
        }
        let is_down = self.outage.is_some_and(|(_, until)| now < until);
        self.tell(|| format!("{} asks its provider, which is {}", job.phase, if is_down { "down" } else { "back" }));
        if is_down {
            return tells_outage(job, now);
        }
        self.count("outages over");
        (job.outage, self.outage) = (None, None);
        job.goes_on(now);
        Fact::OutageOver
    }

    /// The agent asks its provider whether it is back.
    pub(super) fn asks(&mut self, job: &mut Job) {
        job.outage = Some(InOutage::Asks);
        let since = job.waits.map_or(self.steady, |(since, _)| since);
        job.waits = Some((since, self.steady + Duration::from_millis(self.rng.u64(1..20_000))));
    }

    /// The owner of the stage says when its agent asks again.
    pub(super) fn probes_at(&mut self, probe_at: Option<Moment>) {
        let (now, steady) = (self.moment(), self.steady);
        let Some(job) = self.job.as_mut().filter(|job| job.outage == Some(InOutage::Tells) && job.stop.is_none())
        else {
            return;
        };
        let pause = probe_at.map_or(Duration::ZERO, |probe| probe.since(now));
        job.outage = Some(InOutage::Waits);
        job.waits = job.waits.map(|(since, _)| (since, steady + pause));
        self.outage_waited += pause;
        if self.outage_waited > self.settings.outage_patience {
            let waited = self.outage_waited;
            self.breaks(format!("an outage is waited for, {waited:?} in all"));
        }
    }

    /// Whoever still tells something has not had more time than the policy gives.
    fn is_in_time(&mut self, job: &Job) {
        let (worked, silent) = (job.worked(self.steady), job.silent(self.steady));
        let tolerance = self.tolerance();
        if job.waits.is_none() && self.charged.0 > self.settings.run_limit + tolerance {
            self.breaks(format!("{} works, and the time of the run is over", job.phase));
        }
        if job.waits.is_none() && worked > self.settings.timeout + tolerance {
            self.breaks(format!("{} works for {worked:?} and is not stopped", job.phase));
        }
        if job.waits.is_none() && self.settings.idle.is_some_and(|idle| silent > idle + tolerance) {
            self.breaks(format!("{} is silent for {silent:?} and is not stopped", job.phase));
        }
    }

    /// A stage ends by itself.
    fn ends(&mut self, job: &Job) -> Fact {
        let outcome = job.leaves.end.clone().expect("it ends by itself");
        if outcome.exit == PhaseExit::Success {
            self.succeeded.insert(job.phase);
        }
        self.tell(|| format!("{} ends: {:?}", job.phase, outcome.exit));
        self.left = Some(job.leaves.clone());
        let mut told = job.leaves.clone();
        let _ = self.change.map(|change| change(&mut told));
        Fact::Ended(Box::new(told))
    }

    /// A stage was told to end.
    fn stopped(&mut self, job: &Job, stop: Stop) -> Fact {
        let (worked, silent) = (job.worked(self.steady), job.silent(self.steady));
        let tolerance = self.tolerance();
        match stop {
            Stop::Late(limit) if worked + tolerance < limit => {
                self.breaks(format!("{} is stopped as late after {worked:?} of its own", job.phase));
            }
            Stop::Silent(limit) if silent + tolerance < limit => {
                self.breaks(format!("{} is stopped as silent after {silent:?}", job.phase));
            }
            Stop::Silent(_) => self.count("silent stages stopped"),
            Stop::Outage { .. } => {
                self.count("outages too long to wait for");
                let lasts = self.first_outage.map_or(Duration::ZERO, |since| self.steady.saturating_sub(since));
                if lasts + ROUNDED < self.settings.outage_patience {
                    self.breaks(format!("{} waited for its provider {lasts:?} and no longer", job.phase));
                }
            }
            Stop::OutOfPatience(_) => self.count("limits too long to wait for"),
            _ => {}
        }
        if job.is_over(self.steady) {
            let ended = self.ends(job);
            if self.wrong != Some(Wrong::ExitBehindDeadline) {
                return ended;
            }
        }
        self.tell(|| format!("{} is stopped: {stop:?}", job.phase));
        Fact::Ended(Box::new(left_by(Err(stop))))
    }

    /// How much more or less than a limit says a stage may get in this session.
    fn tolerance(&self) -> Duration {
        CHARGED * (1 + self.stood_still)
    }

    /// A session ended: nobody waits for that any more.
    pub(super) fn confirm_end(&mut self) {
        self.wanted = None;
    }

    pub(super) fn moment(&self) -> Moment {
        Moment::of(self.wall, self.steady)
    }

    /// Time passes that counts towards the limit of the run.
    fn pass_charged(&mut self, time: Duration) {
        self.charged.0 += time;
        self.charged.1 += time;
        self.pass(time);
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
