use super::*;
use crate::conform::observe::{FileSeen, ReportSeen};

/// Verb and end of a step, and its attempts: phase and code.
type Told<'a> = (&'a str, ProcessEnd, &'a [(&'a str, i32)]);

fn seen(steps: &[Told<'_>]) -> Observation {
    let mut seen = Observation::default();
    for (number, (verb, end, attempts)) in steps.iter().enumerate() {
        for (phase, code) in *attempts {
            let text = json!({ "phase": phase, "attempt": 1, "step": number, "workspace": 0, "started": 1, "ended": 2,
                "exit": code, "signal": null, "cwd": "/", "env": {}, "checkpoints": {} });
            seen.attempts.push(serde_json::from_value(text).expect("an attempt"));
        }
        seen.steps.push(StepSeen {
            verb: (*verb).to_owned(),
            argv: Vec::new(),
            started: 0,
            ended: 10,
            end: end.clone(),
            output: Vec::new(),
            workspace: 0,
            checkpoints: BTreeMap::new(),
            reports: Vec::new(),
            laid: BTreeMap::new(),
            edited: None,
        });
    }
    seen
}

fn case(more: &Value) -> Case {
    let mut case =
        json!({ "id": "x", "clause": "X", "title": "t", "steps": [{ "run": {} }, { "resume": {} }], "expect": [] });
    case.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
    serde_json::from_value(case).expect("a case")
}

/// The steps in which a situation came up, with what it bound.
fn came_up(situation: Situation, seen: &Observation) -> Vec<(usize, String)> {
    let all = situation.occurrences(&case(&json!({})), seen);
    all.into_iter().map(|it| (it.step, it.bound.values().map(Value::to_string).collect::<Vec<_>>().join(" "))).collect()
}

#[test]
fn each_situation_comes_up_where_it_does_and_nowhere_else() {
    use ProcessEnd::{Exited, KilledAsPlanned, OutOfBudget};
    let well = [("preflight", 0), ("design", 0)];
    let retried = [("preflight", 0), ("design", 1), ("design", 0)];
    let at_first = [("preflight", 1), ("preflight", 1)];
    let (blocked, unknown) = ([("design", 2)], [("design", 119), ("audit", 0)]);
    for (situation, verb, end, attempts, expected) in [
        (Situation::Run, "run", Exited(0), &well[..], Some("")),
        (Situation::Run, "run", OutOfBudget, &well, None),
        (Situation::Run, "run", KilledAsPlanned, &well, None),
        (Situation::Run, "run", Exited(0), &[], None),
        (Situation::Run, "resolve", Exited(0), &well, None),
        (Situation::Retry, "run", Exited(0), &retried, Some("\"design\"")),
        (Situation::Retry, "run", Exited(0), &at_first, None),
        (Situation::Retry, "run", Exited(0), &well, None),
        (Situation::Blocked, "resume", Exited(2), &blocked, Some("\"design\"")),
        (Situation::Blocked, "run", Exited(0), &well, None),
        (Situation::UnknownCode, "run", Exited(1), &unknown, Some("119 \"design\"")),
        (Situation::UnknownCode, "run", Exited(2), &blocked, None),
    ] {
        let found = came_up(situation, &seen(&[(verb, end.clone(), attempts)]));
        let expected: Vec<_> = expected.map(|bound| (0, bound.to_owned())).into_iter().collect();
        assert_eq!(found, expected, "{situation:?} in {verb} {end:?} {attempts:?}");
    }
}

#[test]
fn waits_that_noise_may_hide_are_no_retries_to_judge() {
    let mut seen = seen(&[("run", ProcessEnd::Exited(0), &[("preflight", 0), ("design", 1), ("design", 0)])]);
    for (backoff, count) in [(None, 1), (Some(20), 0), (Some(1000), 1)] {
        seen.initial_backoff = backoff;
        assert_eq!(came_up(Situation::Retry, &seen).len(), count, "{backoff:?}");
    }
}

#[test]
fn reports_and_checkpoints_are_looked_for_step_by_step() {
    let mut seen =
        seen(&[("run", ProcessEnd::Exited(2), &[("design", 2)]), ("resume", ProcessEnd::Exited(0), &[("design", 0)])]);
    for (trigger, phase, count) in
        [("manual", "design", 1), ("blocked", "design", 1), ("", "design", 0), ("manual", "x", 0)]
    {
        let document = json!({ "trigger": trigger, "phase": phase });
        let report = ReportSeen { path: "r.yaml".to_owned(), document, at: 5 };
        let seen =
            Observation { steps: vec![StepSeen { reports: vec![report], ..seen.steps[0].clone() }], ..seen.clone() };
        assert_eq!(came_up(Situation::Report, &seen).len(), count, "{trigger:?} {phase:?}");
    }
    let document = json!({ "trigger": "manual", "phase": "design" });
    seen.steps[0].reports.push(ReportSeen { path: "r.yaml".to_owned(), document, at: 5 });
    for name in ["design.yaml", "audit.yaml", "context-state.yaml"] {
        seen.steps[1].checkpoints.insert(name.to_owned(), FileSeen { text: String::new(), modified: 0 });
    }
    assert_eq!(came_up(Situation::Report, &seen), [(0, "\"design\"".to_owned())]);
    let unstartable = Observation { attempts: Vec::new(), ..seen.clone() };
    assert_eq!(came_up(Situation::Report, &unstartable), [(0, "\"design\"".to_owned())], "nothing could be started");
    assert_eq!(came_up(Situation::Checkpoint, &seen), [(1, "\"design\"".to_owned())], "only of what was started");
    for meddled in [
        json!({ "steps": [{ "edit": { "path": "x", "remove": ["a"] } }, { "resume": {} }] }),
        json!({ "steps": [{ "run": { "kill_during": "design" } }, { "resume": {} }] }),
        json!({ "files": { ".loa-checkpoint/design.yaml": "" } }),
    ] {
        assert!(Situation::Checkpoint.occurrences(&case(&meddled), &seen).is_empty(), "{meddled}");
    }
    assert!(Situation::Run.occurrences(&case(&json!({ "time": "accelerated" })), &seen).is_empty());
}

#[test]
fn a_view_ends_with_its_step_and_has_what_was_left_behind_only_after_the_last() {
    let mut seen =
        seen(&[("run", ProcessEnd::Exited(2), &[("design", 2)]), ("resume", ProcessEnd::Exited(0), &[("design", 0)])]);
    seen.orphans.push(crate::conform::observe::ProcessSeen { pid: 7, command: "sleep".to_owned() });
    for (step, attempts, orphans) in [(0, 1, 0), (1, 2, 1)] {
        let view = Occurrence::new(step, &[("phase", json!("design"))]).view(&seen);
        assert_eq!((view.steps.len(), view.attempts.len(), view.orphans.len()), (step + 1, attempts, orphans));
        assert_eq!(view.drawn["phase"], "design");
    }
}
