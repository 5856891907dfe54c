//! Calls a human: why, and the report that goes with it (Escalation Protocol).

use jiff::Timestamp;

use super::checkpoint::{UNVERIFIED, unknown_extent};
use super::live::Stop;
use crate::contract::{
    Decision, EscalationContext, EscalationReport, EscalationState, EscalationTrigger, Phase, SessionId,
};
use crate::events::{Due, Event, PinnedFile, State};
use crate::runner::{Bounds, Stage, Work};
use crate::text::Untrusted;
use crate::text::{cut, line};

/// How many of the last decisions a report shows.
const DECISIONS: usize = 5;
/// How many characters of what a deployment runs are said.
const WORDS: usize = 400;

/// Why a human is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The word of the contract.
    pub trigger: EscalationTrigger,
    /// Where.
    pub phase: Phase,
    /// The phase that was being worked on, if it has no outcome.
    pub active: Option<Phase>,
    /// What happened, in one line.
    pub reason: Untrusted,
    /// It asks for the approval of a deployment.
    pub approval: bool,
}

impl Cause {
    /// What was decided after a phase failed.
    pub(super) fn failed(trigger: EscalationTrigger, due: &Due) -> Self {
        Self { trigger, phase: due.phase, active: None, reason: due.reason.clone(), approval: false }
    }

    /// A counter forbids to start a phase.
    pub(super) fn not_started(phase: Phase, trigger: EscalationTrigger) -> Self {
        let reason = format!("{phase} was not started: {trigger}").into();
        Self { trigger, phase, active: None, reason, approval: false }
    }

    /// A phase was stopped.
    pub(super) fn stopped(phase: Phase, stop: Stop, bounds: &Bounds) -> Self {
        let (trigger, why) = match stop {
            Stop::RunTimeout => {
                let hours = bounds.triggers.timeout.as_secs_f64() / 3600.0;
                (EscalationTrigger::Timeout, format!("the run may take {hours} hours"))
            }
            Stop::Overflow => (EscalationTrigger::ContextOverflow, "its context is over".to_owned()),
            _ => (EscalationTrigger::Manual, "somebody asked for a halt".to_owned()),
        };
        Self {
            trigger,
            phase,
            active: Some(phase),
            reason: format!("{phase} was stopped: {why}").into(),
            approval: false,
        }
    }

    /// A script of a gate, or a protected file, is not the one that the execution began with.
    pub(super) fn gate_changed(state: &State, phase: Phase, has_run: bool) -> Self {
        let files = state.changed_gates.get(&phase).map_or(&[][..], Vec::as_slice);
        let gate = if has_run { "what the gate said does not count" } else { "the gate was not asked" };
        let reason = format!(
            "{phase}: {}; {gate}. Look at it: fix_and_resume agrees to what is there now",
            PinnedFile::why_not_asked(files)
        );
        Self { trigger: EscalationTrigger::Manual, phase, active: Some(phase), reason: reason.into(), approval: false }
    }

    /// What the deployment runs is not what somebody agreed to.
    pub(super) fn not_approved(state: &State) -> Self {
        let phase = Phase::Deploy;
        let files = state.changed_gates.get(&phase).map_or(&[][..], Vec::as_slice);
        let reason = format!(
            "{phase}: what it runs is not what was agreed to: {}; it was not started. \
             Look at it: fix_and_resume agrees to what is there now",
            PinnedFile::why_not_asked(files)
        );
        Self { trigger: EscalationTrigger::Manual, phase, active: Some(phase), reason: reason.into(), approval: false }
    }

    /// Sessions died one after the other.
    pub(super) fn died(phase: Phase, is_active: bool, deaths: u32) -> Self {
        let reason = format!(
            "{deaths} sessions in a row died without an outcome, the last of them at {phase}: \
             its log, and what the host says about memory and power, may tell why"
        );
        let active = is_active.then_some(phase);
        Self { trigger: EscalationTrigger::Manual, phase, active, reason: reason.into(), approval: false }
    }

    /// A phase that acts outside of the workspace was cut off.
    pub(super) fn in_doubt(phase: Phase) -> Self {
        let reason = unknown_extent(phase).into();
        Self { trigger: EscalationTrigger::Manual, phase, active: Some(phase), reason, approval: false }
    }

    /// Whether to deploy.
    pub(super) fn approval(deploy: &Stage, changed: &[PinnedFile]) -> Self {
        let what = match &deploy.work {
            Some(Work::Command(argv)) => format!(" of `{}`", cut(argv.join(" "), WORDS)),
            Some(Work::Agent(agent)) => {
                format!(" of what {} does, which is told: {}", agent.backend, cut(line(&agent.prompt), WORDS))
            }
            None => String::new(),
        };
        let also = match PinnedFile::why_not_asked(changed) {
            nothing if nothing.is_empty() => nothing,
            changed => format!(", also to what it runs as it is now: {changed}"),
        };
        let reason = format!("deploy waits for a human's approval{what}; fix_and_resume gives it{also}").into();
        Self { trigger: EscalationTrigger::Manual, phase: Phase::Deploy, active: None, reason, approval: true }
    }
}

/// The call as an event, and the number of its report.
#[must_use]
pub fn call_human(state: &State, session: &SessionId, cause: &Cause, now: Timestamp) -> (u32, Event) {
    let number = state.escalations + 1;
    let id = state.execution_id.call(number);
    let report = Box::new(report(state, (session, &id), cause, state.stamp(now)));
    (number, Event::Escalated { number, report, reason: cause.reason.clone(), approval: cause.approval })
}

fn report(state: &State, (session, id): (&SessionId, &str), cause: &Cause, now: Timestamp) -> EscalationReport {
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
            suggested_actions: suggestions(state, cause, id),
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
    let unchecked = state.checkpoints.values().filter(|checkpoint| checkpoint.summary.raw().starts_with(UNVERIFIED));
    unchecked.map(|checkpoint| checkpoint.phase).collect()
}

/// How the attempts at the phase failed, as far as the cause does not say it already.
fn failures(state: &State, cause: &Cause) -> Vec<String> {
    let attempts = state.active_in(cause.phase).into_iter().flat_map(|active| &active.failed);
    let attempts = attempts.map(ToString::to_string);
    let concluded = state.checkpoint(cause.phase).filter(|_| state.active_in(cause.phase).is_none());
    let concluded = concluded.into_iter().flat_map(|checkpoint| checkpoint.errors.iter());
    let failures = attempts.chain(concluded.map(|error| error.message.raw().to_owned()));
    failures.filter(|failure| !cause.reason.raw().contains(failure.as_str())).collect()
}

fn suggestions(state: &State, cause: &Cause, id: &str) -> Vec<Untrusted> {
    let unverified = unverified(state);
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
    let happened = [format!("what happened: {}", cause.reason.raw())];
    let answers = [
        format!("loa-run resolve fix_and_resume --call {id}, then loa-run resume: the cause is mended, go on"),
        format!("loa-run resolve skip_phase --call {id}, then loa-run resume: go on without {phase}"),
        format!("loa-run resolve reset --call {id}, then loa-run resume: start over"),
        format!("loa-run resolve abort --call {id}: stop for good and keep what is there"),
    ];
    let look = (!unverified.is_empty()).then_some(look);
    happened
        .into_iter()
        .chain(failures(state, cause))
        .chain([advice])
        .chain(look)
        .chain(answers)
        .map(Untrusted::from)
        .collect()
}
