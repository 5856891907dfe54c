//! What an attempt of a phase in a story does before it ends.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{HARD_LIMIT, SOFT_LIMIT};
use crate::conform::spec::Act;

/// What an attempt does: sometimes it prints something, leaves a result, little or much, or uses its context, and then it ends.
pub(super) fn attempt(words: Option<&mut Rng>, uses: bool, last: Vec<Act>) -> Vec<Act> {
    let talk = words.and_then(|rng| {
        if uses && rng.bool() {
            return Some(usages(rng));
        }
        let word: String = (0..12).map(|_| rng.lowercase()).collect();
        match rng.u8(0..12) {
            0..5 => None,
            5..7 => Some(vec![Act::Stdout(word)]),
            7..9 => Some(vec![Act::Stderr(word)]),
            9 => Some(vec![Act::Stdout(word.repeat(80)); 30]),
            10 => Some(vec![Act::Result(result(&word, 1))]),
            _ => Some(vec![Act::Result(result(&word, 60))]),
        }
    });
    talk.into_iter().flatten().chain(last).collect()
}

/// A context that fills up to somewhere between its limits, and is emptied.
fn usages(rng: &mut Rng) -> Vec<Act> {
    let mut usages = vec![rng.u64(1_000..SOFT_LIMIT), rng.u64(SOFT_LIMIT..HARD_LIMIT)];
    if rng.bool() {
        usages.push(rng.u64(usages[1]..HARD_LIMIT));
    }
    usages.push(rng.u64(1_000..SOFT_LIMIT));
    usages.into_iter().map(Act::Usage).collect()
}

/// The same attempt, which sometimes leaves a process behind.
pub(super) fn with_offspring(mut acts: Vec<Act>, words: Option<&mut Rng>) -> Vec<Act> {
    if words.is_some_and(|rng| rng.u8(0..3) == 0) {
        acts.insert(0, Act::Spawn);
    }
    acts
}

/// The same attempt, which also leaves what it found.
pub(super) fn with_findings(mut acts: Vec<Act>, words: Option<&mut Rng>) -> Vec<Act> {
    let Some(rng) = words else { return acts };
    let word: String = (0..12).map(|_| rng.lowercase()).collect();
    let finding = |number: usize| json!({ "id": format!("F-{word}-{number}"), "severity": "high", "category": "security", "description": word });
    let findings: Vec<Value> = (0..rng.usize(1..=3)).map(finding).collect();
    let supplied = acts.iter_mut().find_map(|act| if let Act::Result(result) = act { Some(result) } else { None });
    match supplied {
        Some(result) => result["findings"] = json!(findings),
        None => acts.insert(0, Act::Result(json!({ "findings": findings }))),
    }
    acts
}

/// What a phase supplies, with so many decisions; in texts that YAML might read as something else.
fn result(word: &str, decisions: usize) -> Value {
    let odd = ["yes", "1e3", "null", "- a: b # c", "\"\\'", "two\nlines\n", " space ", "ünï 漢字", "2026-01-31"];
    let decision = |number: usize| {
        let (id, odd) = (format!("D-{:03}", number + 1), odd[number % odd.len()]);
        json!({ "id": id, "description": format!("{word} {number}"), "reasoning": odd, "timestamp": "2026-01-31T13:00:00Z" })
    };
    json!({ "decisions": (0..decisions).map(decision).collect::<Vec<_>>() })
}
