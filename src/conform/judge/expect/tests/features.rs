//! What phases and compactors are handed, and signals between usages; an accelerated clock on a slow machine.

use std::collections::BTreeMap;

use serde_json::json;

use super::scene::{Scene, scene};
use crate::conform::judge::Outcome;
use crate::conform::observe::{CompactorSeen, ProcessEnd};
use crate::conform::spec::{CompactorWay, Reason, TimeMethod};

fn words(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn handing(pairs: &[(&str, &str)]) -> Scene {
    let mut scene = scene().well();
    for attempt in &mut scene.seen.attempts {
        attempt.env = words(pairs);
    }
    scene
}

#[test]
fn effort_is_a_level_or_a_budget_and_neither_may_differ() {
    let (level, budget) = (("LOA_EFFORT_LEVEL", "high"), ("LOA_THINKING_BUDGET", "150"));
    let high = "effort: {phase: design, level: high, budget: [100, 200]}";
    for (handed, expectation, reason) in [
        (vec![level, budget], high, Reason::AsExpected),
        (vec![budget], high, Reason::AsExpected),
        (vec![level], "effort: {phase: design, level: high}", Reason::AsExpected),
        (vec![level], high, Reason::NoEffort),
        (vec![], high, Reason::NoEffort),
        (vec![("LOA_EFFORT_LEVEL", "low"), budget], high, Reason::WrongValue),
        (vec![level, ("LOA_THINKING_BUDGET", "201")], high, Reason::WrongValue),
        (vec![level, ("LOA_THINKING_BUDGET", "99")], high, Reason::WrongValue),
        (vec![level, ("LOA_THINKING_BUDGET", "many")], high, Reason::WrongValue),
        (vec![], "effort: {phase: design, level: none}", Reason::AsExpected),
        (vec![budget], "effort: {phase: design, level: none}", Reason::UnwarrantedEffort),
        (vec![level], "effort: {phase: audit, level: high}", Reason::NeverStarted),
    ] {
        let check = handing(&handed).judge(expectation);
        assert_eq!(check.reason, reason, "{handed:?}: {check:?}");
    }
    let alone = handing(&[level]).judge("effort: {phase: design, level: high, budget: [1, 2], level_alone: C-01b}");
    assert_eq!((alone.outcome, alone.readings), (Outcome::Pass, vec!["C-01b".to_owned()]));
}

#[test]
fn memories_are_there_or_not_and_no_file_lacks_everything() {
    let with = |text: Option<&str>| {
        let mut scene = scene().well();
        scene.seen.attempts.iter_mut().for_each(|attempt| attempt.memories = text.map(str::to_owned));
        scene
    };
    with(Some("this")).passes("memories: {phase: design, has: [this], lacks: [that]}");
    with(Some("this, that"))
        .fails("memories: {phase: design, has: [this], lacks: [that]}", Reason::UnwarrantedMemories);
    with(Some("other")).fails("memories: {phase: design, has: [this]}", Reason::NoMemories);
    with(None).fails("memories: {phase: design, has: [this]}", Reason::NoMemories);
    with(None).passes("memories: {phase: design, lacks: [that]}");
    with(Some("this")).fails("memories: {phase: audit, has: [this]}", Reason::NeverStarted);
}

#[test]
fn a_compactor_is_told_exactly_what_may_go_and_at_least_what_stays() {
    let told = "compactor_told: {clear: [a], preserve: [b], recent_turns: 3}";
    scene().well().fails(told, Reason::NeverCompacted);
    let mut plugged = scene().well();
    plugged.manifest.compactor = Some(CompactorWay::Config("mine.compactor".to_owned()));
    assert_eq!(
        plugged.judge(told).observed,
        "it was never started; it was named by `mine.compactor` in .loa.config.yaml"
    );
    for (clear, preserve, turns, reason) in [
        ("[\"a\"]", "[\"b\",\"c\"]", "3", Reason::AsExpected),
        ("[\"a\",\"d\"]", "[\"b\"]", "3", Reason::CompactorMisled),
        ("[]", "[\"b\"]", "3", Reason::CompactorMisled),
        ("[\"a\"]", "[\"c\"]", "3", Reason::CompactorMisled),
        ("[\"a\"]", "[\"b\"]", "4", Reason::CompactorMisled),
        ("a", "[\"b\"]", "3", Reason::CompactorMisled),
    ] {
        let mut scene = scene().well();
        let names = ["LOA_COMPACTION_CLEAR_TARGETS", "LOA_COMPACTION_PRESERVE", "LOA_COMPACTION_RECENT_TURNS"];
        let env = words(&[(names[0], clear), (names[1], preserve), (names[2], turns)]);
        scene.seen.compactions.push(CompactorSeen { at: 150, env });
        assert_eq!(scene.judge(told).reason, reason, "{clear} {preserve} {turns}");
    }
}

#[test]
fn signals_stand_between_their_usages_and_silence_needs_a_file_that_is_not_silent() {
    let heard = || {
        let scene = scene().well().usage(10, 100, None).usage(20, 200, None);
        scene.event(110, json!({"type": "CONTEXT_CURRENT"})).event(210, json!({"type": "NEAR", "share": 60}))
    };
    heard().passes("signalled: {usage: 1, type: NEAR, fields: {/share: {is: 60}}}");
    heard().fails("signalled: {usage: 1, type: NEAR, fields: {/share: {is: 61}}}", Reason::WrongValue);
    heard().fails("signalled: {usage: 0, type: NEAR}", Reason::NoEvent);
    heard().passes("signalled: {usage: 0, type: NEAR, present: false}");
    heard().fails("signalled: {usage: 1, type: NEAR, present: false}", Reason::UnwarrantedSignal);
    heard().fails("signalled: {usage: 2, type: NEAR}", Reason::NoUsage);
    let mut deaf = scene().well().usage(10, 100, None);
    assert_eq!(deaf.judge("signalled: {usage: 0, type: NEAR}").outcome, Outcome::NotObserved);
    deaf.manifest.warn = Some(crate::conform::spec::Sight::EventFile);
    deaf.fails("signalled: {usage: 0, type: NEAR, present: false}", Reason::NothingSighted);
}

#[test]
fn half_a_checkpoint_must_be_found_out() {
    let whole = "{execution_id: e, phase: design, created_at: t, exit_code: 0, summary: s}";
    let cut = |text: &str, resumed: &[(&str, i32, u64, u64)]| {
        let scene = scene().well().ending(ProcessEnd::KilledAsPlanned).checkpoint("design.yaml", text);
        scene.step("resume", ProcessEnd::Exited(0)).attempts(resumed)
    };
    let design_again = [("design", 0, 400, 500)];
    cut(whole, &[("audit", 0, 400, 500)]).passes("not_torn: {phase: design, step: 1}");
    cut("execution_id: e", &design_again).passes("not_torn: {phase: design, step: 1}");
    cut("execution_id: e", &[("audit", 0, 400, 500)]).fails("not_torn: {phase: design, step: 1}", Reason::Unreadable);
    scene()
        .well()
        .step("resume", ProcessEnd::Exited(0))
        .fails("not_torn: {phase: design, step: 1}", Reason::NoCheckpoint);
}

#[test]
fn what_takes_too_long_on_this_machine_is_neither_green_nor_red() {
    let mut scene = scene().well();
    scene.case.time = TimeMethod::Accelerated;
    scene.seen.speed = Some(7200);
    scene.last().ended = 3_900;
    assert_eq!(scene.judge("within: {step: 0, minutes: 470}").outcome, Outcome::Pass, "468 minutes");
    scene.last().ended = 3_920;
    let check = scene.judge("within: {step: 0, minutes: 470}");
    assert_eq!((check.outcome, check.reason), (Outcome::NotObserved, Reason::TooSlow));
    scene.seen.speed = Some(1800);
    assert_eq!(scene.judge("within: {step: 0, minutes: 470}").outcome, Outcome::Pass, "118 minutes of a slower clock");
    scene.seen.unseen.push("no faketime".to_owned());
    assert_eq!(scene.judge("within: {step: 0, minutes: 470}").reason, Reason::NoFastClock);
}

#[test]
fn a_red_of_a_fast_clock_on_a_late_machine_is_no_failure_and_a_green_stays() {
    let red = "report: {present: true}";
    for (time, speed, late_ms, outcome) in [
        (TimeMethod::Accelerated, 7200, 124, Outcome::Fail),
        (TimeMethod::Accelerated, 7200, 125, Outcome::NotObserved),
        (TimeMethod::Accelerated, 1800, 499, Outcome::Fail),
        (TimeMethod::Accelerated, 1800, 500, Outcome::NotObserved),
        (TimeMethod::Real, 1, 60_000, Outcome::Fail),
    ] {
        let mut scene = scene().well();
        (scene.case.time, scene.seen.speed, scene.seen.late_ms) = (time, Some(speed), late_ms);
        let check = scene.judge(red);
        assert_eq!(check.outcome, outcome, "{late_ms} ms late by a clock {speed} times as fast: {}", check.observed);
        assert_eq!(scene.judge("report: {present: false}").outcome, Outcome::Pass);
    }
}
