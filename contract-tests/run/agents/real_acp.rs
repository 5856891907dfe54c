//! Agents of the Agent Client Protocol themselves, against the scripted model, where `fixtures/agents/install` has installed them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::real::Model;
use crate::run::workspace::{Ran, finished};
use crate::run::{Workspace, until};

/// How one agent is started: its name, the program that has to be there, and the rest of its section.
struct Agent {
    name: &'static str,
    program: &'static str,
    run: &'static str,
    keys: &'static str,
}

/// `{bin}` is the folder of programs, `{modules}` that of the agent's own packages.
const AGENTS: [Agent; 6] = [
    Agent { name: "opencode", program: "bin/opencode", run: "'{bin}/opencode', acp", keys: "" },
    Agent {
        name: "gemini",
        program: "bin/gemini",
        run: "'{bin}/gemini', -m, gemini-2.5-pro, --acp",
        keys: ", mode: yolo, env: { GEMINI_CLI_NO_RELAUNCH: 'true' }",
    },
    Agent {
        name: "qwen",
        program: "bin/qwen",
        run: "'{bin}/qwen', --auth-type, openai, -m, scripted-model, --approval-mode, default, --acp",
        keys: ", env: { QWEN_CODE_NO_RELAUNCH: 'true' }",
    },
    Agent {
        name: "claude-acp",
        program: "claude-acp/node_modules/.bin/claude-agent-acp",
        run: "'{modules}/.bin/node', '{modules}/.bin/claude-agent-acp'",
        keys: ", mode: bypassPermissions, compact: /compact, env: { ANTHROPIC_MODEL: claude-sonnet-4-5 }",
    },
    Agent {
        name: "codex-acp",
        program: "codex-acp/node_modules/.bin/codex-acp",
        run: "'{modules}/.bin/node', '{modules}/.bin/codex-acp'",
        keys: ", env: { INITIAL_AGENT_MODE: agent-full-access, NO_BROWSER: '1' }",
    },
    Agent {
        name: "pi-acp",
        program: "pi-acp/node_modules/.bin/pi-acp",
        run: "'{modules}/.bin/node', '{modules}/.bin/pi-acp'",
        keys: ", env: { PATH: '{modules}/.bin:/usr/bin:/bin', PI_OFFLINE: '1' }",
    },
];

/// What the agents ask of the model beside the work: titles, suggestions, summaries.
const ASIDE: &str = "\
routes:
  - { name: title, match: 'Generate a title|generate a very short title|isNewTopic|Write the title in', reply: { text: A title } }
  - { name: suggestion, match: 'SUGGESTION MODE|Reply with ONLY the suggestion', reply: { text: '-' } }
";

/// Files of their homes: models, and everything shut off that would look for a network.
const HOME: [(&str, &str); 6] = [
    (
        ".config/opencode/opencode.json",
        r#"{"autoupdate": false, "share": "disabled", "model": "scripted/scripted-model", "small_model": "scripted/scripted-small",
 "enabled_providers": ["scripted"], "permission": {"*": "allow"},
 "provider": {"scripted": {"name": "scripted", "npm": "@ai-sdk/anthropic",
   "options": {"baseURL": "http://{address}/v1", "apiKey": "sk-dummy"},
   "models": {"scripted-model": {"tool_call": true, "limit": {"context": 200000, "output": 8192}},
              "scripted-small": {"tool_call": true, "limit": {"context": 200000, "output": 8192}}}}}}"#,
    ),
    (
        ".gemini/settings.json",
        r#"{"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
 "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
 "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 1}}"#,
    ),
    (
        ".qwen/settings.json",
        r#"{"security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": false}},
 "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}, "general": {"enableAutoUpdate": false},
 "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
 "model": {"name": "scripted-model", "generationConfig": {"contextWindowSize": 100000, "maxRetries": 0}}}"#,
    ),
    (
        ".codex/config.toml",
        "model = \"scripted-model\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\nweb_search = \"disabled\"\nmodel_context_window = 250000\n\
         [analytics]\nenabled = false\n[feedback]\nenabled = false\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"http://{address}/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
    ),
    (
        ".pi/agent/models.json",
        r#"{"providers": {"scripted": {"baseUrl": "http://{address}", "api": "anthropic-messages", "apiKey": "sk-dummy",
 "models": [{"id": "scripted-model", "reasoning": false, "input": ["text"], "contextWindow": 200000, "maxTokens": 8192,
   "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}}"#,
    ),
    (
        ".pi/agent/settings.json",
        r#"{"quietStartup": true, "defaultProvider": "scripted", "defaultModel": "scripted-model",
 "retry": {"maxRetries": 0, "provider": {"maxRetries": 0}}}"#,
    ),
];

/// One installed agent in a workspace of its own, with a home of its own.
struct Installed {
    agent: &'static Agent,
    workspace: Workspace,
    model: Model,
}

