//! A workspace for one test, and `loa-run` in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_yaml_archived::Value;
use tempfile::TempDir;

/// The phases of the contract, in order.
pub(super) const PHASES: [&str; 8] =
    ["preflight", "discovery", "design", "implementation", "audit", "submit", "deploy", "learning"];

const CONFIG: &str = "\
autonomous_agent: { require_human_deploy_approval: false }
runtime:
  retry: { initial_ms: 1, max_ms: 1, jitter: 0 }
";

pub(super) struct Workspace {
    folder: TempDir,
}

/// What a finished `loa-run` left.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Ran {
    /// Asserts the exit code, showing everything when it differs.
    #[track_caller]
    pub(super) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that standard error names each of these.
    #[track_caller]
    pub(super) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is missing in:\n{}", self.stderr);
        }
        self
    }
}

impl Workspace {
    /// All eight phases succeed unless `scripts` says otherwise.
    pub(super) fn new(scripts: &[(&str, &str)]) -> Self {
        let workspace = Self { folder: tempfile::tempdir().expect("a folder") };
        workspace.write(".loa.config.yaml", CONFIG);
        workspace.plan(&PHASES.map(|phase| {
            let script = scripts.iter().find(|(id, _)| *id == phase).map_or("true", |(_, script)| script);
            (phase, script)
        }));
        workspace
    }

    /// A workspace whose plan has only these phases. Each appends its name to `ran` before it does anything.
    pub(super) fn only(scripts: &[(&str, &str)]) -> Self {
        let workspace = Self::new(&[]);
        workspace.plan(scripts);
        workspace
    }

    pub(super) fn plan(&self, scripts: &[(&str, &str)]) {
        let phases: Vec<_> = scripts
            .iter()
            .map(|(id, script)| serde_json::json!({ "id": id, "command": format!("echo {id} >> ran\n{script}") }))
            .collect();
        self.write("plan.json", &serde_json::json!({ "phases": phases }).to_string());
    }

    /// Adds lines to the configuration.
    pub(super) fn config(&self, lines: &str) {
        self.write(".loa.config.yaml", lines);
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        program(Path::new(env!("CARGO_BIN_EXE_loa-run")), &self.path(""), arguments)
    }

    pub(super) fn loa(&self, arguments: &[&str]) -> Ran {
        finished(self.command(arguments))
    }

    /// `loa-run run` with the workspace's plan.
    pub(super) fn run(&self) -> Ran {
        self.loa(&["run", "--plan", "plan.json"])
    }

    pub(super) fn resume(&self) -> Ran {
        self.loa(&["resume"])
    }

    /// `loa-run run` that goes on beside the test.
    pub(super) fn start(&self) -> Child {
        self.command(&["run", "--plan", "plan.json"]).spawn().expect("loa-run starts")
    }

    /// The phases that ran, in order.
    pub(super) fn ran(&self) -> Vec<String> {
        self.read("ran").lines().map(str::to_owned).collect()
    }

    /// How often a phase was started.
    pub(super) fn starts(&self, phase: &str) -> usize {
        self.ran().iter().filter(|ran| *ran == phase).count()
    }

    /// A phase's checkpoint, read by a YAML reader that is not ours; null when there is none.
    pub(super) fn checkpoint(&self, phase: &str) -> Value {
        yaml(&self.path(&format!(".loa-checkpoint/{phase}.yaml")))
    }

    /// The reports, oldest first.
    pub(super) fn reports(&self) -> Vec<Value> {
        let Ok(entries) = fs::read_dir(self.path(".loa-checkpoint/escalations")) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("listed").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        paths.sort();
        paths.iter().map(|path| yaml(path)).collect()
    }

    /// The only report.
    #[track_caller]
    pub(super) fn report(&self) -> Value {
        let mut reports = self.reports();
        assert_eq!(reports.len(), 1, "{reports:?}");
        reports.remove(0)
    }

    /// The only report for people.
    pub(super) fn read_report(&self) -> String {
        let folder = self.path(".loa-checkpoint/escalations");
        let entries = fs::read_dir(folder).expect("a report").map(|entry| entry.expect("listed").path());
        let text = |path: PathBuf| fs::read_to_string(path).expect("readable");
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).map(text).collect()
    }

    pub(super) fn record(&self) -> Value {
        yaml(&self.path(".loa-run/run.yaml"))
    }
}

/// A command without anything of an outer run in its environment.
pub(super) fn program(file: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(file);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LOA_") || name.to_string_lossy().starts_with("CONTEXT_") {
            command.env_remove(name);
        }
    }
    // The user's own configuration is none of the test's business.
    command.env("XDG_CONFIG_HOME", folder.join(".config"));
    command
}

pub(super) fn finished(mut command: Command) -> Ran {
    collected(command.spawn().expect("it starts"))
}

pub(super) fn collected(child: Child) -> Ran {
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn yaml(path: &Path) -> Value {
    fs::read_to_string(path)
        .map_or(Value::Null, |text| serde_yaml_archived::from_str(&text).expect("another reader understands it"))
}

/// Waits until something holds; fails after twenty seconds.
#[track_caller]
pub(super) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_mins(1), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
