//! One story: sessions, deaths and answers, until the execution is over.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use loa::contract::{ContextLimits, ExecutionId, Phase, Resolution, SessionId};
use loa::events::{RunOrigin, RunStatus};
use loa::policy::{Backoff, Redactor, StageOutcome, TriggerLimits};
use loa::runner::decide::{Attempt, Rules, Stop};
use loa::runner::{Bounds, Dispatcher, Fact, Mode, Notification, Opening, Plan, Stage, THINKING, Waits, Work, resolve};
use loa::store::{FileStore, Layout, Place, Recorded, RunStore, compare};
use loa::system::disk::Disk;
use loa::system::process::Interrupt;

use super::disk::SimDisk;
use super::faults::Fault;
use super::truth::{Settings, Truth};
use super::world::{World, answer, workspace};

/// More sessions than any lawful story has.
const SESSIONS: usize = 80;
/// More steps than any lawful session has.
const STEPS: usize = 4_000;
const PAUSE: Duration = Duration::from_secs(5);

/// What has to happen in some story.
pub(super) const EVERYTHING: &[&str] = &[
    "attempt starts",
    "calls of a human",
    "checkpoints restored",
    "clock jumps",
    "deaths",
    "deaths noticed",
    "disks full",
    "executions aborted",
    "executions completed",
    "forged checkpoints ignored",
    "halts",
    "interrupts",
    "machine stood still",
    "owners superseded",
    "phases concluded",
    "phases skipped",
    "power cuts",
    "remediations",
    "retries",
    "second claimants refused",
    "workspaces wiped",
];

/// How a story ended.
pub(super) struct Story {
    /// What must not be, and was.
    pub(super) broken: Option<String>,
    /// How often what happened.
    pub(super) happened: BTreeMap<&'static str, u64>,
    /// The story, when it was to be told.
    pub(super) lines: Vec<String>,
}

/// How a session went.
enum Session {
    Over,
    Failed,
    Died { power: bool },
}

struct Teller {
    disk: SimDisk,
    truth: Rc<RefCell<Truth>>,
    layout: Layout,
    rules: Rules,
    fault: Option<Fault>,
    sessions: u32,
    /// The journal as it was read last, and when that was.
    known: RefCell<(u64, Option<Rc<Recorded>>)>,
}

/// Tells the story of a seed.
pub(super) fn tell(seed: u64, fault: Option<Fault>, tells: bool) -> Story {
    let mut rng = fastrand::Rng::with_seed(seed);
    let disk = SimDisk::default();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    shared.ensure_folder(workspace()).expect("a folder");
    let layout = Layout::on(shared, workspace());
    let (settings, rules) = draw(&mut rng);
    let wall: Timestamp = "2126-01-01T00:00:00Z".parse().expect("a time");
    let truth = Truth::new(rng, wall, settings, tells);
    let mut teller = Teller {
        disk,
        truth: Rc::new(RefCell::new(truth)),
        layout,
        rules,
        fault,
        sessions: 0,
        known: RefCell::default(),
    };
    if let Some(fault) = fault {
        fault.plant(&teller.disk, &mut teller.truth.borrow_mut());
    }
    teller.tell();
    let mut truth = teller.truth.borrow_mut();
    Story {
        broken: truth.broken.take(),
        happened: std::mem::take(&mut truth.tally),
        lines: std::mem::take(&mut truth.story),
    }
}

