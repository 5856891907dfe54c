//! Exit codes, retries, gates, timeouts (Exit Code Specification).

use super::Workspace;
use super::workspace::PHASES;

#[test]
fn eight_phases_run_in_order_and_each_leaves_its_checkpoint_before_the_next() {
    let earlier = "for p in $(head -n -1 ran); do test -f .loa-checkpoint/$p.yaml || exit 2; done; test ! -f .loa-checkpoint/$LOA_PHASE.yaml || exit 2";
    let workspace = Workspace::only(&PHASES.map(|phase| (phase, earlier)));
    workspace.run().exits(0);
    assert_eq!(workspace.ran(), PHASES);
    let id = workspace.checkpoint("preflight")["execution_id"].clone();
    assert!(id.as_str().is_some_and(|id| id.starts_with("exec-")));
    for phase in PHASES {
        let checkpoint = workspace.checkpoint(phase);
        assert_eq!(checkpoint["phase"], phase);
        assert_eq!(checkpoint["exit_code"], 0);
        assert_eq!(checkpoint["execution_id"], id);
        assert!(checkpoint["summary"].as_str().is_some_and(|summary| !summary.is_empty()));
        assert!(checkpoint["created_at"].as_str().is_some_and(|time| time.ends_with('Z')), "{checkpoint:?}");
    }
    assert!(workspace.reports().is_empty());
    let raw = workspace.read(".loa-checkpoint/design.yaml");
    assert!(raw.contains("created_at: '20"), "a plain timestamp is a date to YAML 1.1:\n{raw}");
}

#[test]
fn exit_1_is_retried_and_a_late_success_counts() {
    let workspace = Workspace::only(&[("design", "test $LOA_ATTEMPT -ge 3"), ("submit", "true")]);
    workspace.run().exits(0);
    assert_eq!(workspace.ran(), ["design", "design", "design", "submit"]);
    assert_eq!(workspace.checkpoint("design")["exit_code"], 0);
}

#[test]
fn three_retries_are_the_most_and_then_a_human_is_called() {
    let rows = [
        ("echo same $LOA_ATTEMPT >&2; exit 1", "same_issue"),
        ("printf 'word%s\\n' $(echo $LOA_ATTEMPT | tr 1234 wxyz) >&2; exit 1", "no_progress"),
    ];
    for (script, trigger) in rows {
        let workspace = Workspace::only(&[("design", script), ("submit", "true")]);
        workspace.run().exits(2).says(&["A human is needed", trigger, "design", "loa-run resolve"]);
        assert_eq!(workspace.ran(), ["design"; 4]);
        assert_eq!(workspace.checkpoint("design")["exit_code"], 1);
        let report = workspace.report();
        assert_eq!(report["trigger"], trigger);
        assert_eq!(report["phase"], "design");
        assert_eq!(report["state"]["phases"].as_sequence().map(Vec::len), Some(8));
    }
}

#[test]
fn what_is_not_0_or_1_ends_the_run_at_once_and_is_recorded_as_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let flat = folder.path().join("flat");
    std::fs::write(&flat, "#!/bin/sh\n").expect("written");
    let flat = flat.to_string_lossy().into_owned();
    let sh = |script: &str| vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()];
    let rows = [
        (sh("exit 2"), "ATTEMPT_FAILED"),
        (sh("exit 7"), "UNKNOWN_EXIT_7"),
        (sh("exit 255"), "UNKNOWN_EXIT_255"),
        (sh("kill -9 $$"), "SIGNAL_KILL"),
        (vec!["/nonexistent/phase".to_owned()], "SPAWN_FAILED"),
        (vec!["no-such-program-anywhere".to_owned()], "SPAWN_FAILED"),
        (vec![flat], "SPAWN_FAILED"),
        (vec!["/tmp".to_owned()], "SPAWN_FAILED"),
    ];
    for (command, error) in rows {
        let workspace = Workspace::only(&[]);
        let phases = serde_json::json!([{ "id": "design", "command": command }, { "id": "submit", "command": "echo submit >> ran" }]);
        workspace.write("plan.json", &serde_json::json!({ "phases": phases }).to_string());
        workspace.run().exits(2);
        assert_eq!(workspace.starts("submit"), 0, "{command:?}");
        assert_eq!(workspace.read(".loa-run/logs/design-2.log"), "", "not retried: {command:?}");
        assert!(!workspace.path(".loa-run/logs/design-2.log").exists(), "not retried: {command:?}");
        let checkpoint = workspace.checkpoint("design");
        assert_eq!(checkpoint["exit_code"], 2, "{command:?}");
        assert_eq!(checkpoint["errors"][0]["code"], error, "{command:?}");
        assert_eq!(workspace.report()["trigger"], "manual");
    }
}

