//! Starts, order, nothing after, backoff.

use super::scene::{Scene, scene};
use crate::conform::judge::Outcome;
use crate::conform::observe::ProcessEnd;
use crate::conform::spec::Reason;

/// `design` started so often, after one success.
fn tried(times: u64) -> Scene {
    let attempts: Vec<_> = (0..times).map(|n| ("design", 1, 300 + n * 100, 350 + n * 100)).collect();
    scene().attempts(&[("preflight", 0, 100, 200)]).attempts(&attempts)
}

#[test]
fn starts_are_counted() {
    let four = "starts: {phase: $p, count: 4, accept: [{count: 3, reading: C-01b}, {count: 2, reading: C-01c}]}";
    tried(4).passes(four);
    tried(3).says(four, Outcome::Pass, Reason::AnotherReading);
    tried(2).says(four, Outcome::Warn, Reason::AnotherReading);
    tried(1).fails(four, Reason::StartedTooRarely);
    tried(5).fails(four, Reason::StartedTooOften);
    tried(0).fails(four, Reason::NeverStarted);
    tried(0).passes("starts: {phase: design, count: 0}");
    tried(1).fails("starts: {phase: design, count: 0}", Reason::StartedTooOften);
    tried(1).passes("starts: {phase: design, step: 0, count: 1}");
    let resumed = tried(1).step("resume", ProcessEnd::Exited(0)).attempts(&[("design", 0, 900, 950)]);
    resumed.passes("starts: {phase: design, step: 1, count: 1}");
}

#[test]
fn order_folds_retries_and_refuses_overlap() {
    tried(3).passes("order: [preflight, $p]");
    tried(3).fails("order: [preflight]", Reason::OrderDiffers);
    tried(1).fails("order: [preflight, design, audit]", Reason::OrderDiffers);
    tried(1).fails("order: [design, preflight]", Reason::OrderDiffers);
    let overlapping = scene().attempts(&[("preflight", 0, 100, 200), ("design", 0, 150, 300)]);
    overlapping.fails("order: [preflight, design]", Reason::Overlapping);
    let mut endless = scene().well();
    endless.seen.attempts[0].ended = None;
    endless.fails("order: [preflight, design]", Reason::Overlapping);
}

#[test]
fn nothing_after_needs_the_phase_itself() {
    scene().well().passes("nothing_after: {phase: design}");
    scene().well().fails("nothing_after: {phase: preflight}", Reason::WentOn);
    scene().well().fails("nothing_after: {phase: audit}", Reason::NeverStarted);
    let two = || scene().well().step("resume", ProcessEnd::Exited(0)).attempts(&[("audit", 0, 900, 950)]);
    two().passes("nothing_after: {phase: design, step: 0}");
    two().fails("nothing_after: {phase: design}", Reason::WentOn);
    two().fails("nothing_after: {phase: design, step: 1}", Reason::NeverStarted);
}

/// `preflight`, 10 ms, then `design` with these waits before its retries.
fn waiting(gaps: &[u64], initial: Option<u64>) -> Scene {
    let mut scene = scene().attempts(&[("preflight", 0, 100, 200), ("design", 1, 210, 300)]);
    let mut ended = 300;
    for gap in gaps {
        scene = scene.attempts(&[("design", 1, ended + gap, ended + gap + 10)]);
        ended += gap + 10;
    }
    scene.seen.initial_backoff = initial;
    scene
}

