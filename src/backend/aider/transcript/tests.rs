//! What is read from recorded runs.

use super::*;
use crate::runner::AgentEvent as E;

fn recorded(name: &str) -> String {
    let path = format!("{}/fixtures/transcripts/aider/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Everything that is read from a recording, first its output and then its log, and the verdict.
fn read(case: &str, exit: &ProcessExit) -> (Vec<E>, Verdict) {
    let mut facts = Facts::default();
    let mut events: Vec<E> = recorded(&format!("{case}.txt")).lines().flat_map(|line| facts.printed(line)).collect();
    events.extend(recorded(&format!("{case}.session.jsonl")).lines().flat_map(|line| facts.logged(line)));
    (events, Verdict { spent: facts.spent, ..facts.verdict(exit) })
}

#[test]
fn every_recorded_end_has_its_class() {
    let rows = [
        ("success", ProcessExit::Exited(0), Class::Done, "message_send"),
        ("authentication", ProcessExit::Exited(0), Class::Permanent, "AuthenticationError"),
        ("refused", ProcessExit::Exited(0), Class::Permanent, "BadRequestError"),
        ("prompt-too-long", ProcessExit::Exited(0), Class::Permanent, "BadRequestError"),
        ("overloaded", ProcessExit::Exited(0), Class::Outage, "APIError"),
        ("truncated", ProcessExit::Exited(0), Class::Outage, "InternalServerError"),
        ("success", ProcessExit::Signalled(15), Class::Lost, "SIGTERM"),
    ];
    for (case, exit, class, evidence) in rows {
        let (_, verdict) = read(case, &exit);
        assert_eq!(verdict.class, class, "{case}: {}", verdict.evidence);
        assert!(verdict.evidence.contains(evidence), "{case}: {}", verdict.evidence);
    }
}

#[test]
fn a_failure_is_one_of_the_log_and_not_of_what_is_printed() {
    let mut facts = Facts::default();
    facts.printed("litellm.AuthenticationError: as the model said");
    for line in recorded("success.session.jsonl").lines() {
        facts.logged(line);
    }
    assert_eq!(facts.verdict(&ProcessExit::Exited(0)).class, Class::Done);
    assert_eq!(Facts::default().verdict(&ProcessExit::Exited(0)).class, Class::Lost, "an exit code of 0 is no success");
}

#[test]
fn the_context_is_that_of_each_request() {
    let (events, _) = read("success", &ProcessExit::Exited(0));
    assert_eq!(events, [E::Usage(5000), E::Turn]);
}

#[test]
fn that_it_does_not_reach_its_provider_is_told_also_where_the_line_is_folded() {
    let mut facts = Facts::default();
    let events: Vec<E> = recorded("unreached.txt").lines().flat_map(|line| facts.printed(line)).collect();
    let count = |wanted: &E| events.iter().filter(|event| *event == wanted).count();
    let retries = count(&E::Retrying { status: None, wait: None });
    assert_eq!((retries, count(&E::Unreached)), (8, 8), "{events:?}");
    assert!(!read("overloaded", &ProcessExit::Exited(0)).0.contains(&E::Unreached));
}

#[test]
fn its_own_retries_are_told() {
    let (events, _) = read("overloaded", &ProcessExit::Exited(0));
    let printed = recorded("overloaded.txt").lines().filter(|line| line.starts_with("Retrying in ")).count();
    assert!(printed > 0);
    assert_eq!(events, vec![E::Retrying { status: None, wait: None }; printed]);
}

#[test]
fn the_answer_is_the_last_one_of_the_conversation() {
    let last = "TO LLM 1\nUSER a\nLLM RESPONSE 2\nASSISTANT one\nTO LLM 3\nUSER ASSISTANT not this\nLLM RESPONSE 4\n\
                ASSISTANT two\nASSISTANT \nASSISTANT   lines: LLM RESPONSE 5\n";
    for (history, said) in [
        (last, Some("two\n\n  lines: LLM RESPONSE 5")),
        ("TO LLM 1\nUSER a\n", None),
        ("TO LLM 1\nUSER a\nLLM RESPONSE 2\nASSISTANT \n", None),
        ("", None),
    ] {
        assert_eq!(answer(history).as_deref(), said, "{history}");
    }
    let home = tempfile::tempdir().expect("a folder");
    let place = |name: &str| PathBuf::from(format!("{}/fixtures/transcripts/aider/{name}", env!("CARGO_MANIFEST_DIR")));
    let end = |history| {
        let recorded = Recorded::new(home.path().to_path_buf(), |_, _| None, None);
        Transcript::new(recorded, history).end(&ProcessExit::Exited(0))
    };
    assert_eq!(end(place("success.history.txt")), [E::Said("All done.".to_owned())]);
    assert_eq!(end(place("nowhere.txt")), []);
}

#[test]
fn what_it_used_is_read() {
    let (case, tokens, micro_usd) = ("success", 5020, Some(0));
    let spent = read(case, &ProcessExit::Exited(0)).1.spent.unwrap_or_else(|| panic!("{case}: nothing"));
    assert_eq!((spent.tokens, spent.micro_usd, spent.of_session), (Some(tokens), micro_usd, false), "{case}");
}
