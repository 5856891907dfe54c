//! Attacks by taking more of the host than a stage may, and what it is left then.

use super::everyday::there;
use super::{Stand, attacks, loa, run};

attacks! {
    processes_are_bounded:
        "A phase starts more processes than `limits` allow, and goes on", Some(true), Some(true),
        |stand| is_ended(stand, "processes: 5", "for n in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait", "processes, and may have 5");
    memory_is_bounded:
        "A phase holds more memory than `limits` allow, and goes on", Some(true), Some(true),
        |stand| {
            !there("python3")
                || is_ended(stand, "memory: 128M", "python3 -c \"x = b'x' * (256 << 20); import time; time.sleep(60)\"", "of memory, and may hold 128 MiB")
        };
    the_disk_is_bounded:
        "A phase fills the disk of the workspace by more than `limits` allow, and goes on", Some(true), Some(true),
        |stand| is_ended(stand, "disk: 32M", "head -c 100000000 /dev/zero > big; sleep 60", "fuller, and may by 32 MiB");
    open_files_are_bounded:
        "A phase opens more files than `limits` allow, and goes on", Some(true), Some(true),
        |stand| {
            let many = "python3 -c \"many = [open('/dev/null') for _ in range(400)]; import time; time.sleep(60)\"";
            !there("python3") || is_ended(stand, "handles: 200", many, "files open, and may have 200")
        };
}

/// Whether a phase that takes more is ended for that reason, a human is called, and what was done before is there and goes on.
fn is_ended(stand: Stand, limits: &str, script: &str, why: &str) -> bool {
    let script = format!("test -e again && exit 0; echo > again; {script}");
    let phases = [("design", "echo kept > before"), ("implementation", script.as_str()), ("submit", "true")];
    let workspace = stand.configured(&phases, &format!("{{ implementation: {{ limits: {{ {limits} }} }} }}"));
    let begun = std::time::Instant::now();
    let ran = run(&workspace);
    if ran.code != Some(2) || begun.elapsed() > std::time::Duration::from_secs(50) {
        return false;
    }
    let ended = format!("{}{}", ran.stdout, ran.stderr);
    assert!(ended.contains(why) && ended.contains("implementation"), "{ended}");
    let checkpoint = workspace.checkpoint("implementation");
    assert_eq!(checkpoint["errors"][0]["code"], "LIMIT_EXCEEDED", "{checkpoint:?}");
    assert_eq!(
        (workspace.read("before").as_str(), workspace.starts("implementation")),
        ("kept\n", 1),
        "it is not tried again"
    );
    let _ = std::fs::remove_file(workspace.path("big"));
    loa(&workspace, &["resolve", "fix_and_resume"]).exits(0);
    run_on(&workspace)
}

fn run_on(workspace: &crate::run::workspace::Workspace) -> bool {
    loa(workspace, &["resume"]).exits(0);
    (workspace.starts("design"), workspace.starts("submit")) == (1, 1)
}

#[test]
fn an_agent_is_held_to_its_limits_too() {
    for stand in [Stand::Behind, Stand::Without] {
        if stand == Stand::Behind && !super::can_be_drawn() {
            continue;
        }
        let mine = "{}\n  limits: { processes: 4 }\n  backends: { mine: { run: [sh, -c, 'for n in 1 2 3 4 5 6; do sleep 60 & done; wait', '{prompt}'] } }";
        let workspace = stand.configured(&[], mine);
        let phases = serde_json::json!([{ "id": "design", "prompt": "Go.", "backend": "mine" }]);
        workspace.write("plan.json", &serde_json::json!({ "phases": phases }).to_string());
        run(&workspace).exits(2).says(&["processes, and may have 4"]);
    }
}

#[test]
fn whoever_stays_within_its_limits_is_left_alone() {
    let script = "sleep 0.1 & head -c 1000 /dev/zero > small; for n in 1 2 3 4 5 6 7 8; do sleep 0.1; done; wait";
    for stand in [Stand::Behind, Stand::Without] {
        if stand == Stand::Behind && !super::can_be_drawn() {
            continue;
        }
        let limits = "{ design: { limits: { processes: 3, memory: 512M, disk: 1T, handles: 100 } } }";
        run(&stand.configured(&[("design", script)], limits)).exits(0);
    }
}

#[test]
fn more_than_before_is_a_question_to_a_person() {
    let workspace = Stand::Without.configured(
        &[("design", "test -e again && exit 0; echo > again; exit 2"), ("submit", "true")],
        "{ submit: { limits: { memory: 1G } } }",
    );
    run(&workspace).exits(2);
    loa(&workspace, &["resolve", "fix_and_resume"]).exits(0);
    workspace.config("runtime: { boundary: { mode: off }, retry: { max: 0, initial_ms: 1 } }\n");
    let asked = loa(&workspace, &["resume", "--config", "new"]).exits(2);
    asked.says(&["submit may take more of the host: memory, as much as it likes"]);
}
