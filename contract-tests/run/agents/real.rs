//! The agents themselves, against the scripted model, where `fixtures/agents/install` has installed them.
//!
//! No key and no network are needed: the model listens on loopback. What is not installed is said and passed over.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::Player;
use crate::run::workspace::{PHASES, Ran, finished};
use crate::run::{Workspace, until};

/// Set, the agents are tried too that take minutes in all: every one but Claude Code and Codex.
const EVERY_AGENT: &str = "LOA_EVERY_AGENT";

/// What the model answers to what an agent asks beside its work, and to a prompt that quotes a command.
fn routes(player: Player) -> String {
    let route =
        |pattern: &str, text: &str| format!("- {{ name: beside, match: '{pattern}', reply: {{ text: {text} }} }}\n");
    let beside = match player {
        Player::Claude => route("CRITICAL: Respond with TEXT ONLY", "A summary."),
        Player::Codex => route("CONTEXT CHECKPOINT COMPACTION", "A summary."),
        Player::OpenCode => route("Generate a title for this conversation", "A title"),
        Player::Qwen => route("state_snapshot", "<state_snapshot>A summary.</state_snapshot>"),
        Player::Gemini | Player::Aider | Player::Pi => String::new(),
    };
    let ordered =
        r"- { name: ordered, match: 'Run exactly this command: `(?<command>[^`]+)`', reply: { shell: '{{command}}' } }";
    format!("routes:\n{beside}{ordered}\n")
}

/// The scripted model, for as long as this lives.
pub(super) struct Model {
    child: Child,
    pub(super) address: String,
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
        // It says what it is asked, and waits for whoever does not listen.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, address }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the agents are that are installed.
fn bin() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".agents/bin")
}

/// Says why something is not tried. Not by a macro, whose output the test harness keeps to itself.
fn passed_over(what: &str, why: &str) {
    let _ = std::io::stderr().write_all(format!("skipped: {what}: {why}\n").as_bytes());
}

