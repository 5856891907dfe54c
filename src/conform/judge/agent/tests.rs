//! What every expectation says about small observations: a figure on either side, and what must never pass.

mod context;
mod trouble;
mod wire;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::judge;
use crate::conform::judge::Outcome;
use crate::conform::model::RequestSeen;
use crate::conform::observe::{AgentEnd, AgentObservation, AgentStepSeen, SignalSent};
use crate::conform::observe::{OutputLine, ProcessSeen};
use crate::conform::spec::{AgentCase, AgentManifest};
use crate::conform::spec::{Clause, Reason};

/// A case of these steps and expectations, judged over what was seen.
struct Scene {
    steps: Value,
    seen: AgentObservation,
    control: AgentObservation,
    manifest: Value,
}

fn request(at: u64, more: &Value) -> RequestSeen {
    let mut request = json!({
        "number": 0, "at": at, "ended": at + 10, "method": "POST", "path": "/v1/messages", "headers": {},
        "dialect": "anthropic", "by": {"step": 0}, "answer": "text", "status": 200,
        "usage": {"input": 100, "cached": 40, "output": 7},
        "prompt": {"model": "m", "stream": true, "tools": [], "last_text": "p", "last_results": [], "conversation": []},
    });
    for (key, value) in more.as_object().expect("a mapping") {
        request[key] = value.clone();
    }
    serde_json::from_value(request).expect("a request")
}

fn step(end: AgentEnd, requests: Vec<RequestSeen>, lines: &[&str]) -> AgentStepSeen {
    let line = |text: &&str| OutputLine { at: 1, stream: "stdout".to_owned(), text: (*text).to_owned() };
    AgentStepSeen {
        verb: "run".to_owned(),
        argv: vec!["agent".to_owned()],
        env: BTreeMap::new(),
        started: 0,
        ended: 100,
        end,
        signal: None,
        requests,
        output: lines.iter().map(line).collect(),
        beside: None,
        left: Vec::new(),
    }
}

