//! The fold: what each event changes. Pure, and total: an event that does not fit changes nothing.

use super::{
    Active, AgentActivity, AgentState, ApprovalState, Due, Envelope, Event, NextAction, PendingEscalation,
    RecordedResolution, RunEnd, RunStatus, State,
};
use crate::contract::{Checkpoint, EscalationReport, Phase, PhaseExit, Resolution, ResolutionAction};
use crate::policy::Signature;

impl State {
    /// The state after the first event of an execution; `None` when that does not begin one.
    pub(super) fn begin(envelope: &Envelope) -> Option<Self> {
        let mut state = match &envelope.event {
            Event::ExecutionStarted { execution, phases, origin, overrides } => {
                let mut state = Self::new(execution.clone(), phases.clone(), origin.clone(), envelope.at);
                state.overrides.clone_from(overrides);
                state
            }
            Event::ExecutionTakenOver { state, .. } => (**state).clone(),
            _ => return None,
        };
        state.noted(envelope);
        Some(state)
    }

    /// Takes an event into the state.
    pub fn apply(&mut self, envelope: &Envelope) {
        self.noted(envelope);
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
            Event::SessionEnded { end } => self.session_ended(end),
            Event::SessionDied { .. } => self.is_at_work = false,
            Event::TimeCharged { elapsed_ms } => {
                self.counters.add_elapsed(std::time::Duration::from_millis(*elapsed_ms));
            }
            Event::AttemptStarted { phase, attempt, .. } => self.attempt_started(envelope, *phase, *attempt),
            Event::AttemptEnded { context_tokens, .. } => {
                self.context_tokens = context_tokens.or(self.context_tokens);
            }
            Event::BackedOff { phase, attempt, failure, .. } => self.backed_off(*phase, *attempt, failure.clone()),
            Event::StageConcluded { .. } => self.concluded(&envelope.event),
            Event::NextDecided { phase, next, reason } => {
                let due = Due { phase: *phase, next: *next, reason: reason.clone() };
                self.due = (*next != NextAction::Proceed).then_some(due);
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
            Event::Resolved { escalation, resolution } => self.resolved(envelope, *escalation, resolution),
            Event::CheckpointAdopted { checkpoint } => self.put(checkpoint),
            Event::PhaseReopened { phase } => {
                self.reopened.insert(*phase);
                self.due = None;
            }
            Event::ExecutionCompleted => {
                self.status = RunStatus::Completed;
                self.active = None;
            }
            Event::ExecutionStarted { .. }
            | Event::ExecutionTakenOver { .. }
            | Event::GateStarted { .. }
            | Event::Compacted { .. }
            | Event::LimitReached { .. }
            | Event::Notified { .. }
            | Event::CheckpointRestored { .. }
            | Event::CheckpointIgnored { .. }
            | Event::ProjectionRestored { .. }
            | Event::WorkspaceMoved { .. }
            | Event::Notice { .. }
            | Event::Other => {}
        }
    }

    fn noted(&mut self, envelope: &Envelope) {
        self.seq = envelope.seq;
        self.epoch = envelope.epoch;
        self.updated_at = self.updated_at.max(envelope.at);
    }

    fn session_ended(&mut self, end: &RunEnd) {
        self.is_at_work = false;
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

    fn attempt_started(&mut self, envelope: &Envelope, phase: Phase, attempt: u32) {
        let earlier = self.active.take().filter(|active| active.phase == phase);
        let (failures, began) = earlier.map_or((Vec::new(), None), |active| (active.failures, active.began));
        self.active = Some(Active { phase, attempt, failures, began: began.or(Some(envelope.at)) });
    }

    fn backed_off(&mut self, phase: Phase, attempt: u32, failure: Option<Signature>) {
        if let Some(active) = self.active.as_mut().filter(|active| active.phase == phase) {
            active.attempt = attempt;
            active.failures.push(failure);
        }
    }

    fn concluded(&mut self, event: &Event) {
        let Event::StageConcluded { checkpoint, failure, overflow, remediable, findings, cycle, .. } = event else {
            return;
        };
        self.put(checkpoint);
        self.active = None;
        if *overflow {
            self.counters.context_overflowed();
        }
        if checkpoint.phase != Phase::Audit {
            return;
        }
        if checkpoint.exit_code == PhaseExit::Success {
            self.counters.audit_passed();
            self.cycle = None;
        } else if *remediable {
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
        self.put(checkpoint);
    }

    fn put(&mut self, checkpoint: &Checkpoint) {
        self.reopened.remove(&checkpoint.phase);
        self.updated_at = self.updated_at.max(checkpoint.created_at);
        self.checkpoints.insert(checkpoint.phase, checkpoint.clone());
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
            _ => {}
        }
    }

    fn escalated(&mut self, number: u32, report: &EscalationReport, reason: &str, approval: bool) {
        self.escalations = number;
        self.status = RunStatus::Escalated;
        self.updated_at = self.updated_at.max(report.timestamp);
        let (trigger, phase) = (report.trigger, report.phase);
        self.pending = Some(PendingEscalation { number, trigger, phase, reason: reason.to_owned() });
        self.reports.insert(number, report.clone());
        self.due = None;
        if approval {
            self.deploy = ApprovalState::Asked;
        }
    }

    fn resolved(&mut self, envelope: &Envelope, escalation: u32, resolution: &Resolution) {
        let recorded = RecordedResolution { escalation, at: envelope.at, resolution: resolution.clone() };
        self.resolutions.push(recorded);
        // A reset is answered by another execution; until that stands in the place of this one, it waits.
        if resolution.action == ResolutionAction::Reset {
            return;
        }
        let Some(pending) = self.pending.take() else { return };
        self.active = None;
        self.due = None;
        self.counters.reset(pending.trigger);
        self.status = match resolution.action {
            ResolutionAction::Abort => RunStatus::Aborted,
            _ => RunStatus::Resolved,
        };
        if resolution.action == ResolutionAction::FixAndResume {
            if self.deploy == ApprovalState::Asked {
                self.deploy = ApprovalState::Given;
            }
            if !self.is_completed(pending.phase) {
                self.reopened.insert(pending.phase);
            }
        }
    }
}

#[cfg(test)]
mod tests;
