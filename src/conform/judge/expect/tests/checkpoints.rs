//! Checkpoints, their names, their ids, and every matcher.

use serde_json::json;

use super::scene::{Scene, scene};
use crate::conform::judge::Outcome;
use crate::conform::observe::ProcessEnd;
use crate::conform::spec::Reason;

const GOOD: &str = "execution_id: e-1\nphase: design\nexit_code: 0\n";

#[test]
fn a_checkpoint_is_there_or_not() {
    let with = |text| scene().well().checkpoint("design.yaml", text);
    with(GOOD).passes("checkpoint: {phase: $p, fields: {/phase: {is: $p}}}");
    with(GOOD).fails("checkpoint: {phase: design, present: false}", Reason::UnexpectedCheckpoint);
    with("a: [").fails("checkpoint: {phase: design}", Reason::Unreadable);
    with("a: 1\n---\nb: 2\n").fails("checkpoint: {phase: design}", Reason::Unreadable);
    scene().well().fails("checkpoint: {phase: design}", Reason::NoCheckpoint);
    scene().well().passes("checkpoint: {phase: design, present: false}");
}

#[test]
fn a_checkpoint_may_be_missing_by_a_reading() {
    let missing = |reading: &str| format!("checkpoint: {{phase: design, or_absent: {reading}}}");
    scene().well().says(&missing("C-01b"), Outcome::Pass, Reason::AnotherReading);
    scene().well().says(&missing("C-01c"), Outcome::Warn, Reason::AnotherReading);
}

#[test]
fn a_replayed_file_without_a_started_phase_proves_nothing() {
    let replayed = || scene().attempts(&[("preflight", 0, 1, 2)]).checkpoint("design.yaml", GOOD);
    replayed().fails("checkpoint: {phase: design}", Reason::NeverStarted);
    let mut laid = replayed();
    laid.case.files = serde_json::from_value(json!({".loa-checkpoint/$p.yaml": GOOD})).expect("files");
    laid.passes("checkpoint: {phase: design}");
}

#[test]
fn moments() {
    let early = || scene().checkpoint("preflight.yaml", GOOD).well();
    early().passes("checkpoint: {phase: preflight, at: next_start}");
    early().passes("checkpoint: {phase: preflight, at: {step: 0}}");
    early().fails("checkpoint: {phase: preflight, at: {step: 1}}", Reason::NoSuchMoment);
    early().fails("checkpoint: {phase: design, at: next_start}", Reason::NoSuchMoment);
    early().fails("checkpoint: {phase: preflight, at: own_start, present: false}", Reason::UnexpectedCheckpoint);
    let late = || scene().well().checkpoint("preflight.yaml", GOOD);
    late().fails("checkpoint: {phase: preflight, at: next_start}", Reason::NoCheckpoint);
    late().passes("checkpoint: {phase: preflight, at: own_start, present: false}");
}

#[test]
fn all_means_every_phase_that_ended() {
    let all = "checkpoint: {phase: all, fields: {/exit_code: {is: 0}}}";
    let both = scene().well().checkpoint("design.yaml", GOOD).checkpoint("preflight.yaml", "exit_code: 0");
    both.passes(all);
    scene().well().checkpoint("design.yaml", GOOD).fails(all, Reason::NoCheckpoint);
    let mut endless = scene().well();
    endless.seen.attempts.iter_mut().for_each(|attempt| attempt.ended = None);
    endless.fails(all, Reason::NeverEnded);
}

#[test]
fn the_folder_holds_exactly_these() {
    let files = "checkpoint_files: [preflight, $p]";
    let two = || scene().well().checkpoint("design.yaml", GOOD).checkpoint("preflight.yaml", GOOD);
    two().checkpoint("context-state.yaml", "a: 1").checkpoint("operator-type.yaml", "a: 1").passes(files);
    two().checkpoint("audit.yaml", GOOD).fails(files, Reason::UnexpectedCheckpoint);
    two().checkpoint("design-2.yaml", GOOD).fails(files, Reason::UnexpectedCheckpoint);
    two().fails("checkpoint_files: [preflight, audit]", Reason::NoCheckpoint);
    scene().well().fails(files, Reason::NoCheckpoint);
}

