//! Death at any moment: nothing that was done is done again, nothing that was started goes on, with a boundary or without one.
//! What `contract-tests/hostile` has is about the boundary; who is looked for by its number here runs without one.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use super::exits::alive;
use super::workspace::collected;
use super::{Workspace, until};

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), "--", &pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

fn kill(mut run: Child) {
    run.kill().expect("killed");
    run.wait().expect("awaited");
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let of = |child: &str| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        stat.rsplit(") ").next()?.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let entries = fs::read_dir("/proc").expect("Linux");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| of(name) == Some(pid)).filter_map(|name| name.parse().ok()).collect()
}

/// The guard of a run.
fn guard(run: u32) -> Option<u32> {
    let is_guard =
        |child: &u32| fs::read_to_string(format!("/proc/{child}/cmdline")).is_ok_and(|line| line.contains("__guard"));
    children(run).into_iter().find(is_guard)
}

const SLOW: &str = "test -f go && exit 0; echo $$ > up; sleep 60 & echo $! > child; wait";

#[test]
fn after_kill_9_in_a_phase_resume_runs_that_phase_again_and_no_other() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", SLOW), ("submit", "true")]);
    workspace.without_boundary();
    let run = workspace.start();
    until("the phase is up", || !workspace.read("child").is_empty());
    kill(run);
    let (leader, child) = (workspace.read("up"), workspace.read("child"));
    until("the guard ended the group", || !alive(leader.trim()) && !alive(child.trim()));
    let status = workspace.loa(&["status"]).exits(2).stdout;
    assert!(status.contains("died"), "{status}");
    workspace.write("go", "");
    workspace.run().exits(2).says(&["not finished"]);
    let id = workspace.checkpoint("discovery")["execution_id"].clone();
    workspace.resume().exits(0).says(&["resuming"]);
    assert_eq!(workspace.ran(), ["discovery", "design", "design", "submit"]);
    assert_eq!(workspace.checkpoint("submit")["execution_id"], id);
    assert_eq!(workspace.record()["epoch"], 2);
}

#[test]
fn kill_9_at_many_moments_loses_and_repeats_nothing() {
    let phase = |id: &'static str| (id, "echo done > done-$LOA_PHASE");
    let phases = ["preflight", "discovery", "design", "audit", "submit", "learning"].map(phase);
    for delay in 0..18 {
        let workspace = Workspace::only(&phases);
        let run = workspace.start();
        // From before the first write to after the last, by the files that a run leaves.
        let marks = [
            ".loa-run/lock",
            ".loa-checkpoint/discovery.yaml",
            "ran",
            ".loa-checkpoint/preflight.yaml",
            "done-design",
            ".loa-checkpoint/audit.yaml",
        ];
        let mark = marks[delay % marks.len()];
        until("the run got there", || workspace.path(mark).exists());
        std::thread::sleep(std::time::Duration::from_micros(700 * (delay as u64 / 6)));
        kill(run);
        let done: Vec<&str> =
            phases.iter().map(|(id, _)| *id).filter(|id| !workspace.checkpoint(id).is_null()).collect();
        let before = done.iter().map(|id| workspace.starts(id)).collect::<Vec<_>>();
        // Killed before its record was there, it has done nothing and there is nothing to resume.
        let resumed = if workspace.recorded().is_some() { workspace.resume() } else { workspace.run() };
        resumed.exits(0);
        let after = done.iter().map(|id| workspace.starts(id)).collect::<Vec<_>>();
        assert_eq!(before, after, "killed at {mark}: {done:?} had ended and ran again");
        for (id, _) in phases {
            assert_eq!(workspace.checkpoint(id)["exit_code"], 0, "killed at {mark}");
        }
        assert_eq!(workspace.half_written(), Vec::<std::path::PathBuf>::new(), "half written files are cleared away");
    }
}

#[test]
fn a_session_that_died_between_the_checkpoint_and_the_call_is_made_up_for() {
    let workspace = Workspace::only(&[("design", "exit 2"), ("submit", "true")]);
    workspace.run().exits(2);
    for event in ["next_decided", "stage_concluded"] {
        workspace.cut_behind(event);
        workspace.resume().exits(2).says(&["A human is needed"]);
        assert_eq!(workspace.starts("design"), 1, "a blocked phase waits for its human: {event}");
    }
}

