//! An agent that is a process whose output is read line by line.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Sleep;

use super::container::{Start, Started};
use super::overlay::Place;
use crate::config::BackendSettings;
use crate::events::Spent;
use crate::policy::Class;
use crate::runner::{AgentEnd, AgentEvent, Invocation, Surroundings};
use crate::system::env;
use crate::system::process::{Command, Event, Piece, ProcessExit, Stream, signal_name};

/// The longest line that is understood, in bytes; of a longer one only the log has the whole.
const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// How much of a longer one is read, in bytes, so that it can be told what it was.
const BEGINNING: usize = 300;
/// How long a program may stay silent and not end, once it has said how it ended. Nothing is left for it to do but to close
/// its files, which takes less; one that stays waits for a command that it left behind, and that may take for ever.
const LINGERS: Duration = Duration::from_secs(5);

/// Understands what one program writes. Pure but for [`Reader::poll`].
pub(super) trait Reader: fmt::Debug {
    /// A line of standard output, without its ending.
    fn line(&mut self, line: &str) -> Vec<AgentEvent>;

    /// A line of standard error, without its ending. Most programs say nothing there that is data.
    fn complaint(&mut self, _line: &str) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// What has come since the last call from elsewhere than the output.
    fn poll(&mut self) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// What was held back until nothing more came, and the process had ended so.
    fn end(&mut self, exit: &ProcessExit) -> Vec<AgentEvent> {
        let _ = exit;
        Vec::new()
    }

    /// Whether the program has said how it ended.
    fn is_over(&self) -> bool {
        false
    }

    /// The process ended, and everything that it wrote was read.
    fn verdict(&self, exit: &ProcessExit) -> Verdict;
}

/// What a reader makes of an invocation that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) class: Class,
    pub(super) evidence: String,
    /// The session that was to be resumed never began, and the program ended by itself.
    pub(super) session_refused: bool,
    /// What it used, where it says so.
    pub(super) spent: Option<Spent>,
}

impl Verdict {
    pub(super) fn new(class: Class, evidence: impl Into<String>) -> Self {
        Self { class, evidence: evidence.into(), session_refused: false, spent: None }
    }
}

/// Puts lines together from the pieces of one stream.
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
    complaints: Lines,
    ready: VecDeque<AgentEvent>,
    /// How long it may stay once it is over, and how much of that is left since it wrote something.
    lingers: Duration,
    patience: Option<Pin<Box<Sleep>>>,
    /// What the program needs for as long as it runs.
    _place: Option<Place>,
}

impl<R: Reader> Process<R> {
    /// Starts the command.
    pub(super) fn start(start: &Start, reader: R) -> io::Result<Self> {
        let running = start.spawn().map_err(|error| not_started(&start.program(), &error))?;
        Ok(Self {
            running,
            reader,
            lines: Lines::default(),
            complaints: Lines::default(),
            ready: VecDeque::new(),
            lingers: LINGERS,
            patience: None,
            _place: None,
        })
    }

    /// Keeps the files that the program was given until it is gone.
    pub(super) fn keeping(self, place: Option<Place>) -> Self {
        Self { _place: place, ..self }
    }

    fn take(&mut self, event: Event) {
        self.patience = None;
        match event {
            Event::Output(piece) => self.output(piece),
            Event::Ended(exit) => {
                let end = ended(self.verdict(&exit), &exit);
                self.ready.push_back(AgentEvent::Ended(end));
            }
        }
    }

    /// What the reader makes of it when nothing more comes.
    fn verdict(&mut self, exit: &ProcessExit) -> Verdict {
        let rest = self.lines.end();
        self.ready.extend(self.reader.line(&rest));
        self.ready.extend(self.reader.poll());
        self.ready.extend(self.reader.end(exit));
        self.reader.verdict(exit)
    }

    /// It said how it ended, and stays. Its group is ended by whoever listens.
    fn leave(&mut self) {
        let verdict = self.verdict(&ProcessExit::Exited(0));
        let evidence = format!("{}; its process stayed and was ended", verdict.evidence);
        let end = ended(Verdict { evidence, ..verdict }, &ProcessExit::Exited(0));
        self.ready.push_back(AgentEvent::Ended(AgentEnd { code: None, ..end }));
    }