#[test]
fn waits_exceed_the_runtimes_own_pace() {
    let plain = "backoff: {phase: design}";
    waiting(&[61], Some(100)).passes(plain);
    waiting(&[60], Some(100)).fails(plain, Reason::RetriedTooSoon);
    waiting(&[100, 5], Some(100)).fails(plain, Reason::RetriedTooSoon);
    waiting(&[211], None).passes(plain);
    waiting(&[210], None).fails(plain, Reason::RetriedTooSoon);
    waiting(&[], Some(100)).fails(plain, Reason::NoRetry);
    waiting(&[61], Some(100)).fails("backoff: {phase: audit}", Reason::NeverStarted);
    let alone = scene().attempts(&[("design", 1, 0, 10), ("design", 1, 900, 910)]);
    alone.fails(plain, Reason::NoBaseline);
    // Between two other phases the machine was busy for two seconds.
    let busy = |gap: u64| {
        let before = [("preflight", 0, 0, 10), ("discovery", 0, 20, 30), ("implementation", 0, 2_030, 2_040)];
        let mut scene = scene().attempts(&before).attempts(&[("audit", 0, 2_050, 2_060), ("design", 1, 2_070, 2_080)]);
        scene = scene.attempts(&[("design", 1, 2_080 + gap, 2_090 + gap)]);
        scene.seen.initial_backoff = Some(100);
        scene
    };
    busy(61).passes(plain);
    busy(60).fails(plain, Reason::RetriedTooSoon);
}

#[test]
fn waits_grow_where_asked() {
    let growing = "backoff: {phase: design, growth: 2}";
    waiting(&[100, 200], Some(100)).passes(growing);
    waiting(&[100, 199], Some(100)).fails(growing, Reason::DidNotGrow);
    waiting(&[1, 2], Some(100)).passes(growing);
    waiting(&[100], Some(100)).says(growing, Outcome::NotObserved, Reason::TooFewGaps);
}

#[test]
fn a_red_phase_is_started_again_or_the_demand_is_refused() {
    let reopened = "reopened: {phase: design, step: 1}";
    let resumed = |end| scene().well().step("resume", end);
    resumed(ProcessEnd::Exited(0)).attempts(&[("design", 0, 900, 950)]).passes(reopened);
    resumed(ProcessEnd::Exited(0)).attempts(&[("audit", 0, 900, 950)]).fails(reopened, Reason::NotReopened);
    resumed(ProcessEnd::Exited(1)).passes(reopened);
    resumed(ProcessEnd::Exited(0)).fails(reopened, Reason::NotReopened);
    resumed(ProcessEnd::Signalled("SEGV".to_owned())).fails(reopened, Reason::NotReopened);
    scene().well().fails(reopened, Reason::NotReopened);
}

#[test]
fn a_phase_is_not_started_again_after_its_code() {
    let not_again = "not_again: {phase: $p, code: 2}";
    scene().attempts(&[("design", 1, 1, 2), ("design", 2, 3, 4)]).passes(not_again);
    scene().attempts(&[("design", 2, 1, 2), ("audit", 0, 3, 4)]).passes(not_again);
    scene().attempts(&[("design", 2, 1, 2), ("design", 0, 3, 4)]).fails(not_again, Reason::StartedTooOften);
    scene().attempts(&[("design", 0, 1, 2)]).fails(not_again, Reason::NeverEnded);
    scene()
        .attempts(&[("design", 137, 1, 2), ("design", 0, 3, 4)])
        .fails("not_again: {phase: $p, code: $code}", Reason::StartedTooOften);
}

#[test]
fn phases_run_one_at_a_time() {
    scene().attempts(&[("preflight", 0, 1, 20), ("design", 1, 20, 30), ("design", 0, 40, 50)]).passes("one_at_a_time");
    scene().attempts(&[("preflight", 0, 1, 20), ("design", 0, 19, 30)]).fails("one_at_a_time", Reason::Overlapping);
}

#[test]
fn a_runtime_may_begin_again_as_soon_as_it_is_asked() {
    let again = |since: &str| format!("reopened: {{phase: preflight, {since}step: 2}}");
    let asked = || scene().well().step("resolve", ProcessEnd::Exited(0));
    let at_once = || asked().attempts(&[("preflight", 0, 400, 500)]).step("resume", ProcessEnd::Exited(0));
    at_once().fails(&again(""), Reason::NotReopened);
    at_once().passes(&again("since: 1, "));
    asked()
        .attempts(&[("design", 0, 400, 500)])
        .step("resume", ProcessEnd::Exited(0))
        .fails(&again("since: 1, "), Reason::NotReopened);
}