#[test]
fn a_session_that_died_before_it_called_about_exhausted_retries_makes_no_further_attempt() {
    let workspace = Workspace::only(&[("design", "echo alike >&2; exit 1")]);
    workspace.run().exits(2);
    workspace.cut_behind("next_decided");
    workspace.resume().exits(2).says(&["A human is needed"]);
    assert_eq!(workspace.starts("design"), 4);
    assert_eq!(workspace.reports().last().expect("a report")["trigger"], "same_issue");
}

#[test]
fn a_start_that_cannot_put_the_last_execution_aside_changes_nothing() {
    let workspace =
        Workspace::only(&[("preflight", "true"), ("discovery", "true"), ("design", "test -f go || exit 2")]);
    workspace.run().exits(2);
    let old = workspace.checkpoint("preflight")["execution_id"].as_str().expect("an id").to_owned();
    // In the middle of it the disk says no.
    let obstacle = format!(".loa-run/archive/{old}/discovery.yaml");
    fs::create_dir_all(workspace.path(&obstacle).join("inside")).expect("made");
    workspace.loa(&["run", "--plan", "plan.json", "--fresh"]).exits(74).says(&["discovery.yaml"]);
    fs::remove_dir_all(workspace.path(&obstacle)).expect("removed");
    // The old one is still the present one, and whole.
    workspace.resume().exits(2).says(&["waits for an answer"]);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(2).says(&["checkpoint of preflight is written again"]);
    assert_eq!(workspace.starts("preflight"), 1);
    workspace.write("go", "");
    workspace.loa(&["run", "--plan", "plan.json", "--fresh"]).exits(0);
    for phase in ["preflight", "discovery", "design"] {
        assert_ne!(workspace.checkpoint(phase)["execution_id"], old.as_str(), "{phase} is not of the old execution");
        let archived = format!(".loa-run/archive/{old}/{phase}.yaml");
        assert!(workspace.read(&archived).contains(&old), "{archived} was put away after all");
    }
}

#[test]
fn a_clock_that_was_set_back_reopens_nothing_for_ever() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "test $(grep -c design ran) -lt 9")]);
    fs::create_dir(workspace.path(".loa-checkpoint")).expect("made");
    let text = "execution_id: theirs\nphase: PHASE\ncreated_at: '2100-01-01T00:00:00Z'\nexit_code: CODE\nsummary: s\n";
    for (phase, code) in [("discovery", "0"), ("design", "1")] {
        let text = text.replace("PHASE", phase).replace("CODE", code);
        workspace.write(&format!(".loa-checkpoint/{phase}.yaml"), &text);
    }
    workspace.loa(&["resume", "--plan", "plan.json"]).exits(2).says(&["discovery done, design failed", "--adopt"]);
    assert!(workspace.ran().is_empty() && workspace.recorded().is_none(), "a human adopts");
    workspace.loa(&["resume", "--plan", "plan.json", "--adopt"]).exits(0);
    assert_eq!(workspace.ran(), ["design"]);
    assert_eq!(workspace.checkpoint("design")["execution_id"], "theirs");
}

#[test]
fn retries_that_were_used_stay_used() {
    let script = "test $(grep -c design ran) -eq 2 && { echo $LOA_ATTEMPT > up; sleep 60; }; exit 1";
    let workspace = Workspace::only(&[("design", script)]);
    let run = workspace.start();
    until("the second attempt is up", || !workspace.read("up").is_empty());
    kill(run);
    workspace.resume().exits(2);
    assert_eq!(workspace.starts("design"), 5, "one, two and its repetition, three, four");
}

#[test]
fn a_daemon_is_ended_by_the_guard_and_without_a_guard_by_the_next_start() {
    for guarded in [true, false] {
        let daemon = "test -f go && exit 0; setsid sh -c 'echo $$ > daemon; exec sleep 60' & wait";
        let workspace = Workspace::only(&[("design", daemon)]);
        workspace.without_boundary();
        let run = workspace.start();
        until("the daemon is up", || !workspace.read("daemon").is_empty());
        let pid = workspace.read("daemon");
        if !guarded {
            // Stopped, it cannot put another one in its place.
            signal(run.id(), "STOP");
            signal(guard(run.id()).expect("a guard"), "KILL");
        }
        kill(run);
        workspace.write("go", "");
        if guarded {
            until("the guard ended the daemon", || !alive(pid.trim()));
            workspace.resume().exits(0);
        } else {
            assert!(alive(pid.trim()), "nobody was left to end it");
            workspace.resume().exits(0).says(&["ended"]);
        }
        assert!(!alive(pid.trim()));
    }
}

