//! The triggers at and just below their thresholds, their order, and their resets.

use super::*;
use crate::contract::EscalationTrigger::{ContextOverflow, Manual, MaxLoops, NoProgress, SameIssue, Timeout};

fn signature(line: &str) -> Option<Signature> {
    Signature::of(&[], &[], line)
}

fn fired(counters: &TriggerCounters) -> Option<EscalationTrigger> {
    counters.fired(&TriggerLimits::default())
}

#[test]
fn three_loops_run_and_the_audit_after_the_third_calls_a_human() {
    let mut counters = TriggerCounters::default();
    for audit in 0..3 {
        counters.audit_failed(None);
        assert_eq!(fired(&counters), None, "audit {audit}");
        counters.remediation_started();
    }
    assert_eq!(fired(&counters), None, "the third loop may still help");
    counters.audit_failed(None);
    assert_eq!(fired(&counters), Some(MaxLoops));
    assert_eq!(counters.remediation_loops(), 3);
}

#[test]
fn an_audit_that_passes_after_the_third_loop_calls_nobody() {
    let mut counters = TriggerCounters::default();
    for _ in 0..3 {
        counters.audit_failed(None);
        counters.remediation_started();
    }
    counters.audit_passed();
    assert_eq!(fired(&counters), None);
}

#[test]
fn the_third_identical_failure_in_a_row_is_the_same_issue() {
    for (lines, expected) in [
        (&["a", "a"][..], None),
        (&["a", "a", "a"], Some(SameIssue)),
        (&["a", "a", "b", "a", "a"], None),
        (&["b", "a", "a", "a"], Some(SameIssue)),
        (&["", "", "", ""], None),
        (&["a", "a", "", "a"], None),
        (&["a", "pass", "a", "a"], None),
    ] {
        let mut counters = TriggerCounters::default();
        for line in lines {
            if *line == "pass" { counters.audit_passed() } else { counters.audit_failed(signature(line)) }
        }
        assert_eq!(fired(&counters), expected, "{lines:?}");
    }
}

#[test]
fn five_cycles_without_a_change_in_a_row_are_no_progress() {
    let (idle, busy) = (false, true);
    for (cycles, expected) in [
        (&[idle; 4][..], None),
        (&[idle; 5], Some(NoProgress)),
        (&[idle, idle, idle, idle, busy, idle], None),
        (&[busy, idle, idle, idle, idle, idle], Some(NoProgress)),
    ] {
        let mut counters = TriggerCounters::default();
        for changed in cycles {
            counters.cycle_ended(*changed);
        }
        assert_eq!(fired(&counters), expected, "{cycles:?}");
    }
}

#[test]
fn the_timeout_is_eight_hours_of_work() {
    let mut counters = TriggerCounters::default();
    counters.add_elapsed(Duration::from_hours(8) - Duration::from_millis(1));
    assert_eq!(fired(&counters), None);
    counters.add_elapsed(Duration::from_millis(1));
    assert_eq!(fired(&counters), Some(Timeout));
    counters.add_elapsed(Duration::MAX);
    assert_eq!(fired(&counters), Some(Timeout), "no overflow");
}

/// Everything at its threshold at once.
fn all_at_once() -> TriggerCounters {
    let mut counters = TriggerCounters::default();
    for _ in 0..3 {
        counters.audit_failed(signature("a"));
        counters.remediation_started();
    }
    counters.audit_failed(signature("a"));
    for _ in 0..5 {
        counters.cycle_ended(false);
    }
    counters.add_elapsed(Duration::from_hours(9));
    counters.context_overflowed();
    counters
}

#[test]
fn when_several_hold_the_first_of_the_order_is_reported_and_its_reset_shows_the_next() {
    let mut counters = all_at_once();
    for expected in [ContextOverflow, Timeout, SameIssue, NoProgress, MaxLoops] {
        assert_eq!(fired(&counters), Some(expected));
        counters.reset(expected);
    }
    assert_eq!(fired(&counters), None);
    assert_eq!(counters, TriggerCounters::default(), "nothing is left of any of them");
}

#[test]
fn a_manual_escalation_resets_nothing() {
    let mut counters = all_at_once();
    counters.reset(Manual);
    assert_eq!(counters, all_at_once());
}

#[test]
fn counters_survive_the_disk() {
    let counters = all_at_once();
    let text = serde_json::to_string(&counters).expect("plain data");
    assert_eq!(serde_json::from_str::<TriggerCounters>(&text).expect("our own text"), counters);
}

#[test]
fn a_phase_that_failed_for_good_names_its_trigger() {
    let code = |code| StageOutcome::exited(code);
    for (outcome, lines, expected) in [
        (code(2), &["a", "a"][..], Manual),
        (code(9), &["a"], Manual),
        (StageOutcome::signalled("KILL"), &["a"], Manual),
        (code(1), &["a", "a", "a", "a"], SameIssue),
        (code(1), &["a", "a", "b", "a"], NoProgress),
        (code(1), &["", "", "", ""], NoProgress),
        (code(1), &[], NoProgress),
    ] {
        let attempts: Vec<_> = lines.iter().map(|line| signature(line)).collect();
        assert_eq!(trigger_for_failure(&outcome, &attempts), expected, "{outcome:?} {lines:?}");
    }
}
