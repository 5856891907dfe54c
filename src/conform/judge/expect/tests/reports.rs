//! The escalation report and its surfacing.

use serde_json::{Value, json};

use super::scene::{Scene, scene};
use crate::conform::observe::{OutputLine, ProcessEnd};
use crate::conform::spec::Reason;

fn document() -> Value {
    json!({ "trigger": "same_issue", "phase": "design", "state": {"last_checkpoint": {"phase": "design", "n": 1}} })
}

#[test]
fn a_report_is_there_or_not() {
    let with = || scene().well().report(document());
    with().passes("report: {fields: {/trigger: {is: same_issue}, /phase: {is: $p}}}");
    with().fails("report: {fields: {/trigger: {is: manual}}}", Reason::WrongValue);
    with().fails("report: {fields: {/session_id: {type: string}}}", Reason::FieldMissing);
    with().fails("report: {present: false}", Reason::UnexpectedReport);
    scene().well().fails("report: {}", Reason::NoReport);
    let mut searched = scene().well();
    assert!(searched.judge("report: {}").observed.contains("workspace, HOME and TMPDIR"));
    searched.manifest.report = Some("calls/*.md".to_owned());
    assert!(searched.judge("report: {}").observed.contains("nothing new matches calls/*.md"));
    scene().well().passes("report: {present: false}");
    let idle = || scene().well().step("resume", ProcessEnd::Exited(0));
    idle().fails("report: {step: 1, present: false}", Reason::NothingSighted);
    idle().fails("report: {step: 7}", Reason::NoReport);
}

#[test]
fn of_several_candidates_the_best_counts_and_the_most_telling_is_shown() {
    let trigger = "report: {fields: {/trigger: {is: same_issue}}}";
    let noise = json!({ "state": {}, "context": {} });
    scene().well().report(document()).report(noise.clone()).passes(trigger);
    let mut wrong = scene().well().report(json!({"trigger": "manual"})).report(noise);
    assert_eq!(wrong.judge(trigger).observed, "\"manual\"");
}

#[test]
fn the_last_checkpoint_is_the_newest_on_disk() {
    let latest = "report: {fields: {/state/last_checkpoint: latest_checkpoint}}";
    let on_disk = |newest: &str| {
        scene()
            .well()
            .checkpoint("preflight.yaml", "phase: preflight")
            .checkpoint("design.yaml", newest)
            .report(document())
    };
    on_disk("phase: design\nn: 1").passes(latest);
    on_disk("phase: design\nn: 2").fails(latest, Reason::WrongValue);
    on_disk("phase: design\nn: 1").checkpoint("context-state.yaml", "newer: true").passes(latest);
    scene().well().report(document()).fails(latest, Reason::NoCheckpoint);
    // A run may be over before its first checkpoint.
    for state in [json!({}), json!({ "last_checkpoint": null })] {
        scene().well().report(json!({ "trigger": "timeout", "phase": "design", "state": state })).passes(latest);
    }
}

/// `design` ran from 210 to 300.
fn told(at: u64, text: &str) -> Scene {
    scene().well().report(document()).output(at, text)
}

#[test]
fn surfacing_counts_after_the_phase_ended() {
    let surfaced = "surfaced: {phase: $p}";
    told(310, "Human needed: design, same issue").passes(surfaced);
    told(310, "design failed, see escalation.yaml").passes(surfaced);
    told(310, "design failed").output(320, "trigger: SAME_ISSUE").passes(surfaced);
    told(250, "Human needed: design, same issue").fails(surfaced, Reason::NotSurfaced);
    told(310, "design failed").fails(surfaced, Reason::NotSurfaced);
    told(310, "same_issue, redesigned").fails(surfaced, Reason::NotSurfaced);
    scene().well().output(310, "design same_issue").fails(surfaced, Reason::NoReport);
    scene().well().report(document()).fails("surfaced: {phase: audit}", Reason::NeverStarted);
    let mut endless = told(310, "design same_issue");
    endless.seen.attempts[1].ended = None;
    endless.fails(surfaced, Reason::NeverEnded);
}

#[test]
fn a_manifest_may_say_how_it_surfaces() {
    let mut own = told(310, "!! D=design T=same_issue");
    own.manifest.surface = Some("^!! D={phase} T={trigger}$".to_owned());
    own.passes("surfaced: {phase: design}");
    let mut silent = told(310, "!! D=audit");
    silent.manifest.surface = Some("^!! D={phase} T={trigger}$".to_owned());
    silent.fails("surfaced: {phase: design}", Reason::NotSurfaced);
}

#[test]
fn says_needs_a_cause() {
    let says = "says: {phase: $p, pattern: 'unknown.*$code'}";
    scene().well().output(310, "unknown exit 137").passes(says);
    scene().well().output(310, "unknown exit 138").fails(says, Reason::NotSaid);
    scene().well().output(250, "unknown exit 137").fails(says, Reason::NotSaid);
    let always = scene().well().output(50, "unknown exit 137").output(310, "unknown exit 137");
    always.fails(says, Reason::SaidWithoutCause);
    scene().well().fails("says: {phase: audit, pattern: x}", Reason::NeverStarted);
    scene().well().fails("says: {phase: design, pattern: '('}", Reason::NotSaid);
}

