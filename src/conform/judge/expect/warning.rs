//! How the runtime reacts to a usage: warnings and compactions between one usage and the next.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::Evidence;
use super::context::{no_usage, word};
use super::control::{self, Refusal};
use super::document::show;
use super::matcher::{Fields, Scene};
use crate::conform::judge::Check;
use crate::conform::spec::{Reason, Sight};
use crate::system::clock::Millis;

/// Warnings: in the event file or on the output; where neither shows any in the case, changes of level in the state.
pub(super) fn warned(evidence: &Evidence<'_>, usage: usize, level: &str, fields: &Fields) -> Check {
    let sight = evidence.manifest.warn.as_ref();
    let refusal = refusal(evidence, sight);
    let all = warnings(evidence);
    let state_kept = evidence.seen.usages.iter().any(|usage| usage.context_state.is_some());
    let family = Family {
        what: "warning",
        visible: (sight.is_some() && refusal.is_none()) || state_kept,
        refusal,
        missing: Reason::NoWarning,
        unwarranted: Reason::UnwarrantedWarning,
    };
    let check = family.judge(evidence, usage, &evidence.text(level), &all);
    if !check.outcome.is_green() || fields.is_empty() {
        return check;
    }
    content(evidence, usage, &all, fields)
}

/// The levels of the warnings between a usage and the next, and how often one place told one of them.
pub(super) fn levels(evidence: &Evidence<'_>, usage: usize) -> BTreeMap<String, usize> {
    let mut told = BTreeMap::<(String, &str), usize>::new();
    for it in between(evidence, usage, &warnings(evidence)) {
        *told.entry((it.level.clone(), it.file)).or_default() += 1;
    }
    let mut levels = BTreeMap::<String, usize>::new();
    for ((level, _), times) in told {
        let most = levels.entry(level).or_default();
        *most = times.max(*most);
    }
    levels
}

fn warnings(evidence: &Evidence<'_>) -> Vec<Sighted> {
    let all = told(evidence, "CONTEXT_WARNING", evidence.manifest.warn.as_ref());
    if all.is_empty() { changes(evidence) } else { all }
}

/// Compactions, asked for or done.
pub(super) fn compacted(evidence: &Evidence<'_>, usage: usize, level: &str) -> Check {
    let sight = evidence.manifest.compact.as_ref();
    let refusal = refusal(evidence, sight);
    let family = Family {
        what: "compaction",
        visible: sight.is_some() && refusal.is_none(),
        refusal,
        missing: Reason::NoCompaction,
        unwarranted: Reason::UnwarrantedCompaction,
    };
    family.judge(evidence, usage, &evidence.text(level), &told(evidence, "COMPACTION", sight))
}

/// One kind of reaction.
struct Family {
    what: &'static str,
    /// Whether the judge could have seen one.
    visible: bool,
    /// Why the manifest's pattern does not count, if so.
    refusal: Option<Refusal>,
    missing: Reason,
    unwarranted: Reason,
}

/// A reaction that was seen.
struct Sighted {
    at: Millis,
    level: String,
    file: &'static str,
    document: Option<Value>,
}

impl Family {
    fn judge(&self, evidence: &Evidence<'_>, usage: usize, level: &str, all: &[Sighted]) -> Check {
        let wanted = match level {
            "none" => format!("no {}", self.what),
            level => format!("a {} of level {level}", self.what),
        };
        let Some(seen) = evidence.seen.usages.get(usage) else { return no_usage(usage, &wanted) };
        let expected = format!("{wanted} at {} tokens", seen.tokens);
        if all.is_empty() && !self.visible {
            if let Some(refusal) = &self.refusal {
                return Check::not_observed(Reason::PatternRefused, expected, refusal.in_words());
            }
            let observed = format!("the manifest names no place to see a {}, and none was seen", self.what);
            return Check::not_observed(Reason::NoSight, expected, observed);
        }
        let here = between(evidence, usage, all);
        let other = here.iter().find(|it| it.level != level);
        let check = match (level, here.first(), other) {
            ("none", None, _) if all.is_empty() => {
                let observed = format!("no {} in the whole case, so silence proves nothing", self.what);
                Check::fail(Reason::NothingSighted, expected, observed)
            }
            ("none", None, _) => Check::pass(expected, "none"),
            ("none", Some(first), _) => Check::fail(self.unwarranted, expected, &first.level).in_file(first.file),
            (_, None, _) => Check::fail(self.missing, expected, "none"),
            (_, _, Some(other)) => Check::fail(Reason::WrongLevel, expected, &other.level).in_file(other.file),
            (_, Some(first), None) => Check::pass(expected, &first.level).in_file(first.file),
        };
        check.at_time(seen.until)
    }
}

