//! What a human does: answers, halts, approves (Escalation Handling).

use super::{Workspace, until};
use crate::run::workspace::{Ran, collected, finished, program};

fn stopped() -> Workspace {
    let workspace =
        Workspace::only(&[("discovery", "true"), ("design", "test -f fixed || exit 2"), ("submit", "true")]);
    workspace.run().exits(2);
    workspace
}

#[test]
fn nothing_goes_on_without_an_answer() {
    let workspace = stopped();
    workspace.resume().exits(2).says(&["waits for an answer", "loa-run resolve"]);
    workspace.run().exits(2).says(&[
        "not finished",
        "--fresh",
        "`loa-run resolve fix_and_resume`",
        "then `loa-run resume`",
    ]);
    assert_eq!(workspace.starts("design"), 1);
    let wrong = workspace.loa(&["resolve", "shrug"]).exits(64);
    for action in ["fix_and_resume", "skip_phase", "reset", "abort"] {
        assert!(wrong.stderr.contains(action), "{}", wrong.stderr);
    }
}

#[test]
fn fix_and_resume_runs_the_failed_phase_again_and_goes_on() {
    let workspace = stopped();
    workspace.write("fixed", "");
    workspace.loa(&["resolve", "fix_and_resume", "--notes", "mended"]).exits(0);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(66).says(&["waits for no answer"]);
    let id = workspace.checkpoint("discovery")["execution_id"].clone();
    workspace.resume().exits(0);
    assert_eq!(workspace.ran(), ["discovery", "design", "design", "submit"]);
    assert_eq!(workspace.checkpoint("submit")["execution_id"], id);
    assert_eq!(workspace.record()["resolutions"][0]["resolution"]["notes"], "mended");
}

#[test]
fn a_fix_that_is_none_calls_the_human_again() {
    let workspace = stopped();
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(2);
    assert_eq!(workspace.reports().len(), 2);
    assert_eq!(workspace.starts("design"), 2);
}

#[test]
fn skip_phase_goes_on_behind_it_and_records_who_and_why() {
    let workspace = stopped();
    workspace.loa(&["resolve", "skip_phase", "--notes", "not needed"]).exits(0);
    workspace.resume().exits(0);
    assert_eq!(workspace.ran(), ["discovery", "design", "submit"]);
    let checkpoint = workspace.checkpoint("design");
    assert_eq!(checkpoint["exit_code"], 0);
    assert_eq!(checkpoint["summary"], "SKIPPED: not needed");
    assert_eq!(checkpoint["decisions"][0]["reasoning"], "not needed");
}

#[test]
fn reset_starts_over_and_keeps_what_was() {
    let workspace = stopped();
    let id = workspace.checkpoint("discovery")["execution_id"].clone();
    workspace.write("fixed", "");
    workspace.loa(&["resolve", "reset"]).exits(0);
    assert!(workspace.checkpoint("discovery").is_null());
    workspace.resume().exits(0);
    assert_eq!(workspace.ran(), ["discovery", "design", "discovery", "design", "submit"]);
    assert_ne!(workspace.checkpoint("discovery")["execution_id"], id);
    let archived = workspace.path(&format!(".loa-run/archive/{}/discovery.yaml", id.as_str().expect("an id")));
    assert!(archived.exists(), "{}", archived.display());
}

#[test]
fn a_reset_that_fails_is_no_answer() {
    let workspace = stopped();
    // The archive is on another disk, to which nothing can be moved.
    std::fs::create_dir_all(workspace.path(".loa-run/archive")).expect("made");
    let reset = format!("mount -t tmpfs none .loa-run/archive && exec {} resolve reset", env!("CARGO_BIN_EXE_loa-run"));
    let command = program("unshare".as_ref(), &workspace.path(""), &["-m", "sh", "-c", &reset]);
    finished(command).exits(74).says(&["cannot move"]);
    workspace.resume().exits(2).says(&["waits for an answer"]);
    workspace.write("fixed", "");
    workspace.loa(&["resolve", "reset"]).exits(0);
    workspace.resume().exits(0);
    assert_eq!(workspace.ran(), ["discovery", "design", "discovery", "design", "submit"]);
}

