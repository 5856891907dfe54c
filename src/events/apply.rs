//! The fold: what each event changes. Pure, and total: an event that does not fit changes nothing.

use super::{
    Active, AgentActivity, AgentState, ApprovalState, Due, Envelope, Event, FailedAttempt, NextAction, Outbox, Pause,
    PendingEscalation, RecordedResolution, RunEnd, RunStatus, StageId, State, Undecided, Waiting, WeakerQuestion,
};
use crate::contract::{Checkpoint, EscalationReport, Phase, PhaseExit, Resolution, ResolutionAction};
use crate::text::Untrusted;

impl State {
    /// The state after the first event of an execution; `None` when that does not begin one.
    pub(super) fn begin(envelope: &Envelope) -> Option<Self> {
        let mut state = match &envelope.event {
            Event::ExecutionStarted { execution, phases, origin, overrides } => {
                let mut state = Self::new(execution.clone(), phases.clone(), origin.clone(), envelope.at);
                state.overrides.clone_from(overrides);
                state
            }
            Event::ExecutionTakenOver { state, .. } => {
                let mut state = (**state).clone();
                // What it counted were attempts, of which the last has begun.
                for active in state.active.values() {
                    state.starts.entry(active.phase).or_insert(active.attempt);
                }
                state
            }
            _ => return None,
        };
        state.noted(envelope);
        Some(state)
    }

    /// Takes an event into the state.
    pub fn apply(&mut self, envelope: &Envelope) {
        self.noted(envelope);
        if let Some(outbox) = &mut self.outbox {
            outbox.apply(&self.execution_id, envelope);
        }
        match &envelope.event {
            Event::SessionStarted { session, phases, origin, overrides, .. } => {
                self.sessions.push(session.clone());
                self.phases.clone_from(phases);
                self.origin.clone_from(origin);
                self.overrides.clone_from(overrides);
                self.status = RunStatus::Running;
                self.is_at_work = true;
                self.last_error = None;
            }
            Event::ConfigurationPinned { files } => {
                self.pinned.clone_from(files);
                self.changed_gates.clear();
                self.weaker = None;
            }
            Event::GateChanged { phase, files } => drop(self.changed_gates.insert(*phase, files.clone())),
            Event::FilesChanged { files } => self.changed_files.clone_from(files),
            Event::WeakerAsked { code, again } => {
                self.weaker = Some(WeakerQuestion { code: code.clone(), agreed: false, again: again.clone() });
            }
            Event::WeakerWithdrawn => self.weaker_withdrawn(),
            Event::SessionEnded { end } => self.session_ended(end),
            Event::SessionDied { .. } => {
                self.is_at_work = false;
                self.deaths += 1;
                self.active.values_mut().for_each(lost);
            }
            Event::TimeCharged { elapsed_ms } => {
                self.counters.add_elapsed(std::time::Duration::from_millis(*elapsed_ms));
            }
            Event::BoundaryDrawn(drawn) => self.boundary = Some(drawn.clone()),
            Event::AttemptStarted { phase, stage, attempt, .. } => {
                self.was_in_reach |= !self.boundary.as_ref().is_some_and(|drawn| drawn.holds(*phase));
                self.attempt_started(envelope, *phase, StageId::of(stage.as_ref(), *phase), *attempt);
            }
            Event::AttemptEnded { .. } => self.attempt_ended(&envelope.event),
            Event::OutageMet(outage) => self.outage = Some(outage.clone()),
            Event::OutageOver { .. } => {
                // Remembered: a provider that comes and goes is not waited for with new patience each time.
                self.outage.iter_mut().for_each(|outage| outage.answered = Some(envelope.at));
            }
            Event::BackedOff { .. } => self.backed_off(&envelope.event),
            Event::StageConcluded { .. } => self.concluded(&envelope.event),
            Event::NextDecided { phase, next, reason } => {
                let due = Due { phase: *phase, next: *next, reason: reason.clone() };
                self.due = (*next != NextAction::Proceed).then_some(due);
                self.undecided = None;
            }
            Event::StageSkipped { checkpoint } => self.skipped(checkpoint),
            Event::Remediation { .. } => {
                self.counters.remediation_started();
                self.reopened.extend([Phase::Implementation, Phase::Audit]);
                self.due = None;
            }
            Event::ContextCrossed { tokens, .. } => self.context_tokens = Some(*tokens),
            Event::Agent { phase, agent } => self.agent(*phase, agent),
            Event::AgentSessionDropped { phase } => {
                self.agents.entry(*phase).and_modify(|agent| agent.session = None);
            }
            Event::Escalated { number, report, reason, approval } => {
                self.escalated(*number, report, reason, *approval);
            }
            Event::Resolved { escalation, resolution, unguarded } => {
                self.resolved(envelope, *escalation, resolution, *unguarded);
            }
            Event::CheckpointAdopted { checkpoint } => self.adopted(checkpoint),
            Event::PhaseReopened { phase } => {
                self.reopened.insert(*phase);
                self.due = None;
                self.undecided = None;
            }
            Event::ExecutionCompleted => {
                self.status = RunStatus::Completed;
                self.active.clear();
            }
            Event::OutboxOpened { began, carried } => {
                self.outbox.get_or_insert_with(Outbox::default).open(began, carried);
            }
            Event::ExecutionStarted { .. }
            | Event::ExecutionTakenOver { .. }
            | Event::GateStarted { .. }
            | Event::Compacted { .. }
            | Event::LimitReached { .. }
            | Event::Notified { .. }
            | Event::DeathNoticed { .. }
            | Event::CheckpointRestored { .. }
            | Event::CheckpointIgnored { .. }
            | Event::ProjectionRestored { .. }
            | Event::WorkspaceMoved { .. }
            | Event::Notice { .. }
            | Event::Other => {}
        }
    }

