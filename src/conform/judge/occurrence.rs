//! Where a situation came up in what was seen of a case.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::conform::observe::{AttemptSeen, Observation, ProcessEnd, StepSeen};
use crate::conform::spec::{Case, Situation, Step, TimeMethod};
use crate::contract::{EscalationTrigger, Phase};
use crate::system::clock::Millis;

/// The shortest initial backoff, in milliseconds, that can be told from noise on a busy machine.
const PLAIN_BACKOFF: Millis = 1000;

/// One time that a situation came up.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Occurrence {
    /// The step in which it did.
    pub(super) step: usize,
    bound: BTreeMap<String, Value>,
}

impl Occurrence {
    fn new(step: usize, bound: &[(&str, Value)]) -> Self {
        let bound = bound.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Self { step, bound: bound.collect() }
    }

    /// The observation up to the end of the step, with what the situation binds in place of what the case drew.
    pub(super) fn view(&self, seen: &Observation) -> Observation {
        let driven = seen.steps.iter().rposition(is_driven);
        let until = seen.steps[self.step].ended;
        Observation {
            drawn: self.bound.clone(),
            initial_backoff: seen.initial_backoff,
            steps: seen.steps[..=self.step].to_vec(),
            attempts: seen.attempts.iter().filter(|it| it.step <= self.step).cloned().collect(),
            usages: seen.usages.iter().filter(|it| it.at <= until).cloned().collect(),
            compactions: seen.compactions.iter().filter(|it| it.at <= until).cloned().collect(),
            unseen: Vec::new(),
            shared: Vec::new(),
            events: seen.events.iter().filter(|it| it.at <= until).cloned().collect(),
            // They are looked for once, after the last step, and may be any earlier step's only when there is no other.
            orphans: if driven == Some(self.step) { seen.orphans.clone() } else { Vec::new() },
            strangers: Vec::new(),
            speed: seen.speed,
            late_ms: seen.late_ms,
            rig_error: None,
            kept: None,
        }
    }
}

impl Situation {
    /// Every time that it came up in what was seen of a case. Steps that the judge cut short or disturbed say nothing of what
    /// the runtime would have done, and a clock that runs faster makes every wait another.
    pub(super) fn occurrences(self, case: &Case, seen: &Observation) -> Vec<Occurrence> {
        if seen.rig_error.is_some() || !seen.unseen.is_empty() || case.time == TimeMethod::Accelerated {
            return Vec::new();
        }
        if self == Self::Story {
            let last = seen.steps.len().checked_sub(1).filter(|_| case.is_story());
            return last.map(|last| Occurrence::new(last, &[])).into_iter().collect();
        }
        if self == Self::Usage {
            let last = seen.steps.len().checked_sub(1).filter(|_| !seen.usages.is_empty());
            return last.map(|last| Occurrence::new(last, &[])).into_iter().collect();
        }
        let whole = seen.steps.iter().enumerate().filter(|(_, step)| is_driven(step) && is_its_own(&step.end));
        // A phase that cannot be started calls a human, too.
        let counts = |number: usize| self == Self::Report || seen.attempts.iter().any(|it| it.step == number);
        let whole = whole.filter(|(number, _)| counts(*number));
        whole.flat_map(|(number, step)| self.in_step(case, seen, number, step)).collect()
    }

    fn in_step(self, case: &Case, seen: &Observation, number: usize, step: &StepSeen) -> Vec<Occurrence> {
        let attempts: Vec<&AttemptSeen> = seen.attempts.iter().filter(|attempt| attempt.step == number).collect();
        let of = |phase: &str| Occurrence::new(number, &[("phase", json!(phase))]);
        match self {
            Self::Run | Self::Story | Self::Usage => vec![Occurrence::new(number, &[])],
            Self::Retry if seen.initial_backoff.is_some_and(|initial| initial < PLAIN_BACKOFF) => Vec::new(),
            Self::Retry => retried(&attempts).into_iter().map(of).collect(),
            Self::Blocked => {
                attempts.iter().find(|it| it.exit == Some(2)).map(|it| of(&it.phase)).into_iter().collect()
            }
            Self::UnknownCode => {
                let unknown =
                    attempts.iter().find_map(|it| Some((&it.phase, it.exit.filter(|it| !(0..=2).contains(it))?)));
                let bound = unknown.map(|(phase, code)| [("phase", json!(phase)), ("code", json!(code))]);
                bound.map(|bound| Occurrence::new(number, &bound)).into_iter().collect()
            }
            Self::Report => {
                let named = step.reports.iter().rev().find_map(|report| named(&report.document));
                named.map(|phase| of(phase.as_str())).into_iter().collect()
            }
            Self::Checkpoint if is_meddled_with(case, number) => Vec::new(),
            Self::Checkpoint => {
                let stems = step.checkpoints.keys().filter_map(|name| name.strip_suffix(".yaml"));
                let started = |stem: &&str| {
                    seen.attempts
                        .iter()
                        .any(|it| it.step <= number && it.phase == **stem && it.workspace == step.workspace)
                };
                stems.filter(started).map(of).collect()
            }
        }
    }
}

fn is_driven(step: &StepSeen) -> bool {
    matches!(step.verb.as_str(), "run" | "resume")
}

fn is_its_own(end: &ProcessEnd) -> bool {
    matches!(end, ProcessEnd::Exited(_) | ProcessEnd::Signalled(_) | ProcessEnd::Waiting)
}

/// Phases that were started again right after they had ended with 1, in a step in which another phase succeeded before them
/// whose pause can be compared.
fn retried<'a>(attempts: &[&'a AttemptSeen]) -> BTreeSet<&'a str> {
    let has_pace = attempts.windows(2).any(|pair| pair[0].exit == Some(0) && pair[0].phase != pair[1].phase);
    let pairs =
        attempts.windows(2).filter(|pair| has_pace && pair[0].exit == Some(1) && pair[0].phase == pair[1].phase);
    pairs.map(|pair| pair[0].phase.as_str()).collect()
}

/// Whether the judge itself changed files before this step, or killed the runtime, so that a file may not be the runtime's
/// own or whole.
fn is_meddled_with(case: &Case, number: usize) -> bool {
    let laid = case.files.keys().any(|path| path.starts_with(".loa-checkpoint/"));
    let before = case.steps.iter().take(number + 1);
    let meddles = |step: &Step| match step {
        Step::Write { .. } | Step::Delete(_) | Step::Edit { .. } => true,
        Step::Run(drive) | Step::Resume(drive) => {
            [&drive.kill_during, &drive.kill_after, &drive.kill_at_checkpoint].into_iter().any(Option::is_some)
        }
        _ => false,
    };
    laid || before.into_iter().any(meddles)
}

/// The phase that a document names as the one in need of a human, for one of the reasons that the contract knows.
pub(super) fn accused(document: &Value) -> Option<Phase> {
    document.get("trigger").and_then(Value::as_str)?.parse::<EscalationTrigger>().ok()?;
    named(document)
}

/// The phase that a report names. That its trigger is a word of the contract is for a verdict to say.
fn named(document: &Value) -> Option<Phase> {
    let word = |key: &str| document.get(key).and_then(Value::as_str).filter(|word| !word.is_empty());
    word("trigger")?;
    word("phase")?.parse().ok()
}

#[cfg(test)]
mod tests;
