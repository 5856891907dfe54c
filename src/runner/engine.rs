//! The owner of one execution: walks its phases until they are done or a human is needed.

use std::time::Duration;

use super::conclude::skipped;
use super::observations::Observations;
use super::phase::PhaseEnd;
use super::projection::Stamps;
use super::stage_files::SESSION_VARIABLE;
use super::watch::Stop;
use super::{Backends, Bounds, Listener, Plan, RunError};
use crate::contract::{EscalationTrigger, ExecutionId, Phase, SessionId};
use crate::events::{ApprovalState, Due, Event, NextAction, Observation, Pause, RunEnd, State};
use crate::store::{Journal, Layout, Place, StoreError};
use crate::system::clock::{self, Moment};
use crate::system::guard::Guard;
use crate::system::process::Interrupts;
use crate::system::tree::Tree;
use crate::system::{files, orphans, sweep};

/// How often the elapsed time of a long stage is journaled.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How a session ended, and what is known then.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub end: RunEnd,
    /// What is known of the execution.
    pub state: State,
}

/// One session's hold on one execution.
pub struct Engine<'a> {
    pub(super) layout: Layout,
    pub(super) place: Place,
    pub(super) plan: Plan,
    pub(super) backends: Backends,
    pub(super) bounds: Bounds,
    pub(super) journal: Journal,
    pub(super) session: SessionId,
    pub(super) guard: Guard,
    pub(super) interrupts: Interrupts,
    pub(super) listener: &'a mut dyn Listener,
    pub(super) observations: Observations,
    /// Up to here the time is in the journal.
    pub(super) charged: Moment,
    /// The workspace's files as the last phase left them, when somebody looked.
    pub(super) tree: Option<Tree>,
    /// The checkpoints as we wrote them.
    pub(super) stamps: Stamps,
}