#[test]
fn abort_is_for_good_and_keeps_what_is_there() {
    let workspace = stopped();
    let said = [workspace.loa(&["resolve", "abort"]).exits(0).stdout, workspace.loa(&["status"]).exits(0).stdout];
    workspace.resume().exits(2).says(&["aborted", "--fresh"]);
    let refused = workspace.run().exits(2).says(&["aborted", "--fresh"]).stderr;
    for said in [&said[0], &said[1], &refused] {
        assert!(said.contains("--fresh") && !said.contains("loa-run resume"), "a resume would be refused: {said}");
    }
    assert_eq!(workspace.checkpoint("discovery")["exit_code"], 0);
    workspace.write("fixed", "");
    workspace.loa(&["run", "--plan", "plan.json", "--fresh"]).exits(0);
}

#[test]
fn checkpoints_of_another_runtime_are_no_reason_to_resume_unasked() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "true")]);
    workspace.run().exits(0);
    for folder in [workspace.path(".loa-run"), super::workspace::state_home(&workspace.path(""))] {
        std::fs::remove_dir_all(folder).expect("removed");
    }
    let refused = workspace.run().exits(2).says(&["did not write", "`loa-run resume --adopt`", "--fresh"]).stderr;
    assert!(!refused.contains("`loa-run resume`"), "it would be refused: {refused}");
    workspace.loa(&["run", "--plan", "plan.json", "--fresh"]).exits(0);
}

#[test]
fn a_finished_execution_makes_place_for_the_next() {
    let workspace = Workspace::only(&[("design", "true")]);
    workspace.run().exits(0);
    let first = workspace.checkpoint("design")["execution_id"].clone();
    workspace.resume().exits(0);
    assert_eq!(workspace.starts("design"), 1, "there is nothing to resume");
    workspace.run().exits(0);
    assert_ne!(workspace.checkpoint("design")["execution_id"], first);
}

#[test]
fn deploy_waits_for_a_person() {
    let workspace = Workspace::new(&[]);
    workspace.config("runtime: { retry: { initial_ms: 1 } }\n");
    workspace.run().exits(2).says(&["deploy", "approval"]);
    assert_eq!(workspace.starts("deploy"), 0);
    assert_eq!(workspace.report()["trigger"], "manual");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(0);
    assert_eq!((workspace.starts("deploy"), workspace.starts("learning")), (1, 1));
    let workspace = Workspace::new(&[]);
    workspace.config("runtime: { phases: { deploy: { skip: true } } }\n");
    workspace.run().exits(0);
}

#[test]
fn halt_stops_a_run_from_another_process() {
    let workspace =
        Workspace::only(&[("design", "test -f fixed && exit 0; echo $$ > up; sleep 60"), ("submit", "true")]);
    workspace.without_boundary();
    let run = workspace.start();
    until("the phase is up", || !workspace.read("up").is_empty());
    workspace.loa(&["halt"]).exits(0);
    collected(run).exits(2).says(&["halt", "A human is needed"]);
    assert_eq!(workspace.report()["trigger"], "manual");
    assert!(!super::exits::alive(workspace.read("up").trim()));
    assert!(workspace.checkpoint("design").is_null(), "a phase that was stopped has no outcome");
    workspace.write("fixed", "");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(0);
    workspace.loa(&["halt"]).exits(66);
}

#[test]
fn the_state_is_that_of_the_contract() {
    let workspace = stopped();
    let state: serde_json::Value = serde_json::from_str(&workspace.loa(&["state"]).exits(0).stdout).expect("JSON");
    assert_eq!(state["current_phase"], "design");
    assert_eq!(state["completed_phases"], serde_json::json!(["discovery"]));
    assert_eq!(state["last_checkpoint"]["phase"], "design");
    let status = workspace.loa(&["status", "--json"]).exits(2).stdout;
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!(status["status"], "escalated");
    assert_eq!(status["pending"]["phase"], "design");
    assert!(status.get("process").is_none());
    Workspace::only(&[]).loa(&["state"]).exits(66).says(&["no execution"]);
}

#[test]
fn machines_get_one_document_on_standard_output() {
    let workspace = Workspace::only(&[("design", "echo noise; exit 2")]);
    let ran = workspace.loa(&["run", "--plan", "plan.json", "--json"]).exits(2);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).expect("nothing but JSON");
    assert_eq!(document["end"], "escalated");
    assert_eq!(document["call"]["phase"], "design");
    assert!(ran.stderr.contains("design | noise"), "{}", ran.stderr);
}

