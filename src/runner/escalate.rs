//! Calls a human: the report, durably, and then the record that waits for the answer (Escalation Protocol).

use jiff::Timestamp;

use super::RunError;
use super::conclude::UNVERIFIED;
use super::engine::{Call, End, Engine};
use super::standing::Standing;
use crate::contract::{
    Decision, EscalationContext, EscalationReport, EscalationState, EscalationTrigger, Phase, SessionId,
};
use crate::store::{Layout, PendingEscalation, ReportPaths, RunStatus, write_record, write_report};

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
    ) -> Result<End, RunError> {
        let now = self.stamp();
        let cause = Cause { trigger, phase, active, reason };
        let report = call_human(&self.layout, &mut self.standing, &self.session, &cause, now)?;
        Ok(End::Escalated(Call { trigger, phase, reason: reason.to_owned(), report }))
    }
}

/// Why a human is called.
pub(super) struct Cause<'a> {
    pub(super) trigger: EscalationTrigger,
    pub(super) phase: Phase,
    pub(super) active: Option<Phase>,
    pub(super) reason: &'a str,
}

/// Writes the report and the record that points to it.
pub(super) fn call_human(
    layout: &Layout,
    standing: &mut Standing,
    session: &SessionId,
    cause: &Cause<'_>,
    now: Timestamp,
) -> Result<ReportPaths, RunError> {
    let number = standing.record.escalations + 1;
    let paths = write_report(layout, &report(standing, session, cause, now), number)?;
    let record = &mut standing.record;
    record.escalations = number;
    record.status = RunStatus::Escalated;
    record.pending =
        Some(PendingEscalation { number, trigger: cause.trigger, phase: cause.phase, report: paths.yaml.clone() });
    write_record(layout, record)?;
    Ok(paths)
}

fn report(standing: &Standing, session: &SessionId, cause: &Cause<'_>, now: Timestamp) -> EscalationReport {
    EscalationReport {
        execution_id: standing.record.execution_id.clone(),
        session_id: session.clone(),
        trigger: cause.trigger,
        phase: cause.phase,
        timestamp: now,
        state: EscalationState {
            phases: standing.statuses(cause.active),
            last_checkpoint: standing.last_checkpoint(),
            remaining_findings: standing.record.findings.clone(),
        },
        context: EscalationContext {
            last_decisions: last_decisions(standing),
            remediation_attempts: standing.record.counters.remediation_loops(),
            suggested_actions: suggestions(cause, &unverified(standing)),
        },
    }
}

fn last_decisions(standing: &Standing) -> Vec<Decision> {
    let mut checkpoints: Vec<_> = standing.checkpoints().collect();
    checkpoints.sort_by_key(|checkpoint| (checkpoint.created_at, checkpoint.phase));
    let decisions: Vec<_> =
        checkpoints.into_iter().flat_map(|checkpoint| checkpoint.decisions.iter().cloned()).collect();
    decisions[decisions.len().saturating_sub(DECISIONS)..].to_vec()
}

/// The phases that an agent called done and no gate did.
fn unverified(standing: &Standing) -> Vec<Phase> {
    let unchecked = standing.checkpoints().filter(|checkpoint| checkpoint.summary.starts_with(UNVERIFIED));
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
