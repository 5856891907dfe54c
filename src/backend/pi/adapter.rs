//! How pi is started.

use std::io;

use super::transcript::Transcript;
use crate::backend::process::{Process, command};
use crate::backend::refusal::Resumption;
use crate::config::{BackendSettings, Permissions};
use crate::runner::{Backend, Capabilities, Invocation, Session, Task};

/// pi, as it is configured.
///
/// It compacts at a setting of the user's own file, after an answer, and a run that prints ends before that is done; so the
/// soft limit is not passed on. A bound of turns it has none.
#[derive(Debug)]
pub struct Pi {
    settings: BackendSettings,
}

impl Pi {
    /// With these settings.
    #[must_use]
    pub fn new(settings: BackendSettings) -> Self {
        Self { settings }
    }

    fn arguments(&self, task: &Task<'_>, session: Option<&str>) -> Vec<String> {
        let section = &self.settings.section;
        let mut arguments: Vec<String> = ["--mode", "json"].map(str::to_owned).into();
        let mut give = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
        if let Some(model) = &section.model {
            give(&["--model", model]);
        }
        // It asks nobody anything: a tool is there or it is not.
        match section.permissions.unwrap_or_default() {
            Permissions::Read => give(&["--tools", "read,grep,find,ls"]),
            Permissions::Edit => give(&["--tools", "read,grep,find,ls,edit,write"]),
            Permissions::All => {}
        }
        if let Some(system) = task.system {
            give(&["--append-system-prompt", system]);
        }
        if let Some(effort) = task.effort {
            give(&["--thinking", effort.as_str()]);
        }
        if let Some(session) = session {
            give(&["--session", session]);
        }
        arguments.extend(section.args.iter().cloned());
        // A prompt is never an option or the name of a file to it, whatever it begins with.
        let guard = if task.prompt.starts_with(['-', '@']) { " " } else { "" };
        arguments.extend(["-p".to_owned(), format!("{guard}{}", task.prompt)]);
        arguments
    }
}

impl Backend for Pi {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resumes: true,
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
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_OAUTH_TOKEN",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "OPENROUTER_API_KEY",
        ])
    }

    fn invoke(&self, task: &Task<'_>, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        let arguments = self.arguments(task, session.earlier());
        let own = self.settings.section.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let command = command(self.settings.program(), arguments.iter().map(String::as_str), own, task.surroundings);
        let reader = Transcript::new(Resumption::of(session.earlier(), task.surroundings));
        Ok(Box::new(Process::start(&command, reader)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BackendKind, BackendSection};
    use crate::contract::{ContextLimits, EffortLevel};
    use crate::runner::Surroundings;

    #[test]
    fn every_setting_has_its_option() {
        let pi = |section| Pi::new(BackendSettings { name: "pi".to_owned(), kind: BackendKind::Pi, section });
        let surroundings = Surroundings::default();
        let task = Task {
            prompt: "-go",
            system: Some("Be brief."),
            max_turns: Some(3),
            effort: Some(EffortLevel::Low),
            limits: ContextLimits::default(),
            surroundings: &surroundings,
        };
        let section = BackendSection {
            model: Some("m".to_owned()),
            permissions: Some(Permissions::All),
            args: vec!["--provider".to_owned(), "p".to_owned()],
            ..BackendSection::default()
        };
        let line = pi(section).arguments(&task, Some("id")).join(" ");
        assert_eq!(
            line,
            "--mode json --model m --append-system-prompt Be brief. --thinking low --session id --provider p -p  -go"
        );
        let task = Task { prompt: "go", system: None, effort: None, ..task };
        for (permissions, tools) in
            [(None, "read,grep,find,ls,edit,write"), (Some(Permissions::Read), "read,grep,find,ls")]
        {
            let section = BackendSection { permissions, ..BackendSection::default() };
            assert_eq!(pi(section).arguments(&task, None).join(" "), format!("--mode json --tools {tools} -p go"));
        }
    }
}