impl Scene {
    fn new(steps: Vec<AgentStepSeen>) -> Self {
        let plain = vec![step(AgentEnd::Exited(0), vec![request(1, &json!({}))], &[r#"{"t":"start","id":"s"}"#])];
        let runs = steps.iter().map(|_| json!({"run": {"prompt": "p"}})).collect();
        Self {
            steps: Value::Array(runs),
            seen: AgentObservation { steps, ..AgentObservation::default() },
            control: AgentObservation { steps: plain, ..AgentObservation::default() },
            manifest: json!({
                "agent": "it", "version": ["it"], "run": ["it"], "resume": ["it"],
                "stream": {
                    "session": [{"when": {"/t": "start"}, "read": "/id"}],
                    "usage": [{"when": {"/t": "usage"}, "input": ["/in"], "output": ["/out"], "scope": "run"}],
                    "failure": [{"when": {"/t": "end"}, "read": ["/status", "/why"]}],
                    "classes": {"busy": "transient"},
                    "compaction": [{"when": {"/t": "compacted"}}],
                    "turn_limit": [{"when": {"/t": "enough"}}],
                    "turn_limit_exit": 53,
                    "answer": [{"when": {"/t": "text"}, "read": "/text"}],
                    "end": [{"when": {"/t": "end"}, "read": ["/how"]}],
                    "context": [{"when": {"/t": "size"}, "size": ["/in", "/cached"]}],
                    "refusal": [{"when": {"/t": "refused"}}],
                    "denial": [],
                },
                "side": [{"name": "compaction", "match": "sum up", "reply": "<s>So far.</s>"}],
            }),
        }
    }

    /// One run that ended so, with so many requests.
    fn run(end: AgentEnd, requests: usize, lines: &[&str]) -> Self {
        let requests = (0..requests).map(|number| request(1000 * number as u64, &json!({}))).collect();
        Self::new(vec![step(end, requests, lines)])
    }

    fn says(&self, expectation: &Value) -> (Outcome, Reason) {
        let case: AgentCase = serde_json::from_value(json!({
            "id": "x-001-a", "clause": "X-001", "title": "t", "model": {}, "steps": self.steps, "expect": [expectation],
        }))
        .expect("a case");
        let clause: Clause = serde_json::from_value(json!({
            "id": "X-001", "column": "control", "level": "MUST", "source": ["profile"], "sections": [], "text": "t", "how": "h",
        }))
        .expect("a clause");
        let manifest: AgentManifest = serde_json::from_value(self.manifest.clone()).expect("a manifest");
        let evidence = super::Evidence {
            case: &case,
            clause: &clause,
            manifest: &manifest,
            seen: &self.seen,
            control: Some(&self.control),
        };
        let checks = judge(&evidence);
        assert_eq!(checks.len(), 1, "{checks:?}");
        (checks[0].outcome, checks[0].reason)
    }
}

use AgentEnd::{Exited, NotStarted, OutOfTime, SeenEnough};
use Outcome::{CouldNotRun, Fail, HarnessError, NotObserved, Pass};

const OK: (Outcome, Reason) = (Pass, Reason::AsExpected);

fn died() -> AgentEnd {
    AgentEnd::Signalled("SIGTERM".to_owned())
}

#[test]
fn whoever_asks_nothing_passes_nothing() {
    let silent = Scene::run(Exited(0), 0, &[r#"{"t":"start","id":"s"}"#]);
    for expectation in [
        json!({"ends": {"step": 0, "code": 0}}),
        json!({"session_at_first": {"step": 0}}),
        json!({"requests": {"step": 0, "at_least": 0, "at_most": 0}}),
        json!("no_orphans"),
    ] {
        assert_eq!(silent.says(&expectation), (Fail, Reason::NoRequest), "{expectation}");
    }
}

#[test]
fn a_fault_of_the_rig_is_the_judges_and_a_program_that_does_not_start_is_nobodys() {
    let mut broken = Scene::run(Exited(0), 1, &[]);
    broken.seen.rig_error = Some("no room".to_owned());
    assert_eq!(broken.says(&json!("no_orphans")), (HarnessError, Reason::RigFailed));
    let gone = Scene::run(NotStarted("no such file".to_owned()), 0, &[]);
    assert_eq!(gone.says(&json!("no_orphans")), (CouldNotRun, Reason::NotStarted));
}

#[test]
fn endings() {
    let zero = json!({"ends": {"step": 0, "code": 0}});
    let any = json!({"ends": {"step": 0}});
    let bad = json!({"no_success": {"step": 0}});
    for (end, by_zero, by_any, by_bad) in [
        (Exited(0), OK, OK, (Fail, Reason::LooksLikeSuccess)),
        (Exited(1), (Fail, Reason::WrongExitCode), OK, OK),
        (died(), (Fail, Reason::EndedBySignal), (Fail, Reason::EndedBySignal), OK),
        (OutOfTime, (Fail, Reason::DidNotEnd), (Fail, Reason::DidNotEnd), (Fail, Reason::DidNotEnd)),
        (
            SeenEnough,
            (NotObserved, Reason::SeenEnough),
            (NotObserved, Reason::SeenEnough),
            (NotObserved, Reason::SeenEnough),
        ),
    ] {
        let scene = Scene::run(end.clone(), 1, &[]);
        assert_eq!((scene.says(&zero), scene.says(&any), scene.says(&bad)), (by_zero, by_any, by_bad), "{end:?}");
    }
}

#[test]
fn a_signal_whose_moment_never_came_proves_nothing() {
    let mut scene = Scene::run(Exited(1), 1, &[]);
    scene.steps = json!([{"run": {"prompt": "p", "disturb": {"signal": "INT", "when": {"requests": 2}}}}]);
    let bad = json!({"no_success": {"step": 0}});
    assert_eq!(scene.says(&bad), (CouldNotRun, Reason::NoSuchMoment));
    scene.seen.steps[0].signal = Some(SignalSent { name: "SIGINT".to_owned(), at: 5 });
    assert_eq!(scene.says(&bad), OK);
    assert_eq!(scene.says(&json!("no_orphans")), OK);
    let left = || vec![ProcessSeen { pid: 7, command: "sleep 300".to_owned() }];
    scene.seen.steps[0].beside = Some(Box::new(AgentStepSeen { left: left(), ..step(Exited(1), Vec::new(), &[]) }));
    assert_eq!(scene.says(&json!("no_orphans")), (Fail, Reason::LeftProcesses), "beside it");
    scene.seen.steps[0].beside = None;
    scene.seen.steps[0].left = left();
    assert_eq!(scene.says(&json!("no_orphans")), (Fail, Reason::LeftProcesses));
    scene.seen.steps[0].left.clear();
    for (end, said) in [(OutOfTime, (Fail, Reason::DidNotEnd)), (SeenEnough, (Fail, Reason::DidNotEnd)), (died(), OK)] {
        scene.seen.steps[0].end = end.clone();
        assert_eq!(scene.says(&json!("no_orphans")), said, "{end:?}");
    }
    let alone = Scene::run(OutOfTime, 1, &[]);
    assert_eq!(alone.says(&json!("no_orphans")), OK, "nobody sent it a signal");
}

#[test]
fn requests_are_counted_and_side_requests_are_none() {
    let wish = json!({"requests": {"step": 0, "at_least": 2, "at_most": 3}});
    let side = request(5, &json!({"by": {"route": "title"}}));
    for (count, said) in [(1, (Fail, Reason::TooFewRequests)), (2, OK), (3, OK), (4, (Fail, Reason::TooManyRequests))] {
        let mut scene = Scene::run(Exited(0), count, &[]);
        scene.seen.steps[0].requests.push(side.clone());
        assert_eq!(scene.says(&wish), said, "{count}");
    }
}

#[test]
fn waits_lie_between_an_answer_and_the_next_request() {
    let scene = |starts: &[u64]| {
        let requests = starts.iter().map(|at| request(*at, &json!({"ended": at + 10}))).collect();
        Scene::new(vec![step(SeenEnough, requests, &[])])
    };
    let each = json!({"gaps": {"step": 0, "at_least": 3, "each_ms": 100}});
    let growth = json!({"gaps": {"step": 0, "at_least": 3, "growth": 1.5}});
    for (starts, by_each, by_growth) in [
        (&[0, 110, 300, 500][..], OK, OK),
        (&[0, 109, 300, 500], (Fail, Reason::RetriedTooSoon), OK),
        (&[0, 110, 220, 330], OK, (Fail, Reason::DidNotGrow)),
        (&[0, 110, 300], (Fail, Reason::TooFewGaps), (NotObserved, Reason::TooFewGaps)),
        (&[0], (Fail, Reason::TooFewGaps), (NotObserved, Reason::TooFewGaps)),
    ] {
        let scene = scene(starts);
        assert_eq!((scene.says(&each), scene.says(&growth)), (by_each, by_growth), "{starts:?}");
    }
}

#[test]
fn a_failure_is_told_in_a_field_of_the_right_class() {
    let transient = json!({"told": {"step": 0, "class": "transient"}});
    for (line, said) in [
        (r#"{"t":"end","status":529}"#, OK),
        (r#"{"t":"end","why":"busy"}"#, OK),
        (r#"{"t":"end","status":401}"#, (Fail, Reason::ToldOtherwise)),
        (r#"{"t":"end","message":"529 overloaded"}"#, (Fail, Reason::NotTold)),
        (r#"{"t":"end","why":"strange"}"#, (Fail, Reason::NotTold)),
        (r#"{"t":"other","status":529}"#, (Fail, Reason::NotTold)),
    ] {
        assert_eq!(Scene::run(Exited(1), 1, &[line]).says(&transient), said, "{line}");
    }
    let not_transient = json!({"not_told": {"step": 0, "class": "transient"}});
    for (line, said) in [
        (r#"{"t":"end","status":529}"#, (Fail, Reason::ToldOtherwise)),
        (r#"{"t":"end","status":401}"#, OK),
        (r#"{"t":"end","why":"strange"}"#, OK),
        (r#"{"t":"other"}"#, OK),
    ] {
        assert_eq!(Scene::run(Exited(1), 1, &[line]).says(&not_transient), said, "{line}");
    }
    let mut wolf = Scene::run(Exited(1), 1, &[r#"{"t":"end","status":529}"#]);
    wolf.control.steps[0].output.push(OutputLine { at: 1, stream: "stdout".into(), text: r#"{"t":"end"}"#.into() });
    assert_eq!(wolf.says(&transient), (Fail, Reason::PatternRefused));
    let mut blind = Scene::run(Exited(1), 1, &[]);
    blind.manifest["stream"].as_object_mut().expect("a mapping").remove("failure");
    assert_eq!(blind.says(&transient), (NotObserved, Reason::NoSight));
    blind.manifest["stream"]["failure"] = json!([]);
    assert_eq!(blind.says(&transient), (Fail, Reason::NotTold), "an agent without such an event does not tell");
}

#[test]
fn sessions() {
    let first = json!({"session_at_first": {"step": 0}});
    let start = r#"{"t":"start","id":"s"}"#;
    for (lines, said) in [
        (&["a banner", start][..], OK),
        (&[r#"{"t":"hello"}"#, start], (Fail, Reason::NotAtFirst)),
        (&[r#"{"t":"hello"}"#], (Fail, Reason::NotTold)),
    ] {
        assert_eq!(Scene::run(Exited(0), 1, lines).says(&first), said, "{lines:?}");
    }
    let two = |line: &str| {
        let run = |line: &str| step(Exited(0), vec![request(1, &json!({}))], &[line]);
        Scene::new(vec![run(start), run(line)])
    };
    let same = json!({"same_session": {"step": 1}});
    assert_eq!(two(start).says(&same), OK);
    assert_eq!(two(r#"{"t":"start","id":"z"}"#).says(&same), (Fail, Reason::OtherSession));
    assert_eq!(two("{}").says(&same), (Fail, Reason::NotTold));
}

#[test]
fn history_is_looked_for_in_the_first_request() {
    let said =
        json!([{"text": {"role": "user", "text": "remember abc"}}, {"text": {"role": "assistant", "text": "xyz"}}]);
    let prompt =
        json!({"model": "m", "stream": true, "tools": [], "last_text": "", "last_results": [], "conversation": said});
    let scene = Scene::new(vec![step(Exited(0), vec![request(1, &json!({"prompt": prompt}))], &[])]);
    assert_eq!(scene.says(&json!({"carried": {"step": 0, "texts": ["abc", "xyz"]}})), OK);
    assert_eq!(scene.says(&json!({"carried": {"step": 0, "texts": ["abc", "lost"]}})), (Fail, Reason::HistoryLost));
}

#[test]
fn usage_is_what_the_model_told_over_the_scope() {
    let usage = json!({"usage": {"step": 0}});
    for (line, said) in [
        (r#"{"t":"usage","in":200,"out":14}"#, OK),
        (r#"{"t":"usage","in":100,"out":7}"#, (Fail, Reason::NotTracked)),
        (r#"{"t":"usage","in":200}"#, (Fail, Reason::NotTold)),
    ] {
        assert_eq!(Scene::run(Exited(0), 2, &[line]).says(&usage), said, "{line}");
    }
    let mut last = Scene::run(Exited(0), 2, &[r#"{"t":"usage","in":100,"out":7}"#]);
    last.manifest["stream"]["usage"][0]["scope"] = json!("request");
    assert_eq!(last.says(&usage), OK);
}

#[test]
fn a_compaction_happens_and_is_told() {
    let wish = json!({"compaction_told": {"step": 0}});
    let scene = |by: Value, lines: &[&str]| {
        Scene::new(vec![step(Exited(0), vec![request(1, &json!({})), request(2, &json!({"by": by}))], lines)])
    };
    let summary = json!({"route": "compaction"});
    assert_eq!(scene(summary.clone(), &[r#"{"t":"compacted"}"#]).says(&wish), OK);
    assert_eq!(scene(summary, &[]).says(&wish), (Fail, Reason::NotTold));
    assert_eq!(scene(json!({"step": 1}), &[r#"{"t":"compacted"}"#]).says(&wish), (Fail, Reason::NoCompaction));
}

#[test]
fn the_bound_of_turns_has_a_status_of_its_own() {
    let wish = json!({"turn_limit_told": {"step": 0}});
    for (end, lines, said) in
        [(Exited(1), &[r#"{"t":"enough"}"#][..], OK), (Exited(53), &[], OK), (Exited(1), &[], (Fail, Reason::NotTold))]
    {
        assert_eq!(Scene::run(end, 1, lines).says(&wish), said, "{lines:?}");
    }
}

#[test]
fn files_are_compared_byte_for_byte() {
    let wish = json!({"file": {"path": "a", "content": "x\r\n"}});
    let mut scene = Scene::run(Exited(0), 1, &[]);
    assert_eq!(scene.says(&wish), (Fail, Reason::FileGone));
    for (bytes, said) in [(&b"x\r\n"[..], OK), (b"x\n", (Fail, Reason::WrongBytes)), (b"", (Fail, Reason::WrongBytes))]
    {
        scene.seen.files = BTreeMap::from([("a".to_owned(), bytes.to_vec())]);
        assert_eq!(scene.says(&wish), said);
    }
}

#[test]
fn a_call_is_spoilt_only_where_the_manifest_says_how() {
    for (run, folder, spoilt, observable) in [
        (json!(["x", "{knobs}", "{prompt}"]), json!(["-C", "{folder}"]), "missing_folder", true),
        (json!(["x", "{knobs}", "{prompt}"]), json!([]), "missing_folder", false),
        (json!(["x", "{knobs}", "{prompt}"]), json!([]), "unknown_flag", true),
        (json!(["x", "{prompt}"]), json!([]), "unknown_flag", false),
        (json!(["x", "{prompt}"]), json!([]), "no_prompt", true),
        (json!(["sh", "-c", "x '{prompt}'"]), json!([]), "no_prompt", false),
    ] {
        let mut manifest = Scene::run(Exited(0), 1, &[]).manifest;
        (manifest["run"], manifest["folder"]) = (run, folder);
        let manifest: AgentManifest = serde_json::from_value(manifest).expect("a manifest");
        let case: AgentCase = serde_json::from_value(json!({
            "id": "x", "clause": "X", "title": "t", "model": {}, "expect": [],
            "steps": [{"run": {"prompt": "p", "spoilt": spoilt}}],
        }))
        .expect("a case");
        assert_eq!(super::unobservable(&case, &manifest).is_none(), observable, "{spoilt} {:?}", manifest.run);
    }
}

#[test]
fn a_knob_that_is_missing_matters_where_time_is_scaled() {
    let scene = Scene::run(Exited(1), 1, &[]);
    let manifest: AgentManifest = serde_json::from_value(scene.manifest).expect("a manifest");
    for (time, observable) in [("real", true), ("scaled", false)] {
        let case: AgentCase = serde_json::from_value(json!({
            "id": "x", "clause": "X", "title": "t", "time": time, "knobs": {"retries": 1}, "model": {}, "steps": [],
            "expect": [],
        }))
        .expect("a case");
        assert_eq!(super::unobservable(&case, &manifest).is_none(), observable, "{time}");
    }
}
