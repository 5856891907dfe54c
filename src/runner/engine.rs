//! The owner of one execution: walks its phases until they are done or a human is needed.

use std::time::Duration;

use jiff::Timestamp;

use super::conclude::skipped;
use super::decision::is_remediable;
use super::phase::PhaseEnd;
use super::standing::Standing;
use super::watch::Stop;
use super::{Backends, Bounds, Listener, Plan, Progress, RunError};
use crate::contract::{EscalationTrigger, ExecutionId, Phase, PhaseExit, SessionId};
use crate::policy::{Outcome, trigger_for_failure};
use crate::store::{ApprovalState, Layout, ReportPaths, RunRecord, RunStatus, note_record, write_record};
use crate::system::clock::{self, Moment};
use crate::system::guard::Guard;
use crate::system::lock::Lock;
use crate::system::process::{Interrupt, Interrupts};
use crate::system::tree::Tree;
use crate::system::{files, orphans, sweep};

/// How often the elapsed time of a long stage reaches the disk.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How a session ended.
#[derive(Debug)]
pub enum End {
    /// Every phase is done.
    Completed,
    /// A human is needed.
    Escalated(Call),
    /// A signal came; the execution can be resumed.
    Interrupted(Interrupt),
    /// It cannot go on now and can be resumed later.
    Paused(Pause),
}

impl End {
    /// In one word, for machines.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Escalated(_) => "escalated",
            Self::Interrupted(_) => "interrupted",
            Self::Paused(_) => "paused",
        }
    }
}

/// Why an execution cannot go on now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// A provider's limit is reached, and it is lifted later than the run may wait; when, as far as it is known.
    Limit(Option<Timestamp>),
    /// Somebody stopped the agent.
    AgentCancelled,
}

/// What a human is told first.
#[derive(Debug, Clone)]
pub struct Call {
    /// Why.
    pub trigger: EscalationTrigger,
    /// Where.
    pub phase: Phase,
    /// What happened, in one line.
    pub reason: String,
    /// The report.
    pub report: ReportPaths,
}

/// One session's hold on one execution.
pub struct Engine<'a> {
    pub(super) layout: Layout,
    pub(super) plan: Plan,
    pub(super) backends: Backends,
    pub(super) bounds: Bounds,
    pub(super) standing: Standing,
    pub(super) session: SessionId,
    pub(super) guard: Guard,
    pub(super) interrupts: Interrupts,
    pub(super) listener: &'a mut dyn Listener,
    /// Up to here the time is in the counters.
    pub(super) charged: Moment,
    /// The workspace's files as the last phase left them, when somebody looked.
    pub(super) tree: Option<Tree>,
    /// When the record reached the disk.
    pub(super) saved: Moment,
    pub(super) _lock: Lock,
}

