//! The times that checkpoints carry (Checkpoint Schema: `created_at`).

use jiff::Timestamp;
use serde_json::Value;

use super::Evidence;
use super::document::read;
use crate::conform::judge::{Check, Outcome};
use crate::conform::observe::FileSeen;
use crate::conform::spec::Reason;

/// How far a time may lie from when its file was written, in milliseconds.
const SLACK: u64 = 60_000;
/// A quarter of an hour in milliseconds: zones differ by whole ones.
const QUARTER: i64 = 15 * 60_000;
/// No zone is further from UTC than fourteen hours.
const MOST_QUARTERS: i64 = 14 * 4;

/// `created_at` never falls from one phase to the next, and lies near the file's own time of writing.
pub(super) fn times(evidence: &Evidence<'_>) -> Check {
    let expected = "created_at to rise from phase to phase, within a minute of the file's own time";
    let mut order: Vec<&str> = Vec::new();
    for attempt in &evidence.seen.attempts {
        order.retain(|phase| *phase != attempt.phase);
        order.push(&attempt.phase);
    }
    let files = evidence.seen.steps.last().map(|step| &step.checkpoints);
    let found = order.iter().filter_map(|phase| Some((*phase, files?.get(&format!("{phase}.yaml"))?)));
    let found: Vec<(&str, &FileSeen)> = found.collect();
    if found.len() < 2 {
        return Check::fail(Reason::TooFewDocuments, expected, format!("{} checkpoints", found.len()));
    }
    let mut before: Option<(&str, Timestamp)> = None;
    let mut zoneless = None;
    for (phase, file) in &found {
        let text = created_at(file);
        let Some(at) = text.parse().ok().or_else(|| within_some_zone(&text, file.modified)) else {
            return wrong(Reason::WrongValue, expected, phase, format!("\"{text}\""));
        };
        if text.parse::<Timestamp>().is_err() {
            zoneless.get_or_insert((*phase, text));
        }
        let written = at.as_millisecond().unsigned_abs().abs_diff(file.modified);
        if written > SLACK {
            return wrong(Reason::TimeOff, expected, phase, format!("{at}, {written} ms from when it was written"));
        }
        if let Some((earlier, then)) = before.filter(|(_, then)| *then > at) {
            return wrong(Reason::TimeFalls, expected, phase, format!("{at}, after {then} of {earlier}"));
        }
        before = Some((phase, at));
    }
    match zoneless {
        Some((phase, text)) => {
            let observed = format!("{text}, without a zone");
            placed(Check::new(Outcome::Warn, Reason::NoZone, expected, observed), phase)
        }
        None => Check::pass(expected, format!("it does in {} checkpoints", found.len())),
    }
}

fn created_at(file: &FileSeen) -> String {
    let document = read(&file.text).unwrap_or_default();
    document.get("created_at").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What a time without a zone stands for: the zone, in quarters of an hour, that brings it nearest to when the file was
/// written.
fn within_some_zone(text: &str, written: u64) -> Option<Timestamp> {
    let local = text.contains(':').then(|| text.parse::<jiff::civil::DateTime>().ok())??;
    let local = local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond();
    let ahead = local - i64::try_from(written).ok()?;
    let quarters = (ahead + QUARTER / 2).div_euclid(QUARTER).clamp(-MOST_QUARTERS, MOST_QUARTERS);
    Timestamp::from_millisecond(local - quarters * QUARTER).ok()
}

fn wrong(reason: Reason, expected: &str, phase: &str, observed: String) -> Check {
    placed(Check::fail(reason, expected, observed), phase)
}

fn placed(check: Check, phase: &str) -> Check {
    check.in_file(format!(".loa-checkpoint/{phase}.yaml")).at_pointer("/created_at")
}