fn draw(rng: &mut fastrand::Rng) -> (Settings, Rules) {
    let count = if rng.u8(0..4) == 0 { rng.usize(4..=8) } else { rng.usize(1..=3) };
    let first = rng.usize(0..=Phase::ALL.len() - count);
    let phases = Phase::ALL[first..first + count].to_vec();
    let skipped: BTreeSet<Phase> = phases.iter().copied().filter(|_| rng.u8(0..12) == 0).collect();
    let (retries, timeout) = (rng.u32(0..=3), Duration::from_secs(rng.u64(10..60)));
    let stage = |phase: &Phase| Stage {
        phase: *phase,
        work: Some(Work::Command(vec!["work".to_owned()])),
        verify: None,
        env: BTreeMap::new(),
        timeout: Some(timeout),
        idle_timeout: None,
        retries,
        backoff: Backoff { initial: PAUSE, ..Backoff::default() },
        skip: skipped.contains(phase),
    };
    let plan = Plan::new(phases.iter().map(stage).collect()).expect("a plan");
    let timeout_of_run = Duration::from_secs(rng.u64(60..6_000));
    let triggers = TriggerLimits { max_loops: rng.u32(1..=3), timeout: timeout_of_run, ..TriggerLimits::default() };
    let bounds = Bounds {
        triggers,
        context: ContextLimits { soft: 1, hard: 2 },
        editing: None,
        compaction: None,
        deploy_approval: rng.bool(),
        grace: Duration::ZERO,
        limit_patience: Duration::from_mins(10),
        notification: Notification::default(),
        operator: None,
        effort: None,
        memories: None,
        redactor: Redactor::default(),
        log_limit: 0,
        find_artifacts: false,
    };
    let session = SessionId::new("session-0").expect("not empty");
    let (max_loops, approval) = (triggers.max_loops, bounds.deploy_approval);
    let settings = Settings { phases, skipped, retries, timeout, max_loops, approval };
    (settings, Rules { session, plan, bounds })
}

impl Teller {
    fn tell(&mut self) {
        while self.truth.borrow().broken.is_none() {
            if self.sessions as usize > SESSIONS {
                return self.truth.borrow_mut().breaks("the story does not end");
            }
            let went = self.session();
            let power = matches!(went, Session::Died { power: true });
            self.learn(power);
            self.disk.fill(false);
            let Some(recorded) = self.recorded() else { continue };
            match (&went, recorded.state.status) {
                (_, RunStatus::Completed) => return,
                (_, RunStatus::Aborted) => return self.truth.borrow_mut().count("executions aborted"),
                (_, RunStatus::Escalated) => self.answer(recorded.state.escalations),
                _ => {}
            }
            self.meddle(&recorded);
        }
    }

    fn place(&self) -> Place {
        let base = workspace().parent().expect("a parent").join("state");
        Place::find_on(self.layout.disk().clone(), workspace(), Some(&base)).expect("readable")
    }

    /// What the journal says; it is read when something changed on the disk.
    fn recorded(&self) -> Option<Rc<Recorded>> {
        let changes = self.disk.changes();
        let (when, known) = self.known.borrow().clone();
        if known.is_some() && when == changes {
            return known;
        }
        match FileStore::new(self.place(), self.layout.clone()).current() {
            Ok(recorded) => {
                let recorded = recorded.map(Rc::new);
                *self.known.borrow_mut() = (changes, recorded.clone());
                recorded
            }
            Err(error) => {
                self.truth.borrow_mut().breaks(format!("the journal cannot be read: {error}"));
                None
            }
        }
    }

    fn learn(&self, power: bool) {
        let recorded = self.recorded();
        let envelopes = recorded.as_ref().map_or(&[][..], |recorded| &recorded.envelopes);
        self.truth.borrow_mut().compare(envelopes, power);
    }

    fn answer(&self, calls: u32) {
        let action = answer(&mut self.truth.borrow_mut().rng, calls);
        self.truth.borrow_mut().tell(|| format!("a human answers {action}"));
        let resolution = Resolution { action, notes: None };
        if let Err(error) = resolve(&self.layout, &self.place(), &resolution, &Redactor::default()) {
            self.truth.borrow_mut().breaks(format!("an answer is refused: {error}"));
        }
        self.learn(false);
        let mut truth = self.truth.borrow_mut();
        truth.durable = truth.seen.keys().next_back().copied().unwrap_or(0);
    }

    /// Between two sessions: somebody forges, edits or removes, and clocks go wrong.
    fn meddle(&self, recorded: &Recorded) {
        let mut truth = self.truth.borrow_mut();
        let phase = truth.settings.phases[0];
        let last = *truth.settings.phases.last().expect("at least one");
        match truth.rng.u8(0..10) {
            0 => {
                let forged = format!(
                    "execution_id: {}\nphase: {last}\ncreated_at: '2126-01-01T00:00:00Z'\nexit_code: 0\nsummary: forged\n",
                    recorded.state.execution_id
                );
                truth.tell(|| format!("somebody forges a checkpoint of {last}"));
                self.disk.forge(&self.layout.checkpoint(last), forged.as_bytes());
            }
            1 => {
                truth.tell(|| "somebody removes the checkpoints".to_owned());
                truth.count("workspaces wiped");
                self.disk.wipe(&self.layout.checkpoints());
            }
            2 => {
                truth.tell(|| format!("somebody empties the checkpoint of {phase}"));
                self.disk.forge(&self.layout.checkpoint(phase), b"");
            }
            3 => {
                let hours = truth.rng.i64(-10_000..10_000);
                truth.count("clock jumps");
                truth.jump(hours);
            }
            _ => {}
        }
    }

