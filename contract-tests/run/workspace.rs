//! A workspace for one test, and `loa-run` in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loa::events::Envelope;
use loa::store::{FileStore, Layout, Place, Recorded, RunStore};
use serde_yaml_archived::Value;
use tempfile::TempDir;

/// The phases of the contract, in order.
pub(crate) const PHASES: [&str; 8] =
    ["preflight", "discovery", "design", "implementation", "audit", "submit", "deploy", "learning"];

const CONFIG: &str = "\
autonomous_agent: { require_human_deploy_approval: false }
runtime:
  in_doubt: repeat
  retry: { initial_ms: 1, max_ms: 1, jitter: 0 }
";

pub(crate) struct Workspace {
    folder: TempDir,
    is_outside: AtomicBool,
}

/// What a finished `loa-run` left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Asserts the exit code, showing everything when it differs.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that standard error names each of these.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is missing in:\n{}", self.stderr);
        }
        self
    }

    /// Asserts that standard output holds this.
    #[track_caller]
    pub(crate) fn prints(self, words: &str) -> Self {
        assert!(self.stdout.contains(words), "`{words}` is missing in:\n{}", self.stdout);
        self
    }
}

impl Workspace {
    /// All eight phases succeed unless `scripts` says otherwise.
    pub(crate) fn new(scripts: &[(&str, &str)]) -> Self {
        let workspace = Self { folder: tempfile::tempdir().expect("a folder"), is_outside: AtomicBool::new(false) };
        fs::create_dir(workspace.path("")).expect("made");
        workspace.write(".loa.config.yaml", CONFIG);
        workspace.plan(&PHASES.map(|phase| {
            let script = scripts.iter().find(|(id, _)| *id == phase).map_or("true", |(_, script)| script);
            (phase, script)
        }));
        workspace
    }

    /// A workspace whose plan has only these phases. Each appends its name to `ran` before it does anything.
    pub(crate) fn only(scripts: &[(&str, &str)]) -> Self {
        let workspace = Self::new(&[]);
        workspace.plan(scripts);
        workspace
    }

    pub(crate) fn plan(&self, scripts: &[(&str, &str)]) {
        let phases: Vec<_> = scripts
            .iter()
            .map(|(id, script)| serde_json::json!({ "id": id, "command": format!("echo {id} >> ran\n{script}") }))
            .collect();
        self.write("plan.json", &serde_json::json!({ "phases": phases }).to_string());
    }

    /// Adds lines to the configuration.
    pub(crate) fn config(&self, lines: &str) {
        self.write(".loa.config.yaml", lines);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(Path::new(env!("CARGO_BIN_EXE_loa-run")), &self.path(""), arguments);
        if self.is_outside.load(Ordering::Relaxed) {
            command.env("LOA_RUN_BOUNDARY_MODE", "off");
        }
        command
    }

    /// From here on phases run without a boundary, whatever the host can: where a test knows processes by the numbers that a phase
    /// tells, or is about what ends them then.
    pub(crate) fn without_boundary(&self) {
        self.is_outside.store(true, Ordering::Relaxed);
    }

    pub(crate) fn loa(&self, arguments: &[&str]) -> Ran {
        finished(self.command(arguments))
    }

    /// `loa-run run` with the workspace's plan.
    pub(crate) fn run(&self) -> Ran {
        self.loa(&["run", "--plan", "plan.json"])
    }

    pub(crate) fn resume(&self) -> Ran {
        self.loa(&["resume"])
    }

    /// `loa-run run` that goes on beside the test.
    pub(crate) fn start(&self) -> Child {
        self.command(&["run", "--plan", "plan.json"]).spawn().expect("loa-run starts")
    }

    /// The phases that ran, in order.
    pub(crate) fn ran(&self) -> Vec<String> {
        self.read("ran").lines().map(str::to_owned).collect()
    }

    /// How often a phase was started.
    pub(crate) fn starts(&self, phase: &str) -> usize {
        self.ran().iter().filter(|ran| *ran == phase).count()
    }

    /// A phase's checkpoint, read by a YAML reader that is not ours; null when there is none.
    pub(crate) fn checkpoint(&self, phase: &str) -> Value {
        yaml(&self.path(&format!(".loa-checkpoint/{phase}.yaml")))
    }

    /// The reports, oldest first.
    pub(crate) fn reports(&self) -> Vec<Value> {
        let Ok(entries) = fs::read_dir(self.path(".loa-checkpoint/escalations")) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("listed").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        paths.sort();
        paths.iter().map(|path| yaml(path)).collect()
    }

    /// The only report.
    #[track_caller]
    pub(crate) fn report(&self) -> Value {
        let mut reports = self.reports();
        assert_eq!(reports.len(), 1, "{reports:?}");
        reports.remove(0)
    }

