//! Calls a human: the call is journaled, then its report is written (Escalation Protocol).

use jiff::Timestamp;

use super::RunError;
use super::conclude::UNVERIFIED;
use super::engine::Engine;
use crate::contract::{
    Decision, EscalationContext, EscalationReport, EscalationState, EscalationTrigger, Phase, SessionId,
};
use crate::events::{Event, RunEnd, State};
use crate::store::{Layout, ReportPaths, report_paths, write_report};
use crate::system::clock;

/// How many of the last decisions a report shows.
const DECISIONS: usize = 5;

impl Engine<'_> {
    /// Ends the session with a report; `active` is the phase that was being worked on, if it has no outcome.
    pub(super) fn escalate(
        &mut self,
        trigger: EscalationTrigger,
        phase: Phase,
        active: Option<Phase>,
        reason: &str,
    ) -> Result<RunEnd, RunError> {
        self.call(&Cause { trigger, phase, active, reason, approval: false })
    }

    /// Ends the session with the question whether to deploy.
    pub(super) fn ask_for_approval(&mut self, phase: Phase) -> Result<RunEnd, RunError> {
        let reason = "deploy waits for a human's approval; fix_and_resume gives it";
        self.call(&Cause { trigger: EscalationTrigger::Manual, phase, active: None, reason, approval: true })
    }

    fn call(&mut self, cause: &Cause<'_>) -> Result<RunEnd, RunError> {
        self.charge()?;
        let (number, event) = call_human(self.journal.state(), &self.session, cause, clock::now().wall());
        self.record(event)?;
        let report = self.journal.state().reports.get(&number).expect("the event that was journaled holds it").clone();
        write_report(&self.layout, &report, number)?;
        self.restore_signals()?;
        self.sync_projections()?;
        Ok(RunEnd::Escalated)
    }
}

/// Why a human is called.
#[derive(Debug)]
pub(super) struct Cause<'a> {
    pub(super) trigger: EscalationTrigger,
    pub(super) phase: Phase,
    pub(super) active: Option<Phase>,
    pub(super) reason: &'a str,
    /// It asks for the approval of a deployment.
    pub(super) approval: bool,
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

impl Call {
    /// The call that waits for its answer; `None` when none does.
    #[must_use]
    pub fn pending(state: &State, layout: &Layout) -> Option<Self> {
        let pending = state.pending.as_ref()?;
        Some(Self {
            trigger: pending.trigger,
            phase: pending.phase,
            reason: pending.reason.clone(),
            report: report_paths(layout, &state.execution_id, pending.number),
        })
    }
}

/// The call as an event, and the number of its report.
pub(super) fn call_human(state: &State, session: &SessionId, cause: &Cause<'_>, now: Timestamp) -> (u32, Event) {
    let number = state.escalations + 1;
    let report = Box::new(report(state, session, cause, state.stamp(now)));
    let reason = cause.reason.to_owned();
    (number, Event::Escalated { number, report, reason, approval: cause.approval })
}

fn report(state: &State, session: &SessionId, cause: &Cause<'_>, now: Timestamp) -> EscalationReport {
    EscalationReport {
        execution_id: state.execution_id.clone(),
        session_id: session.clone(),
        trigger: cause.trigger,
        phase: cause.phase,
        timestamp: now,
        state: EscalationState {
            phases: state.phase_statuses(cause.active),
            last_checkpoint: state.last_checkpoint(),
            remaining_findings: state.findings.clone(),
        },
        context: EscalationContext {
            last_decisions: last_decisions(state),
            remediation_attempts: state.counters.remediation_loops(),
            suggested_actions: suggestions(cause, &unverified(state)),
        },
    }
}

fn last_decisions(state: &State) -> Vec<Decision> {
    let mut checkpoints: Vec<_> = state.checkpoints.values().collect();
    checkpoints.sort_by_key(|checkpoint| (checkpoint.created_at, checkpoint.phase));
    let decisions: Vec<_> =
        checkpoints.into_iter().flat_map(|checkpoint| checkpoint.decisions.iter().cloned()).collect();
    decisions[decisions.len().saturating_sub(DECISIONS)..].to_vec()
}

/// The phases that an agent called done and no gate did.
fn unverified(state: &State) -> Vec<Phase> {
    let unchecked = state.checkpoints.values().filter(|checkpoint| checkpoint.summary.starts_with(UNVERIFIED));
    unchecked.map(|checkpoint| checkpoint.phase).collect()
}

fn suggestions(cause: &Cause<'_>, unverified: &[Phase]) -> Vec<String> {
    let phase = cause.phase;
    let advice = match cause.trigger {
        EscalationTrigger::MaxLoops => "read the findings that remain: implementation did not mend them".to_owned(),
        EscalationTrigger::SameIssue => format!("mend the cause by hand: {phase} failed the same way each time"),
        EscalationTrigger::NoProgress => format!("look into the log of {phase}: trying again changed nothing"),
        EscalationTrigger::Timeout => "split the work, or raise run_mode.defaults.timeout_hours".to_owned(),
        EscalationTrigger::ContextOverflow => format!("give {phase} less to read, or a compaction command"),
        EscalationTrigger::Manual => format!("read the summary and the log of {phase}"),
    };
    let words: Vec<&str> = unverified.iter().map(|phase| phase.as_str()).collect();
    let look = format!("look at what no gate has checked: {}", words.join(", "));
    let advice = [format!("what happened: {}", cause.reason), advice];
    let answers = [
        "loa-run resolve fix_and_resume, then loa-run resume: the cause is mended, go on".to_owned(),
        format!("loa-run resolve skip_phase, then loa-run resume: go on without {phase}"),
        "loa-run resolve reset, then loa-run resume: start over".to_owned(),
        "loa-run resolve abort: stop for good and keep what is there".to_owned(),
    ];
    advice.into_iter().chain((!unverified.is_empty()).then_some(look)).chain(answers).collect()
}
