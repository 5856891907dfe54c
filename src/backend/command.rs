//! Any program that takes its prompt as an argument: templates say how it is started.
//!
//! Its output is text for people and its exit code is all that it offers to tell its ends apart by, so that is what is
//! read, for want of anything better: 0 done, 1 failed for the moment, 69 (`EX_UNAVAILABLE`) an outage of the provider,
//! anything else refused. A gate should check it.

use std::io;

use super::container::workspace;
use super::process::{Process, Reader, Verdict, brief, command, silent};
use crate::config::BackendSettings;
use crate::policy::Class;
use crate::runner::{AgentEvent, Backend, Capabilities, Invocation, Session, Task};
use crate::system::ids;
use crate::system::process::ProcessExit;

/// What a program ends with that finds its service out of order, by `sysexits.h`.
const UNAVAILABLE: i32 = 69;

/// A program that is started by templates.
#[derive(Debug)]
pub struct Template {
    settings: BackendSettings,
}

impl Template {
    /// With these settings.
    #[must_use]
    pub fn new(settings: BackendSettings) -> Self {
        Self { settings }
    }

    fn filled(&self, template: &[String], task: &Task<'_>, session: &str) -> Vec<String> {
        let workspace = workspace(task.surroundings).to_string_lossy();
        let prompt = task.whole_prompt();
        let values = [
            ("{prompt}", prompt.as_ref()),
            ("{session}", session),
            ("{model}", self.settings.section.model.as_deref().unwrap_or_default()),
            ("{effort}", task.effort.map_or("", |effort| effort.as_str())),
            ("{workspace}", &workspace),
        ];
        template.iter().map(|word| fill(word, &values)).collect()
    }
}

impl Backend for Template {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn capabilities(&self) -> Capabilities {
        let section = &self.settings.section;
        let holds = |template: &Option<Vec<String>>, what: &str| {
            template.as_ref().is_some_and(|words| words.iter().any(|word| word.contains(what)))
        };
        Capabilities {
            resumes: holds(&section.run, "{session}") && section.resume.is_some(),
            names_sessions: holds(&section.run, "{session}"),
            usage: false,
            compacts_itself: false,
            compacts_on_request: false,
            effort: holds(&section.run, "{effort}"),
            structured: false,
        }
    }

    fn credentials(&self) -> Vec<String> {
        self.settings.credentials(&[])
    }

    fn invoke(&self, task: &Task<'_>, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        let section = &self.settings.section;
        let fresh = ids::uuid();
        let (template, id) = match (session, &section.resume) {
            (Session::Earlier(session), Some(resume)) => (Some(resume), session),
            (Session::Named(name), _) => (section.run.as_ref(), name),
            _ => (section.run.as_ref(), fresh.as_str()),
        };
        let words = template.map(|template| self.filled(template, task, id)).unwrap_or_default();
        let (own_program, arguments) =
            words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let program = section.binary.as_deref().unwrap_or(own_program);
        let own = section.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let command = command(program, arguments.iter().map(String::as_str), own, task.surroundings);
        let session = self.capabilities().resumes.then(|| id.to_owned());
        Ok(Box::new(Process::start(&command, Words { session })?))
    }
}

/// What the program says, which is taken as it is.
#[derive(Debug, Default)]
struct Words {
    /// The session that it was given, while nothing shows that it has begun one.
    session: Option<String>,
}

impl Words {
    fn began(&mut self) -> impl Iterator<Item = AgentEvent> {
        self.session.take().map(AgentEvent::Session).into_iter()
    }
}

