//! What is decided by time, by deaths and by doubt: an end beats a deadline, bytes are life, and a night that cannot go on
//! calls somebody.

use std::process::Command;

use super::{Workspace, until};

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), "--", &pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

/// Stops the supervisor while `end` happens to its phase, until more than the limit has passed.
fn suspended(limits: &str, command: &str) -> Workspace {
    let workspace = Workspace::only(&[("design", command), ("submit", "true")]);
    workspace.config(&format!("runtime: {{ retry: {{ max: 0 }}, phases: {{ design: {{ {limits} }} }} }}\n"));
    let mut run = workspace.start();
    until("the phase is up", || workspace.path("up").exists());
    signal(run.id(), "STOP");
    workspace.write("go", "");
    let begin = std::time::Instant::now();
    until("more than the limit has passed", || begin.elapsed() > std::time::Duration::from_millis(1_600));
    signal(run.id(), "CONT");
    let _ = run.wait();
    workspace
}

#[test]
fn an_exit_that_happened_counts_although_the_supervisor_woke_up_too_late() {
    for limits in ["timeout_ms: 1500", "idle_timeout_ms: 1500"] {
        let workspace = suspended(limits, "touch up; until test -f go; do sleep 0.02; done");
        assert_eq!(workspace.checkpoint("design")["exit_code"], 0, "{limits}");
        assert_eq!(workspace.starts("design"), 1, "{limits}");
    }
}

#[test]
fn dots_are_life_and_silence_says_so() {
    let workspace = Workspace::only(&[
        ("design", "for i in 1 2 3 4 5 6 7 8; do printf .; sleep 0.1; done"),
        ("audit", "printf 'no end of line'; sleep 60"),
    ]);
    workspace.config(
        "runtime: { retry: { max: 0 }, phases: { design: { idle_timeout_ms: 600 }, audit: { idle_timeout_ms: 500 } } }\n",
    );
    workspace.run().exits(2);
    assert_eq!(workspace.checkpoint("design")["exit_code"], 0);
    let said = workspace.checkpoint("audit")["summary"].as_str().expect("text").to_owned();
    assert!(said.contains("it said nothing for 0.5 s"), "{said}");
}

/// A phase that ends its supervisor, as running out of memory would.
const DEADLY: &str = "echo $LOA_ATTEMPT >> attempts; kill -9 $(cat supervisor); sleep 60";

fn run_until_dead(workspace: &Workspace, verb: &str) -> bool {
    let mut run = workspace.command(&[verb, "--plan", "plan.json"]).spawn().expect("started");
    workspace.write("supervisor", &run.id().to_string());
    workspace.write("go", "");
    let status = run.wait().expect("awaited");
    std::fs::remove_file(workspace.path("go")).expect("removed");
    status.code().is_none()
}

#[test]
fn a_phase_that_kills_its_supervisor_calls_a_human_after_four_deaths() {
    let deadly = format!("until test -f go; do sleep 0.01; done; {DEADLY}");
    let workspace = Workspace::only(&[("design", deadly.as_str()), ("submit", "true")]);
    workspace.without_boundary();
    for death in 1..=4 {
        assert!(run_until_dead(&workspace, if death == 1 { "run" } else { "resume" }), "death {death}");
    }
    workspace.resume().exits(2).says(&["4 sessions in a row died", "design"]);
    assert_eq!(workspace.read("attempts"), "1\n2\n3\n4\n", "each start has a number of its own");
    workspace.loa(&["resolve", "skip_phase"]).exits(0);
    workspace.resume().exits(0);
    assert_eq!(workspace.starts("submit"), 1);
}

#[test]
fn a_deploy_that_was_cut_off_asks_before_it_runs_again() {
    for (in_doubt, asks) in [("ask", true), ("repeat", false)] {
        let command = "touch up; test -f over && exit 0; sleep 60";
        let workspace = Workspace::only(&[("deploy", command), ("learning", "true")]);
        // Whoever has no need to approve a deployment wants none to be made twice.
        workspace.config(&format!(
            "autonomous_agent: {{ require_human_deploy_approval: false }}\nruntime: {{ in_doubt: {in_doubt} }}\n"
        ));
        let mut run = workspace.start();
        until("the phase is up", || workspace.path("up").exists());
        run.kill().expect("killed");
        run.wait().expect("awaited");
        workspace.write("over", "");
        if asks {
            workspace.resume().exits(2).says(&["nobody knows how far it came"]);
            assert_eq!(workspace.starts("deploy"), 1);
            workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        }
        workspace.resume().exits(0);
        assert_eq!(workspace.starts("deploy"), 2, "{in_doubt}");
    }
}

#[test]
fn a_pause_before_a_retry_survives_the_death_of_the_session() {
    let workspace = Workspace::only(&[("design", "date +%s%N >> times; test $LOA_ATTEMPT -gt 1")]);
    workspace.config("runtime: { retry: { initial_ms: 700, max_ms: 700 } }\n");
    let mut run = workspace.start();
    until("it waits", || workspace.events().iter().any(|event| event == "backed_off"));
    run.kill().expect("killed");
    run.wait().expect("awaited");
    workspace.resume().exits(0);
    let times: Vec<u128> = workspace.read("times").lines().map(|line| line.parse().expect("a number")).collect();
    let gap = (times[1] - times[0]) / 1_000_000;
    assert!(gap >= 690, "{gap} ms: the pause is at least as long as it was to be");
}

#[test]
fn a_shell_that_finds_no_program_says_so_in_the_reason() {
    let workspace = Workspace::only(&[("design", "no-such-program --flag")]);
    workspace.run().exits(2).says(&["exit code 127", "no-such-program", "not found"]);
    let errors = workspace.read(".loa-checkpoint/design.yaml");
    assert!(errors.contains("UNKNOWN_EXIT_127") && errors.contains("not found"), "{errors}");
}
