//! What is read from recorded runs.

use super::*;
use crate::runner::{AgentEvent as E, Surroundings};

fn recorded(name: &str) -> String {
    let path = format!("{}/fixtures/transcripts/opencode/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Everything that is read from some lines, and the verdict.
fn understood<'a>(lines: impl IntoIterator<Item = &'a str>, exit: &ProcessExit) -> (Vec<E>, Verdict) {
    let mut transcript = Transcript::new(Resumption::of(Some("s"), &Surroundings::default()));
    let mut events: Vec<E> = lines.into_iter().flat_map(|line| transcript.line(line)).collect();
    events.extend(transcript.end(exit));
    (events, transcript.verdict(exit))
}

fn read(case: &str, exit: &ProcessExit) -> (Vec<E>, Verdict) {
    understood(recorded(case).lines(), exit)
}

fn said(events: &[E]) -> Vec<&str> {
    events.iter().filter_map(|event| if let E::Said(text) = event { Some(text.as_str()) } else { None }).collect()
}

#[test]
fn every_recorded_end_has_its_class() {
    let exited = ProcessExit::Exited;
    let rows = [
        ("success", exited(0), Class::Done, "stop"),
        ("tool", exited(0), Class::Done, "stop"),
        ("first", exited(0), Class::Done, "stop"),
        ("resume", exited(0), Class::Done, "stop"),
        ("recovers", exited(0), Class::Done, "stop"),
        ("compaction", exited(0), Class::Done, "stop"),
        ("overflow-in-work", exited(1), Class::Done, "stop"),
        ("authentication", exited(1), Class::Permanent, "APIError 401"),
        ("refused", exited(1), Class::Permanent, "APIError 400"),
        ("overloaded", exited(1), Class::Outage, "APIError 529"),
        ("unreached", exited(1), Class::Outage, "Cannot connect to API"),
        ("sigterm-tool", ProcessExit::Signalled(15), Class::Lost, "SIGTERM"),
    ];
    for (case, exit, class, evidence) in rows {
        let (events, verdict) = read(case, &exit);
        assert_eq!(verdict.class, class, "{case}: {}", verdict.evidence);
        assert!(verdict.evidence.contains(evidence), "{case}: {}", verdict.evidence);
        assert!(!verdict.session_refused, "{case}");
        let Some(first) = events.first() else {
            assert_eq!(case, "sigterm-tool", "only who was stopped at once says nothing");
            continue;
        };
        assert!(matches!(first, E::Session(_)), "{case}: the session comes before anything else");
    }
}

#[test]
fn an_overflow_that_nothing_follows_is_one() {
    let text = recorded("overflow-in-work");
    let until_it = text.split_inclusive('\n').take_while(|line| !line.contains("ContextOverflowError")).count() + 1;
    let (_, verdict) = understood(text.lines().take(until_it), &ProcessExit::Exited(1));
    assert_eq!(verdict.class, Class::Overflow, "{}", verdict.evidence);
}

#[test]
fn what_stops_in_the_middle_is_no_success() {
    let text = recorded("tool");
    let (_, verdict) = understood(text.lines().take(3), &ProcessExit::Exited(0));
    assert_eq!(verdict.class, Class::Lost, "so it ends when a tool is refused: {}", verdict.evidence);
}

#[test]
fn the_summary_of_a_compaction_is_neither_an_answer_nor_the_context() {
    for (case, before, answer) in
        [("compaction", 95_000, "Done after compaction."), ("overflow-in-work", 5000, "All done.")]
    {
        let (events, _) = read(case, &ProcessExit::Exited(0));
        assert_eq!(said(&events), [answer], "{case}");
        assert!(events.contains(&E::Compacted { before: Some(before), after: None }), "{case}: {events:?}");
        assert!(!events.contains(&E::Usage(100)), "{case}: what the summary took: {events:?}");
    }
    let (events, _) = read("tool", &ProcessExit::Exited(0));
    let usage = events.iter().filter_map(|event| if let E::Usage(tokens) = event { Some(*tokens) } else { None });
    assert_eq!(usage.collect::<Vec<_>>(), [5000, 6000]);
}

#[test]
fn a_session_that_is_not_there_is_refused() {
    let (events, verdict) = read("resume-unknown", &ProcessExit::Exited(1));
    assert!(events.is_empty() && verdict.session_refused, "{events:?}");
    for code in [0, 2, 127, 137] {
        assert!(!read("resume-unknown", &ProcessExit::Exited(code)).1.session_refused, "{code}");
    }
}

#[test]
fn what_it_used_is_read() {
    for (case, tokens, micro_usd) in [("tool", 11_027, Some(0)), ("compaction", 115_307, Some(0))] {
        let spent = read(case, &ProcessExit::Exited(0)).1.spent.unwrap_or_else(|| panic!("{case}: nothing"));
        assert_eq!((spent.tokens, spent.micro_usd, spent.of_session), (Some(tokens), micro_usd, false), "{case}");
    }
}
