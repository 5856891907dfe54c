//! How Aider is started.

use std::io;
use std::path::{Path, PathBuf};

use super::transcript::Transcript;
use crate::backend::overlay::Place;
use crate::backend::process::{Process, command};
use crate::backend::recorded::Recorded;
use crate::config::{BackendSettings, Permissions};
use crate::runner::{Backend, Capabilities, Invocation, Session, Task};

/// The log that it is given.
const LOG: &str = "analytics.jsonl";
/// The file of the conversation that it is given.
const HISTORY: &str = "conversation.txt";

/// Aider, as it is configured.
///
/// It has no sessions: the history that it can read again is one of the workspace, whoever spoke. Every invocation is told
/// its whole task.
#[derive(Debug)]
pub struct Aider {
    settings: BackendSettings,
}

impl Aider {
    /// With these settings.
    #[must_use]
    pub fn new(settings: BackendSettings) -> Self {
        Self { settings }
    }

    fn arguments(&self, task: &Task<'_>, place: &Path) -> Vec<String> {
        let section = &self.settings.section;
        // It answers every question of its own with yes, and asks for nothing from outside but the model.
        let mut arguments: Vec<String> = [
            "--yes-always",
            "--no-pretty",
            "--no-stream",
            "--no-fancy-input",
            "--no-check-update",
            "--no-show-release-notes",
            "--no-show-model-warnings",
            "--no-detect-urls",
            "--no-gitignore",
            "--no-suggest-shell-commands",
            "--no-analytics",
        ]
        .map(str::to_owned)
        .into();
        let mut give = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
        give(&["--analytics-log", &place.join(LOG).to_string_lossy()]);
        give(&["--llm-history-file", &place.join(HISTORY).to_string_lossy()]);
        give(&["--max-chat-history-tokens", &task.limits.soft.to_string()]);
        // Else it would make a repository, because it may.
        if !task.surroundings.workspace.ancestors().any(|folder| folder.join(".git").exists()) {
            give(&["--no-git"]);
        }
        if let Some(model) = &section.model {
            give(&["--model", model]);
        }
        if section.permissions.unwrap_or_default() == Permissions::Read {
            give(&["--chat-mode", "ask"]);
        }
        if let Some(effort) = task.effort {
            give(&["--reasoning-effort", effort.as_str()]);
        }
        arguments.extend(section.args.iter().cloned());
        // In one word, because a prompt may begin with a dash.
        arguments.push(format!("--message={}", task.whole_prompt()));
        arguments
    }
}

impl Backend for Aider {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resumes: false,
            names_sessions: false,
            usage: true,
            compacts_itself: false,
            compacts_on_request: false,
            effort: true,
            structured: true,
        }
    }

    fn credentials(&self) -> Vec<String> {
        self.settings.credentials(&[
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "DEEPSEEK_API_KEY",
            "OPENROUTER_API_KEY",
        ])
    }

    fn invoke(&self, task: &Task<'_>, _session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        let place = Place::new(task.surroundings)?;
        let arguments = self.arguments(task, &place.seen(""));
        let own = self.settings.section.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let command = command(self.settings.program(), arguments.iter().map(String::as_str), own, task.surroundings);
        let reader = Transcript::new(Recorded::new(place.file(""), find, None), place.file(HISTORY));
        Ok(Box::new(Process::start(&command, reader)?.keeping(Some(place))))
    }
}

/// The log, as soon as it is there.
fn find(place: &Path, _session: &str) -> Option<PathBuf> {
    Some(place.join(LOG)).filter(|log| log.exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BackendKind, BackendSection};
    use crate::contract::{ContextLimits, EffortLevel};
    use crate::runner::Surroundings;
    use crate::system::files::ensure_folder;

    #[test]
    fn every_setting_has_its_option() {
        let folder = tempfile::tempdir().expect("a folder");
        let surroundings = Surroundings { workspace: folder.path().to_path_buf(), ..Surroundings::default() };
        let task = Task {
            prompt: "-go",
            system: Some("Be brief."),
            max_turns: Some(3),
            effort: Some(EffortLevel::Low),
            limits: ContextLimits { soft: 7, hard: 9 },
            surroundings: &surroundings,
        };
        let line = |section, task: &Task<'_>| {
            let settings = BackendSettings { name: "aider".to_owned(), kind: BackendKind::Aider, section };
            let line = Aider::new(settings).arguments(task, Path::new("/place")).join(" ");
            line.split_once("--no-analytics ").expect("the fixed ones stand in front").1.to_owned()
        };
        let section = BackendSection {
            model: Some("m".to_owned()),
            permissions: Some(Permissions::Read),
            args: vec!["--timeout".to_owned(), "9".to_owned()],
            ..BackendSection::default()
        };
        assert_eq!(
            line(section, &task),
            "--analytics-log /place/analytics.jsonl --llm-history-file /place/conversation.txt --max-chat-history-tokens 7 --no-git --model m --chat-mode ask --reasoning-effort low \
             --timeout 9 --message=Be brief.\n\n-go"
        );
        ensure_folder(&folder.path().join(".git")).expect("made");
        let task = Task { system: None, effort: None, ..task };
        assert_eq!(
            line(BackendSection::default(), &task),
            "--analytics-log /place/analytics.jsonl --llm-history-file /place/conversation.txt --max-chat-history-tokens 7 --message=-go"
        );
    }
}
