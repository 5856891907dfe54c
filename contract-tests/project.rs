//! A real project from the first phase to the last, with a failure in the middle that a human mends.
//!
//! The project lies in `fixtures/projects/tally`; its phases are git, the C compiler and its own tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use loa::contract::Phase;
use predicates::prelude::*;
use predicates::str::contains;
use serde_yaml_archived::Value;

/// A copy of a project, in a git repository of its own, with a place to push to beside it.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn copy_of(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let project = Self { folder };
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/projects").join(name), &project.path(""));
        let origin = project.folder.path().join("origin.git");
        project.git(&["init", "-q", "--bare", origin.to_str().expect("UTF-8")]);
        project.git(&["init", "-q", "-b", "main"]);
        project.git(&["config", "user.name", "Tester"]);
        project.git(&["config", "user.email", "tester@example.org"]);
        project.git(&["remote", "add", "origin", origin.to_str().expect("UTF-8")]);
        project.git(&["add", "-A"]);
        project.git(&["commit", "-q", "-m", "The program as it is"]);
        project
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join("work").join(relative)
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Process::new("git");
        git.current_dir(self.path("")).env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments);
        let output = git.output().expect("git is there");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
    }

    /// Far more than any step may take, so that a program that hangs is a failure and not a wait.
    fn program(&self, program: &str, arguments: &[&str]) -> Assert {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("LOA_") || name.starts_with("CONTEXT_")) {
            command.env_remove(name);
        }
        command.current_dir(self.path("")).env("GIT_CONFIG_GLOBAL", "/dev/null").timeout(Duration::from_mins(2));
        command.env("XDG_STATE_HOME", self.path("../state"));
        command.args(arguments).assert()
    }

    fn loa_run(&self, arguments: &[&str]) -> Assert {
        self.program(env!("CARGO_BIN_EXE_loa-run"), arguments)
    }

    /// The phases in the order in which they were started, as their scripts say.
    fn journal(&self) -> Vec<String> {
        fs::read_to_string(self.path("build/journal")).expect("a journal").lines().map(str::to_owned).collect()
    }

    /// The checkpoint of a phase, read by another YAML library than the one that wrote it.
    fn checkpoint(&self, phase: Phase) -> Option<Value> {
        let text = fs::read_to_string(self.path(&format!(".loa-checkpoint/{phase}.yaml"))).ok()?;
        Some(serde_yaml_archived::from_str(&text).expect("YAML"))
    }

    fn exit_codes(&self) -> Vec<Option<u64>> {
        Phase::ALL.iter().map(|phase| self.checkpoint(*phase)?["exit_code"].as_u64()).collect()
    }

    fn validate(&self, kind: &str, file: &Path) {
        self.program(env!("CARGO_BIN_EXE_loa-validate"), &[kind, file.to_str().expect("UTF-8")]).success();
    }

    /// Validates every file that the run left, each as what it must be; a file of no kind is a failure too.
    fn validate_everything(&self) -> BTreeSet<String> {
        let mut kinds = BTreeSet::new();
        let checkpoints = self.path(".loa-checkpoint");
        for file in files_below(&checkpoints).into_iter().chain([self.path(".loa.config.yaml")]) {
            if let Some(kind) = kind_of(&file) {
                self.validate(kind, &file);
                kinds.insert(kind.to_owned());
            }
        }
        let own = [self.path(".loa-run"), self.path("../state")];
        for file in own.iter().flat_map(|folder| files_below(folder)) {
            // A stream in which nobody said anything is no document.
            let silent = fs::metadata(&file).expect("there").len() == 0;
            if let Some(kind) = own_kind_of(&file).filter(|_| !silent) {
                self.validate(kind, &file);
                kinds.insert(kind.to_owned());
            }
        }
        let state = self.path("build/state.json");
        fs::write(&state, self.loa_run(&["state"]).success().get_output().stdout.clone()).expect("written");
        self.validate("execution-state", &state);
        kinds
    }
}

/// The kind of a file in `.loa-checkpoint/`; `None` for a page that is meant for people.
fn kind_of(file: &Path) -> Option<&'static str> {
    let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let folder = file.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let stem = name.strip_suffix(".yaml");
    match (folder, stem) {
        (Some("escalations"), None) if name.strip_suffix(".md").is_some() => None,
        (Some("escalations"), Some(_)) => Some("escalation-report"),
        (_, Some(".loa.config")) => Some("config"),
        (_, Some("context-state")) => Some("context-state"),
        (_, Some("operator-type")) => Some("operator-type"),
        (Some(".loa-checkpoint"), Some(stem)) if stem.parse::<Phase>().is_ok() => Some("checkpoint"),
        _ => panic!("{} is of no kind", file.display()),
    }
}