    fn session(&mut self) -> Session {
        self.sessions += 1;
        let (chance, lives) = {
            let mut truth = self.truth.borrow_mut();
            (truth.rng.u8(0..3), truth.rng.u64(0..120))
        };
        // Two sessions of three die at some write, unless they are over before.
        self.disk.die_after((chance > 0).then_some(lives));
        let opened = self.open(self.sessions);
        let went = match opened {
            Ok(mut dispatcher) => {
                let went = self.drive(&mut dispatcher);
                if matches!(went, Session::Over) {
                    self.confirm(&dispatcher);
                }
                went
            }
            Err(error) => {
                self.truth.borrow_mut().tell(|| format!("no session: {error}"));
                Session::Failed
            }
        };
        let died = self.disk.is_dead() || matches!(went, Session::Died { .. });
        self.disk.die_after(None);
        if !died {
            return went;
        }
        let mut truth = self.truth.borrow_mut();
        let power = truth.rng.bool();
        truth.count(if power { "power cuts" } else { "deaths" });
        truth.tell(|| if power { "the power is cut".to_owned() } else { "the process dies".to_owned() });
        self.disk.release_locks();
        if power {
            truth.job = None;
            let mut chance = fastrand::Rng::with_seed(truth.rng.u64(..));
            self.disk.cut_power(&mut chance);
        }
        Session::Died { power }
    }

    fn open(&self, number: u32) -> Result<Dispatcher<World>, String> {
        let mut rules = self.rules.clone();
        rules.session = SessionId::new(format!("session-{number}")).expect("not empty");
        let now = self.truth.borrow().wall;
        let mut store = FileStore::new(self.place(), self.layout.clone());
        let claimed = store.claim(now, false).map_err(|error| error.to_string())?;
        let there = self.recorded().is_some();
        let mode = if there { Mode::Resume(None) } else { Mode::New };
        let thinking = self.fault.map_or(THINKING, |fault| fault.apply(THINKING));
        let opening = Opening {
            store: Box::new(store),
            moved_from: claimed.moved_from,
            layout: self.layout.clone(),
            rules,
            thinking,
            origin: RunOrigin::config(),
            overrides: Vec::new(),
            mode,
            fresh: ExecutionId::new("exec-1").expect("not empty"),
        };
        let world = World { truth: self.truth.clone(), disk: self.disk.clone() };
        Dispatcher::open(opening, world).map_err(|error| error.to_string())
    }

    /// Has the owner step until the session is over or its process is dead.
    fn drive(&self, dispatcher: &mut Dispatcher<World>) -> Session {
        let mut fact = Fact::Tick;
        for _ in 0..STEPS {
            let now = self.truth.borrow().moment();
            let until = match dispatcher.step(now, fact) {
                Ok(Waits::Until(until)) => until,
                Ok(Waits::Over(_)) => return Session::Over,
                Err(error) => {
                    self.truth.borrow_mut().tell(|| format!("the session fails: {error}"));
                    return Session::Failed;
                }
            };
            if self.disk.is_dead() {
                return Session::Died { power: false };
            }
            if self.truth.borrow().broken.is_some() {
                return Session::Failed;
            }
            if let Some(over) = self.intrude(dispatcher) {
                return over;
            }
            fact = self.truth.borrow_mut().next(until);
        }
        self.truth.borrow_mut().breaks("the session does not end");
        Session::Failed
    }