    fn attempt_ended(&mut self, event: &Event) {
        let Event::AttemptEnded { phase, stage, context_tokens, exit, .. } = event else { return };
        self.context_tokens = context_tokens.or(self.context_tokens);
        let stage = StageId::of(stage.as_ref(), *phase);
        match exit {
            Some(_) => self.had_outcome(&stage, *phase),
            None => self.active.get_mut(&stage).into_iter().for_each(lost),
        }
    }

    fn noted(&mut self, envelope: &Envelope) {
        self.seq = envelope.seq;
        self.epoch = envelope.epoch;
        self.updated_at = self.updated_at.max(envelope.at);
    }

    fn session_ended(&mut self, end: &RunEnd) {
        self.is_at_work = false;
        // A command that says that there is an outage has ended by itself.
        if let (RunEnd::Paused { pause: Pause::Outage { .. } }, Some(outage)) = (end, &self.outage) {
            let commands = self.active.values_mut().filter(|active| active.phase == outage.phase);
            if !self.agents.contains_key(&outage.phase) {
                commands.for_each(|active| active.is_running = false);
            }
        }
        // A session that failed has ended what ran, and nobody knows how far that came.
        self.active.values_mut().for_each(lost);
        // Whoever goes on after that waits with new patience.
        if matches!(end, RunEnd::Paused { pause: Pause::Outage { .. } }) {
            self.outage = None;
        }
        match end {
            RunEnd::Interrupted { .. } | RunEnd::Paused { .. } => self.status = RunStatus::Interrupted,
            RunEnd::Failed { error } => {
                self.status = RunStatus::Interrupted;
                self.last_error = Some(error.clone());
            }
            // What these ends mean is in an event of its own.
            RunEnd::Completed | RunEnd::Escalated | RunEnd::Other => {}
        }
    }

    fn attempt_started(&mut self, envelope: &Envelope, phase: Phase, stage: StageId, attempt: u32) {
        let active = self.active.entry(stage).or_insert_with(|| Active::new(phase, attempt));
        // Of a journal in which no start had a number of its own, the highest counts.
        let newest = self.starts.entry(phase).or_default();
        *newest = attempt.max(*newest);
        (active.attempt, active.is_running, active.pause) = (attempt, true, None);
        active.began.get_or_insert(envelope.at);
    }

    /// A question about a weaker configuration is not waited for any more.
    fn weaker_withdrawn(&mut self) {
        if self.asks_about_weaker() {
            (self.pending, self.status) = (None, RunStatus::Resolved);
        }
        self.weaker = None;
    }

    fn adopted(&mut self, checkpoint: &Checkpoint) {
        // What failed runs again, and whoever did not know how far it came knows no more now.
        let is_done = checkpoint.exit_code == PhaseExit::Success;
        self.active.retain(|_, active| active.phase != checkpoint.phase || !is_done);
        self.put(checkpoint);
    }

    /// An attempt has an outcome.
    fn had_outcome(&mut self, stage: &StageId, phase: Phase) {
        self.deaths = 0;
        self.outage.take_if(|outage| outage.phase == phase);
        if let Some(active) = self.active.get_mut(stage) {
            active.is_running = false;
            active.in_doubt = false;
        }
    }

    fn backed_off(&mut self, event: &Event) {
        let Event::BackedOff { phase, stage, attempt, failure, reason, delay_ms, not_before } = event else { return };
        if let Some(active) = self.active.get_mut(&StageId::of(stage.as_ref(), *phase)) {
            active.failed.push(FailedAttempt { attempt: active.attempt, reason: reason.clone() });
            active.attempt = *attempt;
            active.is_running = false;
            active.failures.push(failure.clone());
            active.pause = Some(Waiting { not_before: *not_before, delay_ms: *delay_ms });
        }
    }

