//! The rules above all expectations.

use serde_json::json;

use super::scene::scene;
use crate::conform::judge::Outcome;
use crate::conform::observe::ProcessEnd;
use crate::conform::spec::{Condition, Reason, TimeMethod, WayIn};

/// One of each family that could pass over a runtime that did nothing.
const TEMPTING: [&str; 8] = [
    "starts: {phase: design, count: 0}",
    "ends: {}",
    "ends: {code: 0}",
    "no_orphans",
    "checkpoint: {phase: design, present: false}",
    "report: {present: false}",
    "order: []",
    "checkpoint_files: []",
];

#[test]
fn a_runtime_that_starts_nothing_passes_nothing() {
    for expectation in TEMPTING {
        scene().fails(expectation, Reason::NothingStarted);
    }
}

#[test]
fn a_failure_of_the_rig_is_ours() {
    let mut broken = scene().well();
    broken.seen.rig_error = Some("no socket".to_owned());
    broken.says("ends: {}", Outcome::HarnessError, Reason::RigFailed);
}

#[test]
fn a_program_that_cannot_be_started_is_not_judged() {
    let unstarted = scene().well().ending(ProcessEnd::NotStarted("no such file".to_owned()));
    unstarted.says("ends: {}", Outcome::CouldNotRun, Reason::NotStarted);
}

#[test]
fn a_missing_verb_is_not_observed() {
    let verbless = scene().well().step("resume", ProcessEnd::NoVerb);
    verbless.says("ends: {}", Outcome::NotObserved, Reason::NoVerb);
    for step in
        [json!({"resume": {}}), json!({"resolve": "abort"}), json!("state"), json!({"run": {"halt_during": "audit"}})]
    {
        let mut verbless = scene().well();
        verbless.case.steps = vec![serde_json::from_value(step).expect("a step")];
        verbless.says("ends: {}", Outcome::NotObserved, Reason::NoVerb);
    }
}

#[test]
fn a_runtime_that_cannot_learn_its_usage_is_not_observed() {
    let mut deaf = scene().well();
    deaf.case.phases = serde_json::from_value(json!({"design": [[{"usage": 5}]]})).expect("acts");
    deaf.says("warned: {usage: 0, level: soft}", Outcome::NotObserved, Reason::NoUsageWay);

    let mut deaf = scene().well();
    deaf.case.phases = serde_json::from_value(json!({"design": [[{"signal": {"type": "X"}}]]})).expect("acts");
    deaf.says("no_orphans", Outcome::NotObserved, Reason::NoSignalStream);
}

#[test]
fn a_clause_about_what_is_emitted_does_not_bind_who_emits_nothing() {
    let mut silent = scene().well();
    silent.clause.when = Condition::Emitted;
    silent.says("report: {fields: {/trigger: {type: string}}}", Outcome::NotApplicable, Reason::NotEmitted);

    let mut wrong = scene().well().report(json!({"trigger": 5}));
    wrong.clause.when = Condition::Emitted;
    wrong.says("report: {fields: {/trigger: {type: string}}}", Outcome::Fail, Reason::WrongType);
}

#[test]
fn a_knob_without_which_nobody_can_wait_is_not_observed() {
    let knobs = serde_json::from_value(json!({"run_timeout": 500})).expect("knobs");
    let mut stiff = scene().well();
    stiff.case.time = TimeMethod::Scaled;
    stiff.case.knobs = knobs;
    stiff.says("ends: {}", Outcome::NotObserved, Reason::NoKnob);
}

#[test]
fn a_case_about_results_needs_a_place_for_them() {
    let handing = || {
        let mut scene = scene().well();
        scene.case.phases = serde_json::from_value(json!({"$p": [[{"result": {}}]]})).expect("acts");
        scene.case.requires = vec![WayIn::ResultFile];
        scene
    };
    handing().says("ends: {}", Outcome::NotObserved, Reason::NoResultFile);
    let mut given = handing();
    given.seen.attempts[1].env.insert("LOA_RESULT_FILE".to_owned(), "/r".to_owned());
    given.passes("ends: {}");
}
