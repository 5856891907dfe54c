//! A host that fails at one call: refused with the reason, exit 74, the last good state intact, and resumed afterwards.
//!
//! The failures are strace's: it lets one system call of the program's main thread fail, or write less than it was given.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Workspace;
use super::workspace::{Ran, finished, program};

/// Whether strace is there and may trace; says so when not.
pub(super) fn strace() -> bool {
    let tried = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    let works = tried.is_ok_and(|status| status.success());
    if !works {
        not_tested("strace is missing or may not trace here");
    }
    works
}

/// Says that a test could not do its work here.
#[expect(clippy::print_stderr, reason = "whoever reads the tests' output must not take silence for a pass")]
pub(crate) fn not_tested(why: &str) {
    eprintln!("NOT TESTED: {why}");
}

/// `loa-run` under strace with one fault: `fsync:error=EIO:when=5`.
fn with_fault(workspace: &Workspace, fault: &str, arguments: &[&str]) -> Ran {
    let call = fault.split(':').next().unwrap_or_default();
    let (trace, inject) = (format!("trace={call}"), format!("inject={fault}"));
    let mut all = vec!["-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, env!("CARGO_BIN_EXE_loa-run")];
    all.extend(arguments);
    finished(program(Path::new("strace"), &workspace.path(""), &all))
}

const PLAN: [&str; 3] = ["run", "--plan", "plan.json"];
const PHASES: [(&str, &str); 3] = [("discovery", "true"), ("design", "true"), ("submit", "true")];

/// Every document is whole, and what said 0 still does; returns the phases that say it.
fn intact(workspace: &Workspace) -> Vec<&'static str> {
    assert_eq!(workspace.half_written(), Vec::<std::path::PathBuf>::new(), "half written files are cleared away");
    let done = |phase: &&str| workspace.checkpoint(phase)["exit_code"] == 0;
    PHASES.iter().map(|(phase, _)| *phase).filter(done).collect()
}

/// Lets the `n`th call fail for every n, and looks what is left each time.
fn every_call(fault: impl Fn(u32) -> String, words: &[&str]) -> u32 {
    for n in 1.. {
        let workspace = Workspace::only(&PHASES);
        let ran = with_fault(&workspace, &fault(n), &PLAN);
        if ran.code == Some(0) {
            return n - 1;
        }
        let ran = ran.exits(74).says(words);
        assert!(
            ran.stderr.contains(workspace.path("").parent().expect("a parent").to_string_lossy().as_ref()),
            "a path is named: {}",
            ran.stderr
        );
        let before = workspace.ran();
        let done = intact(&workspace);
        let known = workspace.recorded().is_some();
        if known { workspace.resume() } else { workspace.run() }.exits(0);
        for phase in done {
            let starts = before.iter().filter(|ran| *ran == phase).count();
            assert_eq!(workspace.starts(phase), starts, "{phase} was done when call {n} failed");
        }
        assert_eq!(intact(&workspace), ["discovery", "design", "submit"]);
    }
    unreachable!("a run makes finitely many calls")
}

/// How often a run of these phases opens the list of all processes of the host.
fn looks_at_all_processes(phases: &[(&str, &str)]) -> usize {
    let workspace = Workspace::only(phases);
    let log = workspace.path("../trace");
    let log = log.to_str().expect("UTF-8");
    let arguments =
        ["-f", "-qq", "-o", log, "-e", "trace=openat", env!("CARGO_BIN_EXE_loa-run"), "run", "--plan", "plan.json"];
    finished(program(Path::new("strace"), &workspace.path(""), &arguments)).exits(0);
    let trace = fs::read_to_string(log).expect("readable");
    trace.lines().filter(|line| line.contains("\"/proc/\"") || line.contains("\"/proc\"")).count()
}

#[test]
fn a_stage_looks_at_no_process_but_its_own() {
    if strace() {
        let one = looks_at_all_processes(&PHASES[..1]);
        assert!(one > 0, "a session does, at its beginning or at its end");
        assert_eq!(looks_at_all_processes(&PHASES), one);
    }
}

#[test]
fn a_disk_that_cannot_sync_is_told_at_every_sync() {
    if strace() {
        let syncs = every_call(|n| format!("fsync:error=EIO:when={n}"), &["Input/output error"]);
        assert!(syncs > 12, "{syncs}");
    }
}

#[test]
fn a_disk_that_cannot_sync_the_journal_is_told_at_every_sync() {
    if strace() {
        let syncs = every_call(|n| format!("fdatasync:error=EIO:when={n}"), &["Input/output error"]);
        assert!(syncs >= 6, "two for each of three phases: {syncs}");
    }
}

#[test]
fn a_quota_that_is_used_up_is_told_at_every_rename() {
    if strace() {
        let renames = every_call(|n| format!("renameat:error=EDQUOT:when={n}"), &["quota"]);
        assert!(renames > 4, "{renames}");
    }
}

#[test]
fn a_disk_that_is_full_is_told_at_every_folder() {
    if strace() {
        assert!(every_call(|n| format!("mkdir:error=ENOSPC:when={n}"), &["No space left"]) > 2);
    }
}

/// strace reports that one byte was written, and writes none. A document whose writer took that for all of it would be
/// empty; one that was written again from its beginning would be whole.
#[test]
fn a_write_that_takes_less_than_it_was_given_goes_on_behind_it() {
    if !strace() {
        return;
    }
    let workspace = Workspace::only(&[]);
    let config = workspace.path(".loa.config.yaml");
    fs::remove_file(&config).expect("removed");
    workspace.loa(&["init"]).exits(0);
    let whole = fs::read_to_string(&config).expect("there");
    fs::remove_file(&config).expect("removed");
    with_fault(&workspace, "write:retval=1:when=1", &["init"]).exits(0);
    assert_eq!(fs::read_to_string(&config).expect("there"), whole[1..]);
}

/// With fewer open files than it needs, a run says what it lacks and loses nothing. Below nine no program of ours begins.
#[test]
fn a_run_that_may_open_few_files_says_so_and_goes_on_when_it_may_open_more() {
    let mut told = 0;
    for most in 9.. {
        let workspace = Workspace::only(&PHASES);
        let line = format!("ulimit -n {most}; exec {} run --plan plan.json", env!("CARGO_BIN_EXE_loa-run"));
        let ran = finished(program(Path::new("bash"), &workspace.path(""), &["-c", &line]));
        if ran.code == Some(0) {
            break;
        }
        told += 1;
        let ran = ran.says(&["Too many open files"]);
        let done = intact(&workspace);
        // Whoever lacks a file may have called a human first, and not come to say so.
        let is_asked = workspace.recorded().is_some_and(|recorded| recorded.state.pending.is_some());
        assert!(ran.code != Some(2) || is_asked, "with {most}");
        if is_asked {
            workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        }
        if workspace.recorded().is_some() { workspace.resume() } else { workspace.run() }.exits(0);
        assert!(done.iter().all(|phase| workspace.starts(phase) == 1), "with {most}: {done:?}");
        assert_eq!(intact(&workspace), ["discovery", "design", "submit"]);
    }
    assert!(told > 5, "{told}");
}
