//! How Gemini CLI is started.

use std::io;
use std::path::{Path, PathBuf};

use super::transcript::Transcript;
use crate::backend::process::{Process, command, folder};
use crate::backend::recorded::{Recorded, below};
use crate::backend::refusal::Resumption;
use crate::config::{BackendSettings, Permissions};
use crate::runner::{Backend, Capabilities, Invocation, Session, Task};

/// Gemini CLI, as it is configured.
///
/// Its bound of turns and the share of the window at which it compacts are settings of files alone, and a file that goes
/// before the user's must belong to the machine's administrator. They are left as the user has set them.
/// Its session file lacks what a command returned when the request after it failed: a provider refuses such a session (400).
#[derive(Debug)]
pub struct Gemini {
    settings: BackendSettings,
}

impl Gemini {
    /// With these settings.
    #[must_use]
    pub fn new(settings: BackendSettings) -> Self {
        Self { settings }
    }

    fn arguments(&self, task: &Task<'_>, session: Session<'_>) -> Vec<String> {
        let section = &self.settings.section;
        let mut arguments: Vec<String> = ["-o", "stream-json", "--skip-trust"].map(str::to_owned).into();
        let mut give = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
        if let Some(model) = &section.model {
            give(&["--model", model]);
        }
        // What a mode does not allow is no tool at all, or denied: without a terminal nobody is asked.
        give(&[
            "--approval-mode",
            match section.permissions.unwrap_or_default() {
                Permissions::Read => "default",
                Permissions::Edit => "auto_edit",
                Permissions::All => "yolo",
            },
        ]);
        match session {
            Session::New => {}
            Session::Named(id) => give(&["--session-id", id]),
            Session::Earlier(id) => give(&["--resume", id]),
        }
        arguments.extend(section.args.iter().cloned());
        // In one word, because a prompt may begin with a dash.
        arguments.push(format!("--prompt={}", task.whole_prompt()));
        arguments
    }
}

impl Backend for Gemini {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resumes: true,
            names_sessions: true,
            usage: true,
            compacts_itself: false,
            compacts_on_request: false,
            effort: false,
            structured: true,
        }
    }

    fn credentials(&self) -> Vec<String> {
        self.settings.credentials(&["GEMINI_API_KEY", "GOOGLE_API_KEY"])
    }

    fn invoke(&self, task: &Task<'_>, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        let arguments = self.arguments(task, session);
        let own = self.settings.section.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        // Without a launcher in between, which swallows signals.
        let own = own.chain([("GEMINI_CLI_NO_RELAUNCH", "true")]);
        let command = command(self.settings.program(), arguments.iter().map(String::as_str), own, task.surroundings);
        let home = folder("GEMINI_CLI_HOME", "", &self.settings, task.surroundings);
        let recorded = Recorded::new(home, find, session.earlier());
        let reader = Transcript::new(Resumption::of(session.earlier(), task.surroundings), recorded);
        Ok(Box::new(Process::start(&command, reader)?))
    }
}

/// The file of a session: `<home>/.gemini/tmp/<project>/chats/session-…-<first part of the id>.jsonl`.
fn find(home: &Path, session: &str) -> Option<PathBuf> {
    let ending = format!("-{}.jsonl", session.split('-').next().unwrap_or(session));
    let mut files = below(&home.join(".gemini/tmp")).into_iter().flat_map(|project| below(&project.join("chats")));
    files.find(|file| file.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&ending)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BackendKind, BackendSection};
    use crate::contract::ContextLimits;
    use crate::runner::Surroundings;
    use crate::system::scratch::lay;

    #[test]
    fn every_setting_has_its_option() {
        let gemini =
            |section| Gemini::new(BackendSettings { name: "gemini".to_owned(), kind: BackendKind::Gemini, section });
        let surroundings = Surroundings::default();
        let task = Task {
            prompt: "-go",
            system: Some("Be brief."),
            max_turns: Some(3),
            effort: None,
            limits: ContextLimits::default(),
            surroundings: &surroundings,
        };
        let section = BackendSection {
            model: Some("m".to_owned()),
            permissions: Some(Permissions::All),
            args: vec!["--debug".to_owned()],
            ..BackendSection::default()
        };
        let line = gemini(section).arguments(&task, Session::Earlier("id")).join(" ");
        assert_eq!(
            line,
            "-o stream-json --skip-trust --model m --approval-mode yolo --resume id --debug --prompt=Be brief.\n\n-go"
        );
        let task = Task { system: None, ..task };
        for (permissions, mode) in [(None, "auto_edit"), (Some(Permissions::Read), "default")] {
            let section = BackendSection { permissions, ..BackendSection::default() };
            let line = gemini(section).arguments(&task, Session::Named("id")).join(" ");
            let expected = format!("-o stream-json --skip-trust --approval-mode {mode} --session-id id --prompt=-go");
            assert_eq!(line, expected);
        }
    }

    #[test]
    fn a_session_is_found_by_the_first_part_of_its_id() {
        let home = tempfile::tempdir().expect("a folder");
        let file = |id: &str| home.path().join(format!(".gemini/tmp/w/chats/session-2026-01-31T00-00-{id}.jsonl"));
        assert_eq!(find(home.path(), "0123-4"), None);
        lay(&file("9999"), b"").expect("laid");
        lay(&file("0123"), b"").expect("laid");
        assert_eq!(find(home.path(), "0123-4"), Some(file("0123")));
    }
}
