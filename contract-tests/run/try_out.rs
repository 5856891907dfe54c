//! `loa-run try`, whole, as a newcomer types it: real commands in a scratch place, and nothing touched beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::host::not_tested;
use super::until;
use super::workspace::{Ran, collected, finished, program, state_home};

/// A folder of somebody who has nothing yet, and one for temporary files.
struct Somebody(TempDir);

impl Somebody {
    fn new() -> Self {
        let somebody = Self(tempfile::tempdir().expect("a folder"));
        for folder in ["home", "tmp", "bin"] {
            fs::create_dir(somebody.path(folder)).expect("made");
        }
        somebody
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(Path::new(env!("CARGO_BIN_EXE_loa-run")), &self.path("home"), arguments);
        command.env("TMPDIR", self.path("tmp"));
        // What an outer run or a hook of git would say is not meant.
        command.env("LOA_RUN_BACKEND", "nobody").env("GIT_DIR", "/nowhere");
        command
    }

    fn tries(&self, arguments: &[&str]) -> Ran {
        finished(self.command(arguments))
    }

    fn left(&self) -> usize {
        fs::read_dir(self.path("tmp")).expect("there").count()
    }
}

#[test]
fn a_newcomer_sees_a_whole_run_without_a_key_and_nothing_else_is_touched() {
    let somebody = Somebody::new();
    let said = somebody.tries(&["try", "--into", "demo"]).exits(0).stdout;
    let mut rest = said.as_str();
    for words in [
        "this program answers by itself",
        "$ git init --quiet project",
        "$ cat .loa.config.yaml",
        "$ loa-run doctor",
        "the run stops before deploy",
        "$ loa-run run",
        "trying again in 400 ms",
        "A human is needed",
        "-> exit 2",
        "* implementation, attempt 1: retry: in its gate: exit 1: greet.sh says 'Hello!' and not 'Hello, Ada!'",
        "* implementation, attempt 2: success",
        "* call for a human in deploy: waits for an answer",
        "$ loa-run status",
        "nobody is here to give it",
        "$ loa-run resolve fix_and_resume",
        "$ loa-run resume",
        "$ loa-run report",
        "* deploy, attempt 1: success",
        "* call for a human in deploy: answered fix_and_resume",
        "demo/project/.loa-run/report.html (open it in a browser)",
        "stays in",
    ] {
        let (_, behind) = rest.split_once(words).unwrap_or_else(|| panic!("`{words}` is missing in\n{said}"));
        rest = behind;
    }
    let project = somebody.path("home/demo/project");
    assert_eq!(fs::read_to_string(project.join("deployed.sh")).expect("deployed"), "echo \"Hello, $1!\"\n");
    assert!(fs::read_to_string(project.join(".loa-run/report.html")).expect("a page").contains("fix_and_resume"));
    assert!(!state_home(&somebody.path("home")).exists(), "the state of the user's own runs");
    let mut there: Vec<_> =
        fs::read_dir(somebody.path("home")).expect("there").map(|it| it.expect("listed").file_name()).collect();
    there.retain(|name| name != "demo");
    assert!(there.is_empty() && somebody.left() == 0, "{there:?}");
}

#[test]
fn what_it_types_can_be_typed_again_and_ends_as_it_says() {
    let somebody = Somebody::new();
    let said = somebody.tries(&["try", "--json", "--into", "demo"]).exits(0).stdout;
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let steps: Vec<&Value> = lines.iter().filter(|line| line["step"].is_u64()).collect();
    let codes: Vec<u64> = steps.iter().map(|step| step["exit"].as_u64().expect("a code")).collect();
    assert_eq!(codes, [0, 0, 0, 2, 2, 0, 0, 0]);
    let last = lines.last().expect("a line");
    assert_eq!((&last["steps"], &last["kept"]), (&8.into(), &true.into()));
    assert!(Path::new(last["report"].as_str().expect("a path")).is_file());
    // By hand, from the beginning.
    let project = somebody.path("home/demo/project");
    fs::remove_dir_all(somebody.path("home/demo/state")).expect("removed");
    for made in [".loa-checkpoint", ".loa-run"] {
        fs::remove_dir_all(project.join(made)).expect("removed");
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_loa-run"), somebody.path("bin/loa-run")).expect("linked");
    for step in &steps[1..] {
        let words: Vec<&str> = step["command"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let mut typed = program("/bin/sh".as_ref(), &project, &["-c", &words.join(" ")]);
        typed.env("PATH", format!("{}:/usr/bin:/bin", somebody.path("bin").display()));
        assert_eq!(finished(typed).code.map(i64::from), step["exit"].as_i64(), "{words:?}");
    }
}

#[test]
fn nothing_is_left_unless_it_is_to_be_kept_and_nothing_is_overwritten() {
    let somebody = Somebody::new();
    somebody.tries(&["try", "--yes"]).exits(0);
    assert_eq!(somebody.left(), 0);
    let said = somebody.tries(&["try", "--keep"]).exits(0).stdout;
    assert!(said.contains("stays in") && somebody.left() == 1, "{said}");
    fs::create_dir(somebody.path("home/mine")).expect("made");
    fs::write(somebody.path("home/mine/work"), "mine").expect("written");
    somebody.tries(&["try", "--into", "mine"]).exits(64).says(&["mine is there already", "nothing is overwritten"]);
    assert_eq!(fs::read_dir(somebody.path("home/mine")).expect("there").count(), 1);
    let mut nowhere = somebody.command(&["try", "--yes"]);
    nowhere.env("TMPDIR", "/nonexistent");
    finished(nowhere).exits(74).says(&["TMPDIR", "--into DIR"]);
}

#[test]
fn a_word_that_is_typed_is_the_answer() {
    if !Command::new("script").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return not_tested("script, which makes a terminal, is missing");
    }
    let somebody = Somebody::new();
    let typed = somebody.path("typed");
    fs::write(&typed, "nonsense\nabort\n").expect("written");
    let line = format!("'{}' try --no-open --into demo", env!("CARGO_BIN_EXE_loa-run"));
    let mut terminal = program("script".as_ref(), &somebody.path("home"), &["-qec", &line, "/dev/null"]);
    terminal.env("SHELL", "/bin/sh").stdin(fs::File::open(typed).expect("there"));
    let said = finished(terminal).exits(0).stdout;
    for words in ["May it be deployed?", "$ loa-run resolve nonsense", "$ loa-run resolve abort", "answered abort"] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    assert!(!somebody.path("home/demo/project/deployed.sh").exists() && !said.contains("$ loa-run resume"), "{said}");
}

#[test]
fn an_interrupt_ends_what_runs_and_removes_the_place() {
    let somebody = Somebody::new();
    let (git, up) = (somebody.path("bin/git"), somebody.path("up"));
    fs::write(&git, format!("#!/bin/sh\necho $$ > '{0}.new'; mv '{0}.new' '{0}'; exec sleep 60\n", up.display()))
        .expect("written");
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("ours");
    let mut command = somebody.command(&["try"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", somebody.path("bin").display()));
    let trial = command.spawn().expect("it starts");
    until("git is up", || up.exists());
    assert_eq!(somebody.left(), 1);
    let pid = Pid::from_raw(i32::try_from(trial.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::INT).expect("sent");
    collected(trial).exits(130);
    assert_eq!(somebody.left(), 0);
    let stand_in = fs::read_to_string(up).expect("a number");
    until("git is gone", || !Path::new("/proc").join(stand_in.trim()).exists());
}
