//! Reading an agent's stream by the signs of its manifest: fields of JSON values, one a line of standard output. What is no
//! JSON is no event, and no sentence is ever searched.

use serde_json::Value;

use crate::conform::observe::AgentStepSeen;
use crate::conform::spec::{FailureClass, FailureSign, Sign, SizeSign, StreamSigns, UsageSign};

/// The events of a step, in order.
pub(in crate::conform) fn events(step: &AgentStepSeen) -> impl Iterator<Item = Value> {
    let lines = step.output.iter().filter(|line| line.stream == "stdout");
    let values = lines.filter_map(|line| serde_json::from_str::<Value>(&line.text).ok());
    values.filter(Value::is_object)
}

/// Whether an event is one of a kind: at every pointer stands the value, or one of the list.
pub(in crate::conform) fn matches(when: &std::collections::BTreeMap<String, Value>, event: &Value) -> bool {
    let holds = |(pointer, wanted): (&String, &Value)| {
        event.pointer(pointer).is_some_and(|found| match wanted {
            Value::Array(any) if !found.is_array() => any.contains(found),
            wanted => found == wanted,
        })
    };
    !when.is_empty() && when.iter().all(holds)
}

/// Whether an event is one of these.
pub(in crate::conform) fn is_one(signs: &[Sign], event: &Value) -> bool {
    signs.iter().any(|sign| matches(&sign.when, event))
}

/// The text that an event names by one of these signs.
pub(in crate::conform) fn read(signs: &[Sign], event: &Value) -> Option<String> {
    let mut found = signs.iter().filter(|sign| matches(&sign.when, event));
    let text = |sign: &Sign| event.pointer(sign.read.as_deref()?)?.as_str().map(str::to_owned);
    found.find_map(|sign| text(sign).filter(|text| !text.is_empty()))
}

/// The session that a step's stream names first.
pub(in crate::conform) fn session(signs: &StreamSigns, step: &AgentStepSeen) -> Option<String> {
    let signs = signs.session.as_deref()?;
    events(step).find_map(|event| read(signs, &event))
}

/// How a stream tells a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::conform) enum Told {
    /// By this figure or word, which means this class.
    Class(String, FailureClass),
    /// By figures or words that mean nothing to the manifest.
    Words(Vec<String>),
    /// By an event without any.
    Bare,
    /// Not at all.
    Nothing,
}

/// How a step's stream tells its failure; the last event that tells a class counts.
pub(in crate::conform) fn failure(signs: &StreamSigns, step: &AgentStepSeen) -> Told {
    let mut told = Told::Nothing;
    for event in events(step) {
        for sign in signs.failure.iter().flatten().filter(|sign| matches(&sign.when, &event)) {
            told = later(told, one(signs, sign, &event));
        }
    }
    told
}

fn one(signs: &StreamSigns, sign: &FailureSign, event: &Value) -> Told {
    let words: Vec<String> = sign.read.iter().filter_map(|pointer| word(event.pointer(pointer)?)).collect();
    let class = words.iter().find_map(|word| {
        let known = signs.classes.get(word).copied();
        Some((word.clone(), known.or_else(|| FailureClass::of_status(word.parse().ok()?))?))
    });
    match class {
        Some((word, class)) => Told::Class(word, class),
        None if words.is_empty() => Told::Bare,
        None => Told::Words(words),
    }
}

/// A class outdoes words, words a bare event; of two alike the later counts. A status of 429 alone says that there was too
/// much of something, which takes nothing back of a quota that was told.
fn later(before: Told, now: Told) -> Told {
    if let (Told::Class(_, FailureClass::Quota), Told::Class(word, FailureClass::Transient)) = (&before, &now)
        && word == "429"
    {
        return before;
    }
    let weight = |told: &Told| match told {
        Told::Nothing => 0,
        Told::Bare => 1,
        Told::Words(_) => 2,
        Told::Class(..) => 3,
    };
    if weight(&now) >= weight(&before) { now } else { before }
}