/// The kind of a file in `.loa-run/` or in the state; `None` for what the runtime keeps for itself.
fn own_kind_of(file: &Path) -> Option<&'static str> {
    if file.components().any(|part| part.as_os_str() == "pinned") {
        return None;
    }
    match file.file_name().and_then(|name| name.to_str()).expect("UTF-8") {
        "run.yaml" | "note.yaml" | "lock" | "history.jsonl" | "journal.jsonl" | "observations.jsonl"
        | "workspace.json" | "current" => None,
        "result.json" => Some("phase-result"),
        "signals.jsonl" | "events.jsonl" => Some("signal"),
        name if name.strip_suffix(".log").is_some() => None,
        _ => panic!("{} is of no kind", file.display()),
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the project is there") {
        let entry = entry.expect("readable");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("readable").path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

const BEFORE_THE_BREAK: [&str; 3] = ["preflight", "discovery", "design"];

/// Somebody else's git died and left its lock: implementation says 1, 1 and, at its third start, 2.
fn run_into_the_lock(project: &Project) {
    fs::write(project.path(".git/index.lock"), "").expect("a lock");
    let stopped = project.loa_run(&["run"]).code(2);
    let output = stopped.get_output();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for needed in ["implementation", "manual", ".loa-checkpoint/escalations/"] {
        assert!(said.contains(needed), "the report is not surfaced with `{needed}`:\n{said}");
    }
}

#[test]
fn a_real_project_is_broken_in_the_middle_mended_and_finished() {
    let project = Project::copy_of("tally");
    run_into_the_lock(&project);
    let until_blocked = [&BEFORE_THE_BREAK[..], &["implementation"; 3]].concat();
    assert_eq!(project.journal(), until_blocked, "two retries, then no further start");
    assert_eq!(project.exit_codes(), [Some(0), Some(0), Some(0), Some(2), None, None, None, None]);
    let kinds = project.validate_everything();
    let expected =
        ["checkpoint", "config", "context-state", "escalation-report", "operator-type", "phase-result", "signal"];
    assert_eq!(kinds, expected.map(str::to_owned).into());

    project.loa_run(&["run"]).failure().stderr(contains("resolve").or(contains("resume")));
    assert_eq!(project.journal(), until_blocked, "an unfinished execution is not run over");

    fs::remove_file(project.path(".git/index.lock")).expect("the lock is there");
    project.loa_run(&["resolve", "fix_and_resume", "--notes", "the lock was stale"]).success();
    project.loa_run(&["resume"]).success();
    let rest = ["implementation", "audit", "submit", "deploy", "learning"];
    assert_eq!(project.journal(), [&until_blocked[..], &rest].concat(), "nothing that was done is done again");
    assert_eq!(project.exit_codes(), [Some(0); 8]);
    project.validate_everything();
    state_is_final(&project);
    work_is_done(&project);
}

fn state_is_final(project: &Project) {
    let output = project.loa_run(&["state"]).success();
    let state: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert_eq!(state["completed_phases"], serde_json::json!(Phase::WORDS));
    assert_eq!(state["current_phase"], "learning");
    assert_eq!(state["last_checkpoint"]["phase"], "learning");
    for phase in Phase::ALL {
        let checkpoint = project.checkpoint(*phase).expect("written");
        assert_eq!(checkpoint["execution_id"].as_str(), state["execution_id"].as_str(), "{phase}");
    }
    let summary = |phase| project.checkpoint(phase).expect("written")["summary"].as_str().map(str::to_owned);
    assert_eq!(summary(Phase::Audit).as_deref(), Some("lint is silent, 4 cases, 0 failed"));
    let released = project.git(&["rev-parse", "--short", "origin/count_lines"]);
    assert_eq!(summary(Phase::Deploy), Some(format!("released {released}")));
    let design = project.checkpoint(Phase::Design).expect("written");
    assert_eq!(design["decisions"][0]["id"].as_str(), Some("D-001"), "what the phase decided is carried through");
    assert_eq!(design["artifacts"][0]["path"].as_str(), Some("docs/design.md"));
}

fn work_is_done(project: &Project) {
    let subjects = ["Done with count_lines", "Add count_lines", "The program as it is"];
    assert_eq!(project.git(&["log", "--format=%s"]), subjects.join("\n"));
    assert_eq!(project.git(&["ls-remote", "--heads", "origin"]).lines().count(), 1, "one branch was handed in");
    assert_eq!(project.git(&["status", "--porcelain"]), "", "nothing lies around");
    assert_eq!(fs::read_to_string(project.path("wishes.txt")).expect("a file"), "", "the wish is granted");
    let mut tally = Command::new(project.path("dist/tally"));
    tally.arg("-l").write_stdin("one\ntwo, unended").assert().success().stdout("2\n");
}

#[test]
fn a_failing_test_of_the_project_leads_back_to_implementation_and_at_last_to_a_human() {
    let project = Project::copy_of("tally");
    // A case that no implementation of the wish can satisfy.
    fs::write(project.path("tests/words.out"), "4\n").expect("written");
    fs::write(project.path("scripts/preflight.sh"), ". scripts/phase.sh\ndone_with \"looked away\"\n")
        .expect("written");
    project.git(&["commit", "-q", "-a", "-m", "A wrong expectation"]);
    project.loa_run(&["run"]).code(2);
    let loop_ = ["implementation", "audit"];
    assert_eq!(project.journal(), [&BEFORE_THE_BREAK[..], &loop_, &loop_, &loop_].concat());
    let reports = files_below(&project.path(".loa-checkpoint/escalations"));
    let report = reports.iter().find(|file| kind_of(file).is_some()).expect("a report");
    let report: Value = serde_yaml_archived::from_str(&fs::read_to_string(report).expect("readable")).expect("YAML");
    assert_eq!(report["trigger"].as_str(), Some("same_issue"), "the third failed audit with the same finding");
    assert_eq!(report["state"]["remaining_findings"][0]["id"].as_str(), Some("TEST-1"));
    assert_eq!(report["context"]["remediation_attempts"].as_u64(), Some(2));
    project.validate_everything();
}
