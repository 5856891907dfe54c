//! What `status` says to somebody who asks in the night, once or looking on, and what its exit code says to a script.

use std::fs::{self, File};
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::host::not_tested;
use super::workspace::{Ran, collected, finished, program};
use super::{Workspace, until};

fn status(workspace: &Workspace, code: i32) -> Value {
    let text = workspace.loa(&["status", "--json"]).exits(code).stdout;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What `status` says now, whatever its code.
fn now(workspace: &Workspace) -> Value {
    serde_json::from_str(&workspace.loa(&["status", "--json"]).stdout).unwrap_or_default()
}

/// A process that does not outlive its test, whatever becomes of that.
struct Beside(Option<Child>);

impl Beside {
    fn ended(mut self) -> Ran {
        collected(self.0.take().expect("it was not awaited yet"))
    }

    fn signal(&self, signal: Signal) {
        let id = self.0.as_ref().map_or(0, Child::id);
        kill_process(Pid::from_raw(i32::try_from(id).expect("a pid")).expect("a pid"), signal).expect("sent");
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

const WAITS: &str = "printf 'first\\n\\033[31mhalf way\\033[0m\\n'; until test -f go; do sleep 0.005; done";

#[test]
fn while_a_stage_works_its_attempt_and_its_last_output_are_told() {
    let workspace = Workspace::only(&[("design", WAITS)]);
    workspace.loa(&["status"]).exits(66).says(&["no execution"]);
    let run = Beside(Some(workspace.start()));
    until("the phase has spoken", || now(&workspace)["work"]["last_output"]["line"] == "half way");
    let told = status(&workspace, 0);
    assert_eq!((&told["standing"], &told["work"]["doing"]), (&"working".into(), &"running".into()));
    assert_eq!((&told["work"]["phase"], &told["work"]["attempt"]), (&"design".into(), &1.into()));
    assert!(told["work"]["last_output"]["ago_ms"].is_u64() && told["process"]["pid"].is_u64());
    assert_eq!(told["limit_ms"], 8 * 3_600_000);
    let text = workspace.loa(&["status"]).exits(0).stdout;
    for words in ["design, attempt 1: runs", " ago: half way", "of work of 8 h at most"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    workspace.write("go", "");
    run.ended().exits(0);
    assert_eq!(status(&workspace, 0)["standing"], "finished");
}

#[test]
fn while_a_retry_is_waited_for_the_reason_and_the_next_try_are_told() {
    let workspace = Workspace::only(&[("design", "echo 'no route' >&2; exit 1")]);
    workspace.config("runtime:\n  retry: { initial_ms: 7200000, max_ms: 7200000, jitter: 0 }\n");
    let run = Beside(Some(workspace.start()));
    until("it backs off", || now(&workspace)["work"]["doing"] == "backing_off");
    let told = status(&workspace, 1);
    assert_eq!((&told["standing"], &told["work"]["attempt"]), (&"waiting".into(), &2.into()));
    assert!(told["work"]["next_try"].as_str() > told["as_of"].as_str(), "{told}");
    assert_eq!(
        (&told["last_failure"]["attempt"], &told["last_failure"]["reason"]),
        (&1.into(), &"exit 1: no route".into())
    );
    assert_eq!(told["work"]["last_output"]["line"], "no route", "of the attempt before");
    let text = workspace.loa(&["status"]).exits(1).stdout;
    for words in ["attempt 2: waits, and is tried again at", "last failure: design, attempt 1: exit 1: no route"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    run.signal(Signal::KILL);
    run.ended();
    let line = workspace.loa(&["status", "--watch"]).exits(2).stdout;
    assert!(line.contains("nobody works on it") && !line.contains("until"), "nothing is waited for: {line}");
    let told = status(&workspace, 2);
    assert_eq!((&told["standing"], &told["work"]["doing"]), (&"human_needed".into(), &"stopped".into()));
}

#[test]
fn the_time_of_the_attempt_at_work_counts_already() {
    let workspace = Workspace::only(&[("design", "touch began; sleep 60")]);
    let run = workspace.start();
    until("it works", || workspace.path("began").exists());
    let told = status(&workspace, 0);
    assert!(told["elapsed_ms"].as_u64().is_some_and(|elapsed| elapsed > 0), "not journaled yet, and counts: {told}");
    kill_process(Pid::from_child(&run), Signal::INT).expect("sent");
    collected(run);
}

#[test]
fn who_is_needed_is_told_what_is_asked_and_the_words_that_answer() {
    let workspace = Workspace::only(&[("deploy", "true")]);
    workspace.config("runtime: {}\n");
    workspace.run().exits(2);
    let told = status(&workspace, 2);
    let pending = &told["pending"];
    assert_eq!(
        (&pending["approval"], pending["answers"][0].as_str().expect("words")),
        (&true.into(), &*format!("loa-run resolve fix_and_resume --call {}", pending["id"].as_str().expect("an id")))
    );
    assert!(pending["reason"].as_str().is_some_and(|reason| reason.contains("approval")), "{told}");
    let text = workspace.loa(&["status"]).exits(2).stdout;
    for words in [
        "reason: deploy waits for a human's approval",
        "answer: loa-run resolve fix_and_resume",
        "go on:  loa-run resume\n",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let answer = pending["answers"][0].as_str().expect("words").split(' ').skip(1).collect::<Vec<_>>();
    workspace.loa(&answer).exits(0);
    assert_eq!(status(&workspace, 2)["status"], "resolved", "it goes on when somebody resumes it");
    workspace.resume().exits(0);
    workspace.loa(&["status"]).exits(0);
}

#[test]
fn whoever_comes_by_after_a_signal_reads_who_sent_it_and_what_to_type() {
    for (signal, by, word) in
        [(Signal::TERM, "interrupted by SIGTERM: ", "terminate"), (Signal::INT, "by SIGINT: ", "interrupt")]
    {
        let workspace = Workspace::only(&[("design", "touch began; sleep 60")]);
        let run = Beside(Some(workspace.start()));
        until("it works", || workspace.path("began").exists());
        run.signal(signal);
        run.ended();
        let told = status(&workspace, 2);
        assert_eq!((&told["interrupted_by"], &told["next"]), (&word.into(), &"`loa-run resume` goes on".into()));
        let text = workspace.loa(&["status"]).exits(2).stdout;
        let head = text.lines().next().expect("a line");
        assert!(head.contains(by) && head.ends_with("; `loa-run resume` goes on"), "{text}");
        let began = text.lines().find_map(|line| line.strip_prefix("started ")?.split(',').next());
        assert!(began.is_some_and(|began| began.ends_with('Z') && !began.contains('.')), "whole seconds: {text}");
        let line = workspace.loa(&["status", "--watch"]).exits(2).stdout;
        assert!(line.trim_end().ends_with("; `loa-run resume` goes on"), "{line}");
    }
}

/// `loa-run status --watch` beside the test, and the file that it writes to.
fn watch(workspace: &Workspace, name: &str, arguments: &[&str]) -> Beside {
    let mut command = workspace.command(&[&["status", "--watch"][..], arguments].concat());
    command.stdout(File::create(workspace.path(name)).expect("made"));
    Beside(Some(command.spawn().expect("it starts")))
}

#[test]
fn whoever_looks_on_is_told_each_change_once_until_nobody_works_any_more() {
    let workspace = Workspace::only(&[("design", WAITS), ("audit", "exit 2")]);
    let run = Beside(Some(workspace.start()));
    until("the phase is up", || workspace.starts("design") == 1);
    let (lines, documents) = (watch(&workspace, "lines", &[]), watch(&workspace, "documents", &["--json"]));
    let left = watch(&workspace, "left", &[]);
    for name in ["lines", "documents", "left"] {
        until("it is shown", || workspace.read(name).contains("design"));
    }
    left.signal(Signal::INT);
    left.ended().exits(130);
    workspace.write("go", "");
    run.ended().exits(2);
    lines.ended().exits(2);
    documents.ended().exits(2);
    let shown = workspace.read("lines");
    let shown: Vec<&str> = shown.lines().collect();
    assert!(shown[0].contains("design, attempt 1: runs"), "{shown:?}");
    assert!(shown.last().is_some_and(|last| last.contains("loa-run resolve fix_and_resume")), "{shown:?}");
    assert!(shown.windows(2).all(|two| two[0] != two[1]), "{shown:?}");
    let documents: Vec<Value> =
        workspace.read("documents").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(documents.last().expect("one")["standing"], "human_needed");
    // A second look finds it over at once.
    let again = workspace.loa(&["status", "--watch"]).exits(2).stdout;
    assert_eq!(again.lines().count(), 1, "{again}");
}

#[test]
fn on_a_short_terminal_the_work_and_its_last_output_are_seen() {
    let phases = super::workspace::PHASES.map(|phase| (phase, if phase == "implementation" { WAITS } else { "true" }));
    let workspace = Workspace::only(&phases);
    workspace.config("autonomous_agent: { require_human_deploy_approval: false }\n");
    let run = Beside(Some(workspace.start()));
    until("the phase has spoken", || now(&workspace)["work"]["last_output"]["line"] == "half way");
    let line = format!("stty cols 40 rows 12; exec '{}' status --watch", env!("CARGO_BIN_EXE_loa-run"));
    let mut terminal = program("script".as_ref(), &workspace.path(""), &["-qec", &line, "/dev/null"]);
    terminal.env("SHELL", "/bin/sh").stdout(File::create(workspace.path("seen")).expect("made"));
    let Ok(terminal) = terminal.spawn() else { return not_tested("script, which makes a terminal, is missing") };
    let terminal = Beside(Some(terminal));
    let seen = || workspace.read("seen");
    until("it is drawn", || seen().contains("half way"));
    assert!(seen().contains("implementation, attempt 1: runs"), "{}", seen());
    assert!(seen().contains("phases: 3 completed, 1 in_progress, 4 p"), "{}", seen());
    drop(terminal);
    workspace.write("go", "");
    run.ended().exits(0);
}

#[test]
fn a_run_whose_state_lies_elsewhere_is_told_as_such() {
    let workspace = Workspace::only(&[("design", "true"), ("audit", "exit 2")]);
    workspace.run().exits(2);
    let by_another_home = |arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        command.env("XDG_STATE_HOME", workspace.path("../another"));
        finished(command)
    };
    let hint = "runs of this workspace have their state elsewhere, not in ";
    let status = by_another_home(&["status"]).exits(2).stdout;
    assert!(status.contains(hint) && status.contains("by its checkpoints alone"), "{status}");
    assert!(!status.contains("`loa-run resume` goes on"), "{status}");
    by_another_home(&["resume"]).exits(2).says(&[hint]);
    fs::remove_dir_all(workspace.path(".loa-checkpoint")).expect("removed");
    by_another_home(&["status"]).exits(66).says(&["there is no execution", hint]);
    let status = workspace.loa(&["status"]).exits(2).stdout;
    assert!(!status.contains(hint) && status.contains("escalated"), "{status}");
    let never = Workspace::new(&[]).loa(&["status"]).exits(66);
    assert!(!never.stderr.contains(hint), "{}", never.stderr);
}
