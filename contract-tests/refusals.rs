//! A configuration and a host that are against us: `loa-run` says what is wrong and where, and starts nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;

const PLAN: &str = r#"{"phases": [{"id": "design", "command": "echo design >> started"}]}"#;
/// Somebody who owns nothing.
const NOBODY: u32 = 65_534;

/// A folder to work in, with a plan in it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(place.path("")).expect("a folder");
        fs::create_dir(place.path("../state")).expect("a folder");
        place.write("plan.json", PLAN);
        place
    }

    fn with_config(bytes: impl AsRef<[u8]>) -> Self {
        let place = Self::new();
        place.write(".loa.config.yaml", bytes);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("written");
    }

    /// `loa-run` with these arguments; far more time than it may take, so that waiting for ever is a failure.
    fn loa(&self, arguments: &[&str]) -> Assert {
        self.loa_with(arguments, &[])
    }

    fn loa_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Assert {
        let mut process = Process::new(env!("CARGO_BIN_EXE_loa-run"));
        process.args(arguments).envs(variables.iter().copied());
        self.finish(process)
    }

    /// The same as a user who owns nothing; only root may ask for that, for anybody else the mode bits are enough.
    fn loa_as_nobody(&self, arguments: &[&str]) -> Assert {
        let program = self.folder.path().join("loa-run");
        // By a process of its own: a copy that this one holds open for writing, another test's fork holds open too, and
        // a program that is open for writing cannot be started.
        let copied = Process::new("cp").arg(env!("CARGO_BIN_EXE_loa-run")).arg(&program).status();
        assert!(copied.expect("cp is there").success());
        fs::set_permissions(self.folder.path(), Permissions::from_mode(0o755)).expect("our own folder");
        let mut process = Process::new(program);
        process.args(arguments);
        if fs::metadata(self.folder.path()).expect("there").uid() == 0 {
            owned_by_nobody(&self.path("../state"));
            process.uid(NOBODY).gid(NOBODY);
        }
        self.finish(process)
    }

    fn finish(&self, mut process: Process) -> Assert {
        let inherited = |name: &String| name.starts_with("LOA_") || name.starts_with("CONTEXT_");
        let given: Vec<_> = process.get_envs().map(|(name, _)| name.to_owned()).collect();
        for (name, _) in std::env::vars().filter(|(name, _)| inherited(name)) {
            if !given.iter().any(|given| *given == *name) {
                process.env_remove(name);
            }
        }
        process.current_dir(self.path("")).env("XDG_STATE_HOME", self.path("../state"));
        Command::from_std(process).timeout(Duration::from_mins(1)).assert()
    }

    fn nothing_happened(&self) {
        for name in ["started", ".loa-checkpoint", ".loa-run"] {
            assert!(!self.path(name).exists(), "{name} is there");
        }
    }
}

const RUN: [&str; 3] = ["run", "--plan", "plan.json"];

#[test]
fn the_control_a_good_place_runs() {
    let place = Place::with_config("{}\n");
    place.loa(&RUN).success();
    assert!(place.path("started").exists() && place.path(".loa-checkpoint/design.yaml").exists());
}

#[test]
fn a_configuration_without_a_document_or_with_nothing_to_run() {
    for (bytes, said) in [("", "no document"), ("# all of it is a comment\n", "no document")] {
        let place = Place::with_config(bytes);
        place.loa(&RUN).code(78).stderr(contains(".loa.config.yaml").and(contains(said)));
        place.nothing_happened();
    }
    let place = Place::new();
    place.loa(&["run"]).code(78).stderr(contains("preflight").and(contains("hint:")).and(contains("command")));
    place.nothing_happened();
    place.loa_with(&["init"], &[("PATH", "/nowhere")]).success();
    place.loa(&["run"]).code(78).stderr(contains("preflight").and(contains("command")));
    assert!(!place.path(".loa-checkpoint").exists(), "a fresh configuration has no commands yet");
}

#[test]
fn a_wrong_value_is_shown_with_its_line_and_a_remedy() {
    let place = Place::with_config("runtime:\n  retry:\n    intial_ms: 5\n    jitter: 2\n");
    let shown = contains(".loa.config.yaml:3:5").and(contains("did you mean `initial_ms`?"));
    place.loa(&RUN).code(78).stderr(shown.and(contains(".loa.config.yaml:4:13")).and(contains("^")));
    place.nothing_happened();
}

#[test]
fn a_wrong_variable_or_flag_is_named() {
    let place = Place::with_config("autonomous_agent: { context: { hard_limit_tokens: 1000 } }\n");
    // What the file says is wrong beside the default, and nobody knows beside what the variable was to say.
    let wrong = [
        ("CONTEXT_SOFT_LIMIT", "lots", false),
        ("LOA_RUN_RETRY_MAX", "-1", true),
        ("LOA_RUN_TIMEOUT_HOURS", "0", true),
    ];
    for (name, value, and_file) in wrong {
        let told = place.loa_with(&RUN, &[(name, value)]).code(78).stderr(contains(name));
        let text = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
        assert_eq!(text.contains(".loa.config.yaml:1:51"), and_file, "{name}: {text}");
    }
    place.loa(&[&RUN[..], &["--set", "runtime.retry.mx=1"]].concat()).code(78).stderr(contains("did you mean `max`?"));
    place.loa(&[&RUN[..], &["--set", "nonsense"]].concat()).code(64).stderr(contains("KEY=VALUE"));
    // The soft limit of the defaults is above the hard limit of the file.
    place.loa(&RUN).code(78).stderr(contains(".loa.config.yaml:1:51").and(contains("more than 80000")));
    place.nothing_happened();
    place.loa_with(&RUN, &[("CONTEXT_SOFT_LIMIT", "500")]).success();
}

