//! Snapshots of every format, of one small report with something of everything.

use serde_json::json;

use super::*;
use crate::conform::ConformanceReport;

fn report() -> ConformanceReport {
    let check = json!({"outcome": "fail", "reason": "started-too-rarely", "expected": "design to start 4 times or 3 (C-01b)",
        "observed": "it started once | and no more", "place": {"step": 0, "at": 412}});
    let red = json!({"id": "exit-003-retried", "title": "A phase that ends with 1 is started again", "outcome": "fail",
        "time": "scaled", "elapsed_ms": 640, "kept": "/tmp/case", "checks": [
            {"outcome": "pass", "reason": "as-expected", "expected": "e", "observed": "o"}, check]});
    let green = json!({"id": "exit-001-order", "title": "In order", "outcome": "pass", "time": "real", "elapsed_ms": 60,
        "checks": [{"outcome": "pass", "reason": "as-expected", "expected": "e", "observed": "o"}]});
    let cell = |word: &str, green: u32, failed: u32, untested: u32| {
        json!({"word": word, "musts": green + failed + untested, "green": green, "failed": failed, "flaky": 0,
            "not_observed": 0, "could_not_run": 0, "harness_error": 0, "untested": untested})
    };
    let waiting = |id: &str, outcome: &str, reason: &str, expected: &str, observed: &str| {
        json!({"id": id, "title": "t", "outcome": outcome, "time": "real", "elapsed_ms": 0, "checks": [
            {"outcome": outcome, "reason": reason, "expected": expected, "observed": observed}]})
    };
    let blocked = |id: &str, needs: &str| waiting(id, "could-not-run", "needs-red", "these to hold", needs);
    let unjudged = json!([
        blocked("exit-004-a", "EXIT-003 (fail), EXIT-004 (could-not-run)"),
        blocked("exit-004-b", "EXIT-003 (fail)"),
        blocked("exit-004-c", "EXIT-004 (could-not-run)"),
        waiting("exit-004-d", "not-observed", "no-verb", "a manifest with `resume`", "it has none"),
    ]);
    let vouched = json!({"word": "Manual", "musts": 1, "green": 0, "failed": 0, "flaky": 0, "not_observed": 1,
        "could_not_run": 0, "harness_error": 0, "untested": 0, "attested": [{"clause": "ESC-006", "by": "A. Person",
        "on": "2026-01-01", "expires": "2026-12-31", "evidence": "pressed the button"}]});
    let cells = json!({"exit-codes": cell("Partial", 1, 1, 0), "checkpoints": cell("None", 0, 0, 2),
        "context-signals": cell("Full", 3, 0, 0), "escalation": vouched});
    let clause = |id: &str, text: &str| {
        json!({"id": id, "column": "exit-codes", "level": "MUST", "source": ["table"],
            "sections": ["Standard Exit Codes"], "text": text,
            "readings": [{"id": "C-01b", "text": "Three attempts in all.", "warns": true}]})
    };
    let clauses = json!([
        {"id": "EXIT-001", "column": "exit-codes", "level": "MUST", "outcome": "pass", "cases": [green]},
        {"id": "EXIT-003", "column": "exit-codes", "level": "MUST", "outcome": "fail", "cases": [red]},
        {"id": "EXIT-004", "column": "exit-codes", "level": "MUST", "outcome": "could-not-run", "cases": unjudged},
    ]);
    let report = json!({
        "version": 1, "edition": "a contract", "judge": "0.1.0", "suite": "c0ffeec0ffeec0ffee", "seed": 7,
        "host": {"os": "linux", "arch": "x86_64", "cores": 2}, "date": "2026-11-20T09:30:00Z", "complete": true,
        "ledger": [clause("EXIT-001", "Phases run in order."), clause("EXIT-003", "A phase that ends with 1 is started again.")],
        "claims": [
            {"runtime": "Mine", "measured": "mine", "cells": {"exit-codes": "Full", "escalation": "Manual"}},
            {"runtime": "Theirs", "cells": {"exit-codes": "Full"}},
        ],
        "checklist": [
            {"section": "exit-codes", "item": "in order", "clauses": ["EXIT-001"]},
            {"section": "exit-codes", "item": "retried", "clauses": ["EXIT-001", "EXIT-003"]},
        ],
        "runtimes": [
            {"runtime": "mine", "version": "mine 1.0", "program": "0123456789abcdef", "manifest": "fedcba9876543210",
             "elapsed_ms": 700, "cells": cells, "clauses": clauses},
        ],
    });
    serde_json::from_value(report).expect("a report")
}