impl Reader for Words {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        if line.trim().is_empty() {
            return Vec::new();
        }
        self.began().chain([AgentEvent::Said(line.to_owned())]).collect()
    }

    /// Without a word it failed, as far as anybody knows, before there was a session. Many print nothing until they are done,
    /// so one that was ended from outside may well have worked in it.
    fn end(&mut self, exit: &ProcessExit) -> Vec<AgentEvent> {
        match exit {
            ProcessExit::Exited(0 | 128..) | ProcessExit::Signalled(_) => self.began().collect(),
            ProcessExit::Exited(_) | ProcessExit::SpawnFailed(_) => Vec::new(),
        }
    }

    fn verdict(&self, exit: &ProcessExit) -> Verdict {
        match exit {
            ProcessExit::Exited(0) => Verdict::new(Class::Done, "exit 0"),
            ProcessExit::Exited(1) => Verdict::new(Class::Transient { wait: None }, "exit 1"),
            ProcessExit::Exited(UNAVAILABLE) => Verdict::new(Class::Outage, "exit 69"),
            ProcessExit::Exited(_) => Verdict::new(Class::Permanent, brief(&exit.to_string())),
            ProcessExit::Signalled(_) | ProcessExit::SpawnFailed(_) => silent(exit),
        }
    }
}

/// A word with its placeholders filled in, each once: what is filled in is not looked at again.
fn fill(word: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((name, value)) = values.iter().find(|(name, _)| rest.starts_with(name)) {
            filled.push_str(value);
            rest = &rest[name.len()..];
        } else {
            filled.push('{');
            rest = &rest[1..];
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::backend::container::contained;
    use crate::config::{BackendKind, BackendSection};
    use crate::contract::ContextLimits;
    use crate::runner::Surroundings;

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        let values = [("{prompt}", "use {session}, {prompt}"), ("{session}", "s-1")];
        for (word, filled) in [
            ("{prompt}", "use {session}, {prompt}"),
            ("--id={session}", "--id=s-1"),
            ("{session}{session}", "s-1s-1"),
            ("{other} {", "{other} {"),
            ("plain", "plain"),
        ] {
            assert_eq!(fill(word, &values), filled, "{word}");
        }
    }

    #[test]
    fn the_workspace_is_named_as_the_program_sees_it() {
        let section = BackendSection::default();
        let settings = BackendSettings { name: "mine".to_owned(), kind: BackendKind::Command, section };
        let here = Surroundings { workspace: PathBuf::from("/w"), ..Surroundings::default() };
        for (surroundings, folder) in [(here, "/w"), (contained(Path::new("/w"), "/mounted"), "/mounted")] {
            let task = Task {
                prompt: "go",
                system: None,
                max_turns: None,
                effort: None,
                limits: ContextLimits::default(),
                surroundings: &surroundings,
            };
            let words = Template::new(settings.clone()).filled(&["{workspace}".to_owned()], &task, "s-1");
            assert_eq!(words, [folder]);
        }
    }

    #[test]
    fn its_exit_code_is_all_that_it_offers() {
        for (exit, class) in [
            (ProcessExit::Exited(0), Class::Done),
            (ProcessExit::Exited(1), Class::Transient { wait: None }),
            (ProcessExit::Exited(2), Class::Permanent),
            (ProcessExit::Exited(69), Class::Outage),
            (ProcessExit::Exited(127), Class::Permanent),
            (ProcessExit::Signalled(9), Class::Lost),
        ] {
            assert_eq!(Words::default().verdict(&exit).class, class, "{exit}");
        }
    }

    #[test]
    fn a_session_has_begun_when_the_program_says_something_or_does_not_fail_by_itself() {
        for (printed, exit, began) in [
            ("working", ProcessExit::Exited(1), true),
            ("", ProcessExit::Exited(0), true),
            ("", ProcessExit::Signalled(15), true),
            ("", ProcessExit::Exited(143), true),
            ("", ProcessExit::Exited(1), false),
            (" ", ProcessExit::Exited(2), false),
            ("", ProcessExit::Exited(127), false),
        ] {
            let mut words = Words { session: Some("s-1".to_owned()) };
            let mut events = words.line(printed);
            events.extend(words.line(printed));
            events.extend(words.end(&exit));
            let told = events.iter().filter(|event| **event == AgentEvent::Session("s-1".to_owned())).count();
            assert_eq!(told, usize::from(began), "{printed:?} {exit}");
            assert!(!began || matches!(events[0], AgentEvent::Session(_)), "before anything else: {events:?}");
        }
    }
}
