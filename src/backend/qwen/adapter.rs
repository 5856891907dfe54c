//! How Qwen Code is started.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::transcript::Transcript;
use crate::backend::overlay::Place;
use crate::backend::process::{Process, command, folder, variable};
use crate::backend::recorded::{Recorded, below};
use crate::backend::refusal::Resumption;
use crate::config::{BackendSettings, Permissions};
use crate::contract::ContextLimits;
use crate::runner::{Backend, Capabilities, Invocation, Session, Task};

/// The settings that go before a user's own; ours are merged with what stands there.
const SYSTEM_SETTINGS: (&str, &str) = ("QWEN_CODE_SYSTEM_SETTINGS_PATH", "/etc/qwen-code/settings.json");
/// Tokens below its window from which on it sends nothing more.
const KEPT_FREE: u64 = 23_000;
/// Tokens below its window at which it compacts at the latest.
const KEPT_FOR_SUMMARY: u64 = 33_000;

/// Qwen Code, as it is configured.
#[derive(Debug)]
pub struct Qwen {
    settings: BackendSettings,
}

impl Qwen {
    /// With these settings.
    #[must_use]
    pub fn new(settings: BackendSettings) -> Self {
        Self { settings }
    }

    fn start(&self, task: &Task<'_>, prompt: &str, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        let given = |name| variable(name, &self.settings, task.surroundings);
        let place = Place::new(task.surroundings)?;
        let base = given(SYSTEM_SETTINGS.0).map_or_else(|| PathBuf::from(SYSTEM_SETTINGS.1), PathBuf::from);
        let settings = place.settings(&base, knobs(task))?;
        let settings = settings.to_string_lossy();
        let arguments = self.arguments(task, prompt, session);
        let own = self.settings.section.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        // Without a launcher in between, a signal reaches the program itself.
        let own = own.filter(|(name, _)| *name != SYSTEM_SETTINGS.0);
        let own = own.chain([("QWEN_CODE_NO_RELAUNCH", "true"), (SYSTEM_SETTINGS.0, &settings)]);
        let command = command(self.settings.program(), arguments.iter().map(String::as_str), own, task.surroundings);
        let home = given("QWEN_RUNTIME_DIR")
            .map_or_else(|| folder("QWEN_HOME", ".qwen", &self.settings, task.surroundings), PathBuf::from);
        let recorded = Recorded::new(home, find, session.earlier());
        let reader = Transcript::new(Resumption::of(session.earlier(), task.surroundings), recorded);
        Ok(Box::new(Process::start(&command, reader)?.keeping(Some(place))))
    }

    fn arguments(&self, task: &Task<'_>, prompt: &str, session: Session<'_>) -> Vec<String> {
        let section = &self.settings.section;
        let mut arguments: Vec<String> = ["-o", "stream-json"].map(str::to_owned).into();
        let mut give = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
        if let Some(model) = &section.model {
            give(&["--model", model]);
        }
        // What a mode does not allow is no tool at all, or denied: without a terminal nobody is asked.
        give(&[
            "--approval-mode",
            match section.permissions.unwrap_or_default() {
                Permissions::Read => "default",
                Permissions::Edit => "auto-edit",
                Permissions::All => "yolo",
            },
        ]);
        if let Some(system) = task.system {
            give(&[&format!("--append-system-prompt={system}")]);
        }
        if let Some(turns) = task.max_turns.or(section.max_turns) {
            give(&["--max-session-turns", &turns.to_string()]);
        }
        match session {
            Session::New => {}
            Session::Named(id) => give(&["--session-id", id]),
            Session::Earlier(id) => give(&["--resume", id]),
        }
        arguments.extend(section.args.iter().cloned());
        // In one word, because a prompt may begin with a dash.
        arguments.push(format!("--prompt={prompt}"));
        arguments
    }
}