impl Engine<'_> {
    /// Runs until every phase is done, a human is needed, or a signal comes. No process of the session is left behind.
    ///
    /// # Errors
    /// [`RunError`] when something could not be read or written; what was acknowledged before is in the journal, and the
    /// execution can be resumed.
    pub async fn run(mut self) -> Result<Ended, RunError> {
        self.charged = clock::now();
        let walked = self.walk().await;
        self.journal.say_ending();
        // A walk to its end has done it.
        if !matches!(walked, Ok(RunEnd::Completed)) {
            self.end_what_is_left();
        }
        let end = match walked {
            Ok(end) => end,
            Err(error) => return Err(self.failed(error)),
        };
        self.record_with_time(vec![Event::SessionEnded { end: end.clone() }])?;
        if end != RunEnd::Completed {
            self.sync_projections()?;
        }
        self.notify(&end).await;
        // On the way out by an error or a panic it is not dismissed, and ends what is left.
        self.guard.dismiss();
        Ok(Ended { end, state: self.journal.state().clone() })
    }

    /// The execution.
    #[must_use]
    pub fn execution(&self) -> &ExecutionId {
        self.journal.execution()
    }

    fn end_what_is_left(&mut self) {
        let left = sweep::end_processes_with(SESSION_VARIABLE, self.session.as_str()) + orphans::end();
        if left > 0 {
            self.notice(format!("{left} processes that stages left behind were ended"));
        }
    }

    /// Writes down why the session cannot go on, unless that is what cannot be done.
    fn failed(&mut self, error: RunError) -> RunError {
        if !matches!(error, RunError::Store(StoreError::Superseded { .. })) {
            let _ = self.record(Event::SessionEnded { end: RunEnd::Failed { error: in_one_line(&error) } });
        }
        error
    }

    async fn walk(&mut self) -> Result<RunEnd, RunError> {
        while let Some(phase) = self.journal.state().next_phase() {
            if let Some(end) = self.step(phase).await? {
                return Ok(end);
            }
        }
        // First: what a phase left behind could go on changing what is compared.
        self.end_what_is_left();
        self.confirm()?;
        self.sync_projections()?;
        self.record(Event::ExecutionCompleted)?;
        Ok(RunEnd::Completed)
    }

    async fn step(&mut self, phase: Phase) -> Result<Option<RunEnd>, RunError> {
        if self.reason_to_stop()? == Some(Stop::Halted) {
            return self.stopped(phase, Stop::Halted).map(Some);
        }
        if let Some(due) = self.journal.state().due.clone() {
            // The session that decided this died before it happened.
            return self.follow(&due);
        }
        let stage = self.plan.stage(phase).expect("a session begins only with a plan that has every phase").clone();
        if let Some(end) = self.before(phase, stage.skip)? {
            return Ok(Some(end));
        }
        if stage.skip {
            let (id, now) = (self.execution().clone(), self.stamp());
            let checkpoint = Box::new(skipped(&id, phase, "`skip: true` in the configuration", now));
            self.record(Event::StageSkipped { checkpoint })?;
            self.project(phase)?;
            return Ok(None);
        }
        match self.run_phase(&stage).await? {
            PhaseEnd::Concluded(concluded) => self.conclude(phase, &concluded),
            PhaseEnd::Stopped(stop) => self.stopped(phase, stop).map(Some),
        }
    }

    /// Does what was decided after a phase.
    pub(super) fn follow(&mut self, due: &Due) -> Result<Option<RunEnd>, RunError> {
        match due.next {
            NextAction::Proceed => Ok(None),
            NextAction::Remediate => self.remediate().map(|()| None),
            NextAction::Escalate { trigger } => self.escalate(trigger, due.phase, None, &due.reason).map(Some),
        }
    }

    /// What calls a human before a phase even starts.
    fn before(&mut self, phase: Phase, skip: bool) -> Result<Option<RunEnd>, RunError> {
        if let Some(trigger) = self.journal.state().counters.fired(&self.bounds.triggers) {
            let reason = format!("{phase} was not started: {trigger}");
            return self.escalate(trigger, phase, None, &reason).map(Some);
        }
        let asks = phase == Phase::Deploy && self.bounds.deploy_approval && !skip;
        if asks && self.journal.state().deploy != ApprovalState::Given {
            return self.ask_for_approval(phase).map(Some);
        }
        Ok(None)
    }

    fn stopped(&mut self, phase: Phase, stop: Stop) -> Result<RunEnd, RunError> {
        let (trigger, reason) = match stop {
            Stop::Interrupted(by) => return Ok(RunEnd::Interrupted { by }),
            Stop::OutOfPatience(until) => return Ok(RunEnd::Paused { pause: Pause::Limit { until } }),
            Stop::Cancelled => return Ok(RunEnd::Paused { pause: Pause::AgentCancelled }),
            Stop::Halted => (EscalationTrigger::Manual, format!("{phase} was stopped: somebody asked for a halt")),
            Stop::RunTimeout => {
                let hours = self.bounds.triggers.timeout.as_secs_f64() / 3600.0;
                (EscalationTrigger::Timeout, format!("{phase} was stopped: the run may take {hours} hours"))
            }
            Stop::Overflow => (EscalationTrigger::ContextOverflow, format!("{phase} was stopped: its context is over")),
        };
        let end = self.escalate(trigger, phase, Some(phase), &reason)?;
        // Only now: a request that was taken away before its report is there is forgotten by whoever dies between.
        files::remove(&self.place.halt_request())?;
        Ok(end)
    }

    /// A reason to stop that came from outside while something was waited for.
    pub(super) fn reason_to_stop(&mut self) -> Result<Option<Stop>, RunError> {
        self.guard.watch_orphans();
        if self.place.halt_request().exists() {
            return Ok(Some(Stop::Halted));
        }
        let uncharged = clock::now().since(self.charged);
        if self.journal.state().counters.elapsed() + uncharged >= self.bounds.triggers.timeout {
            return Ok(Some(Stop::RunTimeout));
        }
        if uncharged >= HEARTBEAT {
            self.charge()?;
        }
        Ok(None)
    }

    /// Journals the time that passed since the last call.
    pub(super) fn charge(&mut self) -> Result<(), RunError> {
        self.record_with_time(Vec::new())
    }

    /// Journals the time that passed since it was journaled last, and what happened then, in one write.
    pub(super) fn record_with_time(&mut self, mut events: Vec<Event>) -> Result<(), RunError> {
        let passed = clock::now().since(self.charged);
        // What is below a millisecond stays for the next call, so that a thousand short calls lose nothing.
        let elapsed_ms = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        if elapsed_ms > 0 {
            events.insert(0, Event::TimeCharged { elapsed_ms });
        }
        if !events.is_empty() {
            self.record_all(events)?;
        }
        self.charged = self.charged.later(Duration::from_millis(elapsed_ms));
        Ok(())
    }

    /// Journals an event and tells whoever watches.
    pub(super) fn record(&mut self, event: Event) -> Result<(), RunError> {
        self.record_all(vec![event])
    }

    fn record_all(&mut self, events: Vec<Event>) -> Result<(), RunError> {
        for envelope in self.journal.record(clock::now().wall(), events)? {
            self.listener.event(&envelope, self.journal.state());
        }
        Ok(())
    }

    /// Tells whoever watches of something that is not journaled.
    pub(super) fn observe(&mut self, observation: &Observation) {
        self.observations.take(clock::now().wall(), observation);
        self.listener.observation(observation);
    }

    /// Journals something odd that stops nothing; nor does it, when it cannot be written.
    pub(super) fn notice(&mut self, text: String) {
        let _ = self.record(Event::Notice { text });
    }

    pub(super) fn stamp(&self) -> jiff::Timestamp {
        self.journal.state().stamp(clock::now().wall())
    }
}

/// An error with its causes, in one line.
pub(super) fn in_one_line(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ").split_whitespace().collect::<Vec<_>>().join(" ")
}