/// What was seen between a usage and the next.
fn between<'a>(evidence: &Evidence<'_>, usage: usize, all: &'a [Sighted]) -> Vec<&'a Sighted> {
    let usages = &evidence.seen.usages;
    let Some(from) = usages.get(usage).map(|usage| usage.at) else { return Vec::new() };
    let until = usages.get(usage + 1).map_or(Millis::MAX, |next| next.at);
    all.iter().filter(|it| it.at >= from && it.at < until).collect()
}

/// What the event file and the output told, silence left out.
fn told(evidence: &Evidence<'_>, event: &str, sight: Option<&Sight>) -> Vec<Sighted> {
    let ours = evidence.seen.events.iter().filter(|seen| word(&seen.line, "type") == Some(event));
    let events = ours.filter_map(|seen| {
        let level = word(&seen.line, "level")?.to_owned();
        Some(Sighted { at: seen.at, level, file: "the event file", document: Some(seen.line.clone()) })
    });
    let mut all: Vec<Sighted> = events.collect();
    if let Some(Sight::Output(pattern)) = sight {
        all.extend(on_output(evidence, pattern));
    }
    all.retain(|it| it.level != "none");
    all
}

fn on_output(evidence: &Evidence<'_>, pattern: &str) -> Vec<Sighted> {
    let Ok(pattern) = control::pattern(evidence, pattern, shows_a_level) else { return Vec::new() };
    let lines = evidence.seen.steps.iter().flat_map(|step| &step.output);
    let sighted = lines.filter_map(|line| {
        Some(Sighted { at: line.at, level: level(&pattern, &line.text)?, file: "output", document: None })
    });
    sighted.collect()
}

/// Why the pattern of a manifest does not count, if it has one that does not.
fn refusal(evidence: &Evidence<'_>, sight: Option<&Sight>) -> Option<Refusal> {
    let Some(Sight::Output(pattern)) = sight else { return None };
    control::pattern(evidence, pattern, shows_a_level).err()
}

fn shows_a_level(pattern: &Regex, line: &str) -> bool {
    level(pattern, line).is_some_and(|level| level != "none")
}

fn level(pattern: &Regex, line: &str) -> Option<String> {
    Some(pattern.captures(line)?.name("level")?.as_str().to_lowercase())
}

/// Changes of level in the context state, from one usage to the next.
fn changes(evidence: &Evidence<'_>) -> Vec<Sighted> {
    let mut before = "none".to_owned();
    let mut all = Vec::new();
    for usage in &evidence.seen.usages {
        let Some(state) = &usage.context_state else { continue };
        let Some(level) = ["warning_level", "warningLevel", "level"].iter().find_map(|key| word(state, key)) else {
            continue;
        };
        if level != before && level != "none" {
            let document = Some(state.clone());
            let file = ".loa-checkpoint/context-state.yaml";
            all.push(Sighted { at: usage.at, level: level.to_owned(), file, document });
        }
        level.clone_into(&mut before);
    }
    all
}

/// What the warning itself must say, read from the event or else from the context state.
fn content(evidence: &Evidence<'_>, usage: usize, all: &[Sighted], fields: &Fields) -> Check {
    let expected = "what the warning itself says";
    let seen = &evidence.seen.usages[usage];
    let told = between(evidence, usage, all).into_iter().find_map(|it| Some((it.document.as_ref()?, it.file)));
    let state = || Some((seen.context_state.as_ref()?, ".loa-checkpoint/context-state.yaml"));
    let Some((document, file)) = told.or_else(state) else {
        return Check::not_observed(Reason::NoSight, expected, "the warning was only printed");
    };
    let none = BTreeMap::new();
    let check = match (Scene { evidence, checkpoints: &none }).fields(fields, &snake(document)) {
        Ok(taken) => taken.into_check(evidence, expected, &show(document)),
        Err(mismatch) => mismatch.into_check(),
    };
    check.in_file(file).at_time(seen.until)
}

/// The document with its keys in snake case and `warning_level` as `level`.
fn snake(document: &Value) -> Value {
    let Value::Object(entries) = document else { return document.clone() };
    let mut plain = serde_json::Map::new();
    for (key, value) in entries {
        let mut name = String::new();
        for letter in key.chars() {
            if letter.is_ascii_uppercase() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        let name = if name == "warning_level" { "level".to_owned() } else { name };
        plain.insert(name, value.clone());
    }
    Value::Object(plain)
}