impl Backend for Qwen {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resumes: true,
            names_sessions: true,
            usage: true,
            compacts_itself: true,
            compacts_on_request: true,
            effort: true,
            structured: true,
        }
    }

    fn credentials(&self) -> Vec<String> {
        self.settings.credentials(&[
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "DASHSCOPE_API_KEY",
        ])
    }

    fn invoke(&self, task: &Task<'_>, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        self.start(task, task.prompt, session)
    }

    fn compact(&self, task: &Task<'_>, session: &str) -> io::Result<Option<Box<dyn Invocation>>> {
        self.start(task, "/compress", Session::Earlier(session)).map(Some)
    }
}

/// What it can be told by settings alone.
fn knobs(task: &Task<'_>) -> Value {
    let (window, share) = compaction_at(task.limits);
    let mut knobs = json!({
        "context": { "autoCompactThreshold": share },
        "model": { "generationConfig": { "contextWindowSize": window } },
    });
    if let Some(effort) = task.effort {
        knobs["model"]["reasoningEffort"] = effort.as_str().into();
    }
    knobs
}

/// The window and the share of it that make it compact at the soft limit, and send nothing beyond the hard one.
fn compaction_at(limits: ContextLimits) -> (u64, f64) {
    let window = (limits.hard + KEPT_FREE).max(limits.soft + KEPT_FOR_SUMMARY);
    #[expect(clippy::cast_precision_loss, reason = "tokens of a context are far below 2^52")]
    let share = limits.soft as f64 / window as f64;
    (window, share.max(0.01))
}

/// The file of a session: `<home>/projects/<folder>/chats/<session>.jsonl`.
fn find(home: &Path, session: &str) -> Option<PathBuf> {
    let mut files =
        below(&home.join("projects")).into_iter().map(|folder| folder.join(format!("chats/{session}.jsonl")));
    files.find(|file| file.exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BackendKind, BackendSection};
    use crate::contract::EffortLevel;
    use crate::runner::Surroundings;

    #[test]
    fn it_compacts_at_the_soft_limit_and_stops_at_the_hard_one() {
        for (soft, hard, window, at) in [(80_000, 150_000, 173_000, 80_000.0), (500, 1000, 33_500, 500.0)] {
            let (found, share) = compaction_at(ContextLimits { soft, hard });
            assert_eq!(found, window, "{soft}");
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let tokens = share * found as f64;
            assert!((tokens - at).abs() < 1.0, "{soft}: {tokens}");
        }
    }

    #[test]
    fn every_setting_has_its_option() {
        let section = BackendSection {
            model: Some("coder".to_owned()),
            permissions: Some(Permissions::All),
            max_turns: Some(9),
            args: vec!["--auth-type".to_owned(), "openai".to_owned()],
            ..BackendSection::default()
        };
        let qwen = |section| Qwen::new(BackendSettings { name: "qwen".to_owned(), kind: BackendKind::Qwen, section });
        let surroundings = Surroundings::default();
        let task = Task {
            prompt: "-go",
            system: Some("Be brief."),
            max_turns: None,
            effort: Some(EffortLevel::High),
            limits: ContextLimits { soft: 80_000, hard: 150_000 },
            surroundings: &surroundings,
        };
        let line = qwen(section).arguments(&task, task.prompt, Session::Earlier("id")).join(" ");
        assert_eq!(
            line,
            "-o stream-json --model coder --approval-mode yolo --append-system-prompt=Be brief. --max-session-turns 9 \
             --resume id --auth-type openai --prompt=-go"
        );
        assert_eq!(knobs(&task)["model"]["reasoningEffort"], "high");
        let task = Task { effort: None, system: None, max_turns: Some(3), ..task };
        for (permissions, mode) in [(None, "auto-edit"), (Some(Permissions::Read), "default")] {
            let section = BackendSection { permissions, ..BackendSection::default() };
            let line = qwen(section).arguments(&task, task.prompt, Session::Named("id")).join(" ");
            assert_eq!(
                line,
                format!("-o stream-json --approval-mode {mode} --max-session-turns 3 --session-id id --prompt=-go")
            );
        }
        assert!(knobs(&task)["model"]["reasoningEffort"].is_null());
    }
}
