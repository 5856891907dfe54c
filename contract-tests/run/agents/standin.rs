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
}

impl Player {
    pub(super) const ALL: [Self; 2] = [Self::Claude, Self::Codex];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }
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
        let (name, program, home) =
            (self.player.name(), recordings().join("replay"), self.workspace.path("codex-home"));
        self.workspace.config(&format!(
            "autonomous_agent: {{ require_human_deploy_approval: false }}\nruntime:\n  backend: {name}\n  retry: {{ initial_ms: 1, max_ms: 1, jitter: 0 }}\n  backends: {{ {name}: {{ binary: '{}', env: {{ REPLAY: '{}', CODEX_HOME: '{}' }} }} }}\n{lines}",
            program.display(),
            replay.display(),
            home.display(),
        ));
    }

    /// The start of this number plays this recording and ends with this code; `rest` are all others.
    pub(super) fn plays(&self, start: &str, case: &str, code: i32) {
        let (stream, session) = match self.player {
            Player::Claude => (format!("claude-code/{case}.jsonl"), None),
            Player::Codex => {
                (format!("codex-with-session/{case}.jsonl"), Some(format!("codex-with-session/{case}.session.jsonl")))
            }
        };
        let text = |name: &str| fs::read_to_string(recordings().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        self.says(start, &text(&stream), code);
        if let Some(session) = session {
            self.workspace.write(&format!("replay/{start}/session"), &text(&session));
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
        let (arguments, word) =
            (self.arguments(start), if self.player == Player::Claude { "--resume" } else { "resume" });
        assert!(arguments.contains(&format!("{word}\n{session}\n")), "start {start}: {arguments}");
        assert!(!arguments.contains("Design it."), "start {start}: {arguments}");
    }

    /// The session on record.
    pub(super) fn session(&self) -> String {
        self.record()["session"].as_str().unwrap_or_default().to_owned()
    }

    /// The classes of the invocations that ended, in order.
    pub(super) fn classes(&self) -> Vec<String> {
        let record = self.record();
        let ended = record["invocations"].as_sequence().cloned().unwrap_or_default();
        ended.iter().map(|end| end["class"].as_str().unwrap_or_default().to_owned()).collect()
    }

    pub(super) fn record(&self) -> serde_yaml_archived::Value {
        serde_yaml_archived::from_str(&self.workspace.read(".loa-run/sessions/design.yaml")).unwrap_or_default()
    }
}

/// Where recordings lie.
pub(super) fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/transcripts")
}