fn word(found: &Value) -> Option<String> {
    match found {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The sum of the figures at these pointers; nothing where there is none at any, or where no count can be so high.
fn sum(event: &Value, pointers: &[String]) -> Option<u64> {
    let figures = pointers.iter().filter_map(|pointer| event.pointer(pointer)?.as_u64());
    figures.map(Some).reduce(|sum, figure| sum?.checked_add(figure?)).flatten()
}

/// How many tokens the context has, by the last event that tells it.
pub(in crate::conform) fn size(signs: &[SizeSign], step: &AgentStepSeen) -> Option<u64> {
    let told = events(step).filter_map(|event| {
        let sign = signs.iter().find(|sign| matches(&sign.when, &event))?;
        sum(&event, &sign.size)
    });
    told.last()
}

/// What went in and came out, by the last event that counts it.
pub(in crate::conform) fn usage<'s>(signs: &'s [UsageSign], step: &AgentStepSeen) -> Option<(&'s UsageSign, u64, u64)> {
    let counted = events(step).filter_map(|event| {
        let sign = signs.iter().find(|sign| matches(&sign.when, &event))?;
        Some((sign, sum(&event, &sign.input)?, sum(&event, &sign.output)?))
    });
    counted.last()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::observe::AgentEnd;
    use crate::conform::observe::OutputLine;

    fn step(lines: &[&str]) -> AgentStepSeen {
        let line = |text: &&str| OutputLine { at: 1, stream: "stdout".to_owned(), text: (*text).to_owned() };
        AgentStepSeen {
            verb: "run".to_owned(),
            argv: Vec::new(),
            env: std::collections::BTreeMap::new(),
            started: 0,
            ended: 2,
            end: AgentEnd::Exited(0),
            signal: None,
            requests: Vec::new(),
            output: lines.iter().map(line).collect(),
            beside: None,
            left: Vec::new(),
        }
    }

    fn signs(yaml: &str) -> StreamSigns {
        serde_yaml::from_str(yaml).expect("signs")
    }

    #[test]
    fn the_first_event_that_names_a_session_counts_and_prose_is_no_event() {
        let signs = signs("session: [{when: {/type: [init, start]}, read: /id}]");
        for (lines, found) in [
            (&["hello", "[1]", r#"{"type":"other","id":"x"}"#, r#"{"type":"start","id":"a"}"#][..], Some("a")),
            (&[r#"{"type":"init"}"#, r#"{"type":"init","id":"b"}"#], Some("b")),
            (&[r#"{"type":"init","id":""}"#], None),
            (&[r#"say {"type":"init","id":"b"}"#], None),
        ] {
            assert_eq!(session(&signs, &step(lines)).as_deref(), found);
        }
    }

    #[test]
    fn a_failure_is_told_by_a_status_or_a_known_word_and_never_by_a_sentence() {
        let signs = signs(
            "{failure: [{when: {/type: end, /error: true}, read: [/status, /word]}], classes: {busy: transient, no: permanent}}",
        );
        let class = |word: &str, class| Told::Class(word.to_owned(), class);
        for (line, told) in [
            (r#"{"type":"end","error":true,"status":529}"#, class("529", FailureClass::Transient)),
            (r#"{"type":"end","error":true,"status":401}"#, class("401", FailureClass::Permanent)),
            (r#"{"type":"end","error":true,"status":null,"word":"busy"}"#, class("busy", FailureClass::Transient)),
            (r#"{"type":"end","error":true,"word":"strange"}"#, Told::Words(vec!["strange".to_owned()])),
            (r#"{"type":"end","error":true,"message":"API Error: 401"}"#, Told::Bare),
            (r#"{"type":"end","error":false,"status":401}"#, Told::Nothing),
        ] {
            assert_eq!(failure(&signs, &step(&[line])), told, "{line}");
        }
    }

    #[test]
    fn a_bare_429_takes_nothing_back_of_a_quota_that_was_told() {
        let signs = signs(
            "{failure: [{when: {/type: limit}, read: [/status]}, {when: {/type: end}, read: [/status]}], classes: {rejected: quota}}",
        );
        let (limit, end) = (r#"{"type":"limit","status":"rejected"}"#, r#"{"type":"end","status":429}"#);
        let refused = r#"{"type":"end","status":401}"#;
        for (lines, word) in [
            (&[limit, end][..], "rejected"),
            (&[end, limit], "rejected"),
            (&[end], "429"),
            (&[limit, refused], "401"),
            (&[r#"{"type":"limit","status":"allowed"}"#, end], "429"),
        ] {
            let Told::Class(told, _) = failure(&signs, &step(lines)) else { panic!("{lines:?} tells no class") };
            assert_eq!(told, word, "{lines:?}");
        }
    }

    #[test]
    fn usage_is_a_sum_of_fields_and_the_last_counts() {
        let signs = signs("usage: [{when: {/t: u}, input: [/in, /cached], output: [/out], scope: run}]");
        let lines = [r#"{"t":"u","in":1,"out":1}"#, r#"{"t":"u","in":5,"cached":2,"out":3}"#, r#"{"t":"u","in":9}"#];
        let signs = signs.usage.expect("given");
        let (_, input, output) = usage(&signs, &step(&lines)).expect("told");
        assert_eq!((input, output), (7, 3));
        let flood = format!(r#"{{"t":"u","in":{},"cached":1,"out":1}}"#, u64::MAX);
        assert!(usage(&signs, &step(&[&flood])).is_none(), "no count is so high");
    }
}
