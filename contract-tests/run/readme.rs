//! What the README has a newcomer type, as it stands there, on a machine on which nothing was done before.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::workspace::{Ran, finished};

const README: &str = include_str!("../../README.md");
const OVERNIGHT: &str = "\n## Run something overnight\n";

/// The fenced blocks of a language, each with the text behind it.
fn blocks(language: &str, text: &'static str) -> Vec<(&'static str, &'static str)> {
    let opening = format!("```{language}\n");
    let block = |rest: &'static str| rest.split_once("```\n");
    text.split(&opening).skip(1).map(|rest| block(rest).expect("a block ends")).collect()
}

/// A home folder with a repository in it, and the programs of that machine: what every Unix has, ours, and stand-ins for two
/// agents and a build tool.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().expect("a folder") };
        for folder in ["home/project", "bin"] {
            fs::create_dir_all(machine.path(folder)).expect("made");
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_loa-run"), machine.path("bin/loa-run")).expect("linked");
        machine.types("git init -q").exits(0);
        let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/transcripts");
        let files = "mkdir -p grimoires/loa; for f in prd sdd sprint; do echo done > grimoires/loa/$f.md; done";
        machine
            .program("claude", &format!("{files}; cat '{}'", recordings.join("claude-code/success.jsonl").display()));
        let stream = recordings.join("codex-with-session/tool.jsonl");
        let first = fs::read_to_string(&stream).expect("a recording");
        let first: serde_json::Value = serde_json::from_str(first.lines().next().expect("a line")).expect("JSON");
        let session = first["thread_id"].as_str().expect("a session");
        let place = format!("$HOME/.codex/sessions/2026/01/31/rollout-2026-01-31T00-00-00-{session}.jsonl");
        let recorded = stream.with_extension("session.jsonl");
        let keeps = format!("mkdir -p \"$(dirname \"{place}\")\"; cat '{}' > \"{place}\"", recorded.display());
        machine.program("codex", &format!("{keeps}; echo fine > audit.md; cat '{}'", stream.display()));
        machine.program("make", "test \"$*\" = test");
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        self.file(&format!("bin/{name}"), script);
    }

    fn file(&self, name: &str, script: &str) {
        fs::write(self.path(name), format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).expect("ours");
    }

    /// A line as it is typed, in the repository.
    fn types(&self, line: &str) -> Ran {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).current_dir(self.path("home/project")).env_clear();
        command.env("HOME", self.path("home")).env("PATH", path).env("ANTHROPIC_API_KEY", "of-nobody");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        finished(command)
    }
}

#[test]
fn the_commands_for_a_night_work_in_their_order() {
    let (_, text) = README.split_once(OVERNIGHT).expect("the section is there");
    let (typed, _) = blocks("sh", text)[0];
    let machine = Machine::new();
    for line in typed.lines() {
        let command = line.split('#').next().expect("there is a first part").trim();
        // Before deploy it stops for a person, and the README says so.
        let stops = command == "loa-run run";
        let code = if stops || command == "loa-run status" { 2 } else { 0 };
        let ran = machine.types(line).exits(code);
        if stops {
            assert!(ran.stderr.contains("deploy") && line.contains("deploy"), "{line}\n{}", ran.stderr);
        }
    }
    assert_eq!(typed.lines().count(), 9, "{typed}");
    let status = machine.types("loa-run status").exits(0).stdout;
    assert!(status.contains(": completed"), "{status}");
    assert!(machine.path("home/project/.loa-run/report.html").exists());
}

#[test]
fn the_examples_of_a_configuration_run_by_the_command_that_stands_behind_them() {
    let ours = blocks("yaml", README).into_iter().filter(|(yaml, _)| yaml.starts_with("runtime:\n"));
    let mut tried = 0;
    for (yaml, behind) in ours {
        let machine = Machine::new();
        machine.file("home/project/implement.sh", "echo implemented > work");
        fs::write(machine.path("home/project/.loa.config.yaml"), yaml).expect("written");
        let (_, command) = behind.split_once("`loa-run run ").expect("a command stands behind it");
        let command = format!("loa-run run {}", command.split('`').next().expect("there is a first part"));
        machine.types(&command).exits(0);
        assert!(machine.path("home/project/.loa-checkpoint/implementation.yaml").exists(), "{command}");
        tried += 1;
    }
    assert_eq!(tried, 2);
}

#[test]
fn the_examples_of_agents_are_valid() {
    let text = include_str!("../../BACKENDS.md");
    let examples: Vec<_> =
        blocks("yaml", text).into_iter().filter(|(yaml, _)| yaml.starts_with("runtime:\n")).collect();
    assert!(!examples.is_empty());
    for (yaml, _) in examples {
        let machine = Machine::new();
        fs::write(machine.path("home/project/.loa.config.yaml"), yaml).expect("written");
        let said = machine.types("loa-run config").exits(0).stderr;
        assert!(said.is_empty(), "{yaml}\n{said}");
    }
}
