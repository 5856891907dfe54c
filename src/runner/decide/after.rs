//! What follows from an attempt that ended: a retry, or the outcome of its phase (Exit Code Handling).

use std::time::Duration;

use super::attempt::{Attempt, Concluded, Survey, failure_line};
use super::charge;
use super::checkpoint::checkpoint;
use super::live::{Live, Stop};
use super::{OUTWARD, Rules, stage};
use crate::config::InDoubt;
use crate::contract::{Action, EscalationTrigger, Phase, PhaseExit};
use crate::events::{Active, CycleMark, Event, State};
use crate::policy::{Signature, StageOutcome, trigger_for_failure};

/// The outcome of an attempt, when it has one; why it was stopped, when it has none.
fn outcome(attempt: &Attempt) -> Result<StageOutcome, Stop> {
    match &attempt.end {
        Err(Stop::Late(limit)) => Ok(StageOutcome::timed_out(*limit)),
        Err(Stop::Silent(limit)) => Ok(StageOutcome::silent(*limit)),
        Err(Stop::Overflow) => Ok(StageOutcome::overflowed()),
        Err(Stop::Exceeded(exceeded)) => Ok(StageOutcome::exceeded(exceeded)),
        end => end.clone(),
    }
}

/// Whether an outcome of `phase` is answered by remediation: the audit's own exit 1, where there is work to do again.
fn is_remediable(phase: Phase, outcome: &StageOutcome, planned: &[Phase]) -> bool {
    phase == Phase::Audit && outcome.is_own_retry() && planned.contains(&Phase::Implementation)
}

/// Whether the end of this attempt concludes its phase.
#[must_use]
pub fn concludes(state: &State, rules: &Rules, phase: Phase, attempt: &Attempt) -> bool {
    outcome(attempt).is_ok_and(|outcome| !is_retried(state, rules, phase, attempt, &outcome))
}

fn is_retried(state: &State, rules: &Rules, phase: Phase, attempt: &Attempt, outcome: &StageOutcome) -> bool {
    let retries = if is_remediable(phase, outcome, &state.phases) { 0 } else { stage(rules, phase).retries };
    let used = u32::try_from(active(state, phase).failures.len()).unwrap_or(u32::MAX);
    !attempt.overflow && !is_in_doubt(rules, phase, attempt) && outcome.action(used, retries) == Action::Retry
}

/// Whether a phase that acts outside of the workspace was cut off in the middle, and a person is to be asked.
fn is_in_doubt(rules: &Rules, phase: Phase, attempt: &Attempt) -> bool {
    let is_cut_off = matches!(attempt.end, Err(Stop::Late(_) | Stop::Silent(_)));
    is_cut_off && OUTWARD.contains(&phase) && rules.bounds.in_doubt == InDoubt::Ask
}

fn active(state: &State, phase: Phase) -> Active {
    state.active_in(phase).cloned().unwrap_or_else(|| Active::new(phase, state.next_attempt(phase)))
}

/// The events that follow from the end of an attempt, to be journaled together. `chance`, from 0 to 1, is the jitter of a
/// pause; `survey` is what the workspace tells, where the phase is concluded.
#[must_use]
pub fn ended(
    state: &State,
    live: &Live,
    rules: &Rules,
    (phase, attempt): (Phase, &Attempt),
    survey: Survey,
    chance: f64,
) -> Vec<Event> {
    let number = active(state, phase).attempt;
    let outcome = outcome(attempt);
    let failed = outcome.as_ref().ok().filter(|outcome| outcome.exit != PhaseExit::Success);
    let reason = failed.map(|outcome| failure_line(attempt, outcome));
    let exit = outcome.as_ref().ok().map(|outcome| outcome.exit);
    let context_tokens = attempt.context_tokens;
    let mut events: Vec<Event> = charge(live).into_iter().collect();
    events.push(Event::AttemptEnded { phase, stage: None, attempt: number, exit, reason, context_tokens });
    let Ok(outcome) = outcome else { return events };
    if is_retried(state, rules, phase, attempt, &outcome) {
        events.push(backed_off(state, live, rules, (phase, attempt), &outcome, chance));
    } else {
        events.push(concluded(state, live, rules, (phase, attempt), outcome, survey));
        let refused = attempt.result_refused.as_ref();
        events.extend(
            refused.map(|reason| Event::Notice {
                text: format!("{phase}: the result file was not used: {reason}").into(),
            }),
        );
    }
    events
}

