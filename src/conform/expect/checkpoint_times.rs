//! The times that checkpoints carry (Checkpoint Schema: `created_at`).

use jiff::Timestamp;
use serde_json::Value;

use super::Evidence;
use super::document::read;
use crate::conform::{Check, FileSeen, Outcome, Reason};

/// How far a time may lie from when its file was written, in milliseconds.
const SLACK: u64 = 60_000;

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
    for (phase, file) in &found {
        let text = created_at(file);
        let Ok(at) = text.parse::<Timestamp>() else { return unplaced(expected, phase, &text) };
        let written = at.as_millisecond().unsigned_abs().abs_diff(file.modified);
        if written > SLACK {
            return wrong(Reason::TimeOff, expected, phase, format!("{at}, {written} ms from when it was written"));
        }
        if let Some((earlier, then)) = before.filter(|(_, then)| *then > at) {
            return wrong(Reason::TimeFalls, expected, phase, format!("{at}, after {then} of {earlier}"));
        }
        before = Some((phase, at));
    }
    Check::pass(expected, format!("it does in {} checkpoints", found.len()))
}

fn created_at(file: &FileSeen) -> String {
    let document = read(&file.text).unwrap_or_default();
    document.get("created_at").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A time without a zone cannot be compared with the judge's clock; anything else is no time.
fn unplaced(expected: &str, phase: &str, text: &str) -> Check {
    if text.contains(':') && text.parse::<jiff::civil::DateTime>().is_ok() {
        let check = Check::new(Outcome::NotObserved, Reason::NoZone, expected, format!("{text}, without a zone"));
        return placed(check, phase);
    }
    wrong(Reason::WrongValue, expected, phase, format!("\"{text}\""))
}

fn wrong(reason: Reason, expected: &str, phase: &str, observed: String) -> Check {
    placed(Check::fail(reason, expected, observed), phase)
}

fn placed(check: Check, phase: &str) -> Check {
    check.in_file(format!(".loa-checkpoint/{phase}.yaml")).at_pointer("/created_at")
}
