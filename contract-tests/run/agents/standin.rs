//! A workspace with a stand-in for an agent, which plays recordings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::run::Workspace;
use crate::run::workspace::{Ran, finished};

/// Whose recordings are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Player {
    Claude,
    Codex,
    OpenCode,
    Gemini,
    Qwen,
    Aider,
    Pi,
}

impl Player {
    pub(super) const ALL: [Self; 7] =
        [Self::Claude, Self::Codex, Self::OpenCode, Self::Gemini, Self::Qwen, Self::Aider, Self::Pi];
    /// Those that tell when a used up quota is given anew.
    pub(super) const TELL_LIMITS: [Self; 2] = [Self::Claude, Self::Codex];
    /// Those that tell of a compaction of their own.
    pub(super) const TELL_COMPACTIONS: [Self; 4] = [Self::Claude, Self::Codex, Self::OpenCode, Self::Qwen];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Aider => "aider",
            Self::Pi => "pi",
        }
    }

    /// The variable that holds its key.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Claude | Self::OpenCode | Self::Pi => "ANTHROPIC_API_KEY",
            Self::Codex | Self::Qwen | Self::Aider => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
        }
    }

    /// Those of them that have sessions.
    pub(super) fn with_sessions() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|player| player.resumes())
    }

    /// Whether it has sessions that can be gone on with.
    pub(super) fn resumes(self) -> bool {
        self != Self::Aider
    }

    /// The word before the session that it is to go on with.
    fn resume(self) -> &'static str {
        match self {
            Self::Codex => "resume",
            Self::OpenCode | Self::Pi => "--session",
            _ => "--resume",
        }
    }

    /// How it really ended after a failure with this status of the provider.
    pub(super) fn code(self, status: i32) -> i32 {
        match self {
            Self::Aider | Self::Pi => 0,
            Self::Gemini => status % 256,
            _ => 1,
        }
    }

    /// What it printed in a case, below the recordings.
    fn stream(self, case: &str) -> String {
        match self {
            Self::Claude => format!("claude-code/{case}.jsonl"),
            Self::Codex => format!("codex-with-session/{case}.jsonl"),
            // It has no tools.
            Self::Aider if case == "tool" => "aider/success.txt".to_owned(),
            Self::Aider => format!("aider/{case}.txt"),
            other => format!("{}/{case}.jsonl", other.name()),
        }
    }

    /// Where it records this session, as a word of sh.
    fn session_file(self, session: &str) -> Option<String> {
        match self {
            Self::Codex => Some(format!("$CODEX_HOME/sessions/2026/01/31/rollout-2026-01-31T00-00-00-{session}.jsonl")),
            Self::Gemini => {
                let id = session.split('-').next().expect("a part");
                Some(format!("$GEMINI_CLI_HOME/.gemini/tmp/workspace/chats/session-2026-01-31T00-00-{id}.jsonl"))
            }
            Self::Qwen => Some(format!("$QWEN_HOME/projects/workspace/chats/{session}.jsonl")),
            Self::Aider => Some("$log".to_owned()),
            Self::Claude | Self::OpenCode | Self::Pi => None,
        }
    }
}

/// The session that a stream names first; empty when it names none.
fn session_of(stream: &str) -> String {
    let first = stream.lines().next().and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let names = |event: &serde_json::Value| {
        ["session_id", "thread_id", "sessionID", "id"]
            .into_iter()
            .find_map(|key| event[key].as_str().map(str::to_owned))
    };
    first.as_ref().and_then(names).unwrap_or_default()
}

pub(super) struct StandIn {
    pub(super) workspace: Workspace,
    player: Player,
}

impl StandIn {
    /// A workspace whose only phase is `design`, done by an agent that is told `Design it.`
    pub(super) fn new(player: Player) -> Self {
        let stand_in = Self { workspace: Workspace::only(&[]), player };
        stand_in.phases(&["design"]);
        stand_in.configured("");
        stand_in
    }

    /// The plan has these phases, each done by the agent.
    pub(super) fn phases(&self, ids: &[&str]) {
        let phases: Vec<_> = ids.iter().map(|id| serde_json::json!({ "id": id, "prompt": "Design it." })).collect();
        self.workspace.write("plan.json", &serde_json::json!({ "phases": phases }).to_string());
    }

