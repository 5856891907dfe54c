//! The optional features (Anthropic Context Features): what a phase was handed, what the compactor was told, and the signals
//! between one usage and the next.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Evidence;
use super::context::{no_usage, promises_events, word};
use super::document::{clip, show};
use super::matcher::{Fields, Scene, Taken};
use crate::conform::judge::Check;
use crate::conform::observe::{AttemptSeen, CompactorSeen};
use crate::conform::spec::Reason;
use crate::system::clock::Millis;

/// What a phase may be handed, by the design.
const LEVEL: &str = "LOA_EFFORT_LEVEL";
const BUDGET: &str = "LOA_THINKING_BUDGET";
/// What a compactor is told, by the design.
const CLEAR: &str = "LOA_COMPACTION_CLEAR_TARGETS";
const PRESERVE: &str = "LOA_COMPACTION_PRESERVE";
const TURNS: &str = "LOA_COMPACTION_RECENT_TURNS";

/// The effort that must have been handed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The level, or `none`.
    pub(super) level: &'a str,
    /// The range of the thinking tokens.
    pub(super) budget: Option<[u64; 2]>,
    /// The reading by which the level alone is enough.
    pub(super) level_alone: Option<&'a str>,
}

/// The effort that every attempt of the phase was handed.
pub(super) fn effort(evidence: &Evidence<'_>, phase: &str, wanted: Wanted<'_>) -> Check {
    let (phase, level) = (evidence.text(phase), evidence.text(wanted.level));
    let expected = match (level.as_str(), wanted.budget) {
        ("none", _) => format!("{phase} to be handed no effort"),
        (level, None) => format!("{phase} to be handed the effort {level}"),
        (level, Some([least, most])) => format!("{phase} to be handed {level}, or {least} to {most} thinking tokens"),
    };
    let attempts: Vec<&AttemptSeen> = evidence.attempts(None).filter(|attempt| attempt.phase == phase).collect();
    let Some(first) = attempts.first() else {
        return Check::fail(Reason::NeverStarted, expected, format!("{phase} never started"));
    };
    let wrong = attempts.iter().find_map(|attempt| Some((misfit(attempt, &level, wanted)?, attempt)));
    let check = match wrong {
        Some((reason, attempt)) => Check::fail(reason, expected, handed(attempt)).at_time(attempt.started),
        None if wanted.budget.is_some() && !first.env.contains_key(BUDGET) => {
            let taken = Taken::by(wanted.level_alone);
            taken.into_check(evidence, &expected, &handed(first))
        }
        None => Check::pass(expected, handed(first)),
    };
    check.in_file("the environment of the phase")
}

/// Why what the attempt was handed is not what was wanted.
fn misfit(attempt: &AttemptSeen, level: &str, wanted: Wanted<'_>) -> Option<Reason> {
    let (said, budget) = (attempt.env.get(LEVEL), attempt.env.get(BUDGET));
    match (said, budget) {
        (None, None) => (level != "none").then_some(Reason::NoEffort),
        _ if level == "none" => Some(Reason::UnwarrantedEffort),
        (Some(said), _) if said != level => Some(Reason::WrongValue),
        (_, Some(budget)) => {
            let tokens = budget.parse::<u64>().ok();
            let fits = |tokens: u64| wanted.budget.is_none_or(|[least, most]| (least..=most).contains(&tokens));
            (!tokens.is_some_and(fits)).then_some(Reason::WrongValue)
        }
        (Some(_), None) => (wanted.budget.is_some() && wanted.level_alone.is_none()).then_some(Reason::NoEffort),
    }
}

fn handed(attempt: &AttemptSeen) -> String {
    let word = |name: &str| attempt.env.get(name).map_or("nothing", String::as_str);
    format!("{LEVEL}: {}; {BUDGET}: {}", clip(word(LEVEL)), clip(word(BUDGET)))
}

/// The memories that every attempt of the phase was handed.
pub(super) fn memories(evidence: &Evidence<'_>, phase: &str, has: &[String], lacks: &[String]) -> Check {
    let phase = evidence.text(phase);
    let filled = |texts: &[String]| texts.iter().map(|text| evidence.text(text)).collect::<Vec<_>>();
    let (has, lacks) = (filled(has), filled(lacks));
    let expected = match lacks.as_slice() {
        [] => format!("{phase} to be handed a file with {}", has.join(", ")),
        lacks if has.is_empty() => format!("{phase} to be handed no {}", lacks.join(", ")),
        lacks => format!("{phase} to be handed a file with {} and without {}", has.join(", "), lacks.join(", ")),
    };
    let mut attempts = evidence.attempts(None).filter(|attempt| attempt.phase == phase).peekable();
    if attempts.peek().is_none() {
        return Check::fail(Reason::NeverStarted, expected, format!("{phase} never started"));
    }
    let wrong = attempts.find_map(|attempt| {
        let text = attempt.memories.as_deref().unwrap_or_default();
        if !has.iter().all(|part| text.contains(part)) {
            return Some((
                Reason::NoMemories,
                attempt.memories.as_deref().map_or("no file was handed".to_owned(), clip),
            ));
        }
        lacks.iter().any(|part| text.contains(part)).then(|| (Reason::UnwarrantedMemories, clip(text)))
    });
    let check = match wrong {
        Some((reason, observed)) => Check::fail(reason, expected, observed),
        None => Check::pass(expected, "it was"),
    };
    check.in_file("LOA_MEMORY_FILE")
}

