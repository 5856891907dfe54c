//! From observations to marks.

use serde_json::json;

use super::*;
use crate::conform::observe::{EventSeen, ProcessSeen, ReportSeen, UsageSeen};

fn files(names: &[(&str, &str)]) -> BTreeMap<String, FileSeen> {
    let file = |(name, text): &(&str, &str)| ((*name).to_owned(), FileSeen { text: (*text).to_owned(), modified: 0 });
    names.iter().map(file).collect()
}

fn a_step(end: ProcessEnd, checkpoints: &[(&str, &str)]) -> StepSeen {
    StepSeen {
        verb: "run".to_owned(),
        argv: vec!["it".to_owned()],
        started: 0,
        ended: 900,
        end,
        output: Vec::new(),
        workspace: 0,
        checkpoints: files(checkpoints),
        reports: Vec::new(),
        laid: BTreeMap::new(),
        edited: None,
    }
}

fn an_attempt(number: u32, exit: i32, started: Millis, checkpoints: &[(&str, &str)]) -> AttemptSeen {
    AttemptSeen {
        phase: "design".to_owned(),
        attempt: number,
        step: 0,
        workspace: 0,
        started,
        ended: Some(started + 10),
        told: None,
        exit: Some(exit),
        signal: None,
        cwd: String::new(),
        env: BTreeMap::new(),
        memories: None,
        checkpoints: files(checkpoints),
    }
}

/// Kind, moment and words of each mark, in order.
#[track_caller]
fn shows(seen: &Observation, expected: &[(MarkKind, Millis, &str)]) {
    let marks = timeline(seen);
    let found: Vec<_> = marks.iter().map(|mark| (mark.kind, mark.at, mark.label.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn attempts_and_what_was_seen_meanwhile_stand_in_order_of_time() {
    let report = ReportSeen { path: ".loa/esc.yaml".to_owned(), document: json!({}), at: 700 };
    let first = a_step(ProcessEnd::Exited(2), &[("design.yaml", "b"), ("audit.yaml", "c")]);
    let seen = Observation {
        steps: vec![StepSeen { reports: vec![report], ..first }],
        attempts: vec![an_attempt(1, 1, 100, &[]), an_attempt(2, 2, 300, &[("design.yaml", "a")])],
        usages: vec![UsageSeen { tokens: 900, at: 305, context_state: None, until: 400 }],
        events: vec![EventSeen { at: 306, line: json!({"type": "CONTEXT_WARNING", "level": "soft"}) }],
        orphans: vec![ProcessSeen { pid: 1, command: "sleep 9".to_owned() }],
        ..Observation::default()
    };
    shows(
        &seen,
        &[
            (MarkKind::Step, 0, "run ended with 2"),
            (MarkKind::Attempt, 100, "attempt 1: exit 1"),
            (MarkKind::Attempt, 300, "attempt 2: exit 2"),
            (MarkKind::Checkpoint, 300, "seen: design.yaml"),
            (MarkKind::Usage, 305, "900 tokens reported"),
            (MarkKind::Signal, 306, "CONTEXT_WARNING, soft"),
            (MarkKind::Report, 700, "report in .loa/esc.yaml"),
            (MarkKind::Checkpoint, 900, "seen: audit.yaml, design.yaml anew"),
            (MarkKind::Left, 900, "left behind: sleep 9"),
        ],
    );
    assert!(is_eventful(&timeline(&seen)));
}

#[test]
fn what_went_well_at_once_is_not_eventful() {
    let plain = |exit| Observation {
        steps: vec![a_step(ProcessEnd::Exited(0), &[("design.yaml", "a")])],
        attempts: vec![an_attempt(1, exit, 5, &[])],
        ..Observation::default()
    };
    assert!(!is_eventful(&timeline(&plain(0))));
    assert!(is_eventful(&timeline(&plain(1))));
    assert!(!is_eventful(&[]));
}

#[test]
fn an_attempt_that_was_killed_or_never_ended_has_no_exit_code() {
    let killed = AttemptSeen { signal: Some("SIGKILL".to_owned()), exit: None, ..an_attempt(1, 0, 5, &[]) };
    let open = AttemptSeen { ended: None, ..an_attempt(2, 0, 50, &[]) };
    let seen = Observation { attempts: vec![killed, open], ..Observation::default() };
    let marks = timeline(&seen);
    assert_eq!(marks.iter().map(|mark| mark.exit).collect::<Vec<_>>(), [None, None]);
    assert_eq!(marks[1].until, None);
    assert_eq!(marks[0].label, "attempt 1: died by SIGKILL");
}

#[test]
fn a_flood_is_cut_and_says_so() {
    let attempts = (1..=500).map(|number| an_attempt(number, 1, u64::from(number), &[])).collect();
    let marks = timeline(&Observation { attempts, ..Observation::default() });
    assert_eq!(marks.len(), MOST);
    let last = marks.last().expect("many");
    assert_eq!((last.kind, last.label.as_str()), (MarkKind::More, "437 more marks are left out"));
    let long = TimelineMark::new(MarkKind::Signal, 0, "é".repeat(999));
    assert_eq!(long.label.chars().count(), LONGEST);
}
