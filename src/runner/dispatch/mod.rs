//! The owner of one execution: it holds the state, takes in what it is told, one fact after the other, journals what
//! follows, and has it done.
//!
//! [`Dispatcher::step`] is synchronous and is all that there is to it; `ports` is the world as it sees it. `session` begins
//! or resumes an execution, of what `existing` finds; `projection` keeps the documents in the workspace as the journal has
//! them. `host` is the real world, `boundary` what keeps stages from it, and `drive` waits for it: stages are tasks there, which
//! can only send.

mod boundary;
mod drive;
mod existing;
mod host;
mod listener;
mod memory;
mod ports;
mod projection;
mod session;

pub use boundary::{boundary_as_required, to_have as network_to_have};
pub use drive::{Ended, Engine, Request};
pub(super) use existing::Existing;
pub use existing::{Story, present, refuse_foreign, story};
pub use listener::Listener;
pub use ports::{Ports, Start};
pub use projection::Remedy;
pub use session::{Mode, Opening};
pub(super) use session::{start_over, take_over};

use std::time::Duration;

use super::RunError;
use super::decide::{Attempt, Live, Rules, Running, Step, Stop, Survey, concludes, ended};
use super::stage::Fact;
use crate::contract::{EscalationReport, ExecutionId, Phase};
use crate::diag::in_one_line;
use crate::events::{ApprovalState, Event, Observation, RunEnd, State};
use crate::store::{Journal, Layout, StoreError, report_paths, write_report};
use crate::system::clock::Moment;
use crate::system::files::{FileError, FolderIdentity, Stamp};

/// Says what follows from an attempt; see [`super::decide::ended`].
pub type After = fn(&State, &Live, &Rules, (Phase, &Attempt), Survey, f64) -> Vec<Event>;

/// How decisions are made: [`THINKING`], but where a test wants to see that a wrong one is found.
#[derive(Debug, Clone, Copy)]
pub struct Thinking {
    /// What is done next; see [`super::decide::decide`].
    pub next: fn(&State, &Live, &Rules) -> Step,
    /// What follows from an attempt.
    pub after: After,
    /// What follows from an outage; see [`super::decide::outage`].
    pub outage: fn(&State, &Live, &Rules, Phase, &str, f64) -> Step,
}

/// How decisions are made.
pub const THINKING: Thinking = Thinking { next: super::decide::decide, after: ended, outage: super::decide::outage };

/// What tells whether a checkpoint was touched: inode, size and time of the last change, by phase.
type Stamps = Vec<Option<Stamp>>;

/// What the owner waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Waits {
    /// The next fact, and this moment at the latest.
    Until(Moment),
    /// Nothing: the session has ended, and said so.
    Over(RunEnd),
}

/// The owner of one execution.
#[derive(Debug)]
pub struct Dispatcher<P> {
    journal: Journal,
    layout: Layout,
    rules: Rules,
    live: Live,
    thinking: Thinking,
    /// The workspace, when we began: a folder that is moved, or another in its place, has another identity.
    home: FolderIdentity,
    /// The checkpoints as we wrote them.
    stamps: Stamps,
    ports: P,
}

impl<P: Ports> Dispatcher<P> {
    /// Takes in a fact that was one `at` that time, and does everything that follows from it until something has to be
    /// waited for.
    ///
    /// # Errors
    /// [`RunError`] when something could not be read or written; what was acknowledged before is in the journal, and the
    /// execution can be resumed. The session is over then.
    pub fn step(&mut self, at: Moment, fact: Fact) -> Result<Waits, RunError> {
        match self.take_and_go(at, fact) {
            Ok(Waits::Over(end)) => self.close(end).map(Waits::Over),
            Err(error) => Err(self.failed(error)),
            waits => waits,
        }
    }

    /// What is known of the execution.
    #[must_use]
    pub fn state(&self) -> &State {
        self.journal.state()
    }

    /// The execution.
    #[must_use]
    pub fn execution(&self) -> &ExecutionId {
        self.journal.execution()
    }

    /// The world.
    pub fn ports(&mut self) -> &mut P {
        &mut self.ports
    }

    /// The world, when the session is over.
    pub fn into_ports(self) -> P {
        self.ports
    }