#[test]
fn a_daemon_that_hid_and_outlived_everybody_is_named_and_so_is_nobody_else() {
    let hidden =
        "test -f go && exit 0; (setsid env -i sh -c 'echo $$ > daemon; exec sleep 60' &); echo $$ > up; sleep 60";
    let workspace = Workspace::only(&[("design", hidden)]);
    workspace.without_boundary();
    // One of ours that works here too, and has a parent that knows it.
    let mut ours = Command::new("sleep").arg("60").current_dir(workspace.path("")).spawn().expect("sleep");
    let run = workspace.start();
    until("both are up", || !workspace.read("daemon").is_empty() && !workspace.read("up").is_empty());
    signal(run.id(), "STOP");
    signal(guard(run.id()).expect("a guard"), "KILL");
    signal(workspace.read("up").trim().parse().expect("a number"), "KILL");
    kill(run);
    workspace.write("go", "");
    let daemon = workspace.read("daemon");
    let resumed = workspace.resume().exits(0).says(&[&format!("process {} (sleep) may be left", daemon.trim())]);
    assert!(!resumed.stderr.contains(&format!("process {} ", ours.id())), "{}", resumed.stderr);
    signal(daemon.trim().parse().expect("a number"), "KILL");
    ours.kill().expect("it lives");
    ours.wait().expect("awaited");
}

#[test]
fn a_guard_that_somebody_ends_is_replaced_and_the_new_one_knows_what_it_watches() {
    let daemon =
        "test -f go && exit 0; (setsid env -i sh -c 'echo $$ > daemon; exec sleep 60' &); echo $$ > up; sleep 60";
    let workspace = Workspace::only(&[("design", daemon)]);
    workspace.without_boundary();
    let run = workspace.start();
    until("both are up", || !workspace.read("daemon").is_empty() && !workspace.read("up").is_empty());
    let (daemon, leader) = (workspace.read("daemon"), workspace.read("up"));
    for _ in 0..2 {
        let first = guard(run.id()).expect("a guard");
        signal(first, "KILL");
        until("another one is there", || guard(run.id()).is_some_and(|other| other != first));
    }
    let written = || fs::read_to_string(workspace.journal()).expect("readable");
    until("it is written down", || written().matches("ended the guard process").count() == 2);
    kill(run);
    until("the third guard ended all", || !alive(daemon.trim()) && !alive(leader.trim()));
    workspace.write("go", "");
    workspace.resume().exits(0);
}

#[test]
fn a_daemon_of_a_session_that_called_its_human_and_died_is_ended_by_the_next() {
    let daemon = "setsid sh -c 'echo $$ > daemon; exec sleep 60' & until test -s daemon; do :; done; sleep 60";
    let workspace = Workspace::only(&[("design", &format!("test -f go && exit 0; {daemon}"))]);
    workspace.without_boundary();
    let run = workspace.start();
    until("the daemon is up", || !workspace.read("daemon").is_empty());
    signal(run.id(), "STOP");
    signal(guard(run.id()).expect("a guard"), "KILL");
    kill(run);
    // As if it had died a moment later: its human was called and has answered, its processes were not ended yet.
    assert_eq!(workspace.record()["status"], "running");
    workspace.loa(&["halt"]).exits(0);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.write("go", "");
    workspace.resume().exits(0).says(&["ended"]);
    assert!(!alive(workspace.read("daemon").trim()));
}

#[test]
fn what_a_stage_leaves_in_its_group_is_gone_before_the_next_begins() {
    let look = "case $(ps -o stat= -p $(cat child)) in ''|Z*) exit 0;; esac; exit 2";
    let workspace = Workspace::only(&[("design", "sleep 60 & echo $! > child; exit 0"), ("submit", look)]);
    workspace.without_boundary();
    workspace.run().exits(0);
}

#[test]
fn no_process_outlives_a_run() {
    let script = "sleep 60 & setsid sh -c 'echo $$ > daemon; exec sleep 60' & until test -s daemon; do :; done; exit 0";
    let workspace = Workspace::only(&[("design", script)]);
    workspace.without_boundary();
    workspace.run().exits(0).says(&["1 processes that stages left behind were ended"]);
    assert!(!alive(workspace.read("daemon").trim()));
}

#[test]
fn an_interrupt_ends_the_children_and_leaves_a_state_to_resume() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let workspace = Workspace::only(&[("discovery", "true"), ("design", SLOW)]);
        workspace.without_boundary();
        let run = workspace.start();
        until("the phase is up", || !workspace.read("child").is_empty());
        signal(run.id(), name);
        collected(run).exits(code);
        assert!(!alive(workspace.read("up").trim()) && !alive(workspace.read("child").trim()));
        assert_eq!(workspace.record()["status"], "interrupted");
        assert!(workspace.checkpoint("design").is_null() && workspace.reports().is_empty());
        workspace.write("go", "");
        workspace.resume().exits(0);
        assert_eq!(workspace.ran(), ["discovery", "design", "design"]);
    }
}