/// The pause before the attempt that follows, which is not shorter than a provider asked for.
fn backed_off(
    state: &State,
    live: &Live,
    rules: &Rules,
    (phase, attempt): (Phase, &Attempt),
    outcome: &StageOutcome,
    chance: f64,
) -> Event {
    let used = u32::try_from(active(state, phase).failures.len()).unwrap_or(u32::MAX);
    let delay = stage(rules, phase).backoff.delay(used, chance).max(attempt.wait.unwrap_or_default());
    Event::BackedOff {
        phase,
        stage: None,
        attempt: active(state, phase).attempt + 1,
        failure: signature(attempt, outcome),
        reason: failure_line(attempt, outcome),
        delay_ms: millis(delay),
        not_before: live.now().later(delay).wall(),
    }
}

fn concluded(
    state: &State,
    live: &Live,
    rules: &Rules,
    (phase, attempt): (Phase, &Attempt),
    outcome: StageOutcome,
    survey: Survey,
) -> Event {
    let active = active(state, phase);
    let remediable = is_remediable(phase, &outcome, &state.phases);
    let failure = signature(attempt, &outcome);
    let failures: Vec<_> = active.failures.iter().cloned().chain([failure.clone()]).collect();
    let in_doubt = is_in_doubt(rules, phase, attempt);
    let asks = in_doubt.then_some(EscalationTrigger::Manual);
    let trigger = asks.or_else(|| trigger(&outcome, attempt, &failures));
    let attempts = u32::try_from(failures.len()).unwrap_or(u32::MAX);
    let findings = match (phase, &attempt.result) {
        (Phase::Audit, Some(result)) => result.findings.clone(),
        _ => Vec::new(),
    };
    let mark = || CycleMark { head: survey.head, tree: survey.tree, findings: Signature::of(&findings, &[], "") };
    let cycle = remediable.then(mark);
    let began = live.phase_began.filter(|(began, _)| *began == phase);
    let duration_ms = millis(began.map_or(Duration::ZERO, |(_, began)| live.now().since(began)));
    let artifacts = survey.artifacts;
    let (earlier, number) = (&active.failed, active.attempt);
    let concluded =
        Concluded { phase, outcome, last: attempt, earlier, number, attempts, duration_ms, artifacts, in_doubt };
    let checkpoint = Box::new(checkpoint(state, &concluded, live.now().wall()));
    let overflow = attempt.overflow || attempt.end == Err(Stop::Overflow);
    Event::StageConcluded {
        checkpoint,
        stage: None,
        attempts,
        duration_ms,
        failure,
        trigger,
        overflow,
        remediable,
        findings,
        cycle,
        tree: None,
    }
}

/// What a human is told where no counter explains the failure; `None` for a success that nothing follows from.
fn trigger(outcome: &StageOutcome, attempt: &Attempt, failures: &[Option<Signature>]) -> Option<EscalationTrigger> {
    let follows = outcome.exit != PhaseExit::Success || attempt.overflow;
    follows.then(|| trigger_for_failure(outcome, failures))
}

/// What a failed attempt is recognised by.
fn signature(attempt: &Attempt, outcome: &StageOutcome) -> Option<Signature> {
    let result = attempt.result.as_ref();
    let findings = result.map_or(&[][..], |result| &result.findings);
    let mut errors = result.map_or(Vec::new(), |result| result.errors.clone());
    errors.extend(outcome.error.clone());
    Signature::of(findings, &errors, &attempt.words.stderr)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
