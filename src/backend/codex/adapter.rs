//! How Codex is started.

use std::io;

use super::rollout::find;
use super::transcript::Transcript;
use crate::backend::process::{Process, command, folder};
use crate::backend::recorded::Recorded;
use crate::backend::refusal::Resumption;
use crate::config::{BackendSettings, Permissions};
use crate::runner::{Backend, Capabilities, Invocation, Session, Task};

/// Codex CLI, as it is configured.
#[derive(Debug)]
pub struct Codex {
    settings: BackendSettings,
}

impl Codex {
    /// With these settings.
    #[must_use]
    pub fn new(settings: BackendSettings) -> Self {
        Self { settings }
    }

    fn arguments(&self, task: &Task<'_>, session: Option<&str>) -> Vec<String> {
        let section = &self.settings.section;
        let mut arguments: Vec<String> = ["exec", "--json", "--skip-git-repo-check"].map(str::to_owned).into();
        let mut give = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
        if let Some(model) = &section.model {
            give(&["--model", model]);
        }
        match section.permissions.unwrap_or_default() {
            Permissions::Read => give(&["--sandbox", "read-only"]),
            Permissions::Edit => give(&["--sandbox", "workspace-write"]),
            Permissions::All => give(&["--dangerously-bypass-approvals-and-sandbox"]),
        }
        give(&["-c", &format!("model_auto_compact_token_limit={}", task.limits.soft)]);
        if let Some(effort) = task.effort {
            give(&["-c", &format!("model_reasoning_effort=\"{effort}\"")]);
        }
        arguments.extend(section.args.iter().cloned());
        if let Some(session) = session {
            arguments.extend(["resume".to_owned(), session.to_owned()]);
        }
        arguments.extend(["--".to_owned(), task.whole_prompt().into_owned()]);
        arguments
    }
}

impl Backend for Codex {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resumes: true,
            names_sessions: false,
            usage: true,
            compacts_itself: true,
            compacts_on_request: false,
            effort: true,
            structured: true,
        }
    }

    fn credentials(&self) -> Vec<String> {
        self.settings.credentials(&["OPENAI_API_KEY", "CODEX_API_KEY"])
    }

    fn invoke(&self, task: &Task<'_>, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        let session = session.earlier();
        let section = &self.settings.section;
        let arguments = self.arguments(task, session);
        let own = section.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let command = command(self.settings.program(), arguments.iter().map(String::as_str), own, task.surroundings);
        let home = folder("CODEX_HOME", ".codex", &self.settings, task.surroundings);
        let rollout = Recorded::new(home, find, session);
        let reader = Transcript::new(Resumption::of(session, task.surroundings), rollout);
        Ok(Box::new(Process::start(&command, reader)?))
    }
}
