//! What is read from recorded runs.

use super::*;
use crate::runner::AgentEvent as E;

/// Everything that is read from a recording, its verdict last, except for what the log takes as it is.
fn read(case: &str, resumes: bool, exit: &ProcessExit) -> (Vec<E>, Verdict) {
    let path = format!("{}/fixtures/transcripts/claude-code/{case}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut transcript = Transcript::new(resumes);
    let events = text.lines().flat_map(|line| transcript.line(line)).collect();
    (events, transcript.verdict(exit))
}

#[test]
fn every_recorded_end_has_its_class() {
    let transient = Class::Transient { wait: None };
    let reset = Timestamp::from_second(1_795_220_000).expect("in range");
    let rows = [
        ("success", 0, Class::Done, "completed"),
        ("tool", 0, Class::Done, "completed"),
        ("tool-fails", 0, Class::Done, "completed"),
        ("first", 0, Class::Done, "completed"),
        ("compaction", 0, Class::Done, "completed"),
        ("compact-on-request", 0, Class::Done, "success"),
        ("authentication", 1, Class::Permanent, "status 401"),
        ("credit", 1, Class::Permanent, "status 400"),
        ("rate-limited", 1, transient, "status 429"),
        ("overloaded", 1, Class::Outage, "status 529"),
        ("reset", 1, Class::Outage, "ECONNRESET"),
        ("timed-out", 1, Class::Outage, "api_error"),
        ("unreached", 1, Class::Outage, "Unable to connect to API"),
        ("usage-limit", 1, Class::Limit { resets_at: Some(reset) }, "status 429"),
        ("prompt-too-long", 1, Class::Overflow, "prompt_too_long"),
        ("max-turns", 1, Class::TimedOut, "max_turns"),
        ("sigint-tool", 0, Class::Cancelled, "aborted_tools"),
        // It ends with 0 and without a word about how.
        ("sigint-waiting", 0, Class::Lost, "exit 0"),
        ("sigterm-waiting", 143, Class::Lost, "exit 143"),
        ("sigterm-tool", 143, Class::Lost, "exit 143"),
    ];
    for (case, code, class, evidence) in rows {
        let (events, verdict) = read(case, false, &ProcessExit::Exited(code));
        assert_eq!(verdict.class, class, "{case}: {}", verdict.evidence);
        assert!(verdict.evidence.contains(evidence), "{case}: {}", verdict.evidence);
        assert!(!verdict.session_refused, "{case}");
        let sessions = events.iter().filter(|event| matches!(event, E::Session(_))).count();
        assert_eq!(sessions, 1, "{case}: its session is told once");
        assert!(matches!(events[0], E::Session(_)), "{case}: and before anything else");
    }
}

#[test]
fn the_exit_code_alone_changes_no_class() {
    for case in ["success", "authentication", "overloaded", "sigint-tool", "max-turns"] {
        let by_code = [0, 1, 2, 143].map(|code| read(case, false, &ProcessExit::Exited(code)).1.class);
        assert!(by_code.iter().all(|class| *class == by_code[0]), "{case}: {by_code:?}");
    }
}

#[test]
fn a_session_that_is_not_there_is_told_from_one_that_failed() {
    assert!(read("resume-unknown", true, &ProcessExit::Exited(1)).1.session_refused);
    assert!(!read("resume-unknown", true, &ProcessExit::Signalled(9)).1.session_refused, "killed before it could look");
    // As root, which it refuses; in a container that does not run; killed in one.
    for code in [0, 1, 127, 137] {
        let silence = Transcript::new(true).verdict(&ProcessExit::Exited(code));
        assert!(!silence.session_refused && silence.class == Class::Lost, "{code}");
    }
    for case in ["resume", "authentication", "sigterm-waiting"] {
        assert!(!read(case, true, &ProcessExit::Exited(1)).1.session_refused, "{case}");
    }
}

#[test]
fn a_run_with_a_tool_is_two_turns_and_their_context() {
    let (events, _) = read("tool", false, &ProcessExit::Exited(0));
    let usage: Vec<u64> =
        events.iter().filter_map(|event| if let E::Usage(n) = event { Some(*n) } else { None }).collect();
    assert_eq!(events.iter().filter(|event| **event == E::Turn).count(), 2, "{events:?}");
    assert_eq!(usage.len(), 2, "{events:?}");
    assert!(matches!(events.last(), Some(E::Turn | E::Said(_))), "{events:?}");
}

#[test]
fn a_message_in_two_events_counts_once_and_a_subagents_not_at_all() {
    let message = |id: &str, part: &str, parent: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","content":[{part}],"usage":{{"input_tokens":1,"cache_read_input_tokens":20,"cache_creation_input_tokens":300,"output_tokens":9}}}},"parent_tool_use_id":{parent}}}"#
        )
    };
    let text = r#"{"type":"text","text":"Hello."}"#;
    let mut transcript = Transcript::new(false);
    assert_eq!(
        transcript.line(&message("a", r#"{"type":"thinking","thinking":"so"}"#, "null")),
        [E::Usage(321), E::Turn]
    );
    assert_eq!(transcript.line(&message("a", text, "null")), [E::Said("Hello.".to_owned())]);
    assert_eq!(transcript.line(&message("b", text, r#""toolu_1""#)), [E::Working]);
    assert!(transcript.line(&message("c", text, "null")).contains(&E::Turn));
}

#[test]
fn its_own_retries_and_compactions_are_told() {
    let (events, _) = read("overloaded", false, &ProcessExit::Exited(1));
    let retries: Vec<_> = events.iter().filter(|event| matches!(event, E::Retrying { .. })).collect();
    assert!(matches!(retries[0], E::Retrying { status: Some(529), wait: Some(_) }), "{retries:?}");
    for case in ["compaction", "compact-on-request"] {
        let (events, _) = read(case, false, &ProcessExit::Exited(0));
        let told =
            |event: &E| matches!(event, E::Compacted { before: Some(before), after: Some(after) } if after < before);
        assert_eq!(events.iter().filter(|event| told(event)).count(), 1, "{case}");
    }
}

#[test]
fn a_failure_of_the_server_without_a_status_is_an_outage_unless_an_answer_came_after_it() {
    let synthetic = |kind: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"model":"<synthetic>"}},"parent_tool_use_id":null,"error":"{kind}"}}"#
        )
    };
    let answer = r#"{"type":"assistant","message":{"id":"a","model":"m"},"parent_tool_use_id":null}"#.to_owned();
    let result = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"completed","result":"no"}"#;
    for (lines, class) in [
        (vec![synthetic("server_error")], Class::Outage),
        (vec![synthetic("server_error"), answer], Class::Permanent),
        (vec![synthetic("authentication_failed")], Class::Permanent),
    ] {
        let mut transcript = Transcript::new(false);
        for line in &lines {
            transcript.line(line);
        }
        transcript.line(result);
        assert_eq!(transcript.verdict(&ProcessExit::Exited(1)).class, class, "{lines:?}");
    }
}

