//! What is read from recorded runs.

use super::*;
use crate::backend::process::Reader as _;
use crate::backend::recorded::Recorded;
use crate::backend::refusal::Resumption;
use crate::runner::{AgentEvent as E, Surroundings};

fn path(name: &str) -> String {
    format!("{}/fixtures/transcripts/gemini/{name}.jsonl", env!("CARGO_MANIFEST_DIR"))
}

fn recorded(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Everything that is read from a recording, first its stream and then its session file, and the verdict. A request that
/// was never answered leaves nothing in the session file.
fn read(case: &str, exit: &ProcessExit) -> (Vec<E>, Verdict) {
    let mut facts = Facts::default();
    let mut events: Vec<E> = recorded(case).lines().flat_map(|line| facts.stream(line)).collect();
    let session = std::fs::read_to_string(path(&format!("{case}.session"))).unwrap_or_default();
    events.extend(session.lines().flat_map(|line| facts.recorded(line)));
    (events, Verdict { spent: facts.spent(), ..facts.verdict(exit) })
}

#[test]
fn every_recorded_end_has_its_class() {
    let transient = Class::Transient { wait: None };
    let rows = [
        ("success", 0, Class::Done, "success"),
        ("tool", 0, Class::Done, "success"),
        ("tool-fails", 0, Class::Done, "success"),
        ("first", 0, Class::Done, "success"),
        ("resume", 0, Class::Done, "success"),
        ("loop", 0, Class::Lost, "Loop detected"),
        ("truncated", 0, transient.clone(), "finish reason"),
        ("reset", 1, Class::Outage, "terminated"),
        ("overloaded", 247, Class::Outage, "status 503"),
        ("rate-limited", 173, transient, "status 429"),
        ("authentication", 145, Class::Permanent, "status 401"),
        ("refused", 144, Class::Permanent, "status 400"),
        ("prompt-too-long", 144, Class::Permanent, "status 400"),
        ("max-turns", 53, Class::TimedOut, "FatalTurnLimitedError"),
        ("sigterm-tool", 0, Class::Lost, "without an end"),
    ];
    for (case, code, class, evidence) in rows {
        let (events, verdict) = read(case, &ProcessExit::Exited(code));
        assert_eq!(verdict.class, class, "{case}: {}", verdict.evidence);
        assert!(verdict.evidence.contains(evidence), "{case}: {}", verdict.evidence);
        assert!(matches!(events[0], E::Session(_)), "{case}: the session comes before anything else");
    }
}

#[test]
fn its_retries_are_read_from_standard_error() {
    let path = format!("{}/fixtures/transcripts/gemini/unreached.stderr.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut facts = Facts::default();
    let events: Vec<E> = text.lines().flat_map(|line| facts.complaint(line)).collect();
    let retrying = |status| E::Retrying { status, wait: None };
    assert_eq!(events, [retrying(None), E::Unreached, retrying(None), E::Unreached]);
    let answered = "Attempt 1 failed with status 503. Retrying with backoff... Error: fetch failed";
    assert_eq!(facts.complaint(answered), [retrying(Some(503))]);
    assert!(facts.complaint("Attempt 9 failed: fetch failed. Max attempts reached").is_empty());
}

#[test]
fn a_success_without_an_answer_is_none() {
    let mut facts = Facts::default();
    for line in recorded("tool").lines().filter(|line| !line.contains(r#""role":"assistant""#)) {
        facts.stream(line);
    }
    assert_eq!(facts.verdict(&ProcessExit::Exited(0)).class, Class::Lost, "it stops so when its window is full");
}

#[test]
fn an_answer_comes_in_pieces_and_the_context_from_the_session_file() {
    let (events, _) = read("tool", &ProcessExit::Exited(0));
    assert!(events.contains(&E::Said("All done.".to_owned())), "{events:?}");
    let usage = events.iter().filter_map(|event| if let E::Usage(tokens) = event { Some(*tokens) } else { None });
    assert_eq!(usage.collect::<Vec<_>>(), [5000, 6000], "an answer that is written twice is counted once");
}

#[test]
fn a_session_is_refused_when_it_never_began() {
    let home = tempfile::tempdir().expect("a folder");
    let refused = |earlier, exit: &ProcessExit| {
        let resumption = Resumption::of(earlier, &Surroundings::default());
        let recorded = Recorded::new(home.path().to_path_buf(), |_, _| None, None);
        Transcript::new(resumption, recorded).verdict(exit).session_refused
    };
    assert_eq!(recorded("resume-unknown"), "");
    assert!(refused(Some("s"), &ProcessExit::Exited(42)));
    // New; nobody is logged in; killed.
    for (earlier, exit) in
        [(None, ProcessExit::Exited(42)), (Some("s"), ProcessExit::Exited(41)), (Some("s"), ProcessExit::Signalled(9))]
    {
        assert!(!refused(earlier, &exit), "{earlier:?} {exit}");
    }
}

#[test]
fn what_it_used_is_read() {
    for (case, tokens, micro_usd) in [("first", 5020, None), ("resume", 6020, None)] {
        let spent = read(case, &ProcessExit::Exited(0)).1.spent.unwrap_or_else(|| panic!("{case}: nothing"));
        assert_eq!((spent.tokens, spent.micro_usd, spent.of_session), (Some(tokens), micro_usd, false), "{case}");
    }
}
