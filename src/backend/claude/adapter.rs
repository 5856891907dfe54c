//! How Claude Code is started.

use std::io;

use jiff::Timestamp;

use super::transcript::Transcript;
use super::usage::usage;
use crate::backend::process::{Process, command, folder};
use crate::config::{BackendSettings, Permissions};
use crate::contract::ContextLimits;
use crate::policy::{Usage, Window};
use crate::runner::{Backend, Capabilities, Invocation, Session, Surroundings, Task};
use crate::system::clock;

/// Tokens that Claude Code keeps free of its window when it computes a percentage of it.
const RESERVED: u64 = 20_000;
/// The smallest window that it takes.
const SMALLEST_WINDOW: u64 = 100_000;

/// Claude Code, as it is configured.
#[derive(Debug)]
pub struct Claude {
    settings: BackendSettings,
}

impl Claude {
    /// With these settings.
    #[must_use]
    pub fn new(settings: BackendSettings) -> Self {
        Self { settings }
    }

    fn start(&self, task: &Task<'_>, prompt: &str, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        let section = &self.settings.section;
        let arguments = self.arguments(task, prompt, session);
        let (window, percent) = compaction_at(task.limits);
        let knobs = [
            ("CLAUDE_CODE_AUTO_COMPACT_WINDOW", window.as_str()),
            ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", percent.as_str()),
        ];
        let own = section.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let command = command(
            self.settings.program(),
            arguments.iter().map(String::as_str),
            knobs.into_iter().chain(own),
            task.surroundings,
        );
        Ok(Box::new(Process::start(&command, Transcript::new(session.earlier().is_some()))?))
    }

    fn arguments(&self, task: &Task<'_>, prompt: &str, session: Session<'_>) -> Vec<String> {
        let section = &self.settings.section;
        let mut arguments: Vec<String> =
            ["-p", "--output-format", "stream-json", "--verbose"].map(str::to_owned).into();
        let mut give = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
        if let Some(model) = &section.model {
            give(&["--model", model]);
        }
        match section.permissions.unwrap_or_default() {
            Permissions::Read => give(&["--permission-mode", "dontAsk"]),
            Permissions::Edit => give(&["--permission-mode", "acceptEdits"]),
            Permissions::All => give(&["--dangerously-skip-permissions"]),
        }
        if let Some(system) = task.system {
            give(&["--append-system-prompt", system]);
        }
        if let Some(turns) = task.max_turns.or(section.max_turns) {
            give(&["--max-turns", &turns.to_string()]);
        }
        if let Some(effort) = task.effort {
            give(&["--effort", effort.as_str()]);
        }
        match session {
            Session::New => {}
            Session::Named(id) => give(&["--session-id", id]),
            Session::Earlier(id) => give(&["--resume", id]),
        }
        arguments.extend(section.args.iter().cloned());
        // Behind the dashes, because some of its options take any number of values.
        arguments.extend(["--".to_owned(), prompt.to_owned()]);
        arguments
    }
}

impl Backend for Claude {
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
        self.settings.credentials(&["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"])
    }

    fn quota(&self) -> Option<u64> {
        Some(self.settings.section.quota?.prompts)
    }

    fn usage(&self, surroundings: &Surroundings, now: Timestamp) -> Option<Usage> {
        let section = &self.settings.section;
        let projects = folder("CLAUDE_CONFIG_DIR", ".claude", &self.settings, surroundings).join("projects");
        let cycle = Window::cycle(now, section.quota.and_then(|quota| quota.boundary));
        Some(usage(&projects, cycle, Window::week(now, &clock::zone())))
    }

    fn invoke(&self, task: &Task<'_>, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        self.start(task, task.prompt, session)
    }

    fn compact(&self, task: &Task<'_>, session: &str) -> io::Result<Option<Box<dyn Invocation>>> {
        self.start(task, "/compact", Session::Earlier(session)).map(Some)
    }
}

/// The window and the percentage of it that make Claude Code compact at the soft limit: it does so at that percentage of
/// its window less what it reserves, and it takes no window below the smallest.
fn compaction_at(limits: ContextLimits) -> (String, String) {
    let window = (2 * limits.soft + RESERVED).max(SMALLEST_WINDOW);
    let percent = (limits.soft * 100 / (window - RESERVED)).max(1);
    (window.to_string(), percent.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::{BackendKind, BackendSection};
    use crate::contract::EffortLevel;

    #[test]
    fn it_compacts_at_the_soft_limit() {
        for (soft, window, percent) in
            [(80_000, "180000", "50"), (120_000, "260000", "50"), (20_000, "100000", "25"), (500, "100000", "1")]
        {
            let limits = ContextLimits { soft, hard: 1_000_000 };
            assert_eq!(compaction_at(limits), (window.to_owned(), percent.to_owned()), "{soft}");
        }
    }

    #[test]
    fn the_prompt_stands_behind_every_option() {
        let section = BackendSection {
            model: Some("opus".to_owned()),
            permissions: Some(Permissions::All),
            max_turns: Some(9),
            args: vec!["--allowedTools".to_owned(), "Bash".to_owned()],
            ..BackendSection::default()
        };
        let claude = Claude::new(BackendSettings { name: "claude".to_owned(), kind: BackendKind::Claude, section });
        let surroundings = Surroundings { workspace: PathBuf::from("/"), ..Surroundings::default() };
        let task = Task {
            prompt: "-go",
            system: Some("Be brief."),
            max_turns: None,
            effort: Some(EffortLevel::High),
            limits: ContextLimits::default(),
            surroundings: &surroundings,
        };
        let line = claude.arguments(&task, task.prompt, Session::Earlier("id")).join(" ");
        assert_eq!(
            line,
            "-p --output-format stream-json --verbose --model opus --dangerously-skip-permissions \
             --append-system-prompt Be brief. --max-turns 9 \
             --effort high --resume id --allowedTools Bash -- -go"
        );
        let plain = Claude::new(BackendSettings {
            name: "claude".to_owned(),
            kind: BackendKind::Claude,
            section: BackendSection::default(),
        });
        let task = Task { effort: None, system: None, max_turns: Some(3), ..task };
        let line = plain.arguments(&task, task.prompt, Session::Named("id")).join(" ");
        assert_eq!(
            line,
            "-p --output-format stream-json --verbose --permission-mode acceptEdits --max-turns 3 --session-id id -- -go"
        );
    }
}
