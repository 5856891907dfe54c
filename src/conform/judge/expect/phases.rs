//! Which phases started, how often, and in which order (Exit Code Specification).

use serde_json::Value;

use super::Evidence;
use super::document::clip;
use crate::conform::judge::{Check, Outcome};
use crate::conform::observe::{AttemptSeen, ProcessEnd};
use crate::conform::spec::{AcceptedCount, Reason};

/// How often a phase was started.
pub(super) fn starts(
    evidence: &Evidence<'_>,
    phase: &str,
    step: Option<usize>,
    count: u64,
    accept: &[AcceptedCount],
) -> Check {
    let phase = evidence.text(phase);
    let attempts: Vec<_> = evidence.attempts(step).filter(|attempt| attempt.phase == phase).collect();
    let seen = attempts.len() as u64;
    let others: Vec<String> = accept.iter().map(|other| format!(" or {} ({})", other.count, other.reading)).collect();
    let others = others.concat();
    let (expected, observed) =
        (format!("{phase} to start {}{others}", times(count)), format!("it started {}", times(seen)));
    let check = if seen == count {
        Check::pass(expected, observed)
    } else if let Some(other) = accept.iter().find(|other| other.count == seen) {
        let outcome = if evidence.warns(&other.reading) { Outcome::Warn } else { Outcome::Pass };
        let check = Check::new(outcome, Reason::AnotherReading, expected, observed);
        Check { readings: vec![other.reading.clone()], ..check }
    } else {
        Check::fail(miscount(seen, count, accept), expected, observed)
    };
    let check = step.map_or(check.clone(), |step| check.in_step(step));
    attempts.last().map_or(check.clone(), |last| check.at_time(last.started))
}

fn miscount(seen: u64, count: u64, accept: &[AcceptedCount]) -> Reason {
    let most = accept.iter().map(|other| other.count).max().unwrap_or(count).max(count);
    match seen {
        0 => Reason::NeverStarted,
        _ if seen > most => Reason::StartedTooOften,
        _ => Reason::StartedTooRarely,
    }
}

/// The phases in order, retries folded, none before the end of the one before.
pub(super) fn order(evidence: &Evidence<'_>, order: &[String]) -> Check {
    let wanted: Vec<String> = order.iter().map(|phase| evidence.text(phase)).collect();
    let mut seen: Vec<&str> = evidence.attempts(None).map(|attempt| attempt.phase.as_str()).collect();
    seen.dedup();
    let expected = wanted.join(" → ");
    if seen != wanted {
        return Check::fail(Reason::OrderDiffers, expected, seen.join(" → "));
    }
    let pairs = evidence.seen.attempts.windows(2);
    let overlap = pairs.into_iter().find(|pair| pair[0].ended.is_none_or(|ended| ended > pair[1].started));
    match overlap {
        Some([before, after]) => {
            let observed = format!("{} started while {} was running", after.phase, before.phase);
            Check::fail(Reason::Overlapping, expected, observed).in_step(after.step).at_time(after.started)
        }
        _ => Check::pass(expected.clone(), expected),
    }
}

/// The phase started, and nothing after it.
pub(super) fn nothing_after(evidence: &Evidence<'_>, phase: &str, step: Option<usize>) -> Check {
    let phase = evidence.text(phase);
    let expected = format!("nothing to start after {phase}");
    let attempts: Vec<_> = evidence.attempts(step).collect();
    let Some(last) = attempts.iter().rposition(|attempt| attempt.phase == phase) else {
        return Check::fail(Reason::NeverStarted, expected, format!("{phase} itself never started"));
    };
    match attempts.get(last + 1) {
        Some(next) => Check::fail(Reason::WentOn, expected, format!("{} started", next.phase))
            .in_step(next.step)
            .at_time(next.started),
        None => Check::pass(expected, "nothing did").in_step(attempts[last].step),
    }
}

/// The phase ended with this code, and was not started again in that step.
pub(super) fn not_again(evidence: &Evidence<'_>, phase: &str, code: &Value) -> Check {
    let (phase, code) = (evidence.text(phase), evidence.value(code));
    let expected = format!("{phase} not to be started again once it had ended with {code}");
    let Some((step, _)) = evidence.driven(None) else {
        return Check::fail(Reason::NeverStarted, expected, "no step drove the runtime");
    };
    let attempts: Vec<_> = evidence.attempts(Some(step)).collect();
    let ended = |attempt: &&AttemptSeen| attempt.phase == phase && attempt.exit.map(Value::from) == Some(code.clone());
    let check = match attempts.iter().position(ended) {
        None => Check::fail(Reason::NeverEnded, expected, "it never did"),
        Some(at) => match attempts[at + 1..].iter().find(|attempt| attempt.phase == phase) {
            None => Check::pass(expected, "it was not"),
            Some(again) => Check::fail(Reason::StartedTooOften, expected, "it was").at_time(again.started),
        },
    };
    check.in_step(step)
}

/// No phase started while another was running.
pub(super) fn one_at_a_time(evidence: &Evidence<'_>) -> Check {
    let expected = "one phase at a time";
    let Some((step, _)) = evidence.driven(None) else {
        return Check::fail(Reason::NeverStarted, expected, "no step drove the runtime");
    };
    let attempts: Vec<_> = evidence.attempts(Some(step)).collect();
    let check = match attempts.windows(2).find(|pair| pair[0].ended.is_none_or(|ended| ended > pair[1].started)) {
        Some(pair) => {
            let observed = format!("{} started while {} was running", pair[1].phase, pair[0].phase);
            Check::fail(Reason::Overlapping, expected, observed).at_time(pair[1].started)
        }
        None => Check::pass(expected, "one after the other"),
    };
    check.in_step(step)
}

/// The phase was started before any other in the step, or in those since another, or the demand was refused.
pub(super) fn reopened(evidence: &Evidence<'_>, phase: &str, since: Option<usize>, step: usize) -> Check {
    let phase = evidence.text(phase);
    let expected = format!("{phase} to start first, or the runtime to refuse");
    let end = evidence.seen.steps.get(step).map(|step| &step.end);
    let since = since.unwrap_or(step);
    let first = evidence.attempts(None).find(|attempt| (since..=step).contains(&attempt.step));
    let check = match (first, end) {
        (Some(first), _) if first.phase == phase => Check::pass(expected, "it started first").at_time(first.started),
        (Some(first), _) => {
            let observed = format!("{} started first{}", first.phase, edits(evidence, step));
            Check::fail(Reason::NotReopened, expected, observed).at_time(first.started)
        }
        (None, Some(ProcessEnd::Exited(code))) if *code != 0 => {
            Check::pass(expected, format!("it refused with {code}"))
        }
        (None, _) => {
            let observed = format!("nothing started, and nothing was refused{}", edits(evidence, step));
            Check::fail(Reason::NotReopened, expected, observed)
        }
    };
    check.in_step(step)
}

/// What the judge had changed in files before a step, for the reader of a red.
fn edits(evidence: &Evidence<'_>, step: usize) -> String {
    let edits = evidence.seen.steps.iter().take(step).filter_map(|step| step.edited.as_ref());
    let told = edits.map(|edit| {
        let (before, after) = (clip(&edit.before), clip(&edit.after));
        format!("; {} had been changed from {before:?} to {after:?}", edit.path)
    });
    told.collect()
}

fn times(count: u64) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}