fn with_a_missing_program() -> ConformanceReport {
    let mut report = report();
    let mut missing = report.runtimes[0].clone();
    "gone".clone_into(&mut missing.runtime);
    missing.problem = Some("there is no program <gone>".to_owned());
    missing.cells.clear();
    missing.clauses.clear();
    report.runtimes.push(missing);
    report
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn the_terminal_shows_claims_first_and_every_red_as_a_block() {
    insta::assert_snapshot!(plain(&terminal(&report(), true)));
}

#[test]
fn a_survey_on_the_terminal() {
    let report = ConformanceReport { only: Some("EXIT-*".to_owned()), complete: false, ..with_a_missing_program() };
    insta::assert_snapshot!(plain(&terminal(&report, false)));
}

#[test]
fn markdown_for_people() {
    insta::assert_snapshot!(markdown(&with_a_missing_program()));
}

#[test]
fn the_blocks_of_a_readme() {
    let text = "# T\n<!-- loa:claims -->old<!-- /loa:claims -->\nmine\n<!-- loa:matrix --><!-- /loa:matrix -->\n";
    let written = readme(text, &report(), &[]).expect("both blocks are there");
    insta::assert_snapshot!(written);
    assert_eq!(readme(&written, &report(), &[]).as_deref(), Ok(written.as_str()), "writing twice changes nothing");
    assert_eq!(readme("<!-- loa:claims --><!-- /loa:claims -->", &report(), &[]), Err("matrix"));
    assert_eq!(readme("<!-- /loa:claims --><!-- loa:claims -->", &report(), &[]), Err("claims"));
}

#[test]
fn json_reads_back() {
    let text = json(&report());
    assert_eq!(serde_json::from_str::<ConformanceReport>(&text).expect("a report"), report());
}

/// An agent with a red that says how to do it by hand.
fn agents() -> ConformanceReport {
    let check = json!({"outcome": "fail", "reason": "looks-like-success", "expected": "another exit code than 0",
        "observed": "it ended with 0", "place": {"step": 0, "at": 978}});
    let command = json!({"argv": ["claude", "-p", "Say \"x\" & stop."], "env": {"MODEL": "$MODEL/v1"},
        "meanwhile": "SIGINT after 870 ms", "end": "it ended with 0 after 978 ms",
        "requests": ["812 ms: POST /v1/messages by step 0 of the script: stall, no status"]});
    let turned = json!({"what": "RETRIES=1", "default": "10", "why": "the case sets retries to 1"});
    let case = json!({"id": "control-001-int", "title": "SIGINT is no success.", "outcome": "fail", "time": "real",
        "elapsed_ms": 1000, "settings": [turned], "checks": [check], "commands": [command]});
    let cell = json!({"word": "None", "musts": 1, "green": 0, "failed": 1, "flaky": 0, "not_observed": 0,
        "could_not_run": 0, "harness_error": 0, "untested": 0});
    let report = json!({
        "version": 1, "profile": "agent", "edition": "a profile", "judge": "0.1.0", "suite": "c0ffeec0ffeec0ffee", "seed": 7,
        "host": {"os": "linux", "arch": "x86_64", "cores": 2}, "date": "2026-11-20T09:30:00Z", "quick": true, "complete": true,
        "ledger": [{"id": "CONTROL-001", "column": "control", "level": "MUST", "source": ["profile"],
            "sections": ["Control"], "text": "A signal is no success."}],
        "claims": [], "checklist": [],
        "runtimes": [{"runtime": "mine", "version": "mine 1.0", "manifest": "fedcba9876543210", "elapsed_ms": 1000,
            "settings": [{"what": "--yes", "default": "asks", "why": "nobody is there"}],
            "unseen": ["network: shared with the host"],
            "cells": {"exit-status": cell, "sessions": cell, "context": cell, "control": cell},
            "clauses": [{"id": "CONTROL-001", "column": "control", "level": "MUST", "outcome": "fail", "cases": [case]}]}],
    });
    serde_json::from_value(report).expect("a report")
}

#[test]
fn an_agents_red_says_how_it_is_done_by_hand() {
    insta::assert_snapshot!("agent_terminal", plain(&terminal(&agents(), true)));
    insta::assert_snapshot!("agent_markdown", markdown(&agents()));
}

#[test]
fn the_agents_have_a_table_of_their_own_in_the_readme() {
    let text = "<!-- loa:claims --><!-- /loa:claims --><!-- loa:matrix --><!-- /loa:matrix -->";
    assert_eq!(readme(text, &report(), &[agents()]), Err("agents"));
    let text = format!("{text}<!-- loa:agents --><!-- /loa:agents -->");
    let written = readme(&text, &report(), &[agents()]).expect("all blocks are there");
    let (_, block) = written.split_once("<!-- loa:agents -->").expect("there");
    assert!(block.contains("| mine | mine 1.0 | 2026-11-20 | None 0/1, 1 failed |"), "{block}");
    assert!(block.contains("| Agent | Version | Measured | Exit Status | Sessions | Context | Control |"), "{block}");
    assert!(!written[..written.len() - block.len()].contains("Exit Status"), "the profiles share a table");
}