#[test]
fn one_id_a_run() {
    let one = "one_execution: {}";
    let run = |ids: [&str; 2]| {
        let checkpoint = |id: &str| format!("execution_id: {id}\n");
        scene().well().checkpoint("preflight.yaml", &checkpoint(ids[0])).checkpoint("design.yaml", &checkpoint(ids[1]))
    };
    run(["a", "a"]).passes(one);
    run(["a", "b"]).fails(one, Reason::IdDiffers);
    run(["a", "''"]).fails(one, Reason::FieldMissing);
    run(["7", "7"]).fails(one, Reason::FieldMissing);
    scene().well().fails(one, Reason::TooFewDocuments);
    let two = "one_execution: {unique_across_runs: true}";
    let again = |id: &str| {
        run(["a", "a"]).step("fresh", ProcessEnd::Nothing).checkpoint("design.yaml", &format!("execution_id: {id}\n"))
    };
    again("b").passes(two);
    again("a").fails(two, Reason::IdReused);
    run(["a", "a"]).fails(two, Reason::TooFewDocuments);
    let begun_again = |id: &str| {
        let again = run(["a", "a"]).step("run", ProcessEnd::Exited(0));
        again.well().checkpoint("design.yaml", &format!("execution_id: {id}\n"))
    };
    begun_again("b").passes(two);
    begun_again("a").fails(two, Reason::IdReused);
    let refused = run(["a", "a"]).step("run", ProcessEnd::Exited(2)).checkpoint("design.yaml", "execution_id: a\n");
    refused.says(two, Outcome::NotApplicable, Reason::NoOccasion);
}

/// A document that has one of everything.
const DOCUMENT: &str = "
id: x
none: null
two: 2
half: 2.5
minus: -1
text: a long text
empty: ''
yes: true
list: [a, b]
mixed: [a, 1]
items: [{n: 1}, {n: 2}]
zoned: '2026-01-31T14:00:00Z'
zoneless: '2026-01-31T14:00:00'
date: '2026-01-31'
";

fn matched(matcher: &str) -> (Scene, String) {
    let (pointer, matcher) = matcher.split_once(' ').expect("pointer and matcher");
    let scene = scene().well().checkpoint("preflight.yaml", "id: x\nn: 1").checkpoint("design.yaml", DOCUMENT);
    (scene, format!("checkpoint: {{phase: design, fields: {{{pointer}: {matcher}}}}}"))
}

#[test]
fn every_matcher_passes() {
    for matcher in [
        "/two {is: 2}",
        "/two {is: 2.0}",
        "/text {is: a long text}",
        "/list {is: [a, b]}",
        "/two {one_of: [1, 2]}",
        "/text {contains: long}",
        "/missing absent",
        "/half {between: [2.5, 3]}",
        "/items {each: {at_least: 2, fields: {/n: {type: integer}}}}",
        "/id {same_as: 'preflight#/id'}",
        "/items {has: {/n: {is: 2}}}",
        "/missing {optional: {is: 2}}",
        "/two {optional: {is: 2}}",
        "/text {matches: 'l.ng'}",
        "/two {accept: {is: 2, or: []}}",
        "/empty {type: string}",
        "/text {type: non-empty-string}",
        "/half {type: number}",
        "/two {type: integer}",
        "/yes {type: boolean}",
        "/mixed {type: list}",
        "/list {type: strings}",
        "/items/0 {type: mapping}",
        "/zoned {type: timestamp}",
        "/empty {type: present}",
        "/two {type: present}",
    ] {
        let (scene, expectation) = matched(matcher);
        scene.passes(&expectation);
    }
}

