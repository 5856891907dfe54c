//! An agent that is a process whose output is read line by line.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use super::container::{Start, Started};
use super::overlay::Place;
use crate::config::BackendSettings;
use crate::policy::Class;
use crate::runner::{AgentEnd, AgentEvent, Invocation, Surroundings};
use crate::system::env;
use crate::system::process::{Command, Event, Exit, Piece, Stream, signal_name};

/// The longest line that is understood, in bytes; of a longer one only the log has the whole.
const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// How much of a longer one is read, in bytes, so that it can be told what it was.
const BEGINNING: usize = 300;

/// Understands what one program writes. Pure but for [`Reader::poll`].
pub(super) trait Reader: fmt::Debug {
    /// A line of standard output, without its ending.
    fn line(&mut self, line: &str) -> Vec<AgentEvent>;

    /// What has come since the last call from elsewhere than the output.
    fn poll(&mut self) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// What was held back until nothing more came.
    fn end(&mut self) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// The process ended, and everything that it wrote was read.
    fn verdict(&self, exit: &Exit) -> Verdict;
}

/// What a reader makes of an invocation that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) class: Class,
    pub(super) evidence: String,
    /// The session that was to be resumed never began, and the program ended by itself.
    pub(super) session_refused: bool,
}

impl Verdict {
    pub(super) fn new(class: Class, evidence: impl Into<String>) -> Self {
        Self { class, evidence: evidence.into(), session_refused: false }
    }
}

/// Puts lines together from the pieces of standard output.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    overlong: bool,
}

impl Lines {
    /// The line that ends with this piece; `None` in the middle of one.
    pub(super) fn take(&mut self, piece: &Piece) -> Option<String> {
        self.overlong |= self.line.len() + piece.bytes.len() > LONGEST_LINE;
        if self.overlong {
            self.line.truncate(BEGINNING);
        } else {
            self.line.extend_from_slice(&piece.bytes);
        }
        piece.ends_line().then(|| self.end())
    }

    /// What is there of a line that was never ended.
    pub(super) fn end(&mut self) -> String {
        self.overlong = false;
        String::from_utf8_lossy(&std::mem::take(&mut self.line)).trim_end().to_owned()
    }
}

/// A running agent and what is read from it.
#[derive(Debug)]
pub(super) struct Process<R> {
    running: Started,
    reader: R,
    lines: Lines,
    ready: VecDeque<AgentEvent>,
    /// What the program needs for as long as it runs.
    _place: Option<Place>,
}

impl<R: Reader> Process<R> {
    /// Starts the command; `first` is told before anything that it writes.
    pub(super) fn start(start: &Start, reader: R, first: Option<AgentEvent>) -> io::Result<Self> {
        let running = start.spawn()?;
        Ok(Self { running, reader, lines: Lines::default(), ready: first.into_iter().collect(), _place: None })
    }

    /// Keeps the files that the program was given until it is gone.
    pub(super) fn keeping(self, place: Option<Place>) -> Self {
        Self { _place: place, ..self }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Output(piece) => self.output(piece),
            Event::Ended(exit) => {
                let rest = self.lines.end();
                self.ready.extend(self.reader.line(&rest));
                self.ready.extend(self.reader.poll());
                self.ready.extend(self.reader.end());
                let verdict = self.reader.verdict(&exit);
                self.ready.push_back(AgentEvent::Ended(ended(verdict, &exit)));
            }
        }
    }

    fn output(&mut self, piece: Piece) {
        let line = if piece.stream == Stream::Stdout { self.lines.take(&piece) } else { None };
        self.ready.push_back(AgentEvent::Output(piece));
        if let Some(line) = line {
            self.ready.extend(self.reader.line(&line));
        }
    }
}

/// The end of an invocation whose process ended so.
pub(super) fn ended(verdict: Verdict, exit: &Exit) -> AgentEnd {
    let (code, signal) = match exit {
        Exit::Exited(code) => (Some(*code), None),
        Exit::Signalled(signal) => (None, Some(signal_name(*signal))),
        Exit::SpawnFailed(_) => (None, None),
    };
    let Verdict { class, evidence, session_refused } = verdict;
    AgentEnd { class, code, signal, evidence, session_refused }
}

impl<R: Reader> Invocation for Process<R> {
    fn group(&self) -> Option<u32> {
        Some(self.running.group())
    }

    fn next(&mut self) -> Pin<Box<dyn Future<Output = AgentEvent> + '_>> {
        Box::pin(async {
            self.ready.extend(self.reader.poll());
            loop {
                if let Some(event) = self.ready.pop_front() {
                    return event;
                }
                let event = self.running.next().await;
                self.take(event);
            }
        })
    }

    fn cancel(&mut self) {
        self.running.ask_to_end();
    }
}

/// What to start in the surroundings of an agent: `own` are the variables of its backend.
pub(super) fn command<'a>(
    program: &'a str,
    arguments: impl IntoIterator<Item = &'a str>,
    own: impl IntoIterator<Item = (&'a str, &'a str)>,
    surroundings: &Surroundings,
) -> Start {
    if let Some(container) = &surroundings.container {
        return Start::inside(container, std::iter::once(program).chain(arguments), own, surroundings);
    }
    let command = Command::new(program).args(arguments).folder(&surroundings.workspace);
    let command = surroundings.withheld.iter().fold(command, Command::env_remove);
    let command = own.into_iter().fold(command, |command, (name, value)| command.env(name, value));
    Start::here(surroundings.variables.iter().fold(command, |command, (name, value)| command.env(name, value)))
}

/// What a variable says in the environment that the program will see.
pub(super) fn variable(name: &str, settings: &BackendSettings, surroundings: &Surroundings) -> Option<OsString> {
    let set = surroundings.variables.iter().rev().find(|(set, _)| set == name).map(|(_, value)| value.clone());
    let own = || settings.section.env.get(name).map(OsString::from);
    let inherited = || env::var(name).filter(|_| !surroundings.withheld.iter().any(|withheld| withheld == name));
    set.or_else(own).or_else(|| inherited().map(OsString::from)).filter(|value| !value.is_empty())
}

/// The folder that a variable names, by default this one in the home folder that the program will see.
pub(super) fn folder(name: &str, default: &str, settings: &BackendSettings, surroundings: &Surroundings) -> PathBuf {
    let value = |name: &str| variable(name, settings, surroundings).map(PathBuf::from);
    value(name).unwrap_or_else(|| value("HOME").unwrap_or_default().join(default))
}

/// The first line of a text, at most 300 characters of it.
pub(super) fn brief(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().chars().take(300).collect()
}

/// How the process ended, for a program that did not say how it ended itself.
pub(super) fn silent(exit: &Exit) -> Verdict {
    Verdict::new(Class::Lost, format!("{exit}, without an end in its stream"))
}
