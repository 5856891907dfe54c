//! Snapshots of every format, of one small report with something of everything.

use serde_json::json;

use super::*;
use crate::conform::judge::Outcome;
use crate::conform::score::{ConformanceReport, HostLoad};
use crate::conform::spec::Reason;

fn report() -> ConformanceReport {
    let check = json!({"outcome": "fail", "reason": "started-too-rarely", "expected": "design to start 4 times or 3 (C-01b)",
        "observed": "it started once | and no more", "place": {"step": 0, "at": 412}});
    let happened = json!([
        {"kind": "step", "at": 0, "until": 600, "exit": 2, "label": "run ended with 2"},
        {"kind": "attempt", "at": 100, "until": 110, "phase": "design", "exit": 1, "label": "attempt 1: exit 1"},
        {"kind": "attempt", "at": 400, "until": 412, "phase": "design", "exit": 0, "label": "attempt 2: exit 0"},
        {"kind": "checkpoint", "at": 500, "label": "seen: design.yaml"},
        {"kind": "report", "at": 550, "label": "report in <place>"}]);
    let red = json!({"id": "exit-003-retried", "title": "A phase that ends with 1 is started again", "outcome": "fail",
        "time": "scaled", "elapsed_ms": 640, "kept": "/tmp/case", "timeline": happened, "checks": [
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
    missing.problem = Some("there is no program <gone>".into());
    missing.cells.clear();
    missing.clauses.clear();
    report.runtimes.push(missing);
    report
}

fn plain(text: &str) -> String {
    crate::text::plain(text)
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
fn what_was_kept_and_what_was_shut_off_is_told() {
    let mut report = report();
    report.host.hermetic = true;
    let mut cases = report.runtimes.iter_mut().flat_map(|it| &mut it.clauses).flat_map(|it| &mut it.cases);
    let green = cases.find(|case| case.outcome == Outcome::Pass).expect("a green case");
    green.kept = Some("/tmp/green".to_owned());
    let line = format!("  {}: /tmp/green\n", green.id);
    let text = plain(&terminal(&report, true));
    assert!(text.contains("Kept folders of cases that are not red\n") && text.contains(&line), "{text}");
    assert!(text.contains("linux x86_64 without a network with 2 cores"), "{text}");
    assert!(markdown(&report).contains("linux x86_64 without a network, 2026-11-20."));
}

#[test]
fn the_agents_have_a_table_of_their_own_in_the_readme() {
    let agents = || ConformanceReport { quick: false, ..agents() };
    let text = "<!-- loa:claims --><!-- /loa:claims --><!-- loa:matrix --><!-- /loa:matrix -->";
    assert_eq!(readme(text, &report(), &[agents()]), Err("agents"));
    let text = format!("{text}<!-- loa:agents --><!-- /loa:agents -->");
    let written = readme(&text, &report(), &[agents()]).expect("all blocks are there");
    let (_, block) = written.split_once("<!-- loa:agents -->").expect("there");
    assert!(block.contains("| mine | mine 1.0 | 2026-11-20 | None 0/1, 1 failed |"), "{block}");
    assert!(block.contains("| Agent | Version | Measured | Exit Status | Sessions | Context | Control |"), "{block}");
    assert!(!written[..written.len() - block.len()].contains("Exit Status"), "the profiles share a table");
    assert!(!block.contains("could not run:"), "{block}");
    let mut without = agents();
    without.runtimes[0].problem = Some("nobody has it".into());
    let written = readme(&text, &report(), &[without]).expect("all blocks are there");
    assert!(written.contains("| could not run |") && written.contains("\n- mine could not run: nobody has it\n"));
}

#[test]
fn json_lines_end_with_a_footer_that_counts_them() {
    let text = json_lines(&with_a_missing_program());
    insta::assert_snapshot!(text);
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let footer = lines.last().expect("a footer");
    assert_eq!((&footer["record"], &footer["lines"]), (&json!("end"), &json!(lines.len())));
    let case = lines.iter().find(|line| line["outcome"] == "fail").expect("the red one");
    let read: crate::conform::score::CaseReport = serde_json::from_value(case["case"].clone()).expect("a case");
    assert_eq!(read.id, "exit-003-retried");
}

#[test]
fn junit_tells_failures_from_errors_and_skips() {
    let mut report = with_a_missing_program();
    let cases = &mut report.runtimes[0].clauses[2].cases;
    let lost = |id: &str, outcome: Outcome, reason: Reason| {
        let mut case = cases[0].clone();
        id.clone_into(&mut case.id);
        (case.outcome, case.checks[0].outcome, case.checks[0].reason) = (outcome, outcome, reason);
        case
    };
    let lost = [
        lost("exit-004-e", Outcome::HarnessError, Reason::RigFailed),
        lost("exit-004-f", Outcome::Flaky, Reason::NoRetry),
        lost("exit-004-g", Outcome::CouldNotRun, Reason::Stopped),
        lost("exit-004-h", Outcome::ExpectedFail, Reason::NoRetry),
        lost("exit-004-i", Outcome::NotApplicable, Reason::NotClaimed),
    ];
    cases.extend(lost);
    let xml = junit(&report);
    insta::assert_snapshot!(xml);
    assert!(xml.contains("tests=\"12\" skipped=\"6\" failures=\"2\" errors=\"3\""), "{xml}");
}

#[test]
fn annotations_are_one_line_each_and_point_at_the_manifest() {
    let mut report = with_a_missing_program();
    report.runtimes[0].path = Some("my, own/manifest.yaml".to_owned());
    let text = github(&report);
    insta::assert_snapshot!(text);
    assert!(text.lines().all(|line| line.starts_with("::error file=")), "{text}");
}

#[test]
fn the_summary_of_a_job() {
    insta::assert_snapshot!(summary(&with_a_missing_program()));
}

fn fresh(now: &str) -> Freshness<'_> {
    Freshness { now: now.parse().expect("a moment"), days: 90, suite: None }
}

#[test]
fn a_badge_says_its_word_its_edition_and_its_age() {
    let report = ConformanceReport { edition: "a contract, version 1.13".to_owned(), ..with_a_missing_program() };
    let badge = |report: &ConformanceReport, number: usize, fresh| badges(report, fresh)[number].svg.clone();
    let young = fresh("2026-11-21T00:00:00Z");
    insta::assert_snapshot!(badge(&report, 0, young));
    assert_eq!(badges(&report, young)[0].name, "mine-exit-codes.svg");
    assert!(badge(&report, 2, young).contains("#1a7f37"), "Full is green");
    let grey = |svg: &str| !["#1a7f37", "#9a6700", "#cf222e"].iter().any(|colour| svg.contains(colour));
    let old = badge(&report, 2, fresh("2027-02-20T00:00:00Z"));
    assert!(grey(&old) && old.contains("stale, 91 days old"), "{old}");
    let renewed = badge(&report, 2, Freshness { suite: Some("another"), ..young });
    assert!(grey(&renewed) && renewed.contains("stale, the suite has gone on"), "{renewed}");
    let same = badge(&report, 2, Freshness { suite: Some("c0ffeec0ffeec0ffee"), ..young });
    assert!(!grey(&same), "{same}");
    let part = badge(&ConformanceReport { quick: true, ..report.clone() }, 2, young);
    assert!(grey(&part) && part.contains("no rating"), "{part}");
    assert!(badge(&report, 4, young).contains("could not run"));
}

#[test]
fn the_page_says_everything_loads_nothing_and_believes_nobody() {
    let mut report = with_a_missing_program();
    "</script><script>alert(1)</script>".clone_into(&mut report.runtimes[0].clauses[1].cases[0].title);
    let page = html(&report);
    for needed in [
        "claims Full",
        "A phase that ends with 1 is started again.",
        "it started once | and no more",
        "started-too-rarely",
        "a gap of 290 ms",
        "report in &lt;place&gt;",
        "there is no program &lt;gone&gt;",
        "loa-conform score mine --only exit-003-retried --seed 7 --keep",
        "data-o=\"fail\"",
        "A. Person vouches",
    ] {
        assert!(page.contains(needed), "{needed} is missing in\n{page}");
    }
    assert!(
        !page.contains("http:")
            && !page.contains("https:")
            && !page.contains("src=")
            && !page.contains("@import")
            && !page.contains("url(h")
    );
    assert_eq!(page.matches("<script>").count(), 1, "no script but ours");
    for anchor in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert_eq!(page.matches(&format!("id=\"{anchor}\"")).count(), 1, "{anchor}");
    }
}

#[test]
fn how_busy_the_machine_was_is_told_on_the_terminal_and_on_the_page() {
    let mut report = report();
    report.load = Some(HostLoad { crowd: 4.5, late_ms: 131 });
    for text in [plain(&terminal(&report, false)), html(&report)] {
        assert!(text.contains("4.5 processes for each core, timers up to 131 ms late"), "{text}");
    }
}

#[test]
fn a_report_without_timelines_still_has_a_page() {
    let mut report = report();
    report
        .runtimes
        .iter_mut()
        .flat_map(|it| &mut it.clauses)
        .flat_map(|it| &mut it.cases)
        .for_each(|case| case.timeline.clear());
    let page = html(&report);
    assert!(page.contains("exit-003-retried") && !page.contains("<figure"), "{page}");
}

/// A survey of nine runtimes in which all cases are red and each has a long timeline.
#[test]
fn the_page_of_a_large_survey_is_below_three_megabytes() {
    let mut report = report();
    let mut clause = report.runtimes[0].clauses[1].clone();
    let mark = clause.cases[0].timeline[1].clone();
    clause.cases[0].timeline = vec![mark; 64];
    report.runtimes[0].clauses = vec![clause; 125];
    report.runtimes = vec![report.runtimes[0].clone(); 9];
    let page = html(&report);
    let drawn = page.matches("<figure").count();
    assert!(page.len() < 3_000_000 && drawn > 50, "{} bytes, {drawn} pictures", page.len());
}

#[test]
fn two_profiles_share_a_page_and_no_table() {
    let (runtimes, agents) = (report(), agents());
    let chapter = |id, report| Chapter { id, title: "t", lead: "", report };
    let page = page("Both", Some(&runtimes), &[chapter("bundled", &runtimes), chapter("agents-1", &agents)]);
    let tables: Vec<&str> = page.split("<table").skip(1).filter_map(|rest| rest.split("</table>").next()).collect();
    assert_eq!(tables.len(), 3, "claims, runtimes, agents");
    let of_agents = tables.iter().filter(|table| table.contains("Exit Status")).count();
    assert_eq!(of_agents, 1);
    assert!(!tables.iter().any(|table| table.contains("Exit Status") && table.contains("Exit Codes")));
}

#[test]
fn the_defects_of_the_contract_with_every_reading() {
    let defect = |id: &str, ours: Option<&str>| {
        json!({"id": id, "title": "Three of what", "sections": ["Standard Exit Codes"], "problem": "It says both.",
            "cost": "A start.", "ours": ours, "proposal": "Say one."})
    };
    let list = json!([defect("C-01", None), defect("C-36", Some("As defined here."))]);
    let list: Vec<crate::conform::spec::Defect> = serde_json::from_value(list).expect("defects");
    insta::assert_snapshot!(defects(&list, &report().ledger, "a contract"));
}
