//! A terminal that is closed while a run works.

use std::fs::File;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::host::not_tested;
use super::workspace::{collected, program};
use super::{Workspace, until};

/// A run whose first phase waits for a file.
fn waiting() -> Workspace {
    Workspace::only(&[("design", "until test -f go; do sleep 0.005; done; seq 1000"), ("submit", "true")])
}

#[test]
fn a_hangup_does_not_end_a_run() {
    let workspace = waiting();
    let run = workspace.start();
    until("the phase is up", || workspace.starts("design") == 1);
    let pid = Pid::from_raw(i32::try_from(run.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::HUP).expect("sent");
    workspace.write("go", "");
    collected(run).exits(0);
    assert_eq!(workspace.ran(), ["design", "submit"]);
}

#[test]
fn a_run_goes_on_when_its_terminal_is_closed_and_is_no_failure_for_what_nobody_sees() {
    let workspace = waiting();
    // The shell outlives the terminal as well, to tell how the run ended.
    let line = format!("trap : HUP; '{}' run --plan plan.json --json; echo $? > code", env!("CARGO_BIN_EXE_loa-run"));
    let mut terminal = program("script".as_ref(), &workspace.path(""), &["-qec", &line, "/dev/null"]);
    terminal.env("SHELL", "/bin/sh").stdout(Stdio::null()).stderr(Stdio::null());
    if !Command::new("script").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return not_tested("script, which makes a terminal, is missing");
    }
    let mut terminal = terminal.spawn().expect("it starts");
    until("the phase is up", || workspace.starts("design") == 1);
    terminal.kill().expect("killed");
    terminal.wait().expect("awaited");
    workspace.write("go", "");
    until("the run has ended", || workspace.read("code").ends_with('\n'));
    assert_eq!((workspace.read("code").trim(), workspace.starts("submit")), ("0", 1));
}

/// A stage that leaves a line open on each stream, beside a run whose lines are its own.
#[test]
fn a_line_that_a_stage_left_open_ends_before_another_begins() {
    let open = "printf one; printf two >&2; test -f go || { touch go; exit 1; }";
    for (together, shown) in [(true, "design | one\ndesign | two\n"), (false, "design | one\n")] {
        let workspace = Workspace::only(&[("design", open)]);
        let line = ["run", "--plan", "plan.json", "--set", "runtime.retry.initial_ms=1"];
        let mut run = program(env!("CARGO_BIN_EXE_loa-run").as_ref(), &workspace.path(""), &line);
        let out = File::create(workspace.path("out")).expect("made");
        let other = || File::create(workspace.path("err")).expect("made");
        run.stderr(if together { out.try_clone().expect("copied") } else { other() }).stdout(out);
        assert!(run.status().expect("it starts").success());
        let out = workspace.read("out");
        assert_eq!(out.matches("design | ").count(), if together { 4 } else { 2 }, "{out}");
        assert!(out.contains(shown) || out.contains("design | two\ndesign | one\n"), "{out}");
        // Each attempt has lines of its own, and so has the run.
        assert!(out.lines().all(|line| line.starts_with("design | ") || line.starts_with("loa-run: ")), "{out}");
        assert!(out.lines().all(|line| line.matches("loa-run: ").count() + line.matches("design | ").count() == 1));
    }
}

/// What a terminal is given that a command writes to.
fn in_a_terminal(workspace: &Workspace, arguments: &str) -> Option<String> {
    let line = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_loa-run"));
    let mut terminal = program("script".as_ref(), &workspace.path(""), &["-qc", &line, "/dev/null"]);
    terminal.env("SHELL", "/bin/sh");
    if let Ok(output) = terminal.output() {
        return Some(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    not_tested("script, which makes a terminal, is missing");
    None
}

#[test]
fn what_a_stage_writes_does_not_act_on_a_terminal_and_is_kept_as_it_was() {
    let acts = "a\x1b]52;c;ZXZpbA==\x07b\x1b[2Jc\x1b[31mred\x1b[0m \u{202e}dcba";
    let workspace = Workspace::only(&[("design", "cat said; cat said >&2; exit 2")]);
    workspace.write("said", &format!("{acts}\n"));
    let Some(shown) = in_a_terminal(&workspace, "run --plan plan.json") else { return };
    let logs = in_a_terminal(&workspace, "logs design").unwrap_or_default();
    let status = in_a_terminal(&workspace, "status").unwrap_or_default();
    for said in [&shown, &logs] {
        assert!(said.contains("abc\x1b[31mred\x1b[0m dcba"), "its colours stay: {said:?}");
    }
    for said in [&shown, &logs, &status] {
        assert!(!said.contains("]52;") && !said.contains("[2J") && !said.contains('\u{202e}'), "{said:?}");
    }
    assert_eq!(workspace.loa(&["logs", "design"]).exits(0).stdout, format!("{acts}\n{acts}\n"), "into a pipe");
    let told = [workspace.loa(&["status"]).stdout, workspace.loa(&["escalations"]).exits(0).stdout].concat();
    assert!(told.contains("abcred dcba") && !told.contains('\u{202e}'), "{told:?}");
    let call = workspace.read_report();
    assert!(!call.contains('\u{202e}') && !call.contains("202e"), "nor is it written down: {call}");
}