impl Installed {
    /// `None`, and a word about it, when the agent is not installed.
    fn new(agent: &'static Agent, script: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".agents");
        if !folder.join(agent.program).exists() {
            // Not by a macro, whose output the test harness keeps to itself.
            let word = format!("skipped: {} is not installed; fixtures/agents/install installs it\n", agent.name);
            let _ = std::io::stderr().write_all(word.as_bytes());
            return None;
        }
        let workspace = Workspace::only(&[]);
        let model = Model::start(&workspace, &format!("{script}{ASIDE}"));
        for (file, text) in HOME {
            let path: PathBuf = workspace.path("home").join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text.replace("{address}", &model.address)).expect("written");
        }
        let places = |text: &str| {
            let modules = folder.join(agent.name).join("node_modules");
            text.replace("{bin}", &folder.join("bin").to_string_lossy())
                .replace("{modules}", &modules.to_string_lossy())
        };
        workspace.write("plan.json", r#"{"phases": [{"id": "design", "prompt": "Design it."}]}"#);
        workspace.config(&format!(
            "runtime:\n  backend: mine\n  retry: {{ initial_ms: 1, max_ms: 1 }}\n  outage_patience: 0\n  backends: {{ mine: {{ kind: acp, run: [{}], permissions: all{} }} }}\n  phases: {{ design: {{ timeout_ms: 120000 }} }}\n",
            places(agent.run),
            places(agent.keys),
        ));
        Some(Self { agent, workspace, model })
    }

    /// `loa-run`, with everything in its environment that keeps the agents at home.
    fn loa(&self, arguments: &[&str]) -> Command {
        let mut command = self.workspace.command(arguments);
        let address = format!("http://{}", self.model.address);
        command.env_clear().env("XDG_STATE_HOME", crate::run::workspace::state_home(&self.workspace.path("")));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TERM", "dumb");
        command.env("HOME", self.workspace.path("home")).env("TMPDIR", self.workspace.path("")).env("IS_SANDBOX", "1");
        command.env("ANTHROPIC_BASE_URL", &address).env("ANTHROPIC_API_KEY", "sk-dummy");
        command.env("OPENAI_BASE_URL", format!("{address}/v1")).env("OPENAI_API_KEY", "sk-dummy");
        command
            .env("OPENAI_MODEL", "scripted-model")
            .env("GOOGLE_GEMINI_BASE_URL", &address)
            .env("GEMINI_API_KEY", "sk-dummy");
        command.env("CLAUDE_CODE_MAX_RETRIES", "0");
        for name in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS",
            "OPENCODE_DISABLE_SHARE",
        ] {
            command.env(name, "1");
        }
        command
    }

    fn run(&self) -> Ran {
        finished(self.loa(&["run", "--plan", "plan.json"]))
    }

    fn classes(&self) -> Vec<String> {
        self.workspace.classes("design")
    }
}

fn installed(script: &str) -> impl Iterator<Item = Installed> {
    AGENTS.iter().filter_map(|agent| Installed::new(agent, script))
}

#[test]
fn agents_of_the_protocol_do_a_phase() {
    for agent in installed("steps:\n  - shell: echo one >> did\n  - text: All is designed.\n") {
        let ran = agent.run();
        let log = agent.workspace.read(".loa-run/logs/design-1.log");
        assert_eq!(agent.classes(), ["done"], "{}: {}\n{log}", agent.agent.name, ran.stderr);
        assert_eq!(agent.workspace.read("did"), "one\n", "{}", agent.agent.name);
        let summary = agent.workspace.checkpoint("design")["summary"].as_str().expect("a summary").to_owned();
        assert_eq!(summary, "UNVERIFIED: All is designed.", "{}", agent.agent.name);
    }
}

#[test]
fn a_wrong_key_of_an_agent_of_the_protocol_is_no_success() {
    for agent in installed("steps: [{ error: { status: 401 } }]\nthen: repeat\n") {
        let ran = agent.run().exits(2);
        // Nothing of what it sends says that pi failed but its silence.
        let class = if agent.agent.name == "pi-acp" { "transient" } else { "permanent" };
        assert_eq!(agent.classes()[0], class, "{}: {}", agent.agent.name, ran.stderr);
    }
}

#[test]
fn agents_of_the_protocol_go_on_in_their_session_after_kill_9() {
    for agent in installed("steps:\n  - shell: touch up; sleep 60; touch woken\n  - text: Back at work.\n") {
        if agent.agent.name == "gemini" {
            // It finds no session again within the minute in which it began.
            continue;
        }
        let mut run = agent.loa(&["run", "--plan", "plan.json"]).spawn().expect("loa-run starts");
        until("the agent works", || agent.workspace.path("up").exists());
        run.kill().expect("killed");
        run.wait().expect("awaited");
        let ran = finished(agent.loa(&["resume"]));
        let log = agent.workspace.read(".loa-run/logs/design-1.log");
        assert_eq!(
            agent.classes().last().map(String::as_str),
            Some("done"),
            "{}: {}\n{log}",
            agent.agent.name,
            ran.stderr
        );
        assert!(!agent.workspace.path("woken").exists(), "{}", agent.agent.name);
        assert!(agent.workspace.read("model.jsonl").contains("Go on where you stopped"), "{}", agent.agent.name);
    }
}