/// The files in its home that bring an agent to the scripted model, and to fail at once where it can be told.
fn home(player: Player, address: &str) -> Vec<(&'static str, String)> {
    match player {
        Player::Claude => Vec::new(),
        Player::Codex => vec![(
            ".codex/config.toml",
            format!(
                "model = \"scripted-model\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\nweb_search = \"disabled\"\nmodel_context_window = 250000\n\
             [analytics]\nenabled = false\n[feedback]\nenabled = false\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"http://{address}/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n"
            ),
        )],
        Player::OpenCode => {
            let model = json!({ "tool_call": true, "limit": { "context": 200_000, "output": 8192 } });
            vec![(
                ".config/opencode/opencode.json",
                json!({
                    "share": "disabled", "model": "scripted/scripted-model", "small_model": "scripted/scripted-small",
                    "enabled_providers": ["scripted"],
                    "provider": { "scripted": {
                        "name": "scripted", "npm": "@ai-sdk/anthropic",
                        "options": { "baseURL": format!("http://{address}/v1"), "apiKey": "{env:ANTHROPIC_API_KEY}" },
                        "models": { "scripted-model": model, "scripted-small": model },
                    } },
                })
                .to_string(),
            )]
        }
        Player::Gemini => vec![(
            ".gemini/settings.json",
            json!({
                "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
                "privacy": { "usageStatisticsEnabled": false }, "telemetry": { "enabled": false },
                "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 1 },
            })
            .to_string(),
        )],
        Player::Qwen => vec![(
            ".qwen/settings.json",
            json!({
                "security": { "auth": { "selectedType": "openai" }, "folderTrust": { "enabled": false } },
                "privacy": { "usageStatisticsEnabled": false }, "telemetry": { "enabled": false },
                "general": { "enableAutoUpdate": false },
                "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false },
                "model": { "name": "scripted-model", "generationConfig": { "maxRetries": 0 } },
            })
            .to_string(),
        )],
        // Without it the price list is fetched from outside.
        Player::Aider => {
            vec![(".aider/caches/model_prices_and_context_window.json", r#"{"x/y": {"max_tokens": 1}}"#.to_owned())]
        }
        Player::Pi => {
            let model = json!({
                "id": "scripted-model", "reasoning": false, "input": ["text"], "contextWindow": 200_000,
                "maxTokens": 8192, "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
            });
            let provider = json!({
                "baseUrl": format!("http://{address}"), "api": "anthropic-messages", "apiKey": "ANTHROPIC_API_KEY",
                "models": [model],
            });
            let retry = json!({ "enabled": false, "provider": { "maxRetries": 0 } });
            vec![
                (".pi/agent/models.json", json!({ "providers": { "scripted": provider } }).to_string()),
                (".pi/agent/settings.json", json!({ "retry": retry }).to_string()),
            ]
        }
    }
}

/// The model that each is told. Of Claude Code's newer ones the last message is a reminder of the program's own, and no
/// route would see the prompt.
fn model_of(player: Player) -> &'static str {
    match player {
        Player::Claude => ", model: claude-sonnet-4-5",
        Player::Gemini => ", model: gemini-2.5-pro",
        Player::Aider => ", model: openai/scripted-model",
        Player::Pi => ", model: scripted/scripted-model",
        Player::Codex | Player::OpenCode | Player::Qwen => "",
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
    /// `None`, and a word about it, when the agent is not installed or not asked for.
    fn new(player: Player, script: &str, phases: &str) -> Option<Self> {
        let program = bin().join(player.name());
        if !program.exists() {
            passed_over(player.name(), "it is not there; fixtures/agents/install installs it");
            return None;
        }
        if !matches!(player, Player::Claude | Player::Codex) && std::env::var_os(EVERY_AGENT).is_none() {
            passed_over(player.name(), "it is tried where LOA_EVERY_AGENT is set");
            return None;
        }
        let workspace = Workspace::only(&[]);
        let model = Model::start(&workspace, &format!("{script}{}", routes(player)));
        for (file, text) in home(player, &model.address) {
            let file = format!("home/{file}");
            let (folder, _) = file.rsplit_once('/').expect("a folder");
            std::fs::create_dir_all(workspace.path(folder)).expect("made");
            workspace.write(&file, &text);
        }
        let (name, model_name) = (player.name(), model_of(player));
        workspace.config(&format!(
            "autonomous_agent: {{ require_human_deploy_approval: false }}\nruntime:\n  backend: {name}\n  retry: {{ initial_ms: 1, max_ms: 1 }}\n  outage_patience: 0\n  backends: {{ {name}: {{ binary: '{}', permissions: all{model_name} }} }}\n{phases}",
            program.display()
        ));
        Some(Self { player, workspace, model, program })
    }

    /// `loa-run`, with everything in its environment that keeps the agent at home.
    fn loa(&self, arguments: &[&str]) -> Command {
        let mut command = self.workspace.command(arguments);
        let (home, address) = (self.workspace.path("home"), format!("http://{}", self.model.address));
        command.env_clear().env("XDG_STATE_HOME", crate::run::workspace::state_home(&self.workspace.path("")));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &home).env("TMPDIR", self.workspace.path("")).env("TERM", "dumb").env("IS_SANDBOX", "1");
        command.env("ANTHROPIC_BASE_URL", &address).env("GOOGLE_GEMINI_BASE_URL", &address);
        for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] {
            command.env(name, "sk-test");
        }
        match self.player {
            Player::Qwen => command.env("OPENAI_BASE_URL", format!("{address}/v1")),
            Player::Aider => {
                command.env("OPENAI_API_BASE", format!("{address}/v1")).env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            }
            _ => command.env("CLAUDE_CODE_MAX_RETRIES", "0"),
        };
        for name in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS",
            "PI_OFFLINE",
        ] {
            command.env(name, "1");
        }
        command
    }

    fn run(&self) -> Ran {
        finished(self.loa(&["run"]))
    }

    fn classes(&self, phase: &str) -> Vec<String> {
        self.workspace.classes(phase)
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

/// The installed agents that can do this, each with this script and these phases.
fn installed(
    what: &'static str,
    can: impl Fn(Player) -> bool,
    script: &str,
    phases: &str,
) -> impl Iterator<Item = Installed> {
    Player::ALL.into_iter().filter_map(move |player| {
        if can(player) {
            Installed::new(player, script, phases)
        } else {
            passed_over(player.name(), what);
            None
        }
    })
}

/// Whether it offers the model a tool that runs commands.
fn runs_commands(player: Player) -> bool {
    player != Player::Aider
}

const NO_COMMANDS: &str = "it runs no commands of the model";

#[test]
fn the_agents_do_all_eight_phases() {
    let phase = |id: &str| {
        format!("    {id}: {{ prompt: 'Run exactly this command: `echo {id} >> did`', verify: grep -q {id} did }}\n")
    };
    let phases = format!("  phases:\n{}", PHASES.map(phase).concat());
    for agent in installed(NO_COMMANDS, runs_commands, "", &phases) {
        agent.run().exits(0);
        assert_eq!(agent.workspace.read("did").lines().collect::<Vec<_>>(), PHASES, "{}", agent.program.display());
    }
}

#[test]
fn an_agent_without_commands_does_its_phases_by_editing() {
    let edit = |id: &str| format!("  - text: \"{id}.txt\\n```\\n{id}\\n```\\n\"\n");
    let script = format!("steps:\n{}", PHASES.map(edit).concat());
    let phase = |id: &str| format!("    {id}: {{ prompt: 'Make {id}.txt', verify: grep -q {id} {id}.txt }}\n");
    let phases = format!("  phases:\n{}", PHASES.map(phase).concat());
    let only = |player| !runs_commands(player);
    for agent in installed("it runs commands", only, &script, &phases) {
        agent.run().exits(0);
        assert!(!agent.workspace.path(".git").exists(), "nobody asked for a repository");
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
    // After a failure behind a command, what Gemini CLI sends in that session has a call without its result.
    let can = |player| runs_commands(player) && player != Player::Gemini;
    for agent in installed("it runs no commands, or breaks its session by such a failure", can, script, DESIGN) {
        agent.run().exits(0);
        // These two try again by themselves, and cannot be told not to.
        let recovers = matches!(agent.player, Player::OpenCode | Player::Qwen);
        let classes: &[_] = if recovers { &["done"] } else { &["transient", "transient", "done"] };
        assert_eq!(agent.classes("design"), classes, "{:?}", agent.player);
        assert_eq!(agent.workspace.read("did"), "one\n", "{:?}", agent.player);
    }
    let once = "steps:\n  - error: { status: 529 }\n  - shell: echo one >> did\n  - text: All done.\n";
    for agent in installed("it met more failures already", |player| player == Player::Gemini, once, DESIGN) {
        agent.run().exits(0);
        // It keeps no session in which nothing was answered; a new one begins.
        assert_eq!(agent.classes("design"), ["transient", "lost", "done"]);
        assert_eq!(agent.workspace.read("did"), "one\n");
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
";
    let can = |player| matches!(player, Player::Claude | Player::Codex | Player::Qwen);
    for agent in installed("its threshold is a setting of its user", can, script, DESIGN) {
        agent.run().exits(0).says(&["context warning soft", "the agent compacted its context"]);
        assert_eq!(agent.classes("design"), ["done"], "{:?}", agent.player);
    }
}

#[test]
fn a_used_up_subscription_ends_the_run_beyond_the_patience_and_the_agent_goes_on_in_its_session() {
    let script = "\
steps:
  - shell: echo one >> did
  - error: { kind: quota }
  - text: All done.
";
    let only = "it has no subscription that the scripted model plays";
    for agent in installed(only, |player| player == Player::Claude, script, DESIGN) {
        let config = agent.workspace.read(".loa.config.yaml");
        agent.workspace.config(&config.replace("runtime:\n", "runtime:\n  limit_patience_hours: 0.01\n"));
        let subscribed = |verb| {
            let mut command = agent.loa(&[verb]);
            command.env_remove("ANTHROPIC_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-test");
            finished(command)
        };
        subscribed("run").exits(1).says(&["a limit of the provider is lifted at", "loa-run resume"]);
        assert_eq!(agent.classes("design"), ["limit"]);
        subscribed("resume").exits(0).says(&["goes on in session"]);
        assert_eq!(agent.classes("design"), ["limit", "done"]);
        assert_eq!(agent.workspace.read("did"), "one\n");
    }
}

#[test]
fn a_wrong_key_of_the_agents_calls_a_human() {
    for agent in installed("", |_| true, "steps: [{ error: { status: 401 } }]\nthen: repeat\n", DESIGN) {
        let why = if agent.player == Player::Aider { "AuthenticationError" } else { "401" };
        agent.run().exits(2).says(&["A human is needed", why]);
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
    for agent in installed("it has no sessions", Player::resumes, script, DESIGN) {
        let mut run = agent.loa(&["run"]).spawn().expect("loa-run starts");
        until("the agent works", || agent.workspace.path("up").exists());
        until("its session is on record", || agent.workspace.agent("design")["session"].is_string());
        run.kill().expect("killed");
        run.wait().expect("awaited");
        finished(agent.loa(&["resume"])).exits(0).says(&["goes on in session"]);
        assert!(!agent.workspace.path("woken").exists(), "{:?}", agent.player);
        let asked = agent.workspace.read("model.jsonl");
        assert!(asked.contains("Go on where you stopped"), "{:?}", agent.player);
    }
}
