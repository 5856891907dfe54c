//! What nobody should have given to `loa-run`, and a host that fails it: a clear error each, nothing lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use loa::contract::Phase;

use super::workspace::{Ran, finished};
use super::{Workspace, until};

fn plan(workspace: &Workspace, bytes: &[u8]) -> Ran {
    fs::write(workspace.path("plan.json"), bytes).expect("written");
    workspace.run()
}

#[test]
fn a_plan_that_is_none() {
    let workspace = Workspace::only(&[("design", "true")]);
    workspace.loa(&["run", "--plan", "nowhere.json"]).exits(66).says(&["nowhere.json"]);
    workspace.loa(&["run", "--plan", "."]).exits(66).says(&["folder"]);
    plan(&workspace, b"").exits(78).says(&["plan.json"]);
    plan(&workspace, b"\x7fELF\0\0\xff\xfe").exits(78).says(&["plan.json"]);
    plan(&workspace, br#"{"phases":[]}"#).exits(78);
    plan(&workspace, br#"{"phases":[{"id":"quality","command":["true"]}]}"#).exits(78).says(&["quality", "design"]);
    plan(&workspace, br#"{"phases":[{"id":"design","comand":["true"]}]}"#).exits(78).says(&["comand", "command"]);
    plan(&workspace, br#"{"phases":[{"id":"design","command":[]}]}"#).exits(78);
    let twice = br#"{"phases":[{"id":"design","command":"true"},{"id":"design","command":"true"}]}"#;
    plan(&workspace, twice).exits(78).says(&["twice"]);
    plan(&workspace, &vec![b' '; 50 << 20]).exits(66).says(&["longer"]);
    assert!(workspace.ran().is_empty());
}

#[test]
fn a_configuration_that_is_none() {
    let workspace = Workspace::only(&[("design", "true")]);
    let with = |bytes: &[u8]| {
        fs::write(workspace.path(".loa.config.yaml"), bytes).expect("written");
        workspace.run()
    };
    with(b"runtime: { retri: {} }\n").exits(78).says(&["retri", "retry"]);
    with(b"runtime: { retry: { max: many } }\n").exits(78).says(&[".loa.config.yaml", "max"]);
    with(b"\xff\xfe\0").exits(78);
    with(b"a: [1, 2\n").exits(78);
    with(&vec![b'#'; 50 << 20]).exits(66).says(&["longer"]);
    fs::remove_file(workspace.path(".loa.config.yaml")).expect("removed");
    fs::create_dir(workspace.path(".loa.config.yaml")).expect("made");
    workspace.run().exits(66).says(&["folder"]);
    assert!(workspace.ran().is_empty());
}

#[test]
fn a_command_line_that_is_none() {
    let workspace = Workspace::only(&[("design", "true")]);
    for arguments in [&["run", "--plam", "x"][..], &["dance"], &["run", "--phase", "quality"], &["resolve"], &[]] {
        workspace.loa(arguments).exits(64);
    }
    workspace.loa(&["status", "--workspace", "/nowhere"]).exits(66);
    let help = workspace.loa(&["--help"]).exits(0).stdout;
    assert!(help.contains("Examples:") && help.contains("143"), "{help}");
}

#[test]
fn a_part_of_a_plan_that_is_empty_or_not_there_is_wrong_usage() {
    let workspace = Workspace::only(&[("design", "true"), ("audit", "true")]);
    let run = |part: &[&str]| workspace.loa(&[&["run", "--plan", "plan.json"], part].concat()).exits(64);
    for part in [&["--phase", "deploy"][..], &["--from", "deploy"], &["--until", "deploy", "--dry-run"]] {
        run(part).says(&["`deploy` is not in the plan, which has design, audit", "hint:"]);
    }
    run(&["--from", "audit", "--until", "design"]).says(&["`design` comes first", "--from design --until audit"]);
    workspace.loa(&["run", "--from", "audit", "--until", "design"]).exits(64).says(&["comes first"]);
    assert!(workspace.ran().is_empty() && workspace.recorded().is_none(), "nothing was begun");
}

#[test]
fn a_plan_and_a_configuration_are_told_what_is_wrong_with_both_at_once() {
    let workspace = Workspace::only(&[]);
    workspace.config("runtime: { retri: {}, retry: { max: 4 } }\n");
    let ran = plan(&workspace, br#"{"phases":[{"id":"quality","command":"true"}]}"#).exits(78);
    ran.says(&["2 problems", "retri", ".loa.config.yaml:1:37", "plan.json:1:18", "quality"]);
    workspace.config("{}\n");
    let unknown =
        br#"{"phases":[{"id":"design","prompt":"a","backend":"x"},{"id":"audit","prompt":"b","backend":"y"}]}"#;
    plan(&workspace, unknown).exits(78).says(&["backend `x`", "backend `y`"]);
}

/// What is wrong with a phase is no other phase's lack of work.
#[test]
fn a_phase_whose_work_is_spelt_wrong_is_wrong_and_not_skipped() {
    let workspace = Workspace::only(&[]);
    for work in ["5", "\"\"", "[]", "[true]"] {
        workspace.config(&format!("runtime: {{ phases: {{ design: {{ command: {work} }} }} }}\n"));
        let ran = workspace.loa(&["run", "--phase", "design"]).exits(78).says(&["runtime.phases.design.command"]);
        assert!(!ran.stderr.contains("nothing runs"), "{work}: {}", ran.stderr);
    }
    let ran = workspace.loa(&["run"]).exits(78).says(&["runtime.phases.design.command", "no command and no prompt"]);
    assert!(!ran.stderr.contains("nothing runs"), "{}", ran.stderr);
}

#[test]
fn a_phase_that_closes_its_output_floods_it_or_writes_anything() {
    let rows = [
        ("exec >&- 2>&-; exit 0", 0),
        ("head -c 8000000 /dev/zero; exit 0", 0),
        ("head -c 100000 /dev/urandom; exit 0", 0),
    ];
    for (script, code) in rows {
        let workspace = Workspace::only(&[("design", script)]);
        let mut command = workspace.command(&["run", "--plan", "plan.json"]);
        command.stdout(std::process::Stdio::null());
        finished(command).exits(code);
    }
    let workspace = Workspace::only(&[("design", "yes flood | head -n 200000")]);
    workspace.run().exits(0);
    assert_eq!(workspace.read(".loa-run/logs/design-1.log").lines().count(), 200_000, "nothing is lost");
    let mode = fs::metadata(workspace.path(".loa-run/logs/design-1.log")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn nobody_reads_our_output_any_more() {
    let workspace =
        Workspace::only(&[("design", "until test -f go; do sleep 0.005; done; seq 20000"), ("submit", "true")]);
    let mut run = workspace.start();
    until("the phase is up", || workspace.starts("design") == 1);
    drop((run.stdout.take(), run.stderr.take()));
    workspace.write("go", "");
    assert_eq!(run.wait().expect("awaited").code(), Some(0));
    assert_eq!(workspace.starts("submit"), 1);
}

#[test]
fn a_reader_that_stalls_keeps_nobody_from_watching_the_phase() {
    let flood = "yes flood | head -n 120000; sleep 60";
    for interrupted in [false, true] {
        let workspace = Workspace::only(&[("design", flood)]);
        let limit = if interrupted { 60_000 } else { 300 };
        workspace
            .config(&format!("runtime: {{ retry: {{ max: 0 }}, phases: {{ design: {{ timeout_ms: {limit} }} }} }}\n"));
        let mut run = workspace.start();
        if interrupted {
            let log = || {
                workspace.recorded().map(|it| workspace.store().place().log(&it.state.execution_id, Phase::Design, 1))
            };
            until("the log has it all", || {
                log().is_some_and(|log| fs::metadata(log).is_ok_and(|it| it.len() == 120_000 * 6))
            });
            Command::new("kill").args(["-INT", &run.id().to_string()]).status().expect("kill runs");
        }
        let mut code = None;
        until("the run ends without a reader", || {
            code = run.try_wait().expect("awaited");
            code.is_some()
        });
        assert_eq!(code.and_then(|status| status.code()), Some(if interrupted { 130 } else { 2 }));
    }
}

#[test]
fn a_checkpoint_that_somebody_edited_is_neither_success_nor_ignored() {
    let stopped = || {
        let workspace = Workspace::only(&[("discovery", "true"), ("design", "exit 2")]);
        workspace.run().exits(2);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace
    };
    let edits = [
        "invalid: yaml: content",
        "",
        "exit_code: 0",
        "- a\n- b",
        "execution_id: x\nphase: design\ncreated_at: '2026-01-31T14:00:00Z'\nexit_code: 0\nsummary: s\n",
    ];
    for edit in edits {
        let workspace = stopped();
        workspace.write(".loa-checkpoint/discovery.yaml", edit);
        if edit.is_empty() {
            // What a power cut leaves is no edit.
            workspace.resume().exits(2).says(&["checkpoint of discovery is written again"]);
            continue;
        }
        workspace.resume().exits(2).says(&["discovery.yaml", "--restore", "--rerun", "--adopt"]);
        workspace.resume().exits(2);
        workspace.loa(&["state"]).exits(0);
        workspace.loa(&["status"]).exits(2);
        assert_eq!(workspace.read(".loa-checkpoint/discovery.yaml"), edit, "left as it is");
        assert_eq!(workspace.ran(), ["discovery", "design"], "nothing was started");
        workspace.loa(&["resume", "--adopt"]).exits(2);
        workspace.loa(&["resume", "--restore"]).exits(2).says(&["checkpoint of discovery is written again"]);
        assert_eq!(workspace.checkpoint("discovery")["exit_code"], 0);
        assert_eq!(workspace.ran(), ["discovery", "design", "design"]);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.write(".loa-checkpoint/discovery.yaml", edit);
        workspace.loa(&["resume", "--rerun"]).exits(2).says(&["discovery runs again"]);
        assert_eq!(workspace.ran(), ["discovery", "design", "design", "discovery", "design"]);
        workspace.plan(&[("design", "true")]);
        workspace.loa(&["run", "--plan", "plan.json", "--fresh"]).exits(0);
    }
}

#[test]
fn a_checkpoint_of_another_execution_does_not_count_and_is_said() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "test -f fixed || exit 2")]);
    workspace.run().exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.write("fixed", "");
    let id = workspace.checkpoint("discovery")["execution_id"].as_str().expect("an id").to_owned();
    let foreign = workspace.read(".loa-checkpoint/discovery.yaml").replace(&id, "exec-20200101-000000");
    workspace.write(".loa-checkpoint/discovery.yaml", &foreign);
    workspace.resume().exits(0).says(&["discovery belongs to another execution", "ours is written again"]);
    assert_eq!(workspace.ran(), ["discovery", "design", "design"]);
    assert_eq!(workspace.checkpoint("discovery")["execution_id"], id.as_str());
}

#[test]
fn a_record_of_an_earlier_program_that_nobody_can_read_is_put_aside_by_a_fresh_start() {
    let workspace = Workspace::only(&[("design", "true")]);
    fs::create_dir(workspace.path(".loa-run")).expect("made");
    workspace.write(".loa-run/run.yaml", "version: 1\nbroken");
    workspace.resume().exits(78).says(&["run.yaml", "--fresh"]);
    workspace.loa(&["run", "--plan", "plan.json", "--fresh"]).exits(0);
    assert_eq!(workspace.read(".loa-run/archive/unnamed/run.yaml"), "version: 1\nbroken");
}

#[test]
fn a_folder_or_a_file_in_the_way() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "mkdir .loa-checkpoint/design.yaml")]);
    workspace.run().exits(0);
    assert_eq!(workspace.checkpoint("design")["exit_code"], 0, "what was in its place is put aside");
    assert!(workspace.path(".loa-run/archive/ignored/design.1.yaml").is_dir());
    assert_eq!(workspace.ran(), ["discovery", "design"]);

    for name in [".loa-checkpoint", ".loa-run"] {
        let workspace = Workspace::only(&[("design", "true")]);
        workspace.write(name, "in the way");
        workspace.run().exits(0).says(&["what lay in the place of", name, "put aside"]);
        assert_eq!(workspace.read(&format!(".loa-run/archive/ignored/{name}.1")), "in the way");
    }
}