#[test]
fn a_gate_has_the_last_word_and_only_after_a_success() {
    let rows = [("true", "exit 0", 0, 0), ("true", "exit 2", 2, 2), ("exit 2", "touch gated", 2, 2)];
    for (command, verify, exit, code) in rows {
        let workspace = Workspace::only(&[("design", command)]);
        workspace.config(&format!("runtime: {{ phases: {{ design: {{ verify: '{verify}' }} }} }}\n"));
        workspace.run().exits(code);
        assert_eq!(workspace.checkpoint("design")["exit_code"], exit, "{command}, {verify}");
        assert!(!workspace.path("gated").exists());
    }
}

#[test]
fn the_duration_of_a_phase_counts_every_attempt_and_the_waits_between() {
    let workspace = Workspace::only(&[("design", "test $LOA_ATTEMPT -ge 3")]);
    workspace.config("runtime: { retry: { initial_ms: 100, multiplier: 1, jitter: 0 } }\n");
    workspace.run().exits(0);
    let duration = workspace.checkpoint("design")["metrics"]["duration_ms"].as_u64();
    assert!((200..10_000).contains(&duration.expect("a duration")), "{duration:?}");
}

#[test]
fn a_phase_that_takes_too_long_is_ended_and_retried() {
    // On a busy machine an attempt may be stopped before it got anywhere; the next one begins with the same.
    let script = "test -s child && exit 0; sleep 60 & echo $! > child; wait";
    let workspace = Workspace::only(&[("design", script)]);
    workspace.without_boundary();
    workspace.config("runtime: { retry: { initial_ms: 1 }, phases: { design: { timeout_ms: 250 } } }\n");
    workspace.run().exits(0).says(&["stopped after 0.25 s"]);
    assert!(workspace.starts("design") >= 2);
    let child = workspace.read("child");
    assert!(!alive(child.trim()), "the child of the first attempt is gone");

    let workspace = Workspace::only(&[("design", "sleep 60")]);
    workspace.config("runtime: { retry: { max: 0 }, phases: { design: { timeout_ms: 50 } } }\n");
    workspace.run().exits(2);
    assert_eq!(workspace.checkpoint("design")["errors"][0]["code"], "PHASE_TIMEOUT");
    assert_eq!(workspace.checkpoint("design")["exit_code"], 1);
}

#[test]
fn what_a_phase_says_when_it_is_stopped_is_in_its_log() {
    let script = "trap 'echo I was at line 7; exit 0' TERM; while :; do sleep 0.01; done";
    let workspace = Workspace::only(&[("design", script)]);
    workspace.config("runtime: { retry: { max: 0 }, phases: { design: { timeout_ms: 150 } } }\n");
    let ran = workspace.run().exits(2);
    assert!(workspace.read(".loa-run/logs/design-1.log").ends_with("I was at line 7\n"));
    assert!(ran.stdout.contains("design | I was at line 7"), "{}", ran.stdout);
}

#[test]
fn a_run_that_takes_too_long_calls_a_human() {
    let workspace = Workspace::only(&[("design", "sleep 60"), ("submit", "true")]);
    workspace.config("run_mode: { defaults: { timeout_hours: 0.00005 } }\n");
    workspace.run().exits(2);
    assert_eq!(workspace.report()["trigger"], "timeout");
    assert_eq!(workspace.report()["state"]["phases"][2]["status"], "in_progress");
    assert_eq!(workspace.ran(), ["design"]);
}

#[test]
fn one_phase_or_the_rest_and_a_look_beforehand() {
    let workspace = Workspace::new(&[]);
    let dry = workspace.loa(&["run", "--plan", "plan.json", "--from", "deploy", "--dry-run"]).exits(0);
    assert!(dry.stdout.contains("deploy") && !dry.stdout.contains("submit"), "{}", dry.stdout);
    assert!(!workspace.path(".loa-run").exists(), "a look leaves nothing");
    workspace.loa(&["run", "--plan", "plan.json", "--from", "deploy"]).exits(0);
    assert_eq!(workspace.ran(), ["deploy", "learning"]);
    workspace.loa(&["run", "--plan", "plan.json", "--phase", "audit"]).exits(0);
    assert_eq!(workspace.ran(), ["deploy", "learning", "audit"]);
}

