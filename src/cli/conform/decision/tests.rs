//! One report, changed a little each time, and the exit code that it deserves.

use serde_json::{Value, json};

use super::*;

/// A runtime `it` with one MUST of this outcome, and these further keys.
fn runtime(outcome: &str, more: &Value) -> Value {
    let case = json!({"id": "x-001-a", "title": "t", "outcome": outcome, "time": "real", "elapsed_ms": 1,
        "checks": [{"outcome": outcome, "reason": "as-expected", "expected": "e", "observed": "o"}]});
    let word = if outcome == "pass" { "Full" } else { "None" };
    let cell = json!({"word": word, "musts": 1, "green": 1, "failed": 0, "flaky": 0, "not_observed": 0,
        "could_not_run": 0, "harness_error": 0, "untested": 0});
    let mut runtime = json!({"runtime": "it", "manifest": "m", "elapsed_ms": 1, "cells": {"exit-codes": cell},
        "expect": {"exit-codes": word},
        "clauses": [{"id": "X-001", "column": "exit-codes", "level": "MUST", "outcome": outcome, "cases": [case]}]});
    merge(&mut runtime, more);
    runtime
}

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in more.as_object().expect("a mapping") {
        into[key] = value.clone();
    }
}

fn report(runtimes: &[Value], more: &Value) -> ConformanceReport {
    let mut report = json!({"version": 1, "edition": "e", "judge": "0", "suite": "s", "seed": 1,
        "host": {"os": "o", "arch": "a", "cores": 1}, "date": "2026-11-20T09:30:00Z", "complete": true,
        "ledger": [], "claims": [], "checklist": [], "runtimes": runtimes});
    merge(&mut report, more);
    serde_json::from_value(report).expect("a report")
}

const ASKED: Question<'_> = Question {
    named: true,
    require: &[],
    strict_claims: false,
    interrupted: None,
    stale: false,
    went_down: Some(false),
};
const SURVEY: Question<'_> = Question { named: false, ..ASKED };

fn none() -> Value {
    json!({})
}

#[test]
fn a_named_runtime_is_held_against_the_contract() {
    for (outcome, status) in [
        ("pass", ExitStatus::Success),
        ("warn", ExitStatus::Success),
        ("fail", ExitStatus::NotConforming),
        ("expected-fail", ExitStatus::Success),
        ("flaky", ExitStatus::NotConforming),
        ("not-observed", ExitStatus::Incomplete),
        ("could-not-run", ExitStatus::Incomplete),
        ("not-applicable", ExitStatus::Incomplete),
        ("harness-error", ExitStatus::HarnessFailed),
    ] {
        let report = report(&[runtime(outcome, &none())], &none());
        assert_eq!(decide(&report, &ASKED), status, "{outcome}");
    }
}

#[test]
fn a_must_without_a_case_is_incomplete() {
    let mut untested = runtime("pass", &none());
    let clause = json!({"id": "X-002", "column": "exit-codes", "level": "MUST", "outcome": "untested"});
    untested["clauses"].as_array_mut().expect("a list").push(clause);
    assert_eq!(decide(&report(&[untested.clone()], &none()), &ASKED), ExitStatus::Incomplete);
    let selected = json!({"only": "X-001"});
    assert_eq!(decide(&report(&[untested], &selected), &ASKED), ExitStatus::Success, "it was not asked for");
}

#[test]
fn nothing_checked_is_never_a_success() {
    assert_eq!(decide(&report(&[], &none()), &SURVEY), ExitStatus::Incomplete);
    let empty = runtime("pass", &json!({"clauses": []}));
    assert_eq!(decide(&report(std::slice::from_ref(&empty), &none()), &SURVEY), ExitStatus::Incomplete);
    assert_eq!(decide(&report(&[empty], &none()), &ASKED), ExitStatus::Incomplete);
}

#[test]
fn a_survey_is_held_against_what_is_known_better_or_worse() {
    for (earned, known, status) in [
        ("pass", "Full", ExitStatus::Success),
        ("fail", "None", ExitStatus::Success),
        ("fail", "Full", ExitStatus::NotConforming),
        ("pass", "None", ExitStatus::NotConforming),
    ] {
        let it = runtime(earned, &json!({"expect": {"exit-codes": known}}));
        assert_eq!(decide(&report(&[it], &none()), &SURVEY), status, "{earned} {known}");
    }
}

#[test]
fn a_survey_of_what_nobody_knows_confirms_nothing() {
    let it = runtime("pass", &json!({"expect": {}}));
    assert_eq!(decide(&report(std::slice::from_ref(&it), &none()), &SURVEY), ExitStatus::Incomplete);
    assert_eq!(decide(&report(&[it.clone(), runtime("pass", &none())], &none()), &SURVEY), ExitStatus::Incomplete);
    assert_eq!(decide(&report(&[it], &none()), &ASKED), ExitStatus::Success, "a named one needs no expectation");
}

