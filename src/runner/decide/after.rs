//! What follows from an attempt that ended: a retry, or the outcome of its phase (Exit Code Handling).

use std::time::Duration;

use super::charge;
use super::checkpoint::checkpoint;
use super::live::{Live, Stop};
use super::{Rules, stage};
use crate::contract::{Action, Artifact, EscalationTrigger, Phase, PhaseExit, PhaseResult};
use crate::events::{Active, CycleMark, Event, State};
use crate::policy::{Signature, StageOutcome, trigger_for_failure};

/// The most characters of a stage's last words in a reason.
const LAST_WORDS: usize = 400;

/// What an attempt left when it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// How it ended, or why it was stopped. An end that came first counts, whatever it was to be stopped for.
    pub end: Result<StageOutcome, Stop>,
    /// What it left in its result file.
    pub result: Option<PhaseResult>,
    /// Why the result file was not used, when it was there.
    pub result_refused: Option<String>,
    /// The end of standard error.
    pub stderr: String,
    /// How long a provider asked to wait before the next attempt.
    pub wait: Option<Duration>,
    /// What an agent said last.
    pub said: Option<String>,
    /// An agent says that it is done, and no gate says so too.
    pub unverified: bool,
    /// Tokens in its context, as they were last known.
    pub context_tokens: Option<u64>,
    /// The context stayed at its hard limit after an emergency compaction.
    pub overflow: bool,
}

/// What the workspace tells when a phase is concluded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// What became of its files, where the phase does not say it itself.
    pub artifacts: Vec<Artifact>,
    /// The commit.
    pub head: Option<String>,
    /// A digest of the work tree.
    pub tree: Option<String>,
}

/// A phase with its outcome, when no retry is left.
#[derive(Debug)]
pub(super) struct Concluded<'a> {
    pub(super) phase: Phase,
    pub(super) outcome: StageOutcome,
    pub(super) last: &'a Attempt,
    /// How the attempts before the last failed.
    pub(super) earlier: &'a [String],
    pub(super) attempts: u32,
    pub(super) duration_ms: u64,
    pub(super) artifacts: Vec<Artifact>,
}

/// The outcome of an attempt, when it has one; why it was stopped, when it has none.
fn outcome(attempt: &Attempt) -> Result<StageOutcome, Stop> {
    match &attempt.end {
        Err(Stop::Late(limit)) => Ok(StageOutcome::timed_out(*limit)),
        Err(Stop::Silent(limit)) => Ok(StageOutcome::silent(*limit)),
        Err(Stop::Overflow) => Ok(StageOutcome::overflowed()),
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
    !attempt.overflow && outcome.action(used, retries) == Action::Retry
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
        events.push(concluded(state, live, (phase, attempt), outcome, survey));
        let refused = attempt.result_refused.as_ref();
        events.extend(
            refused.map(|reason| Event::Notice { text: format!("{phase}: the result file was not used: {reason}") }),
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
    (phase, attempt): (Phase, &Attempt),
    outcome: StageOutcome,
    survey: Survey,
) -> Event {
    let active = active(state, phase);
    let remediable = is_remediable(phase, &outcome, &state.phases);
    let failure = signature(attempt, &outcome);
    let failures: Vec<_> = active.failures.iter().cloned().chain([failure.clone()]).collect();
    let trigger = trigger(&outcome, attempt, &failures);
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
    let earlier = &active.reasons;
    let concluded = Concluded { phase, outcome, last: attempt, earlier, attempts, duration_ms, artifacts };
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
    Signature::of(findings, &errors, &attempt.stderr)
}

/// Why an attempt failed, in one line for people: what happened, and the last words of the stage.
pub(super) fn failure_line(attempt: &Attempt, outcome: &StageOutcome) -> String {
    let happened = match &outcome.error {
        Some(error) => error.message.clone(),
        None => format!("exit {}", outcome.exit.code()),
    };
    let said = attempt.stderr.lines().rfind(|line| !line.trim().is_empty()).map(str::trim);
    match said {
        Some(said) => format!("{happened}: {}", said.chars().take(LAST_WORDS).collect::<String>()),
        None => happened,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