impl Engine<'_> {
    /// Runs until every phase is done, a human is needed, or a signal comes. No process of the session is left behind.
    ///
    /// # Errors
    /// [`RunError`] when something could not be read or written; what was acknowledged before is on disk, and the
    /// execution can be resumed.
    pub async fn run(mut self) -> Result<End, RunError> {
        self.charged = clock::now();
        let end = self.walk().await?;
        let left =
            sweep::end_processes_with(super::stage_files::SESSION_VARIABLE, self.session.as_str()) + orphans::end();
        if left > 0 {
            let text = format!("{left} processes that stages left behind were ended");
            self.listener.on(&Progress::Notice { text: &text });
        }
        self.listener.on(&Progress::SessionEnded { end: &end });
        self.notify(&end).await;
        // On the way out by an error or a panic it is not dismissed, and ends what is left.
        self.guard.dismiss();
        Ok(end)
    }

    /// The execution.
    #[must_use]
    pub fn execution(&self) -> &ExecutionId {
        &self.standing.record.execution_id
    }

    async fn walk(&mut self) -> Result<End, RunError> {
        while let Some(phase) = self.standing.next_phase() {
            if let Some(end) = self.step(phase).await? {
                return Ok(end);
            }
        }
        self.record().status = RunStatus::Completed;
        self.record().active = None;
        self.save()?;
        Ok(End::Completed)
    }

    async fn step(&mut self, phase: Phase) -> Result<Option<End>, RunError> {
        if self.reason_to_stop()? == Some(Stop::Halted) {
            return self.stopped(phase, Stop::Halted).map(Some);
        }
        let stage = self.plan.stage(phase).expect("a session begins only with a plan that has every phase").clone();
        if let Some(end) = self.before(phase, stage.skip)? {
            return Ok(Some(end));
        }
        if stage.skip {
            let (id, now) = (self.execution().clone(), self.stamp());
            let checkpoint = skipped(&id, phase, "`skip: true` in the configuration", now);
            self.standing.write(&self.layout, checkpoint)?;
            self.listener.on(&Progress::PhaseSkipped { phase });
            return Ok(None);
        }
        match self.run_phase(&stage).await? {
            PhaseEnd::Concluded(concluded) => self.conclude(phase, &concluded),
            PhaseEnd::Stopped(stop) => self.stopped(phase, stop).map(Some),
        }
    }

    /// What calls a human before a phase even starts.
    fn before(&mut self, phase: Phase, skip: bool) -> Result<Option<End>, RunError> {
        // The session that wrote this died before it could call anybody.
        if let Some((trigger, reason)) = self.uncalled(phase) {
            return self.escalate(trigger, phase, None, &reason).map(Some);
        }
        let limits = self.bounds.triggers;
        if let Some(trigger) = self.record().counters.fired(&limits) {
            let reason = format!("{phase} was not started: {trigger}");
            return self.escalate(trigger, phase, None, &reason).map(Some);
        }
        let asks = phase == Phase::Deploy && self.bounds.deploy_approval && !skip;
        if asks && self.record().deploy != ApprovalState::Given {
            self.record().deploy = ApprovalState::Asked;
            let reason = "deploy waits for a human's approval; fix_and_resume gives it";
            return self.escalate(EscalationTrigger::Manual, phase, None, reason).map(Some);
        }
        Ok(None)
    }

    /// Why a human should have been called about the phase: it has an outcome that nothing but a human goes on from. An
    /// audit's exit 1 is none, because what it found is lost with the session: the audit is made again.
    fn uncalled(&self, phase: Phase) -> Option<(EscalationTrigger, String)> {
        let record = &self.standing.record;
        let failed = self.standing.checkpoint(phase).filter(|checkpoint| checkpoint.exit_code != PhaseExit::Success)?;
        let outcome = Outcome { exit: failed.exit_code, error: None };
        if is_remediable(phase, &outcome, &record.phases) {
            return None;
        }
        let attempts = record.active.as_ref().filter(|active| active.phase == phase);
        let trigger = trigger_for_failure(&outcome, attempts.map_or(&[], |active| &active.failures));
        Some((trigger, failed.summary.clone()))
    }

    fn stopped(&mut self, phase: Phase, stop: Stop) -> Result<End, RunError> {
        let (trigger, reason) = match stop {
            Stop::Interrupted(interrupt) => return self.resumable(End::Interrupted(interrupt)),
            Stop::OutOfPatience(until) => return self.resumable(End::Paused(Pause::Limit(until))),
            Stop::Cancelled => return self.resumable(End::Paused(Pause::AgentCancelled)),
            Stop::Halted => (EscalationTrigger::Manual, format!("{phase} was stopped: somebody asked for a halt")),
            Stop::RunTimeout => {
                let hours = self.bounds.triggers.timeout.as_secs_f64() / 3600.0;
                (EscalationTrigger::Timeout, format!("{phase} was stopped: the run may take {hours} hours"))
            }
            Stop::Overflow => (EscalationTrigger::ContextOverflow, format!("{phase} was stopped: its context is over")),
        };
        let end = self.escalate(trigger, phase, Some(phase), &reason)?;
        // Only now: a request that was taken away before its report is there is forgotten by whoever dies between.
        files::remove(&self.layout.halt_request())?;
        Ok(end)
    }

    /// Ends the session without an outcome of the phase at hand.
    fn resumable(&mut self, end: End) -> Result<End, RunError> {
        self.record().status = RunStatus::Interrupted;
        self.save()?;
        Ok(end)
    }

    /// A reason to stop that came from outside while something was waited for.
    pub(super) fn reason_to_stop(&mut self) -> Result<Option<Stop>, RunError> {
        self.charge();
        self.guard.watch_orphans();
        if self.layout.halt_request().exists() {
            return Ok(Some(Stop::Halted));
        }
        if self.standing.record.counters.elapsed() >= self.bounds.triggers.timeout {
            return Ok(Some(Stop::RunTimeout));
        }
        if self.charged.since(self.saved) >= HEARTBEAT {
            self.save()?;
        }
        Ok(None)
    }

    /// Counts the time that passed since the last call.
    pub(super) fn charge(&mut self) {
        let now = clock::now();
        // What is below a millisecond stays for the next call, so that a thousand short calls lose nothing.
        let whole = Duration::from_millis(u64::try_from(now.since(self.charged).as_millis()).unwrap_or(u64::MAX));
        if !whole.is_zero() {
            self.standing.record.counters.add_elapsed(whole);
            self.charged = self.charged.later(whole);
        }
    }

    pub(super) fn record(&mut self) -> &mut RunRecord {
        &mut self.standing.record
    }

    pub(super) fn stamp(&mut self) -> Timestamp {
        self.standing.stamp(clock::now().wall())
    }

    /// Writes the record, durably.
    pub(super) fn save(&mut self) -> Result<(), RunError> {
        self.stamp();
        write_record(&self.layout, &self.standing.record)?;
        self.saved = clock::now();
        Ok(())
    }

    /// Writes the record for whoever looks, and for a session after our death; a power cut may take it back.
    pub(super) fn save_soon(&mut self) -> Result<(), RunError> {
        self.stamp();
        Ok(note_record(&self.layout, &self.standing.record)?)
    }
}