#[test]
fn a_full_disk_is_told_and_the_run_goes_on_when_there_is_room() {
    let workspace = Workspace::only(&[
        ("discovery", "true"),
        ("design", "test -f go || head -c 900000 /dev/zero"),
        ("submit", "true"),
    ]);
    let small = workspace.path("small");
    fs::create_dir(&small).expect("made");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=400k", "tmpfs"]).arg(&small).status();
    assert!(mounted.expect("mount runs").success(), "this test needs to mount a tmpfs: run it as root");
    let unmount = Unmount(&small);
    let loa = |arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        finished({
            command.env("LOA_RUN_STATE", &small);
            command
        })
    };
    loa(&["run", "--plan", "plan.json"]).exits(74).says(&["No space left"]);
    assert_eq!(workspace.checkpoint("discovery")["exit_code"], 0, "the last good state");
    let place = loa::store::Place::find(&workspace.path("").canonicalize().expect("there"), Some(&small));
    let status = loa(&["status", "--json"]).exits(2).stdout;
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    let id = loa::contract::ExecutionId::new(status["execution_id"].as_str().expect("an id")).expect("an id");
    fs::remove_file(place.expect("found").log(&id, Phase::Design, 1)).expect("removed");
    workspace.write("go", "");
    loa(&["resume"]).exits(0);
    assert_eq!(workspace.ran(), ["discovery", "design", "design", "submit"]);
    drop(unmount);
}

struct Unmount<'a>(&'a std::path::Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_limit_on_file_size_is_told_and_kills_nobody() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "test -f go || yes | head -n 100000")]);
    let run = format!("ulimit -f 16; exec {} run --plan plan.json", env!("CARGO_BIN_EXE_loa-run"));
    let command = super::workspace::program("bash".as_ref(), &workspace.path(""), &["-c", &run]);
    finished(command).exits(74).says(&["design-1.log", "File too large"]);
    assert_eq!(workspace.checkpoint("discovery")["exit_code"], 0);
    workspace.write("go", "");
    workspace.resume().exits(0);
    assert_eq!(workspace.starts("discovery"), 1);
}