#[test]
fn says_without_a_phase_reads_everything() {
    scene().well().output(5, "plan read").passes("says: {pattern: 'plan'}");
    scene().well().output(5, "plan read").fails("says: {pattern: 'report'}", Reason::NotSaid);
    scene().well().output(5, "plan read").fails("says: {step: 1, pattern: 'plan'}", Reason::NotSaid);
}

#[test]
fn a_report_that_lies_there_anyway_proves_nothing() {
    let asked = "report: {fields: {/phase: {is: $p}}}";
    let with = |usual: &[Value]| scene().well().report(document()).control(&[], usual);
    with(&[]).passes(asked);
    with(&[json!({ "trigger": "a clock", "phase": "design" })]).passes(asked);
    with(&[document()]).fails(asked, Reason::CriesWolf);
    with(&[json!({ "trigger": "manual", "phase": "audit" })]).fails(asked, Reason::CriesWolf);
}

#[test]
fn reports_that_name_one_phase_each_name_none() {
    let asked = "report: {fields: {/phase: {is: $p}}}";
    let beside = |other: Value| scene().well().report(other).report(document());
    beside(json!({ "trigger": "manual", "phase": "design" })).passes(asked);
    beside(json!({ "trigger": "a clock", "phase": "audit" })).passes(asked);
    beside(json!({ "trigger": "manual", "phase": "audit" })).fails(asked, Reason::AccusesSeveral);
}

#[test]
fn what_is_said_when_nothing_goes_wrong_tells_nobody() {
    let surfaced = "surfaced: {phase: $p}";
    let usual = "12:01 audit, design: same issue, manual";
    told(310, usual).control(&[], &[]).passes(surfaced);
    told(310, usual).control(&[usual], &[]).fails(surfaced, Reason::NotSurfaced);
    told(310, "12:02 audit, design: same issue, manual").control(&[usual], &[]).fails(surfaced, Reason::NotSurfaced);
    let ended = || told(310, "design ended with 2").control(&["design ended with 0"], &[]);
    ended().output(320, "human needed: same issue").passes(surfaced);
}

#[test]
fn a_pattern_of_the_manifest_must_miss_when_nothing_goes_wrong() {
    let surfaced = "surfaced: {phase: $p}";
    let by = |pattern: &str| {
        let mut scene = told(310, "HELP with design").control(&["design is done"], &[]);
        scene.manifest.surface = Some(pattern.to_owned());
        scene
    };
    by("HELP with {phase}").passes(surfaced);
    by("HELP with audit").fails(surfaced, Reason::NotSurfaced);
    by("{phase}").fails(surfaced, Reason::PatternRefused);
    by(".").fails(surfaced, Reason::PatternRefused);
    by("(").fails(surfaced, Reason::PatternRefused);
    let mut alone = by("HELP with {phase}");
    alone.control = None;
    alone.fails(surfaced, Reason::PatternRefused);
}

#[test]
fn says_reads_over_all_lines_at_once() {
    scene().well().output(5, "warning:").output(6, "design.yaml").passes("says: {pattern: '(?s)warning.*design'}");
    scene()
        .well()
        .output(5, "warning:")
        .output(6, "design.yaml")
        .fails("says: {pattern: 'warning.*design'}", Reason::NotSaid);
}

#[test]
fn what_is_said_without_a_cause_too_does_not_count() {
    let says = "says: {step: 1, control: 0, pattern: 'limit'}";
    let then = |line: &str| {
        let mut scene = scene().well().output(5, "the limit is 80000").step("run", ProcessEnd::Exited(0));
        let at = scene.seen.steps[1].ended;
        scene.seen.steps[1].output = vec![OutputLine { at, stream: "stderr".to_owned(), text: line.to_owned() }];
        scene
    };
    then("the limit is 0").fails(says, Reason::NotSaid);
    then("a limit of 0 makes no sense").passes(says);
    then("nothing").fails(says, Reason::NotSaid);
}

#[test]
fn of_a_timeout_a_human_may_be_told_before_the_phase_has_ended() {
    let report = json!({ "trigger": "timeout", "phase": "design" });
    let told = |at| scene().well().report(report.clone()).output(at, "design: timeout");
    let (since_end, since_start) = ("surfaced: {phase: $p}", "surfaced: {phase: $p, from_start: true}");
    told(250).fails(since_end, Reason::NotSurfaced);
    told(250).passes(since_start);
    told(205).fails(since_start, Reason::NotSurfaced);
    let before_it_starts = scene().attempts(&[("preflight", 0, 100, 200)]).report(report.clone());
    before_it_starts.output(210, "design: timeout").passes(since_start);
}
