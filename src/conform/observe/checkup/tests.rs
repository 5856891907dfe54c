//! Every fault told from what is well, on observations that differ in one thing.

use super::*;

fn manifest(more: &Value) -> Manifest {
    let mut manifest = json!({ "runtime": "x", "version": ["x"], "run": ["x", "{plan}"] });
    manifest.as_object_mut().expect("a mapping").extend(more.as_object().expect("a mapping").clone());
    serde_json::from_value(manifest).expect("a manifest")
}

fn identity() -> Identity {
    Identity { program: Some("/x".into()), version: Some("1".into()), ..Identity::default() }
}

/// All phases in order, ended with 0; then changed at these places.
fn seen(changes: &[(&str, Value)]) -> Observation {
    let attempt = |phase: &str| {
        json!({"phase": phase, "attempt": 1, "step": 0, "workspace": 0, "started": 1, "ended": 2, "exit": 0,
            "signal": null, "cwd": "", "env": {"LOA_RESULT_FILE": "/r"}, "checkpoints": {}})
    };
    let attempts: Vec<Value> = Phase::WORDS.iter().map(|phase| attempt(phase)).collect();
    let step = json!({"verb": "run", "argv": ["x"], "started": 0, "ended": 9, "end": {"exited": 0}, "output": [],
        "workspace": 0, "checkpoints": {"design.yaml": {"text": "", "modified": 0}}, "reports": [], "laid": {}});
    let mut all = json!({"drawn": {}, "initial_backoff": null, "steps": [step], "attempts": attempts, "usages": [],
        "events": [], "orphans": [], "rig_error": null});
    for (pointer, value) in changes {
        *all.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value.clone();
    }
    serde_json::from_value(all).expect("an observation")
}

/// Design started twice, so many milliseconds apart.
fn retried(gap: u64) -> Observation {
    let mut all = seen(&[]);
    let mut second = all.attempts[2].clone();
    second.started = 2 + gap;
    all.attempts.insert(3, second);
    all
}

fn health(manifest: &Manifest, identity: &Identity, plain: &Observation, again: &Observation, what: &str) -> Health {
    let all = checkup(manifest, identity, Some(&[plain.clone(), again.clone()]));
    let said = all.iter().filter(|symptom| symptom.what == what).map(|symptom| symptom.health).max();
    assert!(all.iter().all(|it| (it.health == Health::Well) == it.remedy.is_empty()), "{all:?}");
    said.unwrap_or_else(|| panic!("{what}: {all:?}"))
}

#[test]
fn every_fault_is_told_from_what_is_well() {
    let none = json!({});
    let orphan = json!([{"pid": 1, "command": "sleep"}]);
    let state = json!({"verb": "state", "argv": [], "started": 9, "ended": 9, "end": {"exited": 0}, "workspace": 0,
        "output": [{"at": 9, "stream": "stdout", "text": "nothing"}], "checkpoints": {}, "reports": [], "laid": {}});
    let mut stateful = seen(&[]);
    stateful.steps.push(serde_json::from_value(state).expect("a step"));
    let knob = json!({"knobs": {"initial_backoff": {"env": "B"}}});
    let quick = retried(100);
    for (what, manifest, plain, again, expected) in [
        ("phases", &none, seen(&[]), &quick, Health::Well),
        ("phases", &none, seen(&[("/attempts", json!([]))]), &quick, Health::Fault),
        ("phases", &none, seen(&[("/attempts/0/phase", json!("design"))]), &quick, Health::Fault),
        ("end", &none, seen(&[]), &quick, Health::Well),
        ("end", &none, seen(&[("/steps/0/end", json!({"exited": 3}))]), &quick, Health::Fault),
        ("end", &none, seen(&[("/steps/0/end", json!("out_of_budget"))]), &quick, Health::Fault),
        ("start", &none, seen(&[("/steps/0/end", json!({"not_started": "no such file"}))]), &quick, Health::Fault),
        ("manifest", &none, seen(&[("/rig_error", json!("a bad pattern"))]), &quick, Health::Fault),
        ("checkpoints", &none, seen(&[]), &quick, Health::Well),
        ("checkpoints", &none, seen(&[("/steps/0/checkpoints", json!({}))]), &quick, Health::Remark),
        ("results", &none, seen(&[("/attempts/0/env", json!({}))]), &quick, Health::Remark),
        ("usage", &json!({"usage": "signal_file"}), seen(&[]), &quick, Health::Fault),
        ("state", &none, stateful, &quick, Health::Fault),
        ("knobs", &knob, seen(&[]), &quick, Health::Well),
        ("knobs", &knob, seen(&[]), &retried(5000), Health::Fault),
        ("knobs", &none, seen(&[]), &retried(5000), Health::Remark),
        ("knobs", &knob, seen(&[]), &seen(&[]), Health::Remark),
        ("processes", &none, seen(&[("/orphans", orphan)]), &quick, Health::Fault),
        (
            "adapter",
            &json!({"run": null, "adapter": ["x"]}),
            seen(&[("/steps/0/end", json!({"adapter_failed": "it wrote x; expected y"}))]),
            &quick,
            Health::Fault,
        ),
        ("placeholders", &json!({"run": null, "adapter": ["x", "{workspace}"]}), seen(&[]), &quick, Health::Fault),
        ("plan", &json!({"run": ["x"]}), seen(&[]), &quick, Health::Fault),
        ("placeholders", &json!({"run": ["x", "{plan}", "{work_space}"]}), seen(&[]), &quick, Health::Fault),
        ("resolve", &json!({"resolve": ["x"]}), seen(&[]), &quick, Health::Fault),
    ] {
        assert_eq!(health(&super::tests::manifest(manifest), &identity(), &plain, again, what), expected, "{what}");
    }
}