#[test]
fn an_outage_is_read_from_its_words_where_a_version_says_it_nowhere_else() {
    let limit = Class::Transient { wait: None };
    let overloaded = r#"529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"#;
    let ends = [r#","is_error":true"#, r#","is_error":false"#, ""];
    for (words, class) in [
        (format!("API Error: {overloaded}"), Class::Outage),
        ("API Error: 500 Internal server error".to_owned(), Class::Outage),
        ("API Error: Connection error.".to_owned(), Class::Outage),
        ("API Error: Request timed out.".to_owned(), Class::Outage),
        ("API Error: Repeated 529 Overloaded errors".to_owned(), Class::Outage),
        ("API Error: 429 slow down".to_owned(), limit),
        ("API Error: 401 invalid x-api-key".to_owned(), Class::Permanent),
        ("API Error: it broke".to_owned(), Class::Lost),
    ] {
        for end in ends {
            let message = |more: &str| {
                let content = format!(r#"[{{"type":"text","text":"{words}"}}]"#);
                format!(
                    r#"{{"type":"assistant","message":{{"id":"a","content":{content}{more}}},"parent_tool_use_id":null}}"#
                )
            };
            let tool = r#"{"type":"assistant","message":{"id":"t","model":"m","usage":{"input_tokens":1,"output_tokens":1},"content":[{"type":"text","text":"I look."}]},"parent_tool_use_id":null}"#;
            let result = format!(r#"{{"type":"result","subtype":"success"{end},"result":"{words}"}}"#);
            let (unmarked, models) = (message(""), message(r#","usage":{"input_tokens":1,"output_tokens":9}"#));
            let read = |lines: &[&str]| {
                let mut transcript = Transcript::new(false);
                let events: Vec<E> =
                    lines.iter().chain([&result.as_str()]).flat_map(|line| transcript.line(line)).collect();
                (events, transcript.verdict(&ProcessExit::Exited(0)))
            };
            for before in [vec![], vec![unmarked.as_str()], vec![tool], vec![tool, unmarked.as_str()]] {
                let (events, verdict) = read(&before);
                assert_eq!(verdict.class, class, "{words} {end} {before:?}");
                assert!(verdict.evidence.contains("API Error: "), "{}", verdict.evidence);
                assert_eq!(
                    events.contains(&E::Turn),
                    before.contains(&tool),
                    "its own words are no answer: {events:?}"
                );
            }
            let (_, verdict) = read(&[&models]);
            let said = if end.contains("false") { Class::Done } else { Class::Lost };
            assert_eq!(verdict.class, said, "the model may say it too: {words} {end}");
        }
    }
    // What a version says in so many fields counts more than words.
    let (told, words) = (r#""terminal_reason":"completed""#, r#""result":"API Error: 500 is mended""#);
    let mut transcript = Transcript::new(false);
    transcript.line(&format!(r#"{{"type":"result","subtype":"success","is_error":false,{told},{words}}}"#));
    assert_eq!(transcript.verdict(&ProcessExit::Exited(0)).class, Class::Done);
}

#[test]
fn a_retry_without_an_answer_says_that_nobody_was_reached() {
    let (events, _) = read("unreached", false, &ProcessExit::Exited(1));
    assert!(events.contains(&E::Unreached), "{events:?}");
    let (events, _) = read("overloaded", false, &ProcessExit::Exited(1));
    assert!(!events.contains(&E::Unreached), "{events:?}");
}

#[test]
fn a_limit_that_was_lifted_limits_no_more() {
    let mut transcript = Transcript::new(false);
    let event = |status: &str| {
        format!(r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":1795220000}}}}"#)
    };
    transcript.line(&event("rejected"));
    transcript.line(&event("allowed"));
    transcript.line(
        r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429}"#,
    );
    assert_eq!(transcript.verdict(&ProcessExit::Exited(1)).class, Class::Transient { wait: None });
}

#[test]
fn ends_that_were_not_recorded_have_a_class_too() {
    let class = |result: &str| {
        let mut transcript = Transcript::new(false);
        transcript.line(r#"{"type":"system","subtype":"init","session_id":"s"}"#);
        transcript.line(&format!(r#"{{"type":"result",{result}}}"#));
        transcript.verdict(&ProcessExit::Exited(0)).class
    };
    let failed = r#""subtype":"success","is_error":true"#;
    for (result, expected) in [
        (r#""subtype":"error_during_execution","is_error":true"#.to_owned(), Class::Lost),
        (r#""subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns""#.to_owned(), Class::TimedOut),
        (format!(r#"{failed},"terminal_reason":"rapid_refill_breaker""#), Class::Overflow),
        (format!(r#"{failed},"terminal_reason":"api_error","api_error_status":403"#), Class::Permanent),
        // How version 2.1.197 tells a provider that was not reached.
        (format!(r#"{failed},"terminal_reason":"completed","result":"API Error: read ECONNRESET""#), Class::Outage),
        (
            format!(r#"{failed},"terminal_reason":"completed","result":"API Error: getaddrinfo ENOTFOUND a.b""#),
            Class::Outage,
        ),
        (format!(r#"{failed},"terminal_reason":"completed","result":"API Error: Request timed out.""#), Class::Outage),
        (format!(r#"{failed},"terminal_reason":"completed","result":"Not logged in""#), Class::Permanent),
        (format!(r#"{failed},"terminal_reason":"completed","api_error_status":403"#), Class::Permanent),
        // A hook that stops the agent leaves the rest of the stream as after a success.
        (r#""subtype":"success","is_error":false,"terminal_reason":"hook_stopped""#.to_owned(), Class::Permanent),
        (r#""subtype":"success""#.to_owned(), Class::Lost),
    ] {
        assert_eq!(class(&result), expected, "{result}");
    }
}

#[test]
fn what_is_no_event_is_passed_over() {
    let mut transcript = Transcript::new(false);
    for line in ["", "not JSON", "[]", "7", "{}", r#"{"type":"party"}"#, r#"{"type":"result"#] {
        assert!(transcript.line(line).is_empty(), "{line}");
    }
    assert_eq!(transcript.verdict(&ProcessExit::Exited(0)).class, Class::Lost);
}

#[test]
fn what_it_used_is_read() {
    for (case, tokens, micro_usd) in [
        ("first", 5009, Some(15_135)),
        ("resume", 10_016, Some(30_240)),
        ("compact-on-request", 305_367, Some(918_105)),
    ] {
        let spent = read(case, false, &ProcessExit::Exited(0)).1.spent.unwrap_or_else(|| panic!("{case}: nothing"));
        assert_eq!((spent.tokens, spent.micro_usd, spent.of_session), (Some(tokens), micro_usd, true), "{case}");
    }
}