#[test]
fn every_matcher_fails_for_its_reason() {
    for (matcher, reason) in [
        ("/two {is: 3}", Reason::WrongValue),
        ("/two {is: '2'}", Reason::WrongValue),
        ("/missing {is: 2}", Reason::FieldMissing),
        ("/missing {type: string}", Reason::FieldMissing),
        ("/list {is: [a]}", Reason::WrongValue),
        ("/two {one_of: [1, 3]}", Reason::WrongValue),
        ("/text {contains: short}", Reason::WrongValue),
        ("/two {contains: '2'}", Reason::WrongType),
        ("/two absent", Reason::FieldPresent),
        ("/none absent", Reason::FieldPresent),
        ("/half {between: [3, 4]}", Reason::WrongValue),
        ("/text {between: [0, 9]}", Reason::WrongType),
        ("/items {each: {at_least: 3}}", Reason::TooFewItems),
        ("/items {each: {at_least: 1, fields: {/n: {is: 1}}}}", Reason::WrongValue),
        ("/two {each: {at_least: 0}}", Reason::WrongType),
        ("/items {has: {/n: {is: 3}}}", Reason::WrongValue),
        ("/two {optional: {is: 3}}", Reason::WrongValue),
        ("/two {has: {/n: {is: 3}}}", Reason::WrongType),
        ("/text {matches: '^long'}", Reason::WrongValue),
        ("/two {matches: '2'}", Reason::WrongType),
        ("/id {same_as: 'preflight#/n'}", Reason::WrongValue),
        ("/id {same_as: 'audit#/id'}", Reason::NoCheckpoint),
        ("/two {accept: {is: 3, or: [{value: 4, reading: C-01b}]}}", Reason::WrongValue),
        ("/two {type: string}", Reason::WrongType),
        ("/empty {type: non-empty-string}", Reason::WrongValue),
        ("/minus {type: number}", Reason::WrongValue),
        ("/half {type: integer}", Reason::WrongValue),
        ("/id {type: integer}", Reason::WrongType),
        ("/id {type: boolean}", Reason::WrongType),
        ("/id {type: list}", Reason::WrongType),
        ("/mixed {type: strings}", Reason::WrongType),
        ("/list {type: mapping}", Reason::WrongType),
        ("/none {type: string}", Reason::WrongType),
        ("/none {type: present}", Reason::WrongType),
        ("/text {type: timestamp}", Reason::WrongValue),
        ("/date {type: timestamp}", Reason::WrongValue),
        ("/two {type: timestamp}", Reason::WrongType),
    ] {
        let (scene, expectation) = matched(matcher);
        scene.fails(&expectation, reason);
    }
}

#[test]
fn readings_and_missing_zones_are_remembered() {
    let (scene, expectation) = matched("/two {accept: {is: 3, or: [{value: 2, reading: C-01b}]}}");
    scene.says(&expectation, Outcome::Pass, Reason::AnotherReading);
    let (scene, expectation) = matched("/two {accept: {is: 3, or: [{value: 2, reading: C-01c}]}}");
    scene.says(&expectation, Outcome::Warn, Reason::AnotherReading);
    let (scene, expectation) = matched("/zoneless {type: timestamp}");
    scene.says(&expectation, Outcome::Warn, Reason::NoZone);
}

#[test]
fn a_mismatch_says_where() {
    let (mut scene, expectation) = matched("/items {each: {at_least: 1, fields: {/n: {is: 1}}}}");
    let check = scene.judge(&expectation);
    assert_eq!(check.place.to_string(), ".loa-checkpoint/design.yaml at /items/1/n");
    assert_eq!((check.expected.as_str(), check.observed.as_str()), ("1", "2"));
}

#[test]
fn a_folder_with_something_in_it() {
    scene().well().checkpoint("design.yaml", GOOD).passes("checkpoint_folder");
    scene().well().fails("checkpoint_folder", Reason::NoCheckpoint);
}

/// Checkpoints of `preflight` and `design` with these times, both written at the epoch and a millisecond later.
fn timed(first: &str, second: &str) -> Scene {
    let checkpoint = |at: &str| format!("created_at: '{at}'\n");
    scene().well().checkpoint("preflight.yaml", &checkpoint(first)).checkpoint("design.yaml", &checkpoint(second))
}

#[test]
fn times_rise_and_are_true() {
    let times = "checkpoint_times";
    timed("1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z").passes(times);
    timed("1970-01-01T00:00:02Z", "1970-01-01T00:00:01Z").fails(times, Reason::TimeFalls);
    timed("1970-01-01T00:00:01Z", "1970-01-01T00:02:00Z").fails(times, Reason::TimeOff);
    timed("yesterday", "1970-01-01T00:00:01Z").fails(times, Reason::WrongValue);
    timed("1970-01-01T00:00:01", "1970-01-01T00:00:01").says(times, Outcome::Warn, Reason::NoZone);
    timed("1970-01-01T05:45:01", "1970-01-01T05:45:02").says(times, Outcome::Warn, Reason::NoZone);
    timed("1970-01-01T05:45:02", "1970-01-01T05:45:01").fails(times, Reason::TimeFalls);
    timed("1970-01-01T05:45:01", "1970-01-01T05:52:00").fails(times, Reason::TimeOff);
    timed("1970-01-01T15:00:01", "1970-01-01T15:00:02").fails(times, Reason::TimeOff);
    scene().well().checkpoint("design.yaml", GOOD).fails(times, Reason::TooFewDocuments);
}
