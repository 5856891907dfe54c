//! The agents themselves, against the scripted model, where `fixtures/agents/install` has installed them.
//!
//! No key and no network are needed: the model listens on loopback. What is not installed is said and passed over.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::Player;
use crate::run::workspace::{PHASES, Ran, finished};
use crate::run::{Workspace, until};

/// Runs the command that a prompt quotes; summarises when it is asked for a summary.
const ORDERED: &str = "\
steps: []
routes:
  - { name: claude-summary, match: 'CRITICAL: Respond with TEXT ONLY', reply: { text: A summary. } }
  - { name: codex-summary, match: 'CONTEXT CHECKPOINT COMPACTION', reply: { text: A summary. } }
  - { name: ordered, match: 'Run exactly this command: `(?<command>[^`]+)`', reply: { shell: '{{command}}' } }
";

/// The scripted model, for as long as this lives.
pub(super) struct Model {
    child: Child,
    pub(super) address: String,
    /// Held, so that it can go on saying what it is asked.
    _said: BufReader<ChildStdout>,
}

impl Model {
    pub(super) fn start(workspace: &Workspace, script: &str) -> Self {
        workspace.write("model.yaml", script);
        let mut command = Command::new(env!("CARGO_BIN_EXE_loa-conform"));
        command.args(["model", "--json", "--script"]).arg(workspace.path("model.yaml"));
        command.arg("--log").arg(workspace.path("model.jsonl"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("loa-conform starts");
        let mut said = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says where it listens");
        let listening: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let address = listening["listening"]["address"].as_str().expect("an address").to_owned();
        Self { child, address, _said: said }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One installed agent in a workspace of its own, with a home of its own.
struct Installed {
    player: Player,
    workspace: Workspace,
    model: Model,
    program: PathBuf,
}

impl Installed {
    /// `None`, and a word about it, when the agent is not installed.
    fn new(player: Player, script: &str, phases: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".agents/bin");
        let program = folder.join(player.name());
        if !program.exists() {
            // Not by a macro, whose output the test harness keeps to itself.
            let word = format!("skipped: {} is not there; fixtures/agents/install installs it\n", program.display());
            let _ = std::io::stderr().write_all(word.as_bytes());
            return None;
        }
        let workspace = Workspace::only(&[]);
        std::fs::create_dir_all(workspace.path("home/.codex")).expect("made");
        let model = Model::start(&workspace, script);
        workspace.write(
            "home/.codex/config.toml",
            &format!(
                "model = \"scripted-model\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\nweb_search = \"disabled\"\nmodel_context_window = 250000\n\
                 [analytics]\nenabled = false\n[feedback]\nenabled = false\n\
                 [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"http://{}/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
                model.address
            ),
        );
        // Of the newer models the last message is a reminder of the program's own, and no route would see the prompt.
        let model_name = if player == Player::Claude { ", model: claude-sonnet-4-5" } else { "" };
        let name = player.name();
        workspace.config(&format!(
            "autonomous_agent: {{ require_human_deploy_approval: false }}\nruntime:\n  backend: {name}\n  retry: {{ initial_ms: 1, max_ms: 1 }}\n  backends: {{ {name}: {{ binary: '{}', permissions: all{model_name} }} }}\n{phases}",
            program.display()
        ));
        Some(Self { player, workspace, model, program })
    }

    /// `loa-run`, with everything in its environment that keeps the agent at home.
    fn loa(&self, arguments: &[&str]) -> Command {
        let mut command = self.workspace.command(arguments);
        let (home, address) = (self.workspace.path("home"), &self.model.address);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &home).env("TMPDIR", self.workspace.path("")).env("IS_SANDBOX", "1");
        command.env("ANTHROPIC_BASE_URL", format!("http://{address}")).env("ANTHROPIC_API_KEY", "sk-test");
        command.env("OPENAI_API_KEY", "sk-test").env("CLAUDE_CODE_MAX_RETRIES", "0");
        for name in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
        ] {
            command.env(name, "1");
        }
        command
    }

    fn run(&self) -> Ran {
        finished(self.loa(&["run"]))
    }

    fn classes(&self, phase: &str) -> Vec<String> {
        let text = self.workspace.read(&format!(".loa-run/sessions/{phase}.yaml"));
        let record: serde_yaml_archived::Value = serde_yaml_archived::from_str(&text).unwrap_or_default();
        let ended = record["invocations"].as_sequence().cloned().unwrap_or_default();
        ended.iter().map(|end| end["class"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// Only `design` is done by the agent.
const DESIGN: &str = "  phases:
    design: { prompt: Design it. }
    preflight: { skip: true }
    discovery: { skip: true }
    implementation: { skip: true }
    audit: { skip: true }
    submit: { skip: true }
    deploy: { skip: true }
    learning: { skip: true }
";

/// The installed agents, each with this script and these phases.
fn installed(script: &str, phases: &str) -> impl Iterator<Item = Installed> {
    Player::ALL.into_iter().filter_map(|player| Installed::new(player, script, phases))
}

#[test]
fn the_agents_do_all_eight_phases() {
    let phase = |id: &str| {
        format!("    {id}: {{ prompt: 'Run exactly this command: `echo {id} >> did`', verify: grep -q {id} did }}\n")
    };
    let phases = format!("  phases:\n{}", PHASES.map(phase).concat());
    for agent in installed(ORDERED, &phases) {
        agent.run().exits(0);
        assert_eq!(agent.workspace.read("did").lines().collect::<Vec<_>>(), PHASES, "{}", agent.program.display());
    }
}

#[test]
fn the_agents_survive_an_overloaded_provider_and_are_tried_again_in_their_session() {
    let script = "\
steps:
  - error: { status: 529 }
  - shell: echo one >> did
  - error: { status: 529 }
  - text: All done.
";
    for agent in installed(script, DESIGN) {
        agent.run().exits(0);
        assert_eq!(agent.classes("design"), ["transient", "transient", "done"], "{:?}", agent.player);
        assert_eq!(agent.workspace.read("did"), "one\n", "{:?}", agent.player);
    }
}

#[test]
fn the_agents_compact_at_the_soft_limit() {
    let script = "\
steps:
  - { shell: echo one, usage: { input: 5000 } }
  - { shell: echo two, usage: { input: 6000 } }
  - { shell: echo three, usage: { input: 95000 } }
  - { text: Done after compaction., usage: { input: 9000 } }
routes:
  - { name: claude-summary, match: 'CRITICAL: Respond with TEXT ONLY', reply: { text: A summary. } }
  - { name: codex-summary, match: 'CONTEXT CHECKPOINT COMPACTION', reply: { text: A summary. } }
";
    for agent in installed(script, DESIGN) {
        agent.run().exits(0).says(&["context warning soft", "the agent compacted its context"]);
        assert_eq!(agent.classes("design"), ["done"], "{:?}", agent.player);
    }
}

#[test]
fn a_wrong_key_of_the_agents_calls_a_human() {
    for agent in installed("steps: [{ error: { status: 401 } }]\nthen: repeat\n", DESIGN) {
        agent.run().exits(2).says(&["A human is needed", "401"]);
        assert_eq!(agent.classes("design"), ["permanent"], "{:?}", agent.player);
    }
}

#[test]
fn the_agents_go_on_in_their_session_after_kill_9() {
    let script = "\
steps:
  - shell: touch up; sleep 60; touch woken
  - text: Back at work.
";
    for agent in installed(script, DESIGN) {
        let mut run = agent.loa(&["run"]).spawn().expect("loa-run starts");
        until("the agent works", || agent.workspace.path("up").exists());
        run.kill().expect("killed");
        run.wait().expect("awaited");
        finished(agent.loa(&["resume"])).exits(0).says(&["goes on in session"]);
        assert!(!agent.workspace.path("woken").exists(), "{:?}", agent.player);
        let asked = agent.workspace.read("model.jsonl");
        assert!(asked.contains("Go on where you stopped"), "{:?}", agent.player);
    }
}
