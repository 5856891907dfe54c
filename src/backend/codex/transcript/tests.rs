//! What is read from recorded runs.

use super::*;
use crate::runner::AgentEvent as E;

fn recorded(name: &str) -> String {
    let path = format!("{}/fixtures/transcripts/codex-with-session/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Everything that is read from a recording, first its stream and then its session file, and the verdict.
fn read(case: &str, exit: &ProcessExit) -> (Vec<E>, Verdict) {
    let mut facts = Facts::default();
    let mut events: Vec<E> = recorded(case).lines().flat_map(|line| facts.stream(line)).collect();
    events.extend(recorded(&format!("{case}.session")).lines().flat_map(|line| facts.recorded(line)));
    (events, Verdict { spent: facts.spent(), ..facts.verdict(exit) })
}

#[test]
fn every_recorded_end_has_its_class() {
    let transient = Class::Transient { wait: None };
    let reset = Timestamp::from_second(1_795_220_000).expect("in range");
    let exited = ProcessExit::Exited;
    let rows = [
        ("tool", exited(0), Class::Done, "turn.completed"),
        ("compaction", exited(0), Class::Done, "turn.completed"),
        ("authentication", exited(1), Class::Permanent, "http_connection_failed 401"),
        ("refused", exited(1), Class::Permanent, "other"),
        ("overloaded", exited(1), Class::Outage, "http_connection_failed 529"),
        ("server-error", exited(1), Class::Outage, "internal_server_error"),
        ("rate-limited", exited(1), transient, "response_too_many_failed_attempts 429"),
        ("reset", exited(1), Class::Outage, "other"),
        ("usage-limit", exited(1), Class::Limit { resets_at: Some(reset) }, "usage_limit_exceeded"),
        ("prompt-too-long", exited(1), Class::Overflow, "context_window_exceeded"),
        ("sigint-tool", exited(1), Class::Cancelled, "turn_aborted"),
        ("sigterm-tool", ProcessExit::Signalled(15), Class::Lost, "SIGTERM"),
    ];
    for (case, exit, class, evidence) in rows {
        let (events, verdict) = read(case, &exit);
        assert_eq!(verdict.class, class, "{case}: {}", verdict.evidence);
        assert!(verdict.evidence.contains(evidence), "{case}: {}", verdict.evidence);
        assert!(matches!(events[0], E::Session(_)), "{case}: the session comes before anything else");
    }
}

#[test]
fn without_its_session_file_a_failure_is_tried_again() {
    let mut facts = Facts::default();
    for line in recorded("authentication").lines() {
        facts.stream(line);
    }
    let verdict = facts.verdict(&ProcessExit::Exited(1));
    assert_eq!(verdict.class, Class::Transient { wait: None }, "its prose says 401, and prose is not read for that");
    assert!(verdict.evidence.starts_with("no reason on record"), "{}", verdict.evidence);
}

#[test]
fn without_a_session_file_an_outage_is_read_from_the_streams_words() {
    let transient = Class::Transient { wait: None };
    let error = |message: &str| format!(r#"{{"type":"error","message":"{message}"}}"#);
    let failed = |message: &str| format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#);
    let work = r#"{"type":"item.completed","item":{"type":"command_execution"}}"#;
    let (down, busy) =
        ("stream error: unexpected status 503 Service Unavailable", "exceeded retry limit, last status: 429");
    for (lines, class) in [
        (vec![error(down), failed(down)], Class::Outage),
        (vec![failed("Connection failed: error sending request for url (https://api.example.com)")], Class::Outage),
        (vec![error(down), failed("")], Class::Outage),
        // The process ends, and says nothing about its turn.
        (vec![error(down)], Class::Outage),
        (vec![error(down), failed(busy)], transient.clone()),
        (vec![error(busy), failed(busy)], transient.clone()),
        (vec![error("unexpected status 401 Unauthorized"), failed("unexpected status 401 Unauthorized")], transient),
        (vec![error(down), work.to_owned()], Class::Lost),
        (vec![error(busy)], Class::Lost),
    ] {
        let mut facts = Facts::default();
        for line in [r#"{"type":"thread.started","thread_id":"t"}"#].into_iter().chain(lines.iter().map(String::as_str))
        {
            facts.stream(line);
        }
        let verdict = facts.verdict(&ProcessExit::Exited(1));
        assert_eq!(verdict.class, class, "{lines:?}: {}", verdict.evidence);
    }
    let mut facts = Facts::default();
    facts.stream(&error(down));
    assert_eq!(facts.verdict(&ProcessExit::Signalled(15)).class, Class::Lost, "somebody ended it while it tried");
}

#[test]
fn the_context_comes_from_the_session_file_and_is_no_sum() {
    let of = |case: &str| {
        let (events, _) = read(case, &ProcessExit::Exited(0));
        let usage = events.iter().filter_map(|event| if let E::Usage(tokens) = event { Some(*tokens) } else { None });
        (usage.collect::<Vec<_>>(), events.iter().filter(|event| **event == E::Turn).count())
    };
    assert_eq!(of("tool"), (vec![5020, 6007], 2));
    let (usage, turns) = of("compaction");
    assert_eq!(usage, [5020, 6020, 95_020, 95_150, 6050, 9007], "a repeated count is told once");
    assert_eq!(turns, 5, "four answers and the summary");
    let (events, _) = read("compaction", &ProcessExit::Exited(0));
    assert!(events.contains(&E::Compacted { before: Some(95_150), after: None }), "{events:?}");
}

#[test]
fn an_error_is_a_retry_unless_the_turn_fails_by_it() {
    let (events, _) = read("overloaded", &ProcessExit::Exited(1));
    let retries = events.iter().filter(|event| matches!(event, E::Retrying { .. })).count();
    let errors = recorded("overloaded")
        .lines()
        .filter(|line| line.contains(r#""type":"error","message":"Reconnecting"#))
        .count();
    assert_eq!(retries, errors);
}

#[test]
fn that_it_waits_for_a_network_is_told_and_work_is_not_taken_for_it() {
    let path = format!("{}/fixtures/transcripts/codex/unreached.jsonl", env!("CARGO_MANIFEST_DIR"));
    let mut facts = Facts::default();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let events: Vec<E> = text.lines().flat_map(|line| facts.stream(line)).collect();
    let count = |what: &E| events.iter().filter(|event| *event == what).count();
    let retrying = E::Retrying { status: None, wait: None };
    assert_eq!((count(&E::Unreached), count(&retrying), count(&E::Working)), (4, 4, 0), "{events:?}");
    for case in ["overloaded", "reset", "tool"] {
        let (events, _) = read(case, &ProcessExit::Exited(1));
        assert!(!events.contains(&E::Unreached), "{case}: {events:?}");
        assert_eq!(events.contains(&E::Working), case == "tool", "{case}: {events:?}");
    }
}

#[test]
fn what_it_says_last_is_its_answer() {
    let (events, _) = read("tool", &ProcessExit::Exited(0));
    assert!(events.contains(&E::Said("All done.".to_owned())), "{events:?}");
}

#[test]
fn what_is_no_event_is_passed_over() {
    let mut facts = Facts::default();
    for line in ["", "Reading additional input from stdin...", "[]", "{}", r#"{"type":"party"}"#] {
        assert!(facts.stream(line).is_empty() && facts.recorded(line).is_empty(), "{line}");
    }
    assert_eq!(facts.verdict(&ProcessExit::Exited(0)).class, Class::Lost, "an exit code of 0 is no success");
}

#[test]
fn what_it_used_is_read() {
    for (case, tokens, micro_usd) in [("tool", 11_027, None), ("compaction", 210_217, None)] {
        let spent = read(case, &ProcessExit::Exited(0)).1.spent.unwrap_or_else(|| panic!("{case}: nothing"));
        assert_eq!((spent.tokens, spent.micro_usd, spent.of_session), (Some(tokens), micro_usd, true), "{case}");
    }
}