    /// Something comes from outside.
    fn intrude(&self, dispatcher: &mut Dispatcher<World>) -> Option<Session> {
        let chance = self.truth.borrow_mut().rng.u16(0..600);
        match chance {
            0..=2 => {
                let mut truth = self.truth.borrow_mut();
                truth.count("halts");
                truth.tell(|| "somebody asks for a halt".to_owned());
                truth.ask_for_halt();
            }
            3..=5 => {
                self.truth.borrow_mut().count("interrupts");
                self.truth.borrow_mut().wants_end();
                let now = self.truth.borrow().moment();
                self.truth.borrow_mut().tell(|| "SIGTERM".to_owned());
                return match dispatcher.step(now, Fact::Interrupted(Interrupt::Terminate)) {
                    Ok(Waits::Until(_)) => None,
                    Ok(Waits::Over(_)) => Some(Session::Over),
                    Err(_) => Some(Session::Failed),
                };
            }
            6..=8 => {
                let mut truth = self.truth.borrow_mut();
                truth.count("machine stood still");
                let seconds = truth.rng.u64(30..100_000);
                truth.tell(|| format!("everything stands still for {seconds} s"));
                truth.stand_still(Duration::from_secs(seconds));
            }
            9 => {
                self.truth.borrow_mut().count("disks full");
                self.truth.borrow_mut().tell(|| "the disk is full".to_owned());
                self.disk.fill(true);
            }
            10..=12 => return Some(Session::Died { power: false }),
            13 => self.second_claimant(),
            14 => return self.supersede(dispatcher),
            15..=17 => {
                self.truth.borrow_mut().tell(|| "a phase removes the checkpoints".to_owned());
                self.truth.borrow_mut().count("workspaces wiped");
                self.disk.wipe(&self.layout.checkpoints());
            }
            _ => {}
        }
        None
    }

    fn second_claimant(&self) {
        let mut store = FileStore::new(self.place(), self.layout.clone());
        let now = self.truth.borrow().wall;
        match store.claim(now, false) {
            Ok(_) if !self.disk.is_dead() => self.truth.borrow_mut().breaks("a second owner is let in"),
            _ => self.truth.borrow_mut().count("second claimants refused"),
        }
    }

    /// Every lock is lost, and another owner takes over. The one before may write nothing more.
    fn supersede(&self, dispatcher: &mut Dispatcher<World>) -> Option<Session> {
        if self.disk.is_dead() {
            return None;
        }
        self.truth.borrow_mut().tell(|| "every lock is lost, and another owner takes over".to_owned());
        self.disk.release_locks();
        let before = self.truth.borrow().job.clone();
        let other = self.open(1_000 + self.sessions);
        let Ok(other) = other else { return Some(Session::Died { power: false }) };
        self.truth.borrow_mut().count("owners superseded");
        let seen = self.truth.borrow().seen.len();
        let now = self.truth.borrow().moment();
        let outcome = Ok(StageOutcome::exited(0));
        let fact = if before.is_some() { Fact::Ended(Box::new(attempt(outcome))) } else { Fact::Tick };
        for fact in [fact, Fact::Interrupted(Interrupt::Interrupt)] {
            let _ = dispatcher.step(now, fact);
        }
        if self.truth.borrow().seen.len() != seen {
            self.truth.borrow_mut().breaks("an owner that was superseded appends");
        }
        drop(other);
        Some(Session::Died { power: false })
    }

    /// A session that ended well leaves everything as the journal has it.
    fn confirm(&self, dispatcher: &Dispatcher<World>) {
        if self.disk.is_dead() {
            return;
        }
        let Some(recorded) = self.recorded() else { return };
        let mut truth = self.truth.borrow_mut();
        if recorded.state != *dispatcher.state() {
            truth.breaks("the journal folds to another state than its owner has");
        }
        let wrong = compare(&self.layout, &recorded.state).into_iter().find(|mismatch| mismatch.concluded);
        if let Some(wrong) = wrong {
            // What somebody did after the last look is put right by the next session, but never after a success.
            if recorded.state.status == RunStatus::Completed {
                truth.breaks(format!("completed, and the checkpoint of {} is not as the journal has it", wrong.phase));
            }
        }
        truth.confirm_end();
    }
}

/// What an attempt left that ended so.
pub(super) fn attempt(end: Result<StageOutcome, Stop>) -> Attempt {
    Attempt {
        end,
        result: None,
        result_refused: None,
        stderr: String::new(),
        wait: None,
        said: None,
        unverified: false,
        context_tokens: None,
        overflow: false,
    }
}