/// `loa-run init` where these agents and no others are installed.
fn init(workspace: &Workspace, agents: &[&str], arguments: &[&str]) -> Ran {
    let bin = workspace.path("bin");
    let _ = std::fs::remove_dir_all(&bin);
    std::fs::create_dir(&bin).expect("made");
    for agent in agents {
        std::os::unix::fs::symlink("/bin/sh", bin.join(agent)).expect("linked");
    }
    let mut command = workspace.command(&[&["init"], arguments].concat());
    command.env("PATH", bin).env("HOME", workspace.path("home"));
    finished(command)
}

fn without_configuration() -> Workspace {
    let workspace = Workspace::only(&[]);
    std::fs::remove_file(workspace.path(".loa.config.yaml")).expect("removed");
    workspace
}

#[test]
fn init_writes_a_configuration_and_never_over_one() {
    let workspace = Workspace::only(&[]);
    init(&workspace, &["codex"], &[]).exits(74).says(&["never overwritten"]);
    let workspace = without_configuration();
    let wrote = init(&workspace, &[], &[]).exits(0).stdout;
    assert!(wrote.starts_with("wrote ") && wrote.contains("no agent was found"), "{wrote}");
    let kept = init(&workspace, &[], &["--ignore"]).exits(0).stdout;
    assert!(kept.starts_with("left as it is: "), "{kept}");
    workspace.loa(&["run", "--plan", "plan.json", "--dry-run"]).exits(78).says(&["phases"]);
    workspace.loa(&["run", "--dry-run"]).exits(78).says(&["preflight", "command"]);
    // Nobody changed it, so nothing is lost.
    init(&workspace, &[], &["--backend", "codex"]).exits(0);
    workspace.loa(&["run", "--dry-run"]).exits(0);
    init(&workspace, &[], &["--backend", "pi"]).exits(74).says(&["never overwritten"]);
}

#[test]
fn init_finds_the_agent_that_is_installed_unless_another_was_chosen() {
    let told = |workspace: &Workspace, name: &str| {
        let plan = workspace.loa(&["run", "--dry-run"]).exits(0).stdout;
        assert_eq!(plan.matches(&format!(" {name} is told: ")).count(), 8, "{plan}");
    };
    for (installed, found) in [(&["pi", "codex"][..], "codex"), (&["claude", "codex"], "claude"), (&["pi"], "pi")] {
        let workspace = without_configuration();
        let said = init(&workspace, installed, &[]).exits(0).stdout;
        assert!(said.contains(&format!("each phase is a prompt for `{found}`, in words")), "{said}");
        told(&workspace, found);
    }
    let workspace = without_configuration();
    std::fs::create_dir_all(workspace.path(".config/loa-run")).expect("made");
    workspace.write(".config/loa-run/config.yaml", "runtime: { backend: pi }\n");
    init(&workspace, &["claude"], &[]).exits(0);
    told(&workspace, "pi");
}

#[test]
fn init_gives_every_phase_a_prompt_for_the_agent_that_is_named_with_the_commands_of_loa_that_are_there() {
    for (backend, loa, design, learning) in [
        ("claude", true, "Run /architect", "/retrospective"),
        ("claude", false, "Read grimoires/", "Look back"),
        ("codex", true, "Read grimoires/", "Look back"),
    ] {
        let workspace = without_configuration();
        std::fs::create_dir_all(workspace.path(".claude/commands")).expect("made");
        for command in ["architect", "sprint-plan", "retrospective"].iter().filter(|_| loa) {
            workspace.write(&format!(".claude/commands/{command}.md"), "Do it.");
        }
        init(&workspace, &[], &["--backend", backend]).exits(0);
        let plan = workspace.loa(&["run", "--dry-run"]).exits(0).stdout;
        assert_eq!(plan.matches(&format!(" {backend} is told: ")).count(), 8, "{plan}");
        for (phase, told) in [("design", design), ("discovery", "Find out"), ("learning", learning)] {
            let line = plan.lines().find(|line| line.trim_start().starts_with(phase)).expect("planned");
            assert!(line.contains(&format!("told: {told}")), "{line}");
        }
        assert!(plan.contains("then sh -c 'test -s grimoires/loa/prd.md'"), "{plan}");
    }
    let refused = Workspace::only(&[]).loa(&["init", "--backend", "nobody"]).exits(64).says(&["nobody", "claude"]);
    assert!(refused.stdout.is_empty());
}
