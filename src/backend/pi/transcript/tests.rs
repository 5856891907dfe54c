//! What is read from recorded runs.

use super::*;
use crate::runner::{AgentEvent as E, Surroundings};

/// Everything that is read from a recording, and the verdict.
fn read(case: &str, exit: &ProcessExit) -> (Vec<E>, Verdict) {
    let path = format!("{}/fixtures/transcripts/pi/{case}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut transcript = Transcript::new(Resumption::of(Some("s"), &Surroundings::default()));
    (text.lines().flat_map(|line| transcript.line(line)).collect(), transcript.verdict(exit))
}

#[test]
fn every_recorded_end_has_its_class() {
    let transient = Class::Transient { wait: None };
    let exited = ProcessExit::Exited;
    let rows = [
        ("success", exited(0), Class::Done, "stopReason stop"),
        ("tool", exited(0), Class::Done, "stopReason stop"),
        ("tool-fails", exited(0), Class::Done, "stopReason stop"),
        ("first", exited(0), Class::Done, "stopReason stop"),
        ("resume", exited(0), Class::Done, "stopReason stop"),
        ("recovers", exited(0), Class::Done, "stopReason stop"),
        ("compaction", exited(0), Class::Done, "stopReason stop"),
        ("authentication", exited(0), Class::Permanent, "401"),
        ("refused", exited(0), Class::Permanent, "400"),
        ("overloaded", exited(0), Class::Outage, "529"),
        ("unreached", exited(0), Class::Outage, "Connection error"),
        ("rate-limited", exited(0), transient.clone(), "429"),
        ("truncated", exited(0), transient, "ended before message_stop"),
        ("reset", exited(0), Class::Outage, "stopReason error"),
        ("prompt-too-long", exited(0), Class::Overflow, "400"),
        ("overflow-in-work", exited(0), Class::Overflow, "400"),
        ("sigterm-tool", exited(143), Class::Lost, "143"),
        ("sigint-tool", ProcessExit::Signalled(2), Class::Lost, "SIGINT"),
    ];
    for (case, exit, class, evidence) in rows {
        let (events, verdict) = read(case, &exit);
        assert_eq!(verdict.class, class, "{case}: {}", verdict.evidence);
        assert!(verdict.evidence.contains(evidence), "{case}: {}", verdict.evidence);
        assert!(matches!(events[0], E::Session(_)) && !verdict.session_refused, "{case}");
    }
}

#[test]
fn the_context_is_that_of_each_answer() {
    let (events, _) = read("tool", &ProcessExit::Exited(0));
    let usage = events.iter().filter_map(|event| if let E::Usage(tokens) = event { Some(*tokens) } else { None });
    assert_eq!(usage.collect::<Vec<_>>(), [5000, 6000]);
    assert!(events.contains(&E::Said("All done.".to_owned())), "{events:?}");
}

#[test]
fn a_retry_of_its_own_is_told_with_status_and_pause() {
    let (events, _) = read("recovers", &ProcessExit::Exited(0));
    let retry = E::Retrying { status: Some(529), wait: Some(Duration::from_millis(10)) };
    assert_eq!(events.iter().filter(|event| **event == retry).count(), 1, "{events:?}");
}

#[test]
fn that_it_does_not_reach_its_provider_is_told_and_nothing_else_between() {
    let (events, _) = read("unreached", &ProcessExit::Exited(0));
    let count = |wanted: &E| events.iter().filter(|event| *event == wanted).count();
    assert_eq!((count(&E::Unreached), count(&E::Turn), count(&E::Working)), (3, 0, 0), "{events:?}");
    assert!(!read("recovers", &ProcessExit::Exited(0)).0.contains(&E::Unreached));
}

#[test]
fn a_compaction_that_it_finished_is_told() {
    let mut transcript = Transcript::new(Resumption::default());
    assert!(transcript.line(r#"{"type":"compaction_start","reason":"overflow"}"#).is_empty());
    assert!(transcript.line(r#"{"type":"compaction_end","reason":"overflow","aborted":true}"#).is_empty());
    let events = transcript.line(r#"{"type":"compaction_end","reason":"overflow","result":{"tokensBefore":9}}"#);
    assert_eq!(events, [E::Compacted { before: Some(9), after: None }]);
}

#[test]
fn a_session_that_is_not_there_or_elsewhere_is_refused() {
    for code in [0, 1] {
        let (events, verdict) = read("resume-unknown", &ProcessExit::Exited(code));
        assert!(events.is_empty() && verdict.session_refused && verdict.class == Class::Lost, "{code}: {events:?}");
    }
    for code in [2, 127, 137] {
        assert!(!read("resume-unknown", &ProcessExit::Exited(code)).1.session_refused, "{code}");
    }
}

#[test]
fn what_it_used_is_read() {
    let (case, tokens, micro_usd) = ("tool", 11_027, Some(0));
    let spent = read(case, &ProcessExit::Exited(0)).1.spent.unwrap_or_else(|| panic!("{case}: nothing"));
    assert_eq!((spent.tokens, spent.micro_usd, spent.of_session), (Some(tokens), micro_usd, false), "{case}");
}