    fn concluded(&mut self, event: &Event) {
        let Event::StageConcluded {
            checkpoint, stage, failure, trigger, overflow, remediable, findings, cycle, ..
        } = event
        else {
            return;
        };
        self.active.remove(&StageId::of(stage.as_ref(), checkpoint.phase));
        self.put(checkpoint);
        let (phase, remediable, reason) = (checkpoint.phase, *remediable, checkpoint.summary.clone());
        self.undecided = trigger.map(|trigger| Undecided { phase, remediable, trigger, reason });
        if *overflow {
            self.counters.context_overflowed();
        }
        if checkpoint.phase != Phase::Audit {
            return;
        }
        if checkpoint.exit_code == PhaseExit::Success {
            self.counters.audit_passed();
            self.cycle = None;
        } else if remediable {
            if let (Some(earlier), Some(now)) = (&self.cycle, cycle) {
                self.counters.cycle_ended(earlier != now);
            }
            self.cycle.clone_from(cycle);
            self.counters.audit_failed(failure.clone());
        }
        self.findings.clone_from(findings);
    }

    fn skipped(&mut self, checkpoint: &Checkpoint) {
        if checkpoint.phase == Phase::Audit {
            // Nobody waits for its remediation any more.
            self.counters.audit_passed();
        }
        self.active.retain(|_, active| active.phase != checkpoint.phase);
        self.put(checkpoint);
    }

    fn put(&mut self, checkpoint: &Checkpoint) {
        self.reopened.remove(&checkpoint.phase);
        self.updated_at = self.updated_at.max(checkpoint.created_at);
        self.replaced.extend(self.checkpoints.insert(checkpoint.phase, checkpoint.clone()));
    }

    fn agent(&mut self, phase: Phase, event: &AgentActivity) {
        match event {
            AgentActivity::Attempt { backend, .. } => {
                let of_another = self.agents.get(&phase).is_none_or(|agent| agent.backend != *backend);
                if of_another {
                    self.agents.insert(phase, AgentState { backend: backend.clone(), session: None });
                }
            }
            AgentActivity::Session { session } => {
                self.agents.entry(phase).and_modify(|agent| agent.session = Some(session.clone()));
            }
            AgentActivity::Ended { session, spent: Some(spent), .. } => {
                self.spending.entry(phase).or_default().add(session.as_deref(), *spent);
            }
            _ => {}
        }
    }

    fn escalated(&mut self, number: u32, report: &EscalationReport, reason: &Untrusted, approval: bool) {
        self.escalations = number;
        self.status = RunStatus::Escalated;
        self.updated_at = self.updated_at.max(report.timestamp);
        let (trigger, phase) = (report.trigger, report.phase);
        self.pending = Some(PendingEscalation { number, trigger, phase, reason: reason.clone() });
        self.reports.insert(number, report.clone());
        self.due = None;
        self.undecided = None;
        if approval {
            self.deploy = ApprovalState::Asked;
        }
    }

    fn resolved(&mut self, envelope: &Envelope, escalation: u32, resolution: &Resolution, unguarded: bool) {
        let recorded = RecordedResolution { escalation, at: envelope.at, resolution: resolution.clone(), unguarded };
        self.resolutions.push(recorded);
        // A reset is answered by another execution; until that stands in the place of this one, it waits.
        if resolution.action == ResolutionAction::Reset {
            return;
        }
        let about_weaker = self.asks_about_weaker();
        let Some(pending) = self.pending.take() else { return };
        if about_weaker && resolution.action == ResolutionAction::FixAndResume {
            // Nothing of what was done so far is asked about.
            self.weaker.iter_mut().for_each(|question| question.agreed = true);
            self.status = RunStatus::Resolved;
            return;
        }
        self.weaker = None;
        self.active.retain(|_, active| active.phase != pending.phase);
        self.due = None;
        self.outage = None;
        if resolution.action == ResolutionAction::FixAndResume {
            // Whoever was asked about these scripts agreed to them, and to no others.
            self.pinned.extend(self.changed_gates.remove(&pending.phase).unwrap_or_default());
        }
        self.deaths = 0;
        self.counters.reset(pending.trigger);
        self.status = match resolution.action {
            ResolutionAction::Abort => RunStatus::Aborted,
            _ => RunStatus::Resolved,
        };
        if self.deploy == ApprovalState::Asked {
            // No answer to a later question may be taken for this one's.
            let given = resolution.action == ResolutionAction::FixAndResume;
            self.deploy = if given { ApprovalState::Given } else { ApprovalState::NotAsked };
        }
        if resolution.action == ResolutionAction::FixAndResume && !self.is_completed(pending.phase) {
            self.reopened.insert(pending.phase);
        }
    }
}

/// An attempt that ran has ended without an outcome.
fn lost(active: &mut Active) {
    active.in_doubt |= active.is_running;
    active.is_running = false;
}

#[cfg(test)]
mod tests;