    /// The only report for people.
    pub(crate) fn read_report(&self) -> String {
        let folder = self.path(".loa-checkpoint/escalations");
        let entries = fs::read_dir(folder).expect("a report").map(|entry| entry.expect("listed").path());
        let text = |path: PathBuf| fs::read_to_string(path).expect("readable");
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).map(text).collect()
    }

    /// The store of this workspace's state, read from outside.
    pub(crate) fn store(&self) -> FileStore {
        let workspace = self.path("").canonicalize().expect("there");
        let place = Place::find(&workspace, Some(&state_home(&self.path("")).join("loa-run"))).expect("found");
        FileStore::new(place, Layout::new(workspace))
    }

    /// All that the journal of the present execution holds; nothing before the first.
    pub(crate) fn recorded(&self) -> Option<Recorded> {
        self.store().current().expect("readable")
    }

    /// What writes that never finished left, in the workspace and in its state.
    pub(crate) fn half_written(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.path(""), self.store().place().folder()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let entry = entry.expect("listed");
                if entry.file_type().expect("a type").is_dir() {
                    folders.push(entry.path());
                } else if entry.file_name().to_string_lossy().ends_with(".unfinished") {
                    found.push(entry.path());
                }
            }
        }
        found
    }

    /// The state that the journal folds to, by its keys; null before the first execution.
    pub(crate) fn record(&self) -> Value {
        let state = self.recorded().map(|recorded| recorded.state);
        state.map_or(Value::Null, |state| serde_yaml_archived::to_value(state).expect("plain data"))
    }

    /// The names of the events so far, in their order.
    pub(crate) fn events(&self) -> Vec<String> {
        let envelopes = self.recorded().map(|recorded| recorded.envelopes).unwrap_or_default();
        let name = |envelope: &Envelope| serde_json::to_value(envelope).expect("plain data")["event"].clone();
        envelopes.iter().map(|envelope| name(envelope).as_str().expect("a name").to_owned()).collect()
    }

    /// What the journal tells of the agent of a phase: its execution, its session now, and how its invocations ended.
    pub(crate) fn agent(&self, phase: &str) -> Value {
        let Some(recorded) = self.recorded() else { return Value::Null };
        let (mut attempt, mut invocations) = (serde_json::Value::Null, Vec::new());
        for envelope in &recorded.envelopes {
            let event = serde_json::to_value(envelope).expect("plain data");
            if event["event"] == "attempt_started" {
                attempt = event["attempt"].clone();
            }
            let agent = &event["agent"];
            if event["event"] == "agent" && event["phase"] == phase && agent["type"] == "ended" {
                let mut ended = agent.clone();
                ended["attempt"] = attempt.clone();
                ended["code"] = agent["exit_code"].clone();
                invocations.push(ended);
            }
        }
        let known = recorded.state.agents.iter().find(|(known, _)| known.as_str() == phase);
        let session = known.and_then(|(_, agent)| agent.session.clone());
        let id = recorded.state.execution_id;
        let told = serde_json::json!({ "execution_id": id, "session": session, "invocations": invocations });
        serde_yaml_archived::to_value(told).expect("plain data")
    }

    /// The classes of the invocations of a phase's agent that ended, in order.
    pub(crate) fn classes(&self, phase: &str) -> Vec<String> {
        let ended = self.agent(phase)["invocations"].as_sequence().cloned().unwrap_or_default();
        ended.iter().map(|end| end["class"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The journal's file.
    pub(crate) fn journal(&self) -> PathBuf {
        let store = self.store();
        let id = store.current().expect("readable").expect("an execution").state.execution_id;
        store.place().run(&id).join("journal.jsonl")
    }

    /// A file that the first attempt of a phase exchanged with the run; empty when it is not there.
    pub(crate) fn exchanged(&self, phase: &str, name: &str) -> String {
        let folder = self.journal().with_file_name("stages").join(format!("{phase}-1"));
        fs::read_to_string(folder.join(name)).unwrap_or_default()
    }

    /// Cuts the journal off behind the last event of this name, as if the process had died there.
    pub(crate) fn cut_behind(&self, event: &str) {
        let text = fs::read_to_string(self.journal()).expect("readable");
        let lines: Vec<&str> = text.lines().collect();
        let named = |line: &&str| line.contains(&format!("\"event\":\"{event}\""));
        let last = lines.iter().rposition(named).expect("it happened");
        fs::write(self.journal(), lines[..=last].join("\n") + "\n").expect("written");
    }
}

/// Where the state of the workspaces of a test is: beside the workspace.
pub(crate) fn state_home(folder: &Path) -> PathBuf {
    let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
    folder.parent().expect("a parent").join(format!("{name}.state"))
}

/// A command without anything of an outer run in its environment.
pub(crate) fn program(file: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(file);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LOA_") || name.to_string_lossy().starts_with("CONTEXT_") {
            command.env_remove(name);
        }
    }
    // The user's own configuration is none of the test's business.
    command.env("XDG_CONFIG_HOME", folder.join(".config")).env("XDG_STATE_HOME", state_home(folder));
    command
}

pub(crate) fn finished(mut command: Command) -> Ran {
    collected(command.spawn().expect("it starts"))
}

pub(crate) fn collected(child: Child) -> Ran {
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
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_mins(1), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
