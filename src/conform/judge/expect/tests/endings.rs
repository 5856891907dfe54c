//! Ends, orphans, the verbs `state` and `resolve`, files left alone.

use serde_json::json;

use super::scene::{Scene, scene};
use crate::conform::judge::Outcome;
use crate::conform::observe::{FileSeen, ProcessEnd, ProcessSeen};
use crate::conform::spec::Reason;

#[test]
fn a_signal_is_never_an_exit_code() {
    let ended = |end| scene().well().ending(end);
    ended(ProcessEnd::Exited(3)).passes("ends: {}");
    ended(ProcessEnd::Exited(2)).passes("ends: {code: 2}");
    ended(ProcessEnd::Exited(1)).fails("ends: {code: 2}", Reason::WrongExitCode);
    ended(ProcessEnd::Signalled("SEGV".to_owned())).fails("ends: {}", Reason::EndedBySignal);
    ended(ProcessEnd::Signalled("TERM".to_owned())).fails("ends: {code: 143}", Reason::EndedBySignal);
    ended(ProcessEnd::Waiting).passes("ends: {may_wait: true}");
    ended(ProcessEnd::Waiting).fails("ends: {}", Reason::DidNotEnd);
    ended(ProcessEnd::OutOfBudget).fails("ends: {may_wait: true}", Reason::DidNotEnd);
    ended(ProcessEnd::KilledAsPlanned).fails("ends: {}", Reason::DidNotEnd);
    scene().well().fails("ends: {step: 4}", Reason::DidNotEnd);
}

#[test]
fn orphans_are_named() {
    scene().well().passes("no_orphans");
    let mut littered = scene().well();
    littered.seen.orphans.push(ProcessSeen { pid: 7, command: "sleep 999".to_owned() });
    let check = littered.judge("no_orphans");
    assert_eq!(check.reason, Reason::LeftProcesses);
    assert!(check.observed.contains("sleep 999"), "{check:?}");
}

fn asked(end: ProcessEnd, answer: &str) -> Scene {
    let mut scene = scene().well().step("state", end);
    scene.manifest.state = Some(vec!["it".to_owned()]);
    scene.output(1, answer)
}

#[test]
fn the_state_verb_answers_json() {
    let state = "state: {step: 1, fields: {/current_phase: {is: audit}}}";
    asked(ProcessEnd::Exited(0), r#"{"current_phase":"audit"}"#).passes(state);
    asked(ProcessEnd::Exited(0), r#"{"current_phase":"design"}"#).fails(state, Reason::WrongValue);
    asked(ProcessEnd::Exited(0), "audit").fails(state, Reason::NotJson);
    asked(ProcessEnd::Exited(1), r#"{"current_phase":"audit"}"#).fails(state, Reason::VerbFailed);
    scene().well().fails(state, Reason::VerbFailed);
}

#[test]
fn a_crash_is_no_refusal() {
    let resolved = |end| scene().well().step("resolve", end);
    let (accepted, refused) = ("resolved: {step: 1, accepted: true}", "resolved: {step: 1, accepted: false}");
    resolved(ProcessEnd::Exited(0)).passes(accepted);
    resolved(ProcessEnd::Exited(1)).fails(accepted, Reason::NotAccepted);
    resolved(ProcessEnd::Exited(1)).passes(refused);
    resolved(ProcessEnd::Exited(0)).fails(refused, Reason::NotRefused);
    resolved(ProcessEnd::Signalled("SEGV".to_owned())).fails(refused, Reason::VerbFailed);
    resolved(ProcessEnd::OutOfBudget).fails(refused, Reason::VerbFailed);
    scene().well().fails(refused, Reason::VerbFailed);
}

#[test]
fn laid_files_stay() {
    let laid = |text: Option<&str>| {
        let mut scene = scene().well();
        scene.case.files = serde_json::from_value(json!({"notes/$p.md": "$code"})).expect("files");
        if let Some(text) = text {
            let file = FileSeen { text: text.to_owned(), modified: 0 };
            scene.last().laid.insert("notes/design.md".to_owned(), file);
        }
        scene
    };
    laid(Some("137")).passes("unchanged: notes/$p.md");
    laid(Some("138")).fails("unchanged: notes/$p.md", Reason::FileChanged);
    laid(None).fails("unchanged: notes/$p.md", Reason::FileGone);
    laid(Some("137")).fails("unchanged: other.md", Reason::FileGone);
}

#[test]
fn a_stop_is_decided_and_no_breakdown() {
    let decided = "decided: {phase: $p}";
    let stopped =
        |code| scene().attempts(&[("preflight", 0, 1, 2), ("design", 119, 3, 4)]).ending(ProcessEnd::Exited(code));
    stopped(2).passes(decided);
    stopped(1).output(9, "design ended with 119, which nobody knows").passes(decided);
    stopped(1).checkpoint("design.yaml", "exit_code: 2").passes(decided);
    stopped(1).report(json!({ "trigger": "manual", "phase": "design" })).passes(decided);
    stopped(1).fails(decided, Reason::NoDecision);
    stopped(1).output(9, "bye").fails(decided, Reason::NoDecision);
    stopped(1).report(json!({ "trigger": "manual", "phase": "audit" })).fails(decided, Reason::NoDecision);
    stopped(2)
        .output(9, "Traceback (most recent call last):")
        .output(9, "design: 119")
        .fails(decided, Reason::BrokeDown);
    stopped(2).output(2, "Traceback (most recent call last):").passes(decided);
    scene().fails(decided, Reason::NothingStarted);
}

#[test]
fn what_a_breakdown_prints_is_no_warning() {
    let says = "says: {phase: $p, pattern: 'code $code'}";
    let ended = || scene().attempts(&[("design", 137, 1, 2)]);
    ended().output(9, "unknown code 137").passes(says);
    ended().output(9, "unknown code 137").output(9, "panic: code 137").passes(says);
    ended().output(9, "panic: code 137").output(9, "main.go:7: code 137").fails(says, Reason::NotSaid);
}

#[test]
fn what_the_judge_cut_short_while_it_worked_is_no_verdict() {
    let expectation = "ends: {code: 0}";
    scene().well().ending(ProcessEnd::TooSlow).says(expectation, Outcome::CouldNotRun, Reason::TooSlow);
    scene().well().ending(ProcessEnd::OutOfBudget).fails(expectation, Reason::DidNotEnd);
    scene().well().ending(ProcessEnd::Runaway(17)).fails(expectation, Reason::DidNotEnd);
}

#[test]
fn whoever_speaks_in_the_place_of_a_phase_fails_everything() {
    let mut forged = scene().well();
    forged.seen.strangers.push(ProcessSeen { pid: 7, command: "python3 runtime.py".to_owned() });
    let check = forged.judge("ends: {code: 0}");
    assert_eq!((check.outcome, check.reason), (Outcome::Fail, Reason::Forged));
    assert!(check.observed.contains("python3 runtime.py"), "{check:?}");
}
