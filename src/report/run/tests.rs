//! From the story of an execution to a report, and to what the page says.

use jiff::Timestamp;

use super::{AttemptOutcome as O, GapCause, RunReport, Seen, fold, html};
use crate::contract::{Checkpoint, ExecutionId, Phase, PhaseExit, SessionId};
use crate::events::{CompactionMeans, Dated, Event as E, RunEnd, RunOrigin, State};
use crate::runner::Story;
use crate::store::Layout;
use crate::system::process::Interrupt;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_769_868_000 + second).expect("a time of this century")
}

fn id() -> ExecutionId {
    ExecutionId::new("exec-1").expect("not empty")
}

fn started() -> E {
    let session = SessionId::new("session-1").expect("not empty");
    let (phases, origin, overrides) = (vec![Phase::Design], RunOrigin::config(), Vec::new());
    E::SessionStarted { session, pid: 1, resumed: false, swept: 0, phases, origin, overrides }
}

fn ended(end: RunEnd) -> E {
    E::SessionEnded { end }
}

fn begins(attempt: u32) -> E {
    E::AttemptStarted { phase: Phase::Design, stage: None, attempt, of: 4 }
}

fn ends(attempt: u32, exit: Option<PhaseExit>) -> E {
    let reason = exit.map(|_| "because".into());
    E::AttemptEnded { phase: Phase::Design, stage: None, attempt, exit, reason, context_tokens: None }
}

fn checkpoint(summary: &str) -> Checkpoint {
    Checkpoint {
        execution_id: id(),
        phase: Phase::Design,
        created_at: at(50),
        exit_code: PhaseExit::Success,
        summary: summary.into(),
        decisions: Vec::new(),
        artifacts: Vec::new(),
        errors: Vec::new(),
        metrics: Some(crate::contract::Metrics { duration_ms: 20_000, tokens_used: None, api_calls: None }),
    }
}

fn backed_off() -> E {
    let (phase, reason, not_before) = (Phase::Design, "".into(), at(65));
    E::BackedOff { phase, stage: None, attempt: 2, failure: None, reason, delay_ms: 60_000, not_before }
}

fn story(events: &[(i64, E)], checkpoints: Vec<Checkpoint>) -> Story {
    let event = |(second, event): &(i64, E)| Dated { at: at(*second), event: event.clone() };
    let mut state = State::new(id(), vec![Phase::Design], RunOrigin::config(), at(50));
    state.checkpoints = checkpoints.into_iter().map(|checkpoint| (checkpoint.phase, checkpoint)).collect();
    state.updated_at = at(0);
    Story { state, events: events.iter().map(event).collect(), head: None, unreadable: 0 }
}

fn folded(story: &Story, working: bool) -> RunReport {
    fold(story, &Layout::new("/none"), &[], Seen { now: at(100), working })
}

fn report(events: &[(i64, E)], working: bool) -> RunReport {
    folded(&story(events, vec![checkpoint("done")]), working)
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
        (5, backed_off()),
        (9, begins(2)),
        (11, ends(2, Some(PhaseExit::Blocked))),
        (12, begins(1)),
        (13, ends(1, None)),
        (14, ended(RunEnd::Interrupted { by: Interrupt::Interrupt })),
    ];
    let report = report(&lines, false);
    attempts(&report, &[(O::Retry, 1, 5), (O::Blocked, 9, 11), (O::Stopped, 12, 13)]);
    assert_eq!(report.attempts[0].reason, Some("because".into()));
    assert_eq!((report.waits[0].from, report.waits[0].to), (at(5), at(9)), "a pause ends with the next attempt");
    assert!(report.gaps.is_empty(), "nothing followed");
}

#[test]
fn a_session_that_died_loses_its_attempt_and_leaves_a_gap() {
    let lines = [
        (0, started()),
        (1, begins(1)),
        (
            3,
            E::Compacted {
                phase: Phase::Design,
                level: crate::contract::CompactionLevel::Standard,
                means: CompactionMeans::Nobody,
            },
        ),
        (40, started()),
        (41, begins(1)),
        (42, ends(1, Some(PhaseExit::Success))),
        (43, ended(RunEnd::Escalated)),
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
}

#[test]
fn the_page_asks_for_nothing_and_trusts_nobody() {
    let evil = "</title><script src=http://evil>\"'&amp;\u{1b}[31m";
    let lines = [(0, started()), (1, begins(1)), (2, ends(1, Some(PhaseExit::Success)))];
    let page = html(&folded(&story(&lines, vec![checkpoint(evil)]), false));
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
