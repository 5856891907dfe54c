//! One phase with its retries: attempts until one concludes it.

use std::time::Duration;

use super::attempt::{Attempt, AttemptEnd};
use super::decision::is_remediable;
use super::engine::Engine;
use super::watch::{Stop, signal_or_tick};
use super::{RunError, Stage};
use crate::contract::{Action, Artifact, Phase, PhaseError, PhaseExit};
use crate::events::Event;
use crate::policy::{Outcome, Signature};
use crate::system::clock;

/// How a phase ended.
#[derive(Debug)]
pub(super) enum PhaseEnd {
    /// With an outcome.
    Concluded(Box<Concluded>),
    /// Without one: the run stops, and the phase begins again when it is resumed.
    Stopped(Stop),
}

/// A phase with its outcome, when no retry is left.
#[derive(Debug)]
pub(super) struct Concluded {
    pub(super) outcome: Outcome,
    pub(super) last: Attempt,
    pub(super) attempts: u32,
    /// From the first start in this session on, the waits between attempts included.
    pub(super) duration: Duration,
    /// How each attempt failed.
    pub(super) failures: Vec<Option<Signature>>,
    pub(super) remediable: bool,
    /// What it did to the workspace's files, where it does not say it itself.
    pub(super) artifacts: Vec<Artifact>,
}

impl Engine<'_> {
    pub(super) async fn run_phase(&mut self, stage: &Stage) -> Result<PhaseEnd, RunError> {
        let phase = stage.phase;
        let earlier = self.journal.state().active.clone().filter(|active| active.phase == phase);
        if stage.agent().is_some() && earlier.is_none() {
            self.drop_session(phase)?;
        }
        let before = self.files_before(earlier.as_ref().and_then(|active| active.began));
        let (mut attempt, mut failures) = earlier.map_or((1, Vec::new()), |active| (active.attempt, active.failures));
        let began = clock::now();
        let mut trouble = None;
        loop {
            self.record(Event::AttemptStarted { phase, attempt, of: stage.retries + 1 })?;
            let last = self.attempt(stage, attempt, trouble.as_deref()).await?;
            let outcome = match &last.end {
                AttemptEnd::Ended(ending) => Outcome::of(ending),
                AttemptEnd::Concluded(outcome) => outcome.clone(),
                AttemptEnd::Stopped(Stop::Overflow) => overflowed(),
                AttemptEnd::Stopped(stop) => {
                    self.attempt_ended(phase, attempt, &last, None)?;
                    return Ok(PhaseEnd::Stopped(*stop));
                }
            };
            self.attempt_ended(phase, attempt, &last, Some(&outcome))?;
            let failure = signature(&last, &outcome);
            failures.push(failure.clone());
            let remediable = is_remediable(phase, &outcome, &self.journal.state().phases);
            let retries = if remediable { 0 } else { stage.retries };
            if last.overflow || outcome.action(attempt - 1, retries) != Action::Retry {
                let duration = clock::now().since(began);
                let artifacts = self.artifacts(phase, before.as_ref(), last.result.as_ref());
                let concluded =
                    Concluded { outcome, last, attempts: attempt, duration, failures, remediable, artifacts };
                return Ok(PhaseEnd::Concluded(Box::new(concluded)));
            }
            attempt += 1;
            let reason = failure_line(&last, &outcome);
            if let Some(stop) = self.back_off(stage, attempt, last.wait, failure, &reason).await? {
                return Ok(PhaseEnd::Stopped(stop));
            }
            trouble = Some(reason);
        }
    }

    /// Journals how an attempt ended; without an outcome the run stops.
    fn attempt_ended(
        &mut self,
        phase: Phase,
        attempt: u32,
        last: &Attempt,
        outcome: Option<&Outcome>,
    ) -> Result<(), RunError> {
        let failed = outcome.filter(|outcome| outcome.exit != PhaseExit::Success);
        let reason = failed.map(|outcome| failure_line(last, outcome));
        let (exit, context_tokens) = (outcome.map(|outcome| outcome.exit), last.context_tokens);
        self.record_with_time(vec![Event::AttemptEnded { phase, attempt, exit, reason, context_tokens }])?;
        self.look_after_checkpoints()
    }

    /// Waits before the attempt that follows, and not less than a provider `asked` for.
    async fn back_off(
        &mut self,
        stage: &Stage,
        attempt: u32,
        asked: Option<Duration>,
        failure: Option<Signature>,
        reason: &str,
    ) -> Result<Option<Stop>, RunError> {
        let delay = stage.backoff.delay(attempt - 2, fastrand::f64()).max(asked.unwrap_or_default());
        let began = clock::now();
        self.record(Event::BackedOff {
            phase: stage.phase,
            attempt,
            failure,
            reason: reason.to_owned(),
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            not_before: began.later(delay).wall(),
        })?;
        while clock::now().since(began) < delay {
            if let Some(stop) = self.reason_to_stop()? {
                return Ok(Some(stop));
            }
            let left = delay.saturating_sub(clock::now().since(began));
            if let Some(stop) = signal_or_tick(&mut self.interrupts, left).await {
                return Ok(Some(stop));
            }
        }
        Ok(None)
    }
}

/// The outcome of a stage that we ended because its context was over.
fn overflowed() -> Outcome {
    let message =
        "the stage was ended: its context was still at the hard limit after an emergency compaction".to_owned();
    let error = PhaseError { code: "CONTEXT_OVERFLOW".to_owned(), message, recoverable: false };
    Outcome { exit: PhaseExit::Blocked, error: Some(error) }
}

/// What a failed attempt is recognised by.
fn signature(attempt: &Attempt, outcome: &Outcome) -> Option<Signature> {
    let result = attempt.result.as_ref();
    let findings = result.map_or(&[][..], |result| &result.findings);
    let mut errors = result.map_or(Vec::new(), |result| result.errors.clone());
    errors.extend(outcome.error.clone());
    Signature::of(findings, &errors, &attempt.stderr)
}

/// Why an attempt failed, in one line for people.
pub(super) fn failure_line(attempt: &Attempt, outcome: &Outcome) -> String {
    let said = attempt.stderr.lines().rfind(|line| !line.trim().is_empty()).map(str::trim);
    match (&outcome.error, said) {
        (Some(error), _) => error.message.clone(),
        (None, Some(line)) => format!("exit {}: {line}", outcome.exit.code()),
        (None, None) => format!("exit {}", outcome.exit.code()),
    }
}
