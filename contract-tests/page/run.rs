//! The page of a run, on a desk and on a phone: a short one that called a human, and a night of a thousand loops.

use std::io::Write as _;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use loa::contract::{EscalationTrigger, ExecutionId, Phase, PhaseProgress};
use loa::events::Spent;
use loa::report::run::{AttemptOutcome, AttemptReport, Call, PhaseReport, Remediation, RunReport, html};
use serde_json::{Value, json};

use super::browser::Browser;

fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

fn attempt(phase: Phase, number: u32, from: i64, outcome: AttemptOutcome) -> AttemptReport {
    let log_end = match outcome {
        AttemptOutcome::Success => Vec::new(),
        _ => vec!["error: no route to host <b>".to_owned(), "x".repeat(250)],
    };
    AttemptReport {
        phase,
        attempt: Some(number),
        started_at: at(from),
        ended_at: at(from + 29),
        outcome,
        reason: None,
        log: Some(format!("/home/somebody/.local/state/loa-run/runs/exec-1/logs/{phase}-{number}.log").into()),
        log_end,
    }
}

/// Implementation and audit take turns, until a human is called.
fn report(loops: u32) -> RunReport {
    let each = |number: u32| {
        let from = i64::from(number) * 60;
        [
            attempt(Phase::Implementation, number + 1, from, AttemptOutcome::Success),
            attempt(Phase::Audit, number + 1, from + 30, AttemptOutcome::Retry),
        ]
    };
    let call = Call {
        id: "exec-1-1".to_owned(),
        number: 1,
        at: at(i64::from(loops) * 60),
        trigger: EscalationTrigger::MaxLoops,
        phase: Phase::Audit,
        reason: "audit failed again after all its loops, and nobody knows what to do about it".into(),
        report: "/home/somebody/project/.loa-checkpoint/escalations/exec-1-1.md".into(),
        answer: None,
    };
    let phase = |phase| PhaseReport { phase, status: PhaseProgress::Pending, checkpoint: None };
    RunReport {
        execution_id: ExecutionId::new("exec-1").expect("an id"),
        status: "escalated",
        started_at: at(0),
        last_at: at(i64::from(loops) * 60),
        elapsed_ms: u64::from(loops) * 60_000,
        spent: Spent::default(),
        sessions: 1,
        phases: vec![phase(Phase::Implementation), phase(Phase::Audit)],
        attempts: (0..loops).flat_map(each).collect(),
        waits: Vec::new(),
        remediations: (1..loops).map(|n| Remediation { number: n, at: at(i64::from(n) * 60 - 1) }).collect(),
        context: Vec::new(),
        limits: Vec::new(),
        outages: Vec::new(),
        calls: vec![call],
        gaps: Vec::new(),
        notices: Vec::new(),
        findings: Vec::new(),
        boundary: None,
        changed_files: loa::events::ChangedFiles::default(),
        last_error: None,
        head: None,
        unreadable: 0,
    }
}

/// How many labels of the picture lie over another, or outside of it.
const COVERED: &str = "
    const frame = document.querySelector('svg.timeline').getBoundingClientRect();
    const boxes = [...document.querySelectorAll('svg.timeline text')].map((it) => it.getBoundingClientRect());
    const inside = (b) => b.left >= frame.left - 1 && b.right <= frame.right + 1;
    const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    const covered = boxes.filter((a, i) => !inside(a) || boxes.some((b, j) => i !== j && over(a, b)));
    return [boxes.length > 6, covered.length];";

#[test]
fn a_page_of_a_run_is_readable_on_a_desk_and_on_a_phone() {
    let Some(browser) = Browser::start() else {
        let word = "skipped: no chromium with its chromedriver is there, so nobody has looked at the page of a run\n";
        std::io::stderr().write_all(word.as_bytes()).expect("standard error is there");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    for loops in [3, 1000] {
        let page = folder.path().join(format!("{loops}.html"));
        std::fs::write(&page, html(&report(loops))).expect("written");
        browser.open(&format!("file://{}", page.display()));
        assert_eq!(browser.run(COVERED), json!([true, 0]), "{loops} loops");
        on_a_phone(&browser, &page);
        assert_eq!(browser.log("browser"), Vec::<Value>::new(), "something stands on the console");
    }
}

fn on_a_phone(browser: &Browser, page: &Path) {
    let phone = json!({"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": true});
    browser.command("Emulation.setDeviceMetricsOverride", &phone);
    assert_eq!(browser.run("return document.documentElement.scrollWidth"), 390, "{}: pushed wider", page.display());
    // The narrowest cell in which somebody has to read words.
    let narrowest = "return Math.min(...[...document.querySelectorAll('table.cards td[data-label]')]
        .filter((it) => it.textContent).map((it) => it.clientWidth))";
    let width = browser.run(narrowest).as_f64().expect("a width");
    assert!(width >= 300.0, "{}: a cell is {width} px wide", page.display());
    let named = "return getComputedStyle(document.querySelector('table.cards td[data-label=Why]'), '::before').content";
    assert_eq!(browser.run(named), "\"Why\"", "a cell without a head says what it is");
    let shown = "const log = [...document.querySelectorAll('tr.log details')].pop();
        return [log.open, log.querySelector('pre').textContent.includes('<b>'), log.scrollWidth <= 390]";
    assert_eq!(browser.run(shown), json!([true, true, true]), "the log of the last failure is open and fits");
    browser.command("Emulation.clearDeviceMetricsOverride", &json!({}));
}
