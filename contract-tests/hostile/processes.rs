//! Attacks on processes: on the runner and its guard, and on the end of a stage.

use std::fs;
use std::process::Command;

use super::{Stand, attacks, command, key, loa, run, works};
use crate::run::workspace::until;
use crate::run::workspace::{Workspace, collected, finished};

/// A daemon that nobody finds by its environment or its group, and that does not obey. It ends when `stop` is there.
const DAEMON: &str = "trap '' TERM HUP INT; while test ! -e stop; do sleep 0.02; done";
const BECOME_ONE: &str = "env -i PATH=\"$PATH\" setsid sh \"$PWD/daemon.sh\" > /dev/null 2>&1 < /dev/null & sleep 0.2";

attacks! {
    keys_are_not_read_from_the_runner:
        "A phase looks for a key that is none of its own in the environments and arguments of all processes, and in the files of the run",
        Some(true), Some(true),
        |stand| {
            let script = "for p in /proc/[0-9]*; do cat $p/environ $p/cmdline; done > seen 2>&-; true";
            let (workspace, command) = with_a_key(stand, script);
            let ran = finished(command);
            ran.exits(0);
            assert!(workspace.path("got").exists(), "whose key it is has it");
            let files = Command::new("grep").args(["-rlaF", &key(&workspace)]).arg(workspace.path("..")).output().expect("grep");
            assert!(files.status.code().is_some_and(|code| code < 2), "{files:?}");
            files.stdout.is_empty()
        };
    keys_are_not_read_from_memory:
        "A phase that is not root reads the memory of the runner, or traces it", Some(true), Some(true),
        |stand| {
            let script = "exec 2>&-; for f in environ mem maps; do (: < /proc/$PPID/$f && head -c 1 /proc/$PPID/$f) > byte && echo $f; done > seen
                sed -i \"s/16, 1, 0, 0/0x4206, $PPID, 0, 0/\" trace.py; python3 trace.py >> seen; echo tried >> seen";
            let (workspace, mut command) = with_a_key(stand, script);
            // Seized, not attached to: whoever can be traced is not left stopped.
            workspace.write("trace.py", TRACE);
            if stand == Stand::Without && is_root() {
                command = without_powers(&command);
            }
            finished(command).exits(0);
            workspace.read("seen").trim() == "tried"
        };
    the_runner_is_not_killed:
        "A phase kills the runner", Some(true), Some(false),
        |stand| {
            let workspace = stand.workspace(&[("design", "kill -9 $PPID; sleep 0.1"), ("submit", "true")]);
            run(&workspace).code == Some(0)
        };
    the_runner_is_not_stopped:
        "A phase stops the runner (SIGSTOP), which then keeps no time limit", Some(true), None,
        |stand| {
            let workspace = stand.configured(
                &[("design", "kill -STOP $PPID; sleep 60")], "{ design: { timeout_ms: 300 } }");
            run(&workspace).code == Some(2)
        };
    whoever_kills_everything_kills_only_its_own:
        "A phase kills every process that it can reach (`kill -9 -1`)", Some(true), None,
        |stand| {
            let workspace = stand.workspace(&[("design", "kill -9 -1; true"), ("submit", "true")]);
            run(&workspace).code == Some(0)
        };
    the_first_process_is_closed:
        "A phase reads and traces the first process behind the boundary", Some(true), None,
        |stand| {
            let workspace = stand.workspace(&[("design", TRACES)]);
            workspace.write("trace.py", TRACE);
            run(&workspace).exits(0);
            workspace.read("seen").trim() == "tried"
        };
    a_daemon_ends_with_its_stage:
        "A daemon without an environment, in a session of its own, outlives its stage", Some(true), Some(false),
        |stand| {
            let workspace = stand.workspace(&[("design", BECOME_ONE), ("submit", "echo > up; while test ! -e on; do sleep 0.02; done")]);
            workspace.write("daemon.sh", DAEMON);
            let child = command(&workspace, &["run", "--plan", "plan.json"]).spawn().expect("started");
            until("the next phase is up", || workspace.path("up").exists());
            let held = !works(&name(&workspace));
            workspace.write("on", "");
            collected(child).exits(0);
            until("none is left in any case", || !works(&name(&workspace)));
            held
        };
    a_daemon_does_not_outlive_a_run_that_dies_with_its_guard:
        "A daemon without an environment outlives runner and guard, which are killed both", Some(true), Some(false),
        killed_with_the_guard;
    a_fork_storm_ends:
        "Eight processes that start their like and end, without an environment, go on after the time limit of their stage",
        Some(true), None,
        |stand| {
            let script = "for n in 1 2 3 4 5 6 7 8; do env -i PATH=\"$PATH\" setsid sh \"$PWD/daemon.sh\" & done > /dev/null 2>&1; sleep 60";
            let workspace = stand.configured(&[("design", script)], "{ design: { timeout_ms: 400 } }");
            workspace.write("daemon.sh", "trap '' TERM HUP INT; test -e stop && exit; sleep 0.01; env -i PATH=\"$PATH\" setsid sh \"$0\" & exit");
            run(&workspace).exits(2);
            let held = !works(&name(&workspace));
            workspace.write("stop", "");
            held
        };
    the_terminal_is_not_typed_into:
        "A phase has the terminal of the runner, and could type into it", Some(true), Some(false),
        |stand| {
            let workspace = stand.workspace(&[("design", "(: > /dev/tty) 2>&- && echo > reached; true")]);
            let runner = env!("CARGO_BIN_EXE_loa-run");
            let line = format!("{runner} run --plan plan.json");
            let mut script = Command::new("script");
            script.args(["-qec", &line, "/dev/null"]).current_dir(workspace.path(""));
            script.env("XDG_STATE_HOME", crate::run::workspace::state_home(&workspace.path("")));
            let ran = script.stdin(std::process::Stdio::null()).output().expect("script of util-linux");
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
            !workspace.path("reached").exists()
        };
}