    /// Adds lines to the section `runtime` of the configuration.
    pub(super) fn configured(&self, lines: &str) {
        let replay = self.workspace.path("replay");
        fs::create_dir_all(&replay).expect("made");
        // An outage is a failure like others, but where a test is about it.
        let outages = if lines.contains("outage_patience") { "" } else { "  outage_patience: 0\n" };
        let (name, program, home) = (self.player.name(), recordings().join("replay"), self.workspace.path("home"));
        self.workspace.config(&format!(
            "autonomous_agent: {{ require_human_deploy_approval: false }}\nruntime:\n  backend: {name}\n  retry: {{ initial_ms: 1, max_ms: 1, jitter: 0 }}\n  backends: {{ {name}: {{ binary: '{}', env: {{ REPLAY: '{}', CODEX_HOME: '{home}', GEMINI_CLI_HOME: '{home}', QWEN_HOME: '{home}' }} }} }}\n{outages}{lines}",
            program.display(),
            replay.display(),
            home = home.display(),
        ));
    }

    /// The start of this number plays this recording and ends with this code; `rest` are all others.
    pub(super) fn plays(&self, start: &str, case: &str, code: i32) {
        let name = self.player.stream(case);
        let text = |name: &str| fs::read_to_string(recordings().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let stream = text(&name);
        self.says(start, &stream, code);
        let (stem, _) = name.rsplit_once('.').expect("an ending");
        let session = format!("{stem}.session.jsonl");
        if let Some(file) = self.player.session_file(&session_of(&stream))
            && recordings().join(&session).exists()
        {
            self.workspace.write(&format!("replay/{start}/session"), &text(&session));
            self.workspace.write(&format!("replay/{start}/where"), &file);
        }
        let history = format!("{stem}.history.txt");
        if recordings().join(&history).exists() {
            self.workspace.write(&format!("replay/{start}/history"), &text(&history));
        }
    }

    /// The start of this number prints this text.
    pub(super) fn says(&self, start: &str, stream: &str, code: i32) {
        let folder = format!("replay/{start}");
        fs::create_dir_all(self.workspace.path(&folder)).expect("made");
        self.workspace.write(&format!("{folder}/stream"), stream);
        self.workspace.write(&format!("{folder}/exit"), &code.to_string());
    }

    /// The start of this number then does what a line of sh says.
    pub(super) fn does(&self, start: &str, script: &str) {
        self.workspace.write(&format!("replay/{start}/do"), script);
    }

    /// `loa-run run`.
    pub(super) fn run(&self) -> Ran {
        self.workspace.run()
    }

    pub(super) fn start(&self) -> Child {
        self.workspace.start()
    }

    /// `loa-run run` with these variables in its environment.
    pub(super) fn run_with(&self, variables: &[(&str, &str)]) -> Ran {
        let mut command: Command = self.workspace.command(&["run", "--plan", "plan.json"]);
        command.envs(variables.iter().copied());
        finished(command)
    }

    /// How often the agent was started.
    pub(super) fn starts(&self) -> usize {
        (1..1000).take_while(|n| self.workspace.path(&format!("replay/started-{n}")).exists()).count()
    }

    /// The arguments of a start, one a line.
    pub(super) fn arguments(&self, start: usize) -> String {
        self.workspace.read(&format!("replay/started-{start}/arguments"))
    }

    /// The environment of a start.
    pub(super) fn environment(&self, start: usize) -> String {
        self.workspace.read(&format!("replay/started-{start}/environment"))
    }

    /// Whether a start was told to go on in this session, and not told its task again.
    #[track_caller]
    pub(super) fn went_on(&self, start: usize, session: &str) {
        let (arguments, word) = (self.arguments(start), self.player.resume());
        assert!(arguments.contains(&format!("{word}\n{session}\n")), "start {start}: {arguments}");
        assert!(!arguments.contains("Design it."), "start {start}: {arguments}");
    }

    /// The session on record.
    pub(super) fn session(&self) -> String {
        self.record()["session"].as_str().unwrap_or_default().to_owned()
    }

    /// The classes of the invocations that ended, in order.
    pub(super) fn classes(&self) -> Vec<String> {
        self.workspace.classes("design")
    }

    pub(super) fn record(&self) -> serde_yaml_archived::Value {
        self.workspace.agent("design")
    }
}

/// Where recordings lie.
pub(super) fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/transcripts")
}
