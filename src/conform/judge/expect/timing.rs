//! How long the runtime waits before a retry. Only lower bounds, and only against its own usual pace: a loaded machine makes
//! a gap longer, never shorter.

use super::Evidence;
use crate::conform::judge::Check;
use crate::conform::observe::AttemptSeen;
use crate::conform::spec::{Expectation, Reason, TimeMethod};
use crate::system::clock::Millis;

/// What a wait must exceed the runtime's own pace by when its backoff cannot be set, in milliseconds.
const BLIND_MARGIN: Millis = 200;

/// Every wait before a retry is longer than the runtime's own pace between phases; or, where asked, the waits grow.
pub(super) fn backoff(evidence: &Evidence<'_>, phase: &str, growth: Option<f64>) -> Check {
    let phase = evidence.text(phase);
    let attempts = &evidence.seen.attempts;
    let expected = format!("a wait before every retry of {phase}");
    if !attempts.iter().any(|attempt| attempt.phase == phase) {
        return Check::fail(Reason::NeverStarted, expected, "it never started");
    }
    let gaps = gaps(attempts, |before, after| before.phase == phase && after.phase == phase);
    let Some(&shortest) = gaps.iter().min() else {
        return Check::fail(Reason::NoRetry, expected, "there was no retry");
    };
    if let Some(factor) = growth {
        return grows(&gaps, factor);
    }
    let mut paces = self::gaps(attempts, |before, after| before.exit == Some(0) && after.phase != before.phase);
    paces.sort_unstable();
    // The median: one gap in which the machine was busy is no pace, and every wait would have to have fallen into such a one.
    let Some(&pace) = paces.get(paces.len() / 2) else {
        return Check::fail(Reason::NoBaseline, expected, "no phase succeeded before another to compare with");
    };
    let margin = evidence.seen.initial_backoff.map_or(BLIND_MARGIN, |initial| initial / 2);
    let expected = format!("waits of more than {} ms ({pace} between phases, and {margin})", pace + margin);
    let observed = format!("{gaps:?} ms");
    if shortest <= pace + margin {
        return Check::fail(Reason::RetriedTooSoon, expected, observed);
    }
    Check::pass(expected, observed)
}

/// Milliseconds between the end of an attempt and the start of the next in the same step, for the pairs that are asked for.
fn gaps(attempts: &[AttemptSeen], asked: impl Fn(&AttemptSeen, &AttemptSeen) -> bool) -> Vec<Millis> {
    let pairs = attempts.windows(2).filter(|pair| pair[0].step == pair[1].step && asked(&pair[0], &pair[1]));
    pairs.map(|pair| pair[0].ended.map_or(0, |ended| pair[1].started.saturating_sub(ended))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "waits are far below 2^52 milliseconds")]
fn grows(gaps: &[Millis], factor: f64) -> Check {
    let expected = format!("the last wait to be at least {factor} times the first");
    let observed = format!("{gaps:?} ms");
    match gaps {
        [first, .., last] if *last as f64 >= *first as f64 * factor => Check::pass(expected, observed),
        [_, .., _] => Check::fail(Reason::DidNotGrow, expected, observed),
        _ => Check::not_observed(Reason::TooFewGaps, expected, observed),
    }
}

/// The step took less than this of the runtime's own time.
pub(super) fn within(evidence: &Evidence<'_>, step: usize, minutes: u64) -> Check {
    let expected = format!("the step to take less than {minutes} minutes of an accelerated clock");
    match taken(evidence, step) {
        None => Check::fail(Reason::DidNotEnd, expected, "the step never came"),
        Some(taken) => Check::pass(expected, format!("it took {taken:.0}, {}", by_its_clock(evidence))).in_step(step),
    }
}

/// The check of a case whose step took so long that the runtime's time may have run out in it.
pub(super) fn too_slow(evidence: &Evidence<'_>) -> Option<Check> {
    evidence.case.expect.iter().find_map(|it| {
        let Expectation::Within { step, minutes } = it else { return None };
        #[expect(clippy::cast_precision_loss, reason = "a case has a few hundred minutes")]
        let taken = taken(evidence, *step).filter(|taken| *taken >= *minutes as f64)?;
        let expected = format!("a machine that does the step in less than {minutes} minutes of an accelerated clock");
        let observed = format!("it took {taken:.0}, {}", by_its_clock(evidence));
        Some(Check::not_observed(Reason::TooSlow, expected, observed).in_step(*step))
    })
}

/// So many minutes of its own time nobody can tell from a machine that slept, and whoever sleeps has not worked.
const LATE_MINUTES: f64 = 15.0;

/// The check of a red case whose runtime may have taken the machine for one that slept, for so late rang timers there.
pub(super) fn late(evidence: &Evidence<'_>) -> Option<Check> {
    let late = minutes(evidence, evidence.seen.late_ms);
    let expected = format!("a machine whose timers ring within {LATE_MINUTES} minutes of an accelerated clock");
    let observed = format!("one rang {late:.0} minutes late, {}", by_its_clock(evidence));
    let applies = evidence.case.time == TimeMethod::Accelerated && late >= LATE_MINUTES;
    applies.then(|| Check::not_observed(Reason::TooSlow, expected, observed))
}

fn taken(evidence: &Evidence<'_>, step: usize) -> Option<f64> {
    let seen = evidence.seen.steps.get(step)?;
    Some(minutes(evidence, seen.ended.saturating_sub(seen.started)))
}

/// Minutes of the runtime's own time that so many milliseconds of ours are.
#[expect(clippy::cast_precision_loss, reason = "a case takes far less than 2^52 milliseconds")]
fn minutes(evidence: &Evidence<'_>, millis: Millis) -> f64 {
    millis as f64 * f64::from(speed(evidence)) / 60_000.0
}

fn by_its_clock(evidence: &Evidence<'_>) -> String {
    format!("by a clock {} times as fast as the wall's", speed(evidence))
}

fn speed(evidence: &Evidence<'_>) -> u32 {
    evidence.seen.speed.unwrap_or(1)
}