#[test]
fn all_that_keeps_a_run_from_starting_is_said_at_once_and_nothing_of_phases_that_do_not_run() {
    let config = "runtime:\n  backend: nobody\n  retry: { max: 9 }\n  phases:\n    design: { prompt: Draw., backend: cluade }\n    \
                  audit: { comand: a }\n    submit: { prompt: Send. }\n    deploy: { command: 'true' }\n";
    let place = Place::with_config(config);
    let said = place.loa(&["run"]).code(78);
    let text = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
    let expected = [
        ".loa.config.yaml:3:",
        "no key `comand`",
        ".loa.config.yaml:5: phase `design` asks for the backend `cluade`",
        "did you mean `claude`?",
        ".loa.config.yaml:2: phase `submit` asks for the backend `nobody`",
        "no command and no prompt: preflight, discovery, implementation, learning\n",
    ];
    for part in expected {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    place.nothing_happened();
    place.write(".loa.config.yaml", config.replace("max: 9", "max: 3").replace("comand", "command"));
    place.loa(&["run", "--phase", "deploy", "--set", "autonomous_agent.require_human_deploy_approval=false"]).success();
}

#[test]
fn a_named_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    for name in [".loa.config.yaml", "plan.json"] {
        let place = Place::new();
        let _ = fs::remove_file(place.path(name));
        let made = Process::new("mkfifo").arg(place.path(name)).status().expect("mkfifo is there");
        assert!(made.success(), "the fault could not be made");
        place.loa(&RUN).code(66).stderr(contains(name).and(contains("regular file")));
        place.nothing_happened();
    }
}

#[test]
fn a_file_that_we_may_not_read_is_missing_input() {
    for name in [".loa.config.yaml", "plan.json"] {
        let place = Place::with_config("{}\n");
        fs::set_permissions(place.path(name), Permissions::from_mode(0o000)).expect("our own file");
        place.loa_as_nobody(&RUN).code(66).stderr(contains(name).and(contains("Permission denied")));
        place.nothing_happened();
    }
}

#[test]
fn a_workspace_that_we_may_not_write_to_is_a_failed_write() {
    let place = Place::with_config("{}\n");
    fs::set_permissions(place.path(""), Permissions::from_mode(0o555)).expect("our own folder");
    place.loa_as_nobody(&RUN).code(74).stderr(contains("Permission denied"));
    let bad = contains("BAD   workspace: ").and(contains("cannot be written to: Permission denied"));
    place.loa_as_nobody(&["doctor", "--plan", "plan.json"]).code(2).stdout(bad);
    place.nothing_happened();
    fs::set_permissions(place.path(""), Permissions::from_mode(0o755)).expect("our own folder");
}

#[test]
fn a_checkpoint_folder_that_is_taken_away_from_us_loses_nothing() {
    let place = Place::with_config("{}\n");
    let last = "test -e again || { touch again; chmod 555 .loa-checkpoint; }";
    let phases = [("discovery", "true"), ("design", last), ("submit", "true")]
        .map(|(id, script)| serde_json::json!({"id": id, "command": format!("echo {id} >> started; {script}")}));
    place.write("plan.json", serde_json::json!({ "phases": phases }).to_string());
    owned_by_nobody(&place.path(""));
    place.loa_as_nobody(&RUN).code(74).stderr(contains(".loa-checkpoint").and(contains("Permission denied")));
    let kept = fs::read_to_string(place.path(".loa-checkpoint/discovery.yaml")).expect("the last good state");
    assert!(kept.contains("exit_code: 0") && !place.path(".loa-checkpoint/design.yaml").exists(), "{kept}");
    fs::set_permissions(place.path(".loa-checkpoint"), Permissions::from_mode(0o755)).expect("given back");
    place.loa_as_nobody(&["resume"]).success();
    assert_eq!(
        fs::read_to_string(place.path("started")).expect("a file"),
        "discovery\ndesign\nsubmit\n",
        "what was concluded stays concluded: its checkpoint is written when that can be done"
    );
}

fn owned_by_nobody(folder: &Path) {
    if fs::metadata(folder).expect("there").uid() == 0 {
        chown(folder, Some(NOBODY), Some(NOBODY)).expect("root may give away");
    }
}

#[test]
fn a_command_that_cannot_be_started_is_blocked_and_says_why() {
    for (command, said) in
        [("./no-such-program", "No such file"), ("./plan.json", "Permission denied"), ("./", "denied")]
    {
        let place = Place::with_config("{}\n");
        place.write("a.json", format!(r#"{{"phases": [{{"id": "design", "command": ["{command}"]}}]}}"#));
        place.loa(&["run", "--plan", "a.json"]).code(2).stderr(contains("design").and(contains(said)));
        let checkpoint = fs::read_to_string(place.path(".loa-checkpoint/design.yaml")).expect("written");
        assert!(checkpoint.contains("exit_code: 2") && checkpoint.contains("SPAWN_FAILED"), "{checkpoint}");
    }
}