/// What the compactor must have been told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) clear: &'a [String],
    pub(super) preserve: &'a [String],
    pub(super) recent_turns: u64,
}

/// What the judge's own compactor was told.
pub(super) fn compactor_told(evidence: &Evidence<'_>, told: Told<'_>) -> Check {
    let words = |texts: &[String]| texts.iter().map(|text| evidence.text(text)).collect::<BTreeSet<_>>();
    let (clear, preserve) = (words(told.clear), words(told.preserve));
    let turns = told.recent_turns;
    let expected = format!("a compactor that may clear {clear:?}, and keeps {preserve:?} and {turns} turns");
    let all = &evidence.seen.compactions;
    let fits = |seen: &CompactorSeen| {
        let list = |name| Some(serde_json::from_str::<BTreeSet<String>>(seen.env.get(name)?).unwrap_or_default());
        let kept = list(PRESERVE).is_some_and(|kept| kept.is_superset(&preserve));
        list(CLEAR).is_some_and(|may_go| may_go == clear) && kept && seen.env.get(TURNS) == Some(&turns.to_string())
    };
    let shown = |seen: &CompactorSeen| {
        let word = |name: &str| format!("{name}: {}", seen.env.get(name).map_or("nothing", String::as_str));
        clip(&[CLEAR, PRESERVE, TURNS].map(word).join("; "))
    };
    let check = match (all.first(), all.iter().find(|seen| !fits(seen))) {
        (None, _) => {
            let way =
                evidence.manifest.compactor.as_ref().map_or(String::new(), |way| format!("; it was named by {way}"));
            Check::fail(Reason::NeverCompacted, expected, format!("it was never started{way}"))
        }
        (_, Some(seen)) => Check::fail(Reason::CompactorMisled, expected, shown(seen)).at_time(seen.at),
        (Some(seen), None) => Check::pass(expected, shown(seen)).at_time(seen.at),
    };
    check.in_file("the environment of the compactor")
}

/// A line of a type in the event file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signal<'a> {
    pub(super) kind: &'a str,
    pub(super) present: bool,
    pub(super) fields: &'a Fields,
}

/// Lines of a type between one usage and the next.
pub(super) fn signalled(evidence: &Evidence<'_>, usage: usize, signal: Signal<'_>) -> Check {
    let Signal { kind, present, fields } = signal;
    let wanted = format!("{} {kind} in the event file", if present { "a line" } else { "no line" });
    let usages = &evidence.seen.usages;
    let Some(seen) = usages.get(usage) else { return no_usage(usage, &wanted) };
    let expected = format!("{wanted} at {} tokens", seen.tokens);
    let events = &evidence.seen.events;
    if events.is_empty() && !promises_events(evidence) {
        return Check::not_observed(Reason::NoSight, expected, "the runtime writes no event file");
    }
    let until = usages.get(usage + 1).map_or(Millis::MAX, |next| next.at);
    let ours = |line: &Value| word(line, "type") == Some(kind);
    let mut here = events.iter().filter(|it| it.at >= seen.at && it.at < until && ours(&it.line)).peekable();
    let check = match (present, here.peek()) {
        (true, None) => Check::fail(Reason::NoEvent, expected, "there is none"),
        (true, Some(_)) => return fitting(evidence, &expected, fields, here.map(|it| (it.at, &it.line))),
        (false, Some(line)) => Check::fail(Reason::UnwarrantedSignal, expected, show(&line.line)),
        (false, None) if events.is_empty() => {
            let observed = "nothing in the event file in the whole case, so silence proves nothing";
            Check::fail(Reason::NothingSighted, expected, observed)
        }
        (false, None) => Check::pass(expected, "none"),
    };
    check.in_file("the event file").at_time(seen.until)
}

fn fitting<'a>(
    evidence: &Evidence<'_>,
    expected: &str,
    fields: &Fields,
    lines: impl Iterator<Item = (Millis, &'a Value)>,
) -> Check {
    let none = BTreeMap::new();
    let scene = Scene { evidence, checkpoints: &none };
    let (mut all, mut shown) = (Taken::default(), String::new());
    for (at, line) in lines {
        match scene.fields(fields, line) {
            Ok(taken) => all.merge(taken),
            Err(mismatch) => return mismatch.into_check().in_file("the event file").at_time(at),
        }
        shown = show(line);
    }
    all.into_check(evidence, expected, &shown).in_file("the event file")
}