    /// Whether a stage runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.live.running.is_some()
    }

    fn take_and_go(&mut self, at: Moment, fact: Fact) -> Result<Waits, RunError> {
        self.live.pass(at);
        self.take(fact)?;
        if let Some(text) = self.ports.look_after() {
            self.notice(text);
        }
        self.live.halt = self.ports.halt_requested();
        loop {
            self.live.turn_to(self.journal.state().next_phase());
            self.look_before_deploy()?;
            match (self.thinking.next)(self.journal.state(), &self.live, &self.rules) {
                Step::Record(events) => self.record_all(events)?,
                Step::Start { events, phase, attempt } => self.start(events, phase, attempt)?,
                Step::Stop(stop) => self.stop(stop),
                Step::Wait(until) => return Ok(Waits::Until(self.wait(until))),
                Step::Complete => self.complete()?,
                Step::End(end) => return Ok(Waits::Over(end)),
            }
        }
    }

    /// What an approval is asked for is looked at before it is.
    fn look_before_deploy(&mut self) -> Result<(), RunError> {
        let state = self.journal.state();
        let is_next = self.live.running.is_none() && state.next_phase() == Some(Phase::Deploy);
        let is_asked = self.rules.bounds.deploy_approval && state.deploy == ApprovalState::NotAsked;
        self.live.deploy_files = if is_next && is_asked { self.ports.deploy_files(state)? } else { Vec::new() };
        Ok(())
    }

    fn take(&mut self, fact: Fact) -> Result<(), RunError> {
        match fact {
            Fact::Tick => {}
            Fact::Interrupted(interrupt) => {
                self.journal.say_ending();
                self.live.interrupt = Some(interrupt);
            }
            Fact::Happened(event) => {
                // Also a gate that begins: its silence is its own.
                self.live.heard();
                self.record(event)?;
            }
            Fact::Observed(observation) => {
                if matches!(observation, Observation::Output { .. }) {
                    self.live.heard();
                }
                self.ports.observation(self.live.now().wall(), &observation);
            }
            Fact::Heard => self.live.heard(),
            Fact::Overflowed => {
                if let Some(running) = &mut self.live.running {
                    running.overflow = true;
                }
            }
            Fact::LimitReached { until, known } => self.limit_reached(until, known)?,
            Fact::Unreached { since } => self.live.unreached(since),
            Fact::LimitLifted => self.live.limit_lifted(),
            Fact::OutageMet { reason } => self.outage_met(&reason)?,
            Fact::OutageOver => self.outage_over()?,
            Fact::Ended(attempt) => self.ended(&attempt)?,
        }
        Ok(())
    }

    /// The moment until which nothing is to be done, unless something happens.
    fn wait(&mut self, until: Option<Moment>) -> Moment {
        let now = self.live.now();
        let pulse = now.later(self.ports.pulse());
        let until = until.filter(|until| pulse.since(*until) > Duration::ZERO).unwrap_or(pulse);
        self.live.expect(until);
        until
    }

    fn start(&mut self, events: Vec<Event>, phase: Phase, attempt: u32) -> Result<(), RunError> {
        self.is_at_home()?;
        let active = self.journal.state().active_in(phase);
        let is_first = self.live.phase_began.is_none_or(|(began, _)| began != phase);
        let (began, trouble) = active.map_or((None, None), |active| {
            (active.began, active.failed.last().map(|failed| failed.reason.raw().to_owned()))
        });
        self.record_all(events)?;
        let now = self.live.now();
        if is_first {
            self.live.phase_began = Some((phase, now));
        }
        self.live.pauses.remove(&phase);
        self.live.turn_to(None);
        self.ports.start(&Start { phase, attempt, is_first, began, trouble }, self.journal.state())?;
        // An attempt that begins within an outage is a probe: until it is answered, its time is nobody's.
        let waits_since = self.journal.state().outage_of(phase).map(|_| now);
        let (overflow, stopping) = (false, None);
        self.live.running = Some(Running { phase, attempt, began: now, heard: now, waits_since, overflow, stopping });
        Ok(())
    }

    fn stop(&mut self, stop: Stop) {
        if let Some(running) = &mut self.live.running {
            running.stopping = Some(stop);
            self.ports.stop(stop);
        }
    }

    /// A stage wants to wait for a provider's limit to be lifted.
    fn limit_reached(&mut self, until: jiff::Timestamp, known: Option<jiff::Timestamp>) -> Result<(), RunError> {
        let Some(running) = self.live.running else { return Ok(()) };
        let left = until.duration_since(self.live.now().wall());
        let wait = Duration::try_from(left).unwrap_or(Duration::ZERO);
        if wait > self.live.patience {
            self.stop(Stop::OutOfPatience(known));
            return Ok(());
        }
        self.live.patience -= wait;
        self.live.limit_reached();
        self.record(Event::LimitReached { phase: running.phase, until })
    }

    /// The agent of the stage has met an outage.
    fn outage_met(&mut self, reason: &str) -> Result<(), RunError> {
        let Some(running) = self.live.running.filter(|running| running.stopping.is_none()) else { return Ok(()) };
        let chance = self.ports.chance();
        let state = self.journal.state();
        match (self.thinking.outage)(state, &self.live, &self.rules, running.phase, reason, chance) {
            Step::Record(events) => {
                self.record_all(events)?;
                self.live.limit_reached();
            }
            Step::Stop(stop) => self.stop(stop),
            _ => {}
        }
        Ok(())
    }

    /// The agent was answered, or failed for another reason.
    fn outage_over(&mut self) -> Result<(), RunError> {
        let Some(running) = self.live.running else { return Ok(()) };
        self.live.limit_lifted();
        self.live.probe_at = None;
        let is_met = self.journal.state().outage_of(running.phase).is_some();
        if is_met { self.record(Event::OutageOver { phase: running.phase }) } else { Ok(()) }
    }

    /// When the running stage makes its next probe of an outage.
    #[must_use]
    pub fn probe_at(&self) -> Option<Moment> {
        self.live.probe_at
    }

    /// When patience for the outage ends that the running stage has met.
    #[must_use]
    pub fn patience_ends(&self) -> Option<jiff::Timestamp> {
        Some(self.journal.state().outage_of(self.live.running?.phase)?.until)
    }

    /// An attempt ended.
    fn ended(&mut self, attempt: &Attempt) -> Result<(), RunError> {
        let Some(running) = self.live.running.take() else { return Ok(()) };
        let phase = running.phase;
        // An end that happened counts, also where the workspace cannot be written.
        let looked = self.look_after_checkpoints();
        let survey = if concludes(self.journal.state(), &self.rules, phase, attempt) {
            self.live.pauses.remove(&phase);
            let (survey, said) = self.ports.survey(phase, attempt);
            for text in said {
                self.notice(text);
            }
            survey
        } else {
            Survey::default()
        };
        let chance = self.ports.chance();
        let state = self.journal.state();
        let events = (self.thinking.after)(state, &self.live, &self.rules, (phase, attempt), survey, chance);
        let stopped = events.iter().find_map(|event| match event {
            Event::AttemptEnded { exit: None, .. } => attempt.end.as_ref().err().copied(),
            _ => None,
        });
        self.live.stopped = stopped.map(|stop| (phase, stop));
        self.record_all(events)?;
        looked
    }

    /// Whether the workspace is still where the run began. A phase, or a person, may have moved it or put another in its
    /// place: then nothing is started or written there.
    pub(super) fn is_at_home(&self) -> Result<(), RunError> {
        let path = self.layout.workspace().to_path_buf();
        if self.layout.disk().identity(&path).is_ok_and(|now| now == self.home) {
            return Ok(());
        }
        let text =
            "it was moved, removed or replaced while a run worked in it; where it is now, `loa-run resume` goes on";
        let source = std::io::Error::other(text);
        Err(FileError { action: "go on in", path, source }.into())
    }

    fn complete(&mut self) -> Result<(), RunError> {
        // First: what a phase left behind could go on changing what is compared.
        self.end_what_is_left();
        self.confirm()?;
        self.sync_projections()?;
        self.journal.verify()?;
        self.record(Event::ExecutionCompleted)
    }

    /// Ends the session.
    fn close(&mut self, end: RunEnd) -> Result<RunEnd, RunError> {
        self.journal.say_ending();
        // Whoever completed has done it before the last comparison.
        if end != RunEnd::Completed {
            self.end_what_is_left();
        }
        let files = self.ports.changed_files(self.journal.state());
        let changed = (files != self.journal.state().changed_files).then_some(Event::FilesChanged { files });
        let ended = Event::SessionEnded { end: end.clone() };
        let events = super::decide::charge(&self.live).into_iter().chain(changed).chain([ended]);
        self.record_all(events.collect())?;
        if end != RunEnd::Completed {
            self.sync_projections()?;
        }
        Ok(end)
    }

    fn end_what_is_left(&mut self) {
        let left = self.ports.end_what_is_left();
        if left > 0 {
            self.notice(format!("{left} processes that stages left behind were ended"));
        }
    }

    /// The stage has ended because something that it needs could not be read or written. The session is over then, and
    /// `error` is why.
    pub fn stage_failed(&mut self, error: RunError) -> RunError {
        self.live.running = None;
        self.failed(error)
    }

    /// Writes down why the session cannot go on, unless that is what cannot be done.
    pub(super) fn failed(&mut self, error: RunError) -> RunError {
        self.journal.say_ending();
        if !matches!(error, RunError::Store(StoreError::Superseded { .. })) {
            let ended = Event::SessionEnded { end: RunEnd::Failed { error: in_one_line(&error).into() } };
            let _ = self.record_all(super::decide::charge(&self.live).into_iter().chain([ended]).collect());
        }
        error
    }

    /// Journals an event, and does what it entails.
    pub(super) fn record(&mut self, event: Event) -> Result<(), RunError> {
        self.record_all(vec![event])
    }

    /// Journals events together, tells whoever watches, and writes the documents that they entail.
    fn record_all(&mut self, events: Vec<Event>) -> Result<(), RunError> {
        let now = self.live.now().wall();
        let ports = &mut self.ports;
        let envelopes = self.journal.record_all(now, events, &mut |envelope, state| ports.event(envelope, state))?;
        for envelope in &envelopes {
            self.follow(&envelope.event)?;
        }
        Ok(())
    }

    /// What an event that is journaled entails.
    fn follow(&mut self, event: &Event) -> Result<(), RunError> {
        match event {
            Event::TimeCharged { elapsed_ms } => {
                // What is below a millisecond stays for the next one, so that a thousand short ones lose nothing.
                let charged = Duration::from_millis(*elapsed_ms);
                self.live.uncharged = self.live.uncharged.saturating_sub(charged);
            }
            Event::BackedOff { phase, delay_ms, .. } => {
                let ends = self.live.now().later(Duration::from_millis(*delay_ms));
                self.live.pauses.insert(*phase, ends);
            }
            Event::OutageMet(outage) => {
                self.live.probe_at = Some(self.live.now().later(Duration::from_millis(outage.pause.delay_ms)));
            }
            Event::StageConcluded { checkpoint, .. } | Event::StageSkipped { checkpoint } => {
                self.project(checkpoint.phase)?;
            }
            Event::Escalated { number, report, .. } => {
                self.is_at_home()?;
                // A human is called whatever lies in the way: the report is in the journal.
                if let Err(error) = self.lay_report(*number, report) {
                    self.notice(format!(
                        "the report could not be written: {}; resume tries again",
                        in_one_line(&error)
                    ));
                }
                // Only now: a request that was taken away before its report is there is forgotten by whoever dies between.
                self.ports.forget_halt()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes the report of a call, and all that whoever is called reads beside it.
    fn lay_report(&mut self, number: u32, report: &EscalationReport) -> Result<(), RunError> {
        let paths = report_paths(&self.layout, &report.execution_id, number);
        self.make_room_for(&[&paths.markdown, &paths.yaml])?;
        write_report(&self.layout, report, number)?;
        self.restore_signals()?;
        self.sync_projections()
    }

    /// Journals something odd that stops nothing; nor does it, when it cannot be written.
    pub(super) fn notice(&mut self, text: String) {
        let _ = self.record(Event::Notice { text: text.into() });
    }
}
