//! How the runtime watches the context (Context Signals Interface): its state, its warnings, its compactions, its events.

use serde_json::Value;

use super::Evidence;
use super::document::show;
use super::matcher::{Fields, Scene};
use crate::conform::judge::Check;
use crate::conform::spec::{Reason, Sight};
use crate::system::clock::Millis;

/// `context-state.yaml` after a usage.
pub(super) fn state(evidence: &Evidence<'_>, usage: usize, fields: &Fields) -> Check {
    let expected = "the context state";
    let Some(seen) = evidence.seen.usages.get(usage) else { return no_usage(usage, expected) };
    let Some(document) = &seen.context_state else {
        return Check::fail(Reason::NoContextState, expected, "there is none").at_time(seen.until);
    };
    let none = std::collections::BTreeMap::new();
    let check = match (Scene { evidence, checkpoints: &none }).fields(fields, document) {
        Ok(taken) => taken.into_check(evidence, expected, &show(document)),
        Err(mismatch) => mismatch.into_check(),
    };
    check.in_file(".loa-checkpoint/context-state.yaml").at_time(seen.until)
}

/// The runtime's own figure after a usage.
pub(super) fn tracked(evidence: &Evidence<'_>, usage: usize) -> Check {
    let usages = &evidence.seen.usages;
    let Some(seen) = usages.get(usage) else { return no_usage(usage, "the runtime's own figure") };
    let waited = seen.until.saturating_sub(seen.at);
    let expected = format!("the runtime's own figure to be {} within {waited} ms", seen.tokens);
    let current = || evidence.seen.events.iter().filter(|event| word(&event.line, "type") == Some("CONTEXT_CURRENT"));
    let newest = |until: Millis| current().rev().find(|event| event.at >= seen.at && event.at < until);
    let newest = match usages.get(usage + 1) {
        Some(next) => newest(next.at),
        // What is told of a later phase is another figure; only a runtime that reads after the phase's end tells it later.
        None => newest(phase_end(evidence, seen.at)).or_else(|| newest(Millis::MAX)),
    };
    let event = newest.and_then(|event| figure(&event.line)).map(|figure| (figure, "the event file"));
    let state = || Some((figure(seen.context_state.as_ref()?)?, ".loa-checkpoint/context-state.yaml"));
    let check = match event.or_else(state) {
        Some((figure, file)) if figure.as_f64() == serde_json::json!(seen.tokens).as_f64() => {
            Check::pass(expected, show(figure)).in_file(file)
        }
        Some((figure, file)) => Check::fail(Reason::NotTracked, expected, show(figure)).in_file(file),
        None => Check::fail(Reason::NotTracked, expected, "no figure, neither in an event nor in the context state"),
    };
    check.at_time(seen.until)
}

/// The end of the attempt that was under way at this moment; the end of time where none was seen.
fn phase_end(evidence: &Evidence<'_>, at: Millis) -> Millis {
    let mut ends = evidence.seen.attempts.iter().filter(|it| it.started <= at).filter_map(|it| it.ended);
    ends.find(|ended| *ended >= at).map_or(Millis::MAX, |ended| ended + 1)
}

fn figure(document: &Value) -> Option<&Value> {
    ["current_tokens", "currentTokens", "value"].iter().find_map(|key| document.get(key))
}

/// Lines of a type in the event file.
pub(super) fn events(evidence: &Evidence<'_>, kind: &str, at_least: u64, fields: &Fields) -> Check {
    let expected = format!("at least {at_least} lines of type {kind} in the event file");
    if evidence.seen.events.is_empty() && !promises_events(evidence) {
        return Check::not_observed(Reason::NoSight, expected, "the runtime writes no event file");
    }
    let ours: Vec<_> = evidence.seen.events.iter().filter(|event| word(&event.line, "type") == Some(kind)).collect();
    if ours.is_empty() || (ours.len() as u64) < at_least {
        return Check::fail(Reason::NoEvent, expected, format!("{} lines", ours.len())).in_file("the event file");
    }
    let none = std::collections::BTreeMap::new();
    let scene = Scene { evidence, checkpoints: &none };
    let mut all = super::matcher::Taken::default();
    for event in &ours {
        match scene.fields(fields, &event.line) {
            Ok(taken) => all.merge(taken),
            Err(mismatch) => return mismatch.into_check().in_file("the event file").at_time(event.at),
        }
    }
    all.into_check(evidence, &expected, &format!("{} lines", ours.len())).in_file("the event file")
}

/// Whether the manifest says that the runtime writes an event file.
pub(super) fn promises_events(evidence: &Evidence<'_>) -> bool {
    let manifest = evidence.manifest;
    [&manifest.warn, &manifest.compact].into_iter().any(|sight| *sight == Some(Sight::EventFile))
}

pub(super) fn word<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

pub(super) fn no_usage(usage: usize, expected: &str) -> Check {
    Check::fail(Reason::NoUsage, expected, format!("usage {usage} was never reported"))
}
