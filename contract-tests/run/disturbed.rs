//! The ground that moves while a run works: its workspace is moved, removed or replaced, its journal changed in place.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::host::not_tested;
use super::workspace::{collected, finished, program, state_home};
use super::{Workspace, until};

#[test]
fn a_run_whose_workspace_goes_away_starts_nothing_in_another_place() {
    for (goes, is_back) in [
        ("mv \"$PWD\" \"$PWD.moved\"", false),
        ("rm -rf \"$PWD\"", false),
        ("cp -a \"$PWD\" \"$PWD.new\"; mv \"$PWD\" \"$PWD.moved\"; mv \"$PWD.new\" \"$PWD\"", true),
    ] {
        let workspace = Workspace::only(&[("discovery", goes), ("design", "true")]);
        workspace.run().exits(74).says(&["moved, removed or replaced", "loa-run resume"]);
        let here = workspace.path("");
        assert_eq!(here.exists(), is_back, "{goes}: nothing is made in its place");
        assert!(!is_back || workspace.starts("design") == 0, "{goes}");
        let moved = here.with_file_name("work.moved");
        if moved.exists() {
            let mut resume = program(Path::new(env!("CARGO_BIN_EXE_loa-run")), &moved, &["resume"]);
            resume.env("XDG_STATE_HOME", state_home(&here));
            finished(resume).exits(0).says(&["the workspace was moved here from"]);
            let ran = fs::read_to_string(moved.join("ran")).expect("there");
            assert_eq!(ran, "discovery\ndesign\n", "{goes}: an end that happened counts");
        }
    }
}

#[test]
fn a_run_whose_journal_was_changed_does_not_say_that_all_is_well() {
    let flip = "f=$(echo ../work.state/loa-run/*/runs/*/journal.jsonl); sed -i.old '1s/execution_started/execution_startex/' $f; cat $f.old > /dev/null";
    let same_file = "f=$(echo ../work.state/loa-run/*/runs/*/journal.jsonl); sed '1s/execution_started/execution_startex/' $f > changed; cat changed > $f";
    for change in [flip, same_file] {
        let workspace = Workspace::only(&[("discovery", change), ("design", "true")]);
        workspace.without_boundary();
        let ran = workspace.run();
        assert!(ran.code.is_some_and(|code| code >= 64), "{change}: {:?}\n{}", ran.code, ran.stderr);
        workspace.loa(&["status"]).exits(78).says(&["journal.jsonl"]);
    }
}

#[test]
fn an_execution_is_found_whatever_is_left_of_the_name_of_the_present_one() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "test -f go || exit 2")]);
    workspace.run().exits(2);
    let current = workspace.store().place().folder().join("current");
    let name = fs::read_to_string(&current).expect("there");
    for left in [&name[..name.len() / 2], "exec-of-another", ""] {
        fs::write(&current, left).expect("written");
        workspace.resume().exits(2).says(&["waits for an answer"]);
    }
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.write("go", "");
    workspace.resume().exits(0);
    assert_eq!((workspace.starts("discovery"), workspace.starts("design")), (1, 2));
}

#[test]
fn a_workspace_that_cannot_be_written_down_is_refused() {
    let workspace = Workspace::only(&[("design", "true")]);
    let odd = workspace.path(".").parent().expect("a parent").join(OsStr::from_bytes(b"odd\xff"));
    fs::create_dir(&odd).expect("made");
    fs::copy(workspace.path("plan.json"), odd.join("plan.json")).expect("copied");
    let loa = |folder: &Path, arguments: &[&OsStr]| {
        let mut command = program(Path::new(env!("CARGO_BIN_EXE_loa-run")), folder, &[]);
        command.args(arguments).env("XDG_STATE_HOME", state_home(&workspace.path("")));
        finished(command)
    };
    let run = |plan: &Path| [OsStr::new("run"), OsStr::new("--plan"), plan.as_os_str()].map(OsStr::to_owned);
    for (folder, plan) in [(&odd, Path::new("plan.json")), (&workspace.path(""), &odd.join("plan.json"))] {
        let arguments = run(plan);
        let arguments: Vec<&OsStr> = arguments.iter().map(std::ffi::OsString::as_os_str).collect();
        loa(folder, &arguments).exits(66).says(&["not UTF-8"]);
    }
}

/// Neither holds up whoever reads, nor fills the memory.
#[test]
fn what_a_phase_puts_in_the_place_of_its_signals_is_not_waited_for() {
    for other in ["mkfifo $LOA_SIGNAL_FILE", "ln -s /dev/zero $LOA_SIGNAL_FILE", "ln -s / $LOA_SIGNAL_FILE"] {
        // Longer than it takes to look at the signals once.
        let script = format!("rm -f $LOA_SIGNAL_FILE; {other}; sleep 0.3");
        let workspace = Workspace::only(&[("discovery", &script), ("design", "true")]);
        let run = workspace.start();
        until("the run is over", || workspace.starts("design") == 1);
        collected(run).exits(0);
    }
}

/// A report is written from the journal: that it cannot be keeps nobody from being called.
#[test]
fn a_human_is_called_whatever_lies_in_the_way_of_the_report() {
    let blocks = "mkdir -p .loa-checkpoint/escalations; chmod 555 .loa-checkpoint/escalations; touch .loa-checkpoint/escalations/x";
    let workspace = Workspace::only(&[("discovery", &format!("{blocks} && touch root; true")), ("design", "exit 2")]);
    workspace.config("runtime: { notify: { command: 'echo $LOA_PHASE > told' } }\n");
    let ran = workspace.run().exits(2);
    assert_eq!(workspace.read("told"), "design\n");
    if workspace.path("root").exists() {
        return not_tested("root writes into every folder");
    }
    ran.says(&["the report could not be written"]);
    let escalations = workspace.path(".loa-checkpoint/escalations");
    fs::set_permissions(&escalations, fs::Permissions::from_mode(0o755)).expect("ours");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    assert_eq!(workspace.reports().len(), 1, "it is written from the journal");
}

#[test]
fn what_lies_in_the_place_of_the_checkpoints_between_two_sessions_is_put_aside_and_said() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "test -f go || exit 2")]);
    workspace.run().exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    let folder = workspace.path(".loa-checkpoint");
    fs::rename(&folder, workspace.path("elsewhere")).expect("moved");
    std::os::unix::fs::symlink("elsewhere", &folder).expect("linked");
    workspace.write("go", "");
    workspace.resume().exits(0).says(&["what lay in the place of", ".loa-checkpoint is put aside"]);
    assert!(folder.is_dir() && !folder.is_symlink());
}

/// A record of format 1 lies where phases may write, and so may a repository hold one.
#[test]
fn an_approval_of_format_1_is_asked_for_again() {
    let workspace = Workspace::only(&[("design", "true"), ("deploy", "true")]);
    workspace.config("{}\n");
    fs::create_dir(workspace.path(".loa-run")).expect("made");
    workspace.write(
        ".loa-run/run.yaml",
        "version: 1\nexecution_id: exec-1\nsessions: []\nepoch: 3\norigin: {kind: config}\nphases: [design, deploy]\n\
         status: running\nstarted_at: \"2026-01-31T14:00:00Z\"\nupdated_at: \"2026-01-31T14:00:00Z\"\n\
         counters: {remediation_loops: 0, awaits_remediation: false, issue_count: 0, idle_cycles: 0, elapsed_ms: 0, overflow: false}\n\
         deploy: given\nescalations: 0\n",
    );
    workspace.loa(&["resume", "--plan", "plan.json"]).exits(2).says(&["A human is needed", "deploy"]);
    assert_eq!(workspace.ran(), ["design"]);
}