    fn output(&mut self, piece: Piece) {
        let is_answer = piece.stream == Stream::Stdout;
        let line = if is_answer { self.lines.take(&piece) } else { self.complaints.take(&piece) };
        self.ready.push_back(AgentEvent::Output(piece));
        if let Some(line) = line {
            let events = if is_answer { self.reader.line(&line) } else { self.reader.complaint(&line) };
            self.ready.extend(events);
        }
    }
}

/// Why a program cannot be started, and what helps where its prompt is the reason: most take it as one argument.
fn not_started(program: &str, error: &io::Error) -> io::Error {
    let remedy = match error.kind() {
        io::ErrorKind::ArgumentListTooLong => "; put a long prompt into a file, and name the file in the prompt",
        _ => "",
    };
    io::Error::new(error.kind(), format!("`{program}`: {error}{remedy}"))
}

/// The end of an invocation whose process ended so.
pub(super) fn ended(verdict: Verdict, exit: &ProcessExit) -> AgentEnd {
    let (code, signal) = match exit {
        ProcessExit::Exited(code) => (Some(*code), None),
        ProcessExit::Signalled(signal) => (None, Some(signal_name(*signal))),
        ProcessExit::SpawnFailed(_) => (None, None),
    };
    let Verdict { class, evidence, session_refused, spent } = verdict;
    AgentEnd { class, code, signal, evidence, session_refused, spent }
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
                let (is_over, lingers) = (self.reader.is_over(), self.lingers);
                tokio::select! {
                    event = self.running.next() => self.take(event),
                    () = waited(&mut self.patience, lingers), if is_over => self.leave(),
                }
            }
        })
    }

    fn cancel(&mut self) {
        self.running.ask_to_end();
    }
}

/// Waits so long, in several futures if need be.
async fn waited(patience: &mut Option<Pin<Box<Sleep>>>, time: Duration) {
    patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(time))).as_mut().await;
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
    let command = command.behind(surroundings.boundary.as_ref()).entrusted();
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
pub(super) fn silent(exit: &ProcessExit) -> Verdict {
    Verdict::new(Class::Lost, format!("{exit}, without an end in its stream"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::process::kill_group;

    /// Knows one word, which is how the program says that it is done.
    #[derive(Debug, Default)]
    struct Word(bool);

    impl Reader for Word {
        fn line(&mut self, line: &str) -> Vec<AgentEvent> {
            self.0 |= line == "done";
            Vec::new()
        }

        fn is_over(&self) -> bool {
            self.0
        }

        fn verdict(&self, exit: &ProcessExit) -> Verdict {
            if self.0 { Verdict::new(Class::Done, "it says so") } else { silent(exit) }
        }
    }

    /// How a script ends that may stay for so many milliseconds.
    async fn end_of(script: &str, lingers: u64) -> AgentEnd {
        let surroundings = Surroundings { workspace: "/".into(), ..Surroundings::default() };
        let start = command("sh", ["-c", script], [], &surroundings);
        let process = Process::start(&start, Word::default()).expect("it starts");
        let mut process = Process { lingers: Duration::from_millis(lingers), ..process };
        let group = process.group().expect("a group");
        let ended = async {
            loop {
                // As whoever listens does, who has other things to look at.
                let event = tokio::time::timeout(Duration::from_millis(1), process.next()).await;
                if let Ok(AgentEvent::Ended(end)) = event {
                    return end;
                }
            }
        };
        let end = tokio::time::timeout(Duration::from_secs(20), ended).await.expect("it ends");
        drop(process);
        kill_group(group, Duration::ZERO).await;
        end
    }

    #[test]
    fn a_program_that_said_how_it_ended_is_not_waited_for_without_bound() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        for (script, lingers, class, code, evidence) in [
            ("echo done; sleep 60", 20, Class::Done, None, "it says so; its process stayed and was ended"),
            ("sleep 60 & echo done; wait", 20, Class::Done, None, "it says so; its process stayed and was ended"),
            ("echo done; exit 3", 10_000, Class::Done, Some(3), "it says so"),
            ("echo done; for n in 1 2 3 4; do sleep 0.1; echo $n; done", 5_000, Class::Done, Some(0), "it says so"),
            ("echo working; sleep 0.1; exit 3", 20, Class::Lost, Some(3), "exit 3, without an end in its stream"),
        ] {
            let end = runtime.block_on(end_of(script, lingers));
            assert_eq!((end.class, end.code, end.evidence.as_str()), (class, code, evidence), "{script}");
        }
    }
}