/// A workspace in which `design` is this script, and `submit` an agent with a key; and the run, which has that key.
/// Nobody else has it in the environment that he was started with, as a shell does not that exports it.
fn with_a_key(stand: Stand, script: &str) -> (Workspace, Command) {
    let mine = "{}\n  backends: { mine: { run: [sh, -c, 'test -n \"$ANTHROPIC_API_KEY\" && echo > got', '{prompt}'], credentials: [ANTHROPIC_API_KEY] } }";
    let workspace = stand.configured(&[], mine);
    let phases = serde_json::json!([
        { "id": "design", "command": script }, { "id": "submit", "prompt": "Go.", "backend": "mine" }]);
    workspace.write("plan.json", &serde_json::json!({ "phases": phases }).to_string());
    let mut command = workspace.command(&["run", "--plan", "plan.json"]);
    command.env("ANTHROPIC_API_KEY", key(&workspace));
    (workspace, command)
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n")
}

/// The same by root without any of its powers over others, as every other user is.
fn without_powers(command: &Command) -> Command {
    let mut instead = Command::new("setpriv");
    instead.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => instead.env(name, value),
            None => instead.env_remove(name),
        };
    }
    instead.current_dir(command.get_current_dir().expect("a folder"));
    instead
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    instead
}

/// What the daemon of a workspace is known by.
fn name(workspace: &Workspace) -> String {
    format!("{}/daemon.sh", workspace.path("").canonicalize().expect("there").display())
}

const TRACES: &str = "exec 2>&-; for f in environ mem maps; do head -c 1 /proc/1/$f; done > seen; readlink /proc/1/fd/* /proc/1/cwd /proc/1/root /proc/1/exe >> seen
    python3 trace.py >> seen; echo tried >> seen";

/// Whether the first process can be attached to.
const TRACE: &str = "import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, 1, 0, 0) == 0: print('attached')
";

fn killed_with_the_guard(stand: Stand) -> bool {
    let script = format!("{BECOME_ONE}; echo > up; sleep 60");
    let workspace = stand.workspace(&[("design", &script)]);
    workspace.write("daemon.sh", DAEMON);
    let mut child = workspace.command(&["run", "--plan", "plan.json"]).spawn().expect("started");
    until("the daemon is there", || workspace.path("up").exists() && works(&name(&workspace)));
    let run = child.id().to_string();
    let is_guard = |pid: &String| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        read("cmdline").contains("__guard") && read("status").contains(&format!("PPid:\t{run}\n"))
    };
    let pids = fs::read_dir("/proc").expect("Linux").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let guard = pids.filter(|pid| pid.parse::<u32>().is_ok()).find(is_guard).expect("a guard");
    // At one moment, so that neither hears of the other's end.
    let killed = Command::new("kill").args(["-9", &guard, &run]).status().expect("kill");
    assert!(killed.success());
    child.wait().expect("awaited");
    let begun = std::time::Instant::now();
    // A stage that nobody tells to end any more has a moment to end by itself.
    while works(&name(&workspace)) && begun.elapsed() < std::time::Duration::from_secs(2) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let held = !works(&name(&workspace));
    workspace.write("stop", "");
    // The shell of the phase is left without a boundary; the next session ends it.
    let _ = loa(&workspace, &["halt"]);
    until("none is left", || !works(&name(&workspace)));
    held
}