#[test]
fn the_last_line_says_the_exit_code() {
    for (status, question, part) in [
        (ExitStatus::Success, ASKED, "conforms to what was asked (exit code 0)"),
        (ExitStatus::NotConforming, ASKED, "does not conform"),
        (ExitStatus::NotConforming, SURVEY, "something else"),
        (ExitStatus::Incomplete, ASKED, "(exit code 3)"),
        (ExitStatus::HarnessFailed, SURVEY, "(exit code 4)"),
        (ExitStatus::ClaimsDiffer, ASKED, "(exit code 5)"),
        (ExitStatus::Interrupted, SURVEY, "before its time (exit code 130)"),
    ] {
        let said = sentence(status, &question, &report(&[], &none()));
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_missing_program_is_a_row_unless_it_is_required() {
    let missing =
        runtime("pass", &json!({"runtime": "gone", "problem": "no such program", "clauses": [], "cells": {}}));
    let both = report(&[runtime("pass", &none()), missing.clone()], &none());
    assert_eq!(decide(&both, &SURVEY), ExitStatus::Success);
    assert_eq!(decide(&both, &ASKED), ExitStatus::Incomplete);
    let require = ["gone".to_owned()];
    assert_eq!(decide(&both, &Question { require: &require, ..SURVEY }), ExitStatus::NotConforming);
    assert_eq!(decide(&report(&[missing], &none()), &SURVEY), ExitStatus::Incomplete);
}

#[test]
fn claims_count_only_when_they_must_and_only_when_measured() {
    let claims = |measured: &str, word: &str| {
        let claim = json!({"runtime": "It", "measured": measured, "cells": {"exit-codes": word}});
        report(&[runtime("pass", &none())], &json!({"claims": [claim]}))
    };
    let strict = Question { strict_claims: true, ..ASKED };
    assert_eq!(decide(&claims("it", "Partial"), &strict), ExitStatus::ClaimsDiffer);
    assert_eq!(decide(&claims("it", "Partial"), &ASKED), ExitStatus::Success);
    let unmeasured = claims("nobody", "Partial");
    assert_eq!(decide(&unmeasured, &strict), ExitStatus::Incomplete, "nothing was compared");
    assert_eq!(decide(&unmeasured, &ASKED), ExitStatus::Success);
    for (measured, word) in [("it", "Full"), ("it", "Implement")] {
        assert_eq!(decide(&claims(measured, word), &strict), ExitStatus::Success, "{measured} {word}");
    }
    let boaster = runtime("pass", &json!({"claims": {"exit-codes": "Manual"}}));
    assert_eq!(decide(&report(&[boaster], &none()), &strict), ExitStatus::ClaimsDiffer);
}

#[test]
fn an_interruption_outweighs_everything() {
    let fine = report(&[runtime("pass", &none())], &none());
    let by = |interrupt| Question { interrupted: Some(interrupt), ..ASKED };
    assert_eq!(decide(&fine, &by(Interrupt::Interrupt)), ExitStatus::Interrupted);
    assert_eq!(decide(&fine, &by(Interrupt::Terminate)), ExitStatus::Terminated);
}

#[test]
fn an_agent_is_held_against_what_it_is_known_to_break_in_a_part_of_the_suite_too() {
    let agent = |outcome: &str, reds: Value| {
        let mut it = runtime(outcome, &json!({"reds": reds}));
        it["clauses"][0]["cases"][0]["checks"][0]["reason"] = json!("not-told");
        it
    };
    let quick = json!({"profile": "agent", "quick": true});
    for (it, status) in [
        (agent("pass", json!({})), ExitStatus::Success),
        (agent("fail", json!({"X-001": "not-told"})), ExitStatus::Success),
        (agent("fail", json!({})), ExitStatus::NotConforming),
        (agent("fail", json!({"X-001": "left-processes"})), ExitStatus::NotConforming),
        (agent("pass", json!({"X-001": "not-told"})), ExitStatus::Success),
        (agent("pass", json!({"X-002": "not-told"})), ExitStatus::Success),
    ] {
        let text = it["reds"].to_string() + it["clauses"][0]["outcome"].as_str().expect("a word");
        assert_eq!(decide(&report(&[it], &quick), &SURVEY), status, "{text}");
    }
    let gone = report(&[agent("pass", json!({"X-001": "not-told"}))], &json!({"profile": "agent"}));
    assert_eq!(decide(&gone, &SURVEY), ExitStatus::NotConforming, "the whole suite can say that a known red is gone");
    let red = report(&[agent("fail", json!({"X-001": "not-told"}))], &quick);
    assert_eq!(decide(&red, &ASKED), ExitStatus::NotConforming, "a named one is held against the profile");
}

#[test]
fn what_no_longer_fits_or_went_down_fails_and_what_cannot_be_compared_is_incomplete() {
    let report = report(&[runtime("pass", &none())], &none());
    for (question, status) in [
        (Question { stale: true, ..ASKED }, ExitStatus::NotConforming),
        (Question { went_down: Some(true), ..ASKED }, ExitStatus::NotConforming),
        (Question { went_down: None, ..ASKED }, ExitStatus::Incomplete),
        (ASKED, ExitStatus::Success),
    ] {
        assert_eq!(decide(&report, &question), status, "{question:?}");
    }
}

#[test]
fn what_a_known_red_keeps_from_running_is_excused_with_it_and_nothing_else_is() {
    let clause = |id: &str, outcome: &str, reason: &str| {
        let check = json!({"outcome": outcome, "reason": reason, "expected": "e", "observed": "o"});
        let case =
            json!({"id": "x", "title": "t", "outcome": outcome, "time": "real", "elapsed_ms": 1, "checks": [check]});
        json!({"id": id, "column": "exit-codes", "level": "MUST", "outcome": outcome, "cases": [case]})
    };
    let known = clause("X-001", "expected-fail", "started-too-often");
    let follows = clause("X-002", "could-not-run", "needs-red");
    for (third, status) in [
        (clause("X-003", "pass", "as-expected"), ExitStatus::Success),
        (clause("X-003", "could-not-run", "not-started"), ExitStatus::Incomplete),
        (clause("X-003", "not-observed", "no-verb"), ExitStatus::Incomplete),
        (clause("X-003", "fail", "started-too-often"), ExitStatus::NotConforming),
    ] {
        let clauses = json!({"clauses": [known.clone(), follows.clone(), third.clone()]});
        assert_eq!(decide(&report(&[runtime("pass", &clauses)], &none()), &ASKED), status, "{third}");
    }
    let unknown = json!({"clauses": [clause("X-001", "pass", "as-expected"), follows]});
    assert_eq!(decide(&report(&[runtime("pass", &unknown)], &none()), &ASKED), ExitStatus::Incomplete);
}

#[test]
fn what_was_left_out_by_hand_is_no_success() {
    let part = report(&[runtime("pass", &none())], &json!({"skip": "X-002"}));
    assert_eq!(decide(&part, &ASKED), ExitStatus::Incomplete);
}

#[test]
fn a_manifest_of_ones_own_is_held_against_what_it_expects() {
    for (outcome, expected, path, only, status, said) in [
        ("fail", "None", Some("./m.yaml"), None, ExitStatus::Success, "earned what its manifest expects"),
        ("fail", "Full", Some("./m.yaml"), None, ExitStatus::NotConforming, "something else than its manifest expects"),
        ("pass", "None", Some("./m.yaml"), None, ExitStatus::NotConforming, "something else than its manifest expects"),
        ("pass", "Full", Some("./m.yaml"), None, ExitStatus::Success, "conforms to what was asked"),
        ("fail", "None", None, None, ExitStatus::NotConforming, "does not conform"),
        ("fail", "None", Some("./m.yaml"), Some("X-001"), ExitStatus::NotConforming, "does not conform"),
    ] {
        let it = runtime(outcome, &json!({"expect": {"exit-codes": expected}, "path": path}));
        let report = report(&[it], &json!({"only": only}));
        let found = decide(&report, &ASKED);
        assert_eq!(found, status, "{outcome} {expected} {path:?} {only:?}");
        let sentence = sentence(found, &ASKED, &report);
        assert!(sentence.contains(said), "{outcome} {expected} {path:?} {only:?}: {sentence}");
    }
}

#[test]
fn a_manifest_of_ones_own_that_expects_nothing_of_a_column_is_held_against_the_contract() {
    for (outcome, status) in [("fail", ExitStatus::NotConforming), ("pass", ExitStatus::Success)] {
        let mut it = runtime(outcome, &json!({"path": "./m.yaml"}));
        it["cells"]["escalation"] = it["cells"]["exit-codes"].clone();
        assert_eq!(decide(&report(&[it], &none()), &ASKED), status, "{outcome}");
    }
}

#[test]
fn of_a_column_only_the_musts_are_asked_for() {
    let mut it = runtime("pass", &none());
    let mut should = it["clauses"][0].clone();
    merge(&mut should, &json!({"id": "X-002", "level": "SHOULD", "outcome": "fail"}));
    it["clauses"].as_array_mut().expect("a list").push(should);
    for (asked, status) in
        [(json!({"column": "exit-codes"}), ExitStatus::Success), (json!({"only": "X"}), ExitStatus::NotConforming)]
    {
        assert_eq!(decide(&report(&[it.clone()], &asked), &ASKED), status, "{asked}");
    }
}
