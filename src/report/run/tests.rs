//! From lines of a history to a report, and to what the page says.

use std::path::PathBuf;

use jiff::Timestamp;

use super::{AttemptOutcome as O, GapCause, RunReport, Seen, fold, html};
use crate::contract::{Checkpoint, ExecutionId, Phase, PhaseExit, SessionId};
use crate::store::{HistoryEvent as E, HistoryLine, Past};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_769_868_000 + second).expect("a time of this century")
}

fn id() -> ExecutionId {
    ExecutionId::new("exec-1").expect("not empty")
}

fn started() -> E {
    let session = SessionId::new("session-1").expect("not empty");
    E::SessionStarted { execution: id(), session, resumed: false }
}

fn ended(end: &str) -> E {
    E::SessionEnded { end: end.to_owned() }
}

fn begins(attempt: u32) -> E {
    E::AttemptStarted { phase: Phase::Design, attempt }
}

fn ends(attempt: u32, exit: Option<PhaseExit>) -> E {
    E::AttemptEnded { phase: Phase::Design, attempt, exit, reason: exit.map(|_| "because".to_owned()) }
}

fn checkpoint(summary: &str) -> Checkpoint {
    Checkpoint {
        execution_id: id(),
        phase: Phase::Design,
        created_at: at(50),
        exit_code: PhaseExit::Success,
        summary: summary.to_owned(),
        decisions: Vec::new(),
        artifacts: Vec::new(),
        errors: Vec::new(),
        metrics: Some(crate::contract::Metrics { duration_ms: 20_000, tokens_used: None, api_calls: None }),
    }
}

fn past(lines: &[(i64, E)], checkpoints: Vec<Checkpoint>) -> Past {
    let line = |(second, event): &(i64, E)| HistoryLine { version: 1, at: at(*second), event: event.clone() };
    let history = lines.iter().map(line).collect();
    Past { record: None, checkpoints, history, unreadable: 0, reports: Vec::new(), logs: PathBuf::from("/none") }
}

fn report(lines: &[(i64, E)], working: bool) -> RunReport {
    let seen = Seen { now: at(100), working };
    fold(&past(lines, vec![checkpoint("done")]), seen).expect("an execution")
}

#[track_caller]
fn attempts(report: &RunReport, expected: &[(O, i64, i64)]) {
    let found: Vec<_> = report.attempts.iter().map(|a| (a.outcome, a.started_at, a.ended_at)).collect();
    let expected: Vec<_> = expected.iter().map(|(outcome, from, to)| (*outcome, at(*from), at(*to))).collect();
    assert_eq!(found, expected);
}

#[test]
fn attempts_end_as_they_ended() {
    let lines = [
        (0, started()),
        (1, begins(1)),
        (5, ends(1, Some(PhaseExit::Retry))),
        (5, E::BackedOff { phase: Phase::Design, delay_ms: 60_000 }),
        (9, begins(2)),
        (11, ends(2, Some(PhaseExit::Blocked))),
        (12, begins(1)),
        (13, ends(1, None)),
        (14, ended("interrupted")),
    ];
    let report = report(&lines, false);
    attempts(&report, &[(O::Retry, 1, 5), (O::Blocked, 9, 11), (O::Stopped, 12, 13)]);
    assert_eq!(report.attempts[0].reason.as_deref(), Some("because"));
    assert_eq!((report.waits[0].from, report.waits[0].to), (at(5), at(9)), "a pause ends with the next attempt");
    assert!(report.gaps.is_empty(), "nothing followed");
}

#[test]
fn a_session_that_died_loses_its_attempt_and_leaves_a_gap() {
    let lines = [
        (0, started()),
        (1, begins(1)),
        (3, E::Compacted { phase: Phase::Design, level: crate::contract::CompactionLevel::Standard }),
        (40, started()),
        (41, begins(1)),
        (42, ends(1, Some(PhaseExit::Success))),
        (43, ended("escalated")),
        (90, started()),
        (91, begins(1)),
    ];
    let dead = report(&lines, false);
    attempts(&dead, &[(O::Lost, 1, 3), (O::Success, 41, 42), (O::Lost, 91, 91)]);
    let gaps: Vec<_> = dead.gaps.iter().map(|gap| (gap.cause, gap.from, gap.to)).collect();
    assert_eq!(gaps, [(GapCause::Died, at(3), at(40)), (GapCause::Human, at(43), at(90))]);
    let alive = report(&lines, true);
    assert_eq!((alive.attempts[2].outcome, alive.attempts[2].ended_at), (O::Running, at(100)));
}

#[test]
fn a_clock_that_was_set_back_turns_nothing_round() {
    let report = report(&[(10, started()), (20, begins(1)), (5, ends(1, Some(PhaseExit::Success)))], false);
    attempts(&report, &[(O::Success, 20, 20)]);
    assert!(html(&report).contains("</html>"));
}

#[test]
fn without_a_history_the_checkpoints_say_what_they_know() {
    let report = report(&[], false);
    attempts(&report, &[(O::Success, 30, 50)]);
    assert_eq!((report.status, report.started_at), ("found", at(30)));
    assert_eq!(fold(&past(&[], Vec::new()), Seen { now: at(0), working: false }), None);
}

#[test]
fn the_page_asks_for_nothing_and_trusts_nobody() {
    let evil = "</title><script src=http://evil>\"'&amp;\u{1b}[31m";
    let lines = [(0, started()), (1, begins(1)), (2, ends(1, Some(PhaseExit::Success)))];
    let past = past(&lines, vec![checkpoint(evil)]);
    let page = html(&fold(&past, Seen { now: at(100), working: false }).expect("an execution"));
    assert!(
        !page.contains("<script")
            && !page.contains("href=\"http")
            && !page.contains("src=\"")
            && !page.contains("@import")
    );
    assert!(page.contains("&lt;/title&gt;&lt;script src=http://evil&gt;"), "said, and harmless");
    assert!(page.contains("default-src 'none'") && page.contains("prefers-color-scheme: dark"));
    for anchor in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor} leads nowhere");
    }
}
