//! What is read from recorded runs.

use super::*;
use crate::backend::process::Reader as _;
use crate::backend::recorded::Recorded;
use crate::backend::refusal::Resumption;
use crate::runner::{AgentEvent as E, Surroundings};

fn recorded(name: &str) -> String {
    let path = format!("{}/fixtures/transcripts/qwen/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
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
    let exited = ProcessExit::Exited;
    let rows = [
        ("success", exited(0), Class::Done, "success"),
        ("tool", exited(0), Class::Done, "success"),
        ("tool-fails", exited(0), Class::Done, "success"),
        ("first", exited(0), Class::Done, "success"),
        ("resume", exited(0), Class::Done, "success"),
        ("compaction", exited(0), Class::Done, "success"),
        ("compact-on-request", exited(0), Class::Done, "success"),
        ("authentication", exited(1), Class::Permanent, "status 401"),
        ("refused", exited(1), Class::Permanent, "status 400"),
        ("prompt-too-long", exited(1), Class::Permanent, "status 400"),
        ("overloaded", exited(1), Class::Outage, "status 529"),
        ("unreached", exited(1), Class::Outage, "Connection error"),
        ("truncated", exited(1), transient.clone(), "finish reason"),
        ("reset", exited(1), Class::Outage, ""),
        ("loop", exited(1), transient, "Loop detection"),
        ("max-turns", exited(53), Class::TimedOut, "turns"),
        ("sigterm-tool", ProcessExit::Signalled(15), Class::Lost, "SIGTERM"),
        ("sigterm-tool", exited(130), Class::Cancelled, "interrupted"),
        ("sigint-tool", ProcessExit::Signalled(2), Class::Lost, "SIGINT"),
    ];
    for (case, exit, class, evidence) in rows {
        let (events, verdict) = read(case, &exit);
        assert_eq!(verdict.class, class, "{case}: {}", verdict.evidence);
        assert!(verdict.evidence.contains(evidence), "{case}: {}", verdict.evidence);
        assert!(matches!(events[0], E::Session(_)), "{case}: the session comes before anything else");
    }
}

#[test]
fn that_it_does_not_reach_its_provider_is_told() {
    for (case, is_told) in [("unreached", true), ("overloaded", false), ("authentication", false)] {
        let (events, _) = read(case, &ProcessExit::Exited(1));
        assert_eq!(events.contains(&E::Unreached), is_told, "{case}: {events:?}");
    }
}

#[test]
fn without_its_session_file_the_status_of_a_failure_is_that_of_its_message() {
    for (case, class) in [("authentication", Class::Permanent), ("overloaded", Class::Outage)] {
        let mut facts = Facts::default();
        for line in recorded(case).lines() {
            facts.stream(line);
        }
        assert_eq!(facts.verdict(&ProcessExit::Exited(1)).class, class, "{case}");
    }
}

#[test]
fn a_failure_that_is_printed_like_an_answer_is_none() {
    for case in ["authentication", "overloaded", "prompt-too-long", "truncated"] {
        let (events, _) = read(case, &ProcessExit::Exited(1));
        let said = events.iter().any(|event| matches!(event, E::Said(text) if text.contains("API Error")));
        assert!(!said, "{case}: {events:?}");
    }
    let (events, _) = read("tool", &ProcessExit::Exited(0));
    assert!(events.contains(&E::Said("All done.".to_owned())), "{events:?}");
}

#[test]
fn a_failure_that_an_old_version_calls_a_success_is_none() {
    let old = "0.15.10";
    let transient = Class::Transient { wait: None };
    for (version, tokens, turns, answer, class) in [
        (old, 0, 1, "[API Error: 401 Incorrect API key]", Class::Permanent),
        (old, 0, 1, "[API Error: 400 too long]", Class::Permanent),
        (old, 0, 1, "[API Error: 500 broken]", Class::Outage),
        (old, 0, 1, "Error 401 is [API Error: Model stream ended without a finish reason.]", transient.clone()),
        (old, 0, 1, "Error 401 is what the model speaks of.", transient.clone()),
        (old, 5000, 1, "[API Error: 401] is what it says.", Class::Done),
        (old, 0, 0, "Context compressed (9030 -> 1060).", Class::Done),
        // A provider that counts no tokens.
        ("0.24.4", 0, 1, "All done.", Class::Done),
        ("1.0.0", 0, 1, "All done.", Class::Done),
        ("", 0, 1, "All done.", transient.clone()),
    ] {
        let mut facts = Facts::default();
        let answered = class == Class::Done;
        let lines = [
            serde_json::json!({ "type": "system", "subtype": "init", "session_id": "s", "qwen_code_version": version }),
            serde_json::json!({ "type": "assistant", "parent_tool_use_id": null,
                "message": { "content": [{ "type": "text", "text": answer }], "usage": { "input_tokens": tokens } } }),
            serde_json::json!({ "type": "result", "subtype": "success", "is_error": false, "num_turns": turns, "result": answer }),
        ];
        let events: Vec<E> = lines.iter().flat_map(|line| facts.stream(&line.to_string())).collect();
        let verdict = facts.verdict(&ProcessExit::Exited(0));
        assert_eq!(verdict.class, class, "{version} {tokens} {answer}: {}", verdict.evidence);
        assert_eq!(events.contains(&E::Said(answer.to_owned())), answered, "{version} {tokens} {answer}: {events:?}");
    }
}

#[test]
fn a_success_without_an_answer_is_none() {
    let mut facts = Facts { honest: true, ..Facts::default() };
    facts.stream(r#"{"type":"result","subtype":"success","is_error":false,"result":"","permission_denials":[{}]}"#);
    assert_eq!(
        facts.verdict(&ProcessExit::Exited(0)).class,
        Class::Lost,
        "it stops so at a limit of tokens of its own"
    );
}

#[test]
fn the_context_is_that_of_each_answer_and_a_compaction_is_told() {
    let (events, _) = read("compaction", &ProcessExit::Exited(0));
    let usage = events.iter().filter_map(|event| if let E::Usage(tokens) = event { Some(*tokens) } else { None });
    assert_eq!(usage.collect::<Vec<_>>(), [5000, 6000, 95_000, 9000]);
    let compacted = |events: &[E]| events.iter().any(|event| matches!(event, E::Compacted { before: Some(_), .. }));
    assert!(compacted(&events), "{events:?}");
    let (events, _) = read("compact-on-request", &ProcessExit::Exited(0));
    assert!(compacted(&events), "{events:?}");
}

#[test]
fn its_own_retries_are_told_with_their_status() {
    let (events, _) = read("overloaded", &ProcessExit::Exited(1));
    let retries = events.iter().filter(|event| matches!(event, E::Retrying { status: Some(529), .. })).count();
    assert_eq!(retries, recorded("overloaded.session").lines().count() - 1, "every failed request but the last");
}

#[test]
fn a_session_is_refused_when_it_never_began() {
    let home = tempfile::tempdir().expect("a folder");
    let nothing = || Recorded::new(home.path().to_path_buf(), |_, _| None, None);
    let refused = |earlier, printed: &str, exit: &ProcessExit| {
        let mut transcript = Transcript::new(Resumption::of(earlier, &Surroundings::default()), nothing());
        transcript.line(printed);
        transcript.verdict(exit).session_refused
    };
    assert_eq!(recorded("resume-unknown"), "");
    assert!(refused(Some("s"), "", &ProcessExit::Exited(1)));
    // New; nobody is logged in, which it says; interrupted; killed.
    for (earlier, printed, exit) in [
        (None, "", ProcessExit::Exited(1)),
        (Some("s"), r#"{"type":"result","subtype":"error_during_execution","is_error":true}"#, ProcessExit::Exited(1)),
        (Some("s"), "", ProcessExit::Exited(130)),
        (Some("s"), "", ProcessExit::Signalled(9)),
    ] {
        assert!(!refused(earlier, printed, &exit), "{earlier:?} {printed} {exit}");
    }
}

#[test]
fn what_it_used_is_read() {
    for (case, tokens, micro_usd) in [("first", 5020, None), ("resume", 11_040, None)] {
        let spent = read(case, &ProcessExit::Exited(0)).1.spent.unwrap_or_else(|| panic!("{case}: nothing"));
        assert_eq!((spent.tokens, spent.micro_usd, spent.of_session), (Some(tokens), micro_usd, true), "{case}");
    }
}
