//! The checkpoint of an outcome: what the phase says about itself, and what we know better (Checkpoint Schema).

use jiff::Timestamp;

use super::attempt::{Attempt, Concluded, failure_line};
use crate::contract::{Checkpoint, Decision, Metrics, Phase, PhaseError, PhaseExit};
use crate::events::{FailedAttempt, State};
use crate::text::Untrusted;

/// How the summary of a phase begins that an agent calls done and no gate does.
pub const UNVERIFIED: &str = "UNVERIFIED:";
/// The most characters of an agent's words in a summary.
const SUMMARY: usize = 200;

/// The checkpoint of an outcome.
pub(super) fn checkpoint(state: &State, concluded: &Concluded<'_>, now: Timestamp) -> Checkpoint {
    let result = concluded.last.result.clone().unwrap_or_default();
    let reported = result.metrics.unwrap_or_default();
    let summary = result.summary.filter(|summary| !summary.raw().trim().is_empty());
    let mut errors = result.errors;
    errors.extend(own_errors(concluded));
    Checkpoint {
        execution_id: state.execution_id.clone(),
        phase: concluded.phase,
        created_at: state.stamp(now),
        exit_code: concluded.outcome.exit,
        summary: marked(concluded, summary.unwrap_or_else(|| own_summary(concluded))),
        decisions: result.decisions,
        artifacts: if result.artifacts.is_empty() { concluded.artifacts.clone() } else { result.artifacts },
        errors,
        metrics: Some(Metrics {
            duration_ms: concluded.duration_ms,
            tokens_used: reported.tokens_used.or_else(|| state.spending.get(&concluded.phase)?.total().tokens),
            api_calls: reported.api_calls,
        }),
    }
}

/// An agent's word that nobody checked is marked as such.
fn marked(concluded: &Concluded<'_>, summary: Untrusted) -> Untrusted {
    let unchecked = concluded.last.unverified && concluded.outcome.exit == PhaseExit::Success;
    if unchecked { format!("{UNVERIFIED} {}", summary.raw()).into() } else { summary }
}

fn own_summary(concluded: &Concluded<'_>) -> Untrusted {
    let phase = concluded.phase;
    let attempts = match concluded.attempts {
        1 => String::new(),
        more => format!(" in {more} attempts"),
    };
    if concluded.outcome.exit != PhaseExit::Success {
        let why = failure_line(concluded.last, &concluded.outcome);
        return format!("{phase} failed{attempts}: {}", why.raw()).into();
    }
    match concluded.last.said.as_deref().map(shortened) {
        Some(said) if !said.is_empty() => said.into(),
        _ => format!("{phase} completed{attempts}").into(),
    }
}

/// The first line of what an agent said, short enough for a summary.
fn shortened(said: &str) -> String {
    let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut short: String = line.chars().take(SUMMARY).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

/// What is said about a phase beside what it says itself: its end, and the last words of each attempt that failed.
fn own_errors(concluded: &Concluded<'_>) -> Vec<PhaseError> {
    let is_plain_failure = concluded.outcome.exit != PhaseExit::Success && concluded.outcome.error.is_none();
    let last = is_plain_failure
        .then(|| FailedAttempt { attempt: concluded.number, reason: failure_line(concluded.last, &concluded.outcome) });
    let earlier = concluded.earlier.iter().chain(&last).map(|failed| PhaseError {
        code: "ATTEMPT_FAILED".into(),
        message: failed.to_string().into(),
        recoverable: concluded.outcome.exit != PhaseExit::Blocked,
    });
    let outcome = concluded
        .outcome
        .error
        .as_ref()
        .map(|error| PhaseError { message: failure_line(concluded.last, &concluded.outcome), ..error.clone() });
    let doubt = concluded.in_doubt.then(|| PhaseError {
        code: IN_DOUBT.into(),
        message: unknown_extent(concluded.phase).into(),
        recoverable: true,
    });
    outcome.into_iter().chain(doubt).chain(refused(concluded.last)).chain(earlier).collect()
}

/// The error of a phase that acts outside of the workspace and was cut off.
pub(in crate::runner) const IN_DOUBT: &str = "IN_DOUBT";

/// What a human is told about a phase that acts outside of the workspace and was cut off.
pub(super) fn unknown_extent(phase: Phase) -> String {
    format!(
        "{phase} was cut off, and nobody knows how far it came: \
         fix_and_resume runs it again, skip_phase takes it as done"
    )
}

fn refused(last: &Attempt) -> Option<PhaseError> {
    last.result_refused.as_ref().map(|reason| PhaseError {
        code: "RESULT_INVALID".into(),
        message: format!("the result file was not used: {reason}").into(),
        recoverable: true,
    })
}

/// What the summary of a phase begins with that was passed over; why stands behind it.
pub const SKIPPED: &str = "SKIPPED: ";

/// The checkpoint of a phase that is passed over: a success that says so, with the decision behind it.
#[must_use]
pub fn skipped(state: &State, phase: Phase, because: &str, now: Timestamp) -> Checkpoint {
    let now = state.stamp(now);
    let decision = Decision {
        id: "D-001".into(),
        description: format!("Skip the phase {phase}").into(),
        reasoning: because.into(),
        timestamp: now.to_string().into(),
    };
    Checkpoint {
        execution_id: state.execution_id.clone(),
        phase,
        created_at: now,
        exit_code: PhaseExit::Success,
        summary: format!("{SKIPPED}{because}").into(),
        decisions: vec![decision],
        artifacts: Vec::new(),
        errors: Vec::new(),
        metrics: None,
    }
}