#[test]
fn a_program_that_is_missing_or_does_not_say_its_version() {
    for (identity, what, expected) in [
        (identity(), "version", Health::Well),
        (Identity { version: None, ..identity() }, "version", Health::Remark),
        (Identity { problem: Some("exit 3".into()), ..identity() }, "version", Health::Fault),
        (Identity { problem: Some("nowhere".into()), ..Identity::default() }, "program", Health::Fault),
    ] {
        let all = checkup(&manifest(&json!({})), &identity, None);
        let said = all.iter().find(|symptom| symptom.what == what).map(|symptom| symptom.health);
        assert_eq!(said, Some(expected), "{identity:?}");
    }
}

#[test]
fn what_is_done_fits_the_manifest() {
    let [plain, again] = trials(&manifest(&json!({"state": ["x"], "usage": "signal_file"})));
    assert_eq!((plain.steps.len(), again.steps.len()), (2, 1));
    assert_eq!(plain.phases["design"][0].len(), 1);
    let behind = manifest(&json!({"run": null, "adapter": ["x"]}));
    assert_eq!(trials(&behind)[0].steps.len(), 2, "an adapter is asked for the state, too");
    let all = checkup(&behind, &identity(), None);
    assert!(all.iter().all(|symptom| symptom.what != "plan"), "every ask names the plan: {all:?}");
}

#[test]
fn a_sign_that_is_there_although_nothing_happened_is_a_fault() {
    let report = json!([{"path": ".loa-run/last.yaml", "document": {}, "at": 3}]);
    let said = json!([{"at": 3, "stream": "stdout", "text": "level: fine"}]);
    let warns = json!({"warn": {"output": "level: (?<level>.*)"}});
    let compacts = json!({"compact": {"output": "compacting (?<level>.*)"}});
    for (what, manifest, plain, expected) in [
        ("report", json!({"report": "**"}), seen(&[("/steps/0/reports", report)]), Some(Health::Fault)),
        ("report", json!({"report": "**"}), seen(&[]), None),
        ("warn", warns, seen(&[("/steps/0/output", said.clone())]), Some(Health::Fault)),
        ("compact", compacts, seen(&[("/steps/0/output", said.clone())]), None),
        ("surface", json!({"surface": "human needed"}), seen(&[]), Some(Health::Remark)),
        (
            "surface",
            json!({"surface": "{phase}{trigger}|fine"}),
            seen(&[("/steps/0/output", said.clone())]),
            Some(Health::Fault),
        ),
        ("surface", json!({"surface": "{phase} needs a human: {trigger}"}), seen(&[]), None),
    ] {
        let all = checkup(&self::manifest(&manifest), &identity(), Some(&[plain, retried(100)]));
        assert_eq!(all.iter().find(|it| it.what == what).map(|it| it.health), expected, "{what}: {all:?}");
    }
}
