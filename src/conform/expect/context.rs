//! How the runtime watches the context (Context Signals Interface): its state, its warnings, its compactions, its events.

use regex::Regex;
use serde_json::Value;

use super::Evidence;
use super::document::show;
use super::matcher::{Fields, Scene};
use crate::conform::{Check, Millis, Reason, Sight, UsageSeen};

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

/// Warnings between one usage and the next.
pub(super) fn warned(evidence: &Evidence<'_>, usage: usize, level: &str) -> Check {
    let family = Family {
        what: "warning",
        event: "CONTEXT_WARNING",
        sight: evidence.manifest.warn.as_ref(),
        in_state: true,
        missing: Reason::NoWarning,
        unwarranted: Reason::UnwarrantedWarning,
    };
    family.judge(evidence, usage, &evidence.text(level))
}

/// Compactions between one usage and the next.
pub(super) fn compacted(evidence: &Evidence<'_>, usage: usize, level: &str) -> Check {
    let family = Family {
        what: "compaction",
        event: "COMPACTION",
        sight: evidence.manifest.compact.as_ref(),
        in_state: false,
        missing: Reason::NoCompaction,
        unwarranted: Reason::UnwarrantedCompaction,
    };
    family.judge(evidence, usage, &evidence.text(level))
}

/// One kind of reaction to a usage, and where it can be seen.
struct Family<'a> {
    what: &'static str,
    event: &'static str,
    sight: Option<&'a Sight>,
    in_state: bool,
    missing: Reason,
    unwarranted: Reason,
}

/// A reaction that was seen.
struct Sighted {
    at: Millis,
    level: String,
    file: &'static str,
}

impl Family<'_> {
    fn judge(&self, evidence: &Evidence<'_>, usage: usize, level: &str) -> Check {
        let expected = match level {
            "none" => format!("no {}", self.what),
            level => format!("a {} of level {level}", self.what),
        };
        let usages = &evidence.seen.usages;
        let Some(seen) = usages.get(usage) else { return no_usage(usage, &expected) };
        let all = self.sighted(evidence);
        if all.is_empty() && self.sight.is_none() && !self.readable(evidence) {
            let observed = format!("the manifest names no place to see a {}, and none was seen", self.what);
            return Check::not_observed(Reason::NoSight, expected, observed);
        }
        let until = usages.get(usage + 1).map_or(Millis::MAX, |next| next.at);
        let here: Vec<&Sighted> = all.iter().filter(|it| it.at >= seen.at && it.at < until).collect();
        let other = here.iter().find(|it| it.level != level);
        let expected = format!("{expected} at {} tokens", seen.tokens);
        let check = match (level, here.as_slice(), other) {
            ("none", [], _) if all.is_empty() => {
                let observed = format!("no {} in the whole case, so silence proves nothing", self.what);
                Check::fail(Reason::NothingSighted, expected, observed)
            }
            ("none", [], _) => Check::pass(expected, "none"),
            ("none", [first, ..], _) => {
                Check::fail(self.unwarranted, expected, first.level.clone()).in_file(first.file)
            }
            (_, [], _) => Check::fail(self.missing, expected, "none"),
            (_, _, Some(other)) => Check::fail(Reason::WrongLevel, expected, other.level.clone()).in_file(other.file),
            (_, [first, ..], None) => Check::pass(expected, first.level.clone()).in_file(first.file),
        };
        check.at_time(seen.until)
    }

    /// Everything of this kind that was seen in the case, silence left out.
    fn sighted(&self, evidence: &Evidence<'_>) -> Vec<Sighted> {
        let mut all = self.in_events(evidence);
        if self.in_state {
            all.extend(evidence.seen.usages.iter().filter_map(in_state));
        }
        if let Some(Sight::Output(pattern)) = self.sight {
            all.extend(on_output(evidence, pattern));
        }
        all.retain(|it| it.level != "none");
        all
    }

    fn in_events(&self, evidence: &Evidence<'_>) -> Vec<Sighted> {
        let ours = evidence.seen.events.iter().filter(|event| word(&event.line, "type") == Some(self.event));
        let sighted = ours.filter_map(|event| {
            let level = word(&event.line, "level")?.to_owned();
            Some(Sighted { at: event.at, level, file: "the event file" })
        });
        sighted.collect()
    }

    /// Whether the context state would show it.
    fn readable(&self, evidence: &Evidence<'_>) -> bool {
        self.in_state && evidence.seen.usages.iter().any(|usage| usage.context_state.is_some())
    }
}

fn in_state(usage: &UsageSeen) -> Option<Sighted> {
    let state = usage.context_state.as_ref()?;
    let level = ["warning_level", "warningLevel", "level"].iter().find_map(|key| word(state, key))?;
    Some(Sighted { at: usage.at, level: level.to_owned(), file: ".loa-checkpoint/context-state.yaml" })
}

fn on_output(evidence: &Evidence<'_>, pattern: &str) -> Vec<Sighted> {
    let Ok(pattern) = Regex::new(pattern) else { return Vec::new() };
    let lines = evidence.seen.steps.iter().flat_map(|step| &step.output);
    let sighted = lines.filter_map(|line| {
        let level = pattern.captures(&line.text)?.name("level")?.as_str().to_lowercase();
        Some(Sighted { at: line.at, level, file: "output" })
    });
    sighted.collect()
}

/// Lines of a type in the event file.
pub(super) fn events(evidence: &Evidence<'_>, kind: &str, at_least: u64, fields: &Fields) -> Check {
    let expected = format!("at least {at_least} lines of type {kind} in the event file");
    let manifest = evidence.manifest;
    let promised = [&manifest.warn, &manifest.compact].into_iter().any(|sight| *sight == Some(Sight::EventFile));
    if evidence.seen.events.is_empty() && !promised {
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

fn word<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn no_usage(usage: usize, expected: &str) -> Check {
    Check::fail(Reason::NoUsage, expected, format!("usage {usage} was never reported"))
}