#[test]
fn the_second_run_in_a_workspace_is_refused_and_told_who_is_there() {
    let workspace = Workspace::only(&[("design", SLOW)]);
    let first = workspace.start();
    until("the phase is up", || !workspace.read("up").is_empty());
    let who = format!("process {} since 20", first.id());
    workspace.run().exits(1).says(&[&who, "loa-run halt"]);
    workspace.resume().exits(1).says(&[&who]);
    workspace.loa(&["resolve", "abort"]).exits(1).says(&[&who]);
    let status = workspace.loa(&["status"]).exits(0).stdout;
    assert!(status.contains(&who), "{status}");
    signal(first.id(), "INT");
    collected(first).exits(130);
    assert_eq!(workspace.starts("design"), 1);
}

#[test]
fn a_run_in_a_group_that_is_killed_as_a_whole_leaves_nothing() {
    let workspace = Workspace::only(&[("design", SLOW)]);
    workspace.without_boundary();
    let mut command = workspace.command(&["run", "--plan", "plan.json"]);
    let mut run = command.process_group(0).spawn().expect("loa-run starts");
    until("the phase is up", || !workspace.read("child").is_empty());
    let group = Command::new("kill").args(["-9", "--", &format!("-{}", run.id())]).status();
    assert!(group.expect("kill runs").success());
    run.wait().expect("awaited");
    let child = workspace.read("child");
    until("the guard, in a group of its own, ended the rest", || !alive(child.trim()));
}

#[test]
fn what_a_finished_execution_left_is_ended_by_the_next_run_too() {
    let workspace = Workspace::only(&[("design", "true")]);
    for again in [&["run", "--plan", "plan.json"][..], &["run", "--plan", "plan.json", "--fresh"]] {
        workspace.run().exits(0);
        let session = workspace.record()["sessions"][0].as_str().expect("a session").to_owned();
        let mut left = Command::new("sleep").arg("60").env("LOA_SESSION_ID", session).spawn().expect("sleep");
        workspace.loa(again).exits(0).says(&["ended 1 processes of the session before"]);
        assert!(!left.wait().expect("awaited").success());
    }
}

/// Two processes without the stage's group, session and environment: one whose parent is gone, and one whose parent is the
/// stage. When both are there, the run looks around once more.
const HIDDEN: &str = "\
    hide() { exec env -i setsid sh -c 'echo $$ > \"$1\"; exec sleep 60' sh \"$1\" > /dev/null 2>&1; }
    (hide orphan &)
    hide child &
    until test -s orphan && test -s child; do sleep 0.005; done
    echo '{\"type\":\"USAGE\",\"context_tokens\":7}' >> $LOA_SIGNAL_FILE
    until grep -q CURRENT $LOA_EVENT_FILE; do sleep 0.005; done
    touch up";

#[test]
fn a_daemon_without_group_and_environment_is_ended_with_the_run() {
    let workspace = Workspace::only(&[("design", HIDDEN)]);
    workspace.without_boundary();
    workspace.run().exits(0).says(&["2 processes that stages left behind were ended"]);
    assert!(!alive(workspace.read("orphan").trim()) && !alive(workspace.read("child").trim()));
}

#[test]
fn after_kill_9_the_guard_ends_a_daemon_without_group_and_environment() {
    let workspace = Workspace::only(&[("design", &format!("{HIDDEN}; sleep 60"))]);
    workspace.without_boundary();
    let run = workspace.start();
    until("the phase is up", || workspace.path("up").exists());
    kill(run);
    let (orphan, child) = (workspace.read("orphan"), workspace.read("child"));
    until("the guard ended both", || !alive(orphan.trim()) && !alive(child.trim()));
}

#[test]
fn what_a_script_started_before_it_became_the_run_is_left_alone() {
    let workspace = Workspace::only(&[("design", "true")]);
    let script = "sleep 60 > /dev/null 2>&1 & echo $! > helper; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_loa-run"), "run", "--plan", "plan.json"]);
    let ran = command.current_dir(workspace.path("")).stderr(std::process::Stdio::null()).status();
    assert!(ran.expect("it runs").success());
    let helper = workspace.read("helper");
    assert!(alive(helper.trim()));
    signal(helper.trim().parse().expect("a number"), "KILL");
}