#[test]
fn a_skipped_phase_is_a_success_that_says_so() {
    let workspace = Workspace::only(&[("design", "true"), ("submit", "true")]);
    workspace.config("runtime: { phases: { design: { skip: true } } }\n");
    workspace.run().exits(0);
    assert_eq!(workspace.ran(), ["submit"]);
    let checkpoint = workspace.checkpoint("design");
    assert!(checkpoint["summary"].as_str().is_some_and(|summary| summary.starts_with("SKIPPED:")));
    assert_eq!(checkpoint["decisions"].as_sequence().map(Vec::len), Some(1));
}

#[test]
fn what_a_stage_leaves_in_its_result_file_reaches_the_checkpoint() {
    let result = r#"{"summary":"no","decisions":[{"id":"D-001","description":"a","reasoning":"b","timestamp":"1:30"}],
        "artifacts":[{"path":"=","action":"created","size_bytes":3}],"metrics":{"tokens_used":7}}"#;
    let script = format!("cat > $LOA_RESULT_FILE <<'X'\n{result}\nX\n");
    let workspace = Workspace::only(&[("design", &script), ("submit", "echo '{\"sumary\": 1}' > $LOA_RESULT_FILE")]);
    workspace.run().exits(0).says(&["submit: the result file was not used"]);
    let checkpoint = workspace.checkpoint("design");
    assert_eq!(checkpoint["summary"], "no", "a string stays a string in every reader");
    assert_eq!(checkpoint["decisions"][0]["timestamp"], "1:30");
    assert_eq!(checkpoint["artifacts"][0]["path"], "=");
    assert_eq!(checkpoint["metrics"]["tokens_used"], 7);
    assert_eq!(workspace.checkpoint("submit")["errors"][0]["code"], "RESULT_INVALID");
}

/// Whether a process still runs; one that ended and was not awaited by its parent does not.
pub(super) fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

#[test]
fn what_a_failed_attempt_said_last_stands_in_checkpoint_and_report() {
    let one = |script: &str, verify: Option<&str>, expected: &str| {
        let workspace = Workspace::only(&[("design", script)]);
        let verify = verify.map_or(String::new(), |gate| format!("verify: {gate}, "));
        let limit = if script.contains("sleep") { "timeout_ms: 900, " } else { "" };
        workspace.config(&format!("runtime: {{ phases: {{ design: {{ {verify}{limit} retry: {{ max: 0 }} }} }} }}\n"));
        workspace.run().exits(2);
        for document in [workspace.checkpoint("design"), workspace.report()] {
            let text = serde_json::to_string(&document).expect("plain data");
            assert!(text.contains(expected), "{expected}:\n{text}");
        }
    };
    one("echo begin; echo 3 of 40 failed; exit 2", None, "exit 2: 3 of 40 failed");
    one("echo no such table >&2; exit 1", None, "exit 1: no such table");
    one("echo step 4; exec sleep 60", None, "the phase was stopped after 0.9 s, its limit: step 4");
    one("echo built", Some("'echo 2 warnings; exit 1'"), "in its gate: exit 1: 2 warnings");
    one("echo built", Some("[/nonexistent/gate]"), "in its gate: a program of the phase could not be started");
    one("nonexistent-tool 2>&1", None, "nonexistent-tool: not found");
    let own = r#"printf '{"summary":"It did not work."}' > "$LOA_RESULT_FILE"; echo the disk is full; exit 2"#;
    one(own, None, "exit 2: the disk is full");
}

#[test]
fn a_success_on_the_second_try_tells_of_the_first() {
    let workspace = Workspace::only(&[("design", "test -f tried && exit 0; touch tried; echo no lock; exit 1")]);
    workspace.run().exits(0);
    let checkpoint = workspace.checkpoint("design");
    assert_eq!(checkpoint["exit_code"], 0);
    assert_eq!(checkpoint["errors"][0]["message"], "attempt 1: exit 1: no lock");
}
