//! One session of a story: it begins, is disturbed, and is over, fails or dies.

use loa::contract::{ExecutionId, Resolution, ResolutionAction, SessionId};
use loa::events::{RunOrigin, RunStatus};
use loa::policy::{Redactor, StageOutcome};
use loa::runner::{Dispatcher, Fact, Mode, Opening, Remedy, RunError, THINKING, Waits, resolve};
use loa::store::{FileStore, RunStore, compare};
use loa::system::process::Interrupt;
use std::time::Duration;

use super::faults::Fault;
use super::job::left_by;
use super::story::Teller;
use super::world::{World, refused};

/// More steps than any lawful session has.
const STEPS: usize = 4_000;

/// How a session went.
pub(super) enum Session {
    Over,
    Failed,
    Died { power: bool },
}

impl Teller {
    pub(super) fn session(&mut self) -> Session {
        self.sessions += 1;
        {
            let mut truth = self.truth.borrow_mut();
            (truth.stood_still, truth.meddled) = (0, false);
        }
        // Two sessions of three die at some write, unless they are over before.
        let lives = {
            let mut truth = self.truth.borrow_mut();
            let most = truth.settings.lives;
            let (chance, lives) = (truth.rng.u8(0..3), truth.rng.u64(0..most));
            (chance > 0 && truth.disturbs()).then_some(lives)
        };
        self.disk.die_after(lives);
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
                let why = error.lines().next().unwrap_or_default();
                self.truth.borrow_mut().tell(|| format!("no session: {why}"));
                Session::Failed
            }
        };
        let died = self.disk.is_dead() || matches!(went, Session::Died { .. });
        self.disk.die_after(None);
        if died { self.death() } else { went }
    }

    /// The process is gone, and half of the time everything that was not synced.
    pub(super) fn death(&self) -> Session {
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

    pub(super) fn open(&self, number: u32) -> Result<Dispatcher<World>, String> {
        let mut rules = self.rules.clone();
        rules.session = SessionId::new(format!("session-{number}")).expect("not empty");
        let now = self.truth.borrow().wall;
        let mut store = FileStore::new(self.place(), self.layout.clone());
        let claimed = store.claim(now, false).map_err(|error| error.to_string())?;
        let there = self.recorded().is_some();
        let junk = self.is_junk_there();
        let mode = if there { Mode::Resume(self.remedy(junk)) } else { Mode::New };
        let thinking = self.fault.map_or(THINKING, |fault| fault.apply(THINKING));
        let opening = Opening {
            store: Fault::store(self.fault, store),
            claimed,
            layout: self.layout.clone(),
            rules,
            thinking,
            origin: RunOrigin::config(),
            overrides: Vec::new(),
            pinned: Vec::new(),
            notices: Vec::new(),
            mode,
            fresh: ExecutionId::new("exec-1").expect("not empty"),
        };
        let world = World { truth: self.truth.clone(), disk: self.disk.clone() };
        let opened = Dispatcher::open(opening, world);
        let mut truth = self.truth.borrow_mut();
        match (&opened, mode) {
            (Err(RunError::NotACheckpoint { .. }), _) => truth.count("sessions refused for what is no checkpoint"),
            (Ok(_), Mode::Resume(None)) if junk => {
                truth.breaks("a session goes on, and there is something that is no checkpoint");
            }
            _ => {}
        }
        drop(truth);
        opened.map_err(|error| error.to_string())
    }

    /// What a human says about what is wrong on the disk.
    fn remedy(&self, junk: bool) -> Option<Remedy> {
        let mut truth = self.truth.borrow_mut();
        if !junk && truth.rng.u8(0..12) > 0 {
            return None;
        }
        match truth.rng.u8(0..5) {
            0 => None,
            1 | 2 => Some(Remedy::Restore),
            3 => Some(Remedy::Rerun),
            _ => Some(Remedy::Adopt),
        }
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
            self.truth.borrow_mut().probes_at(dispatcher.probe_at());
            if self.truth.borrow().broken.is_some() {
                return Session::Failed;
            }
            if let Some(over) = self.intrude(dispatcher) {
                return over;
            }
            fact = self.truth.borrow_mut().next(until);
            let fails = self.truth.borrow_mut().stage_fails.take();
            if let Some(what) = fails {
                return self.fail_stage(dispatcher, what);
            }
        }
        self.truth.borrow_mut().breaks("the session does not end");
        Session::Failed
    }

    /// The stage that runs cannot go on, and is ended with its session.
    fn fail_stage(&self, dispatcher: &mut Dispatcher<World>, what: &'static str) -> Session {
        dispatcher.stage_failed(refused(what));
        self.truth.borrow_mut().job = None;
        Session::Failed
    }

    /// Something comes from outside.
    fn intrude(&self, dispatcher: &mut Dispatcher<World>) -> Option<Session> {
        let chance = self.truth.borrow_mut().rng.u16(0..600);
        if chance > 18 || !self.truth.borrow_mut().disturbs() {
            return None;
        }
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
                let seconds = truth.rng.u64(30..100_000);
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
            18 => self.answers_beside(),
            15..=17 => {
                self.truth.borrow_mut().meddled = true;
                self.truth.borrow_mut().tell(|| "a phase removes the checkpoints".to_owned());
                self.truth.borrow_mut().count("workspaces wiped");
                self.disk.wipe(&self.layout.checkpoints());
            }
            _ => {}
        }
        None
    }

    /// Somebody answers while a session is at work.
    fn answers_beside(&self) {
        let resolution = Resolution { action: ResolutionAction::FixAndResume, notes: None };
        match resolve(&self.layout, &self.place(), &resolution, None, &Redactor::default()) {
            Ok(_) if !self.disk.is_dead() => self.truth.borrow_mut().breaks("an answer is taken beside a session"),
            _ => self.truth.borrow_mut().count("answers beside a session refused"),
        }
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
        let fact = if before.is_some() { Fact::Ended(Box::new(left_by(outcome))) } else { Fact::Tick };
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
        // What somebody did after the last look is put right by the next session, but never after a success.
        let must = recorded.state.status == RunStatus::Completed || !truth.meddled;
        if let Some(wrong) = wrong.filter(|_| must) {
            truth.breaks(format!("over, and the checkpoint of {} is not as the journal has it", wrong.phase));
        }
        truth.confirm_end();
    }
}
