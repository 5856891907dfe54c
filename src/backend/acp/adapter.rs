//! The agent's process, and the time that things take.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use super::dialogue::{Dialogue, Step, Subject};
use crate::backend::container::{Started, workspace};
use crate::backend::process::{Lines, Verdict, command, ended};
use crate::config::BackendSettings;
use crate::runner::{AgentEnd, AgentEvent, Backend, Capabilities, Invocation, Session, Task};
use crate::system::process::{Event, Piece, ProcessExit, Talk};

/// How long its standard output may stay silent behind its end, where a descendant holds it.
const SILENCE: Duration = Duration::from_millis(200);

/// An agent behind the Agent Client Protocol, as it is configured.
#[derive(Debug)]
pub struct Acp {
    settings: BackendSettings,
}

impl Acp {
    /// With these settings.
    #[must_use]
    pub fn new(settings: BackendSettings) -> Self {
        Self { settings }
    }

    fn start(&self, task: &Task<'_>, session: Option<&str>, compact: Option<&str>) -> io::Result<Box<dyn Invocation>> {
        let section = &self.settings.section;
        let words = section.run.iter().flatten().skip(1).chain(&section.args).map(String::as_str);
        let own = section.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let (process, pipes) = command(self.settings.program(), words, own, task.surroundings).converse()?;
        let (dialogue, steps) = Dialogue::begin(Subject {
            workspace: workspace(task.surroundings).to_path_buf(),
            prompt: compact.map_or_else(|| task.whole_prompt().into_owned(), str::to_owned),
            earlier: session.map(str::to_owned),
            compacts: compact.is_some(),
            permissions: section.permissions.unwrap_or_default(),
            mode: section.mode.clone(),
            model: section.model.clone(),
            auth: section.auth.clone(),
            max_turns: task.max_turns.or(section.max_turns),
        });
        let mut conversation = Conversation {
            process,
            talk: Some(pipes),
            lines: Lines::default(),
            dialogue,
            ready: VecDeque::new(),
            alarm: None,
            exit: None,
        };
        conversation.take(steps);
        Ok(Box::new(conversation))
    }
}

impl Backend for Acp {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resumes: true,
            names_sessions: false,
            usage: true,
            compacts_itself: false,
            compacts_on_request: self.settings.section.compact.is_some(),
            effort: false,
            structured: true,
        }
    }

    fn credentials(&self) -> Vec<String> {
        self.settings.credentials(&[])
    }

    fn invoke(&self, task: &Task<'_>, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        self.start(task, session.earlier(), None)
    }

    fn compact(&self, task: &Task<'_>, session: &str) -> io::Result<Option<Box<dyn Invocation>>> {
        let prompt = self.settings.section.compact.as_deref();
        prompt.map(|prompt| self.start(task, Some(session), Some(prompt))).transpose()
    }
}

/// A dialogue with a running agent.
#[derive(Debug)]
struct Conversation {
    process: Started,
    /// `None` once its standard output is closed.
    talk: Option<Talk>,
    lines: Lines,
    dialogue: Dialogue,
    ready: VecDeque<AgentEvent>,
    /// When the dialogue has waited long enough. Kept here, because a caller may drop `next` more often than it rings.
    alarm: Option<Pin<Box<Sleep>>>,
    /// It ended, and what it wrote last is read.
    exit: Option<ProcessExit>,
}

/// What happened.
enum Happened {
    Wrote(Piece),
    Closed,
    Process(Event),
    Rang,
}

impl Conversation {
    fn take(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Send(mut line) => {
                    line.push('\n');
                    let _ = self.talk.as_ref().map(|talk| talk.send(line.into_bytes()));
                }
                Step::Tell(event) => self.ready.push_back(event),
                // Behind its end, nothing is waited for but the rest of what it wrote.
                Step::Within(_) if self.exit.is_some() => {}
                Step::Within(time) => self.alarm = time.map(|time| Box::pin(sleep(time))),
                Step::HangUp => drop(self.talk.as_mut().map(Talk::close)),
                Step::Terminate => self.process.ask_to_end(),
                Step::GiveUp => {
                    let verdict = self.dialogue.ended(None);
                    self.end(verdict);
                }
            }
        }
    }

    async fn happens(&mut self) -> Happened {
        let said = async {
            match &mut self.talk {
                Some(talk) => talk.next().await.map_or(Happened::Closed, Happened::Wrote),
                None => std::future::pending().await,
            }
        };
        let rang = async {
            match &mut self.alarm {
                Some(alarm) => alarm.as_mut().await,
                None => std::future::pending().await,
            }
        };
        let running = self.exit.is_none();
        tokio::select! {
            biased;
            said = said => said,
            event = self.process.next(), if running => Happened::Process(event),
            () = rang => Happened::Rang,
        }
    }

    fn note(&mut self, happened: Happened) {
        match happened {
            Happened::Wrote(piece) => {
                let line = self.lines.take(&piece);
                self.ready.push_back(AgentEvent::Output(piece));
                let steps = line.map(|line| self.dialogue.hear(&line)).unwrap_or_default();
                self.take(steps);
            }
            Happened::Closed => {
                self.talk = None;
                let steps = self.dialogue.closed();
                self.take(steps);
            }
            Happened::Process(Event::Output(piece)) => self.ready.push_back(AgentEvent::Output(piece)),
            Happened::Process(Event::Ended(exit)) => {
                self.exit = Some(exit);
                self.alarm = Some(Box::pin(sleep(SILENCE)));
            }
            Happened::Rang if self.exit.is_some() => self.talk = None,
            Happened::Rang => {
                self.alarm = None;
                let steps = self.dialogue.late();
                self.take(steps);
            }
        }
        if let (Some(_), None) = (&self.exit, &self.talk) {
            let steps = self.dialogue.hear(&self.lines.end());
            self.take(steps);
            let verdict = self.dialogue.ended(self.exit.as_ref());
            self.end(verdict);
        }
    }

    fn end(&mut self, verdict: Verdict) {
        let end = match &self.exit {
            Some(exit) => ended(verdict, exit),
            None => AgentEnd {
                class: verdict.class,
                code: None,
                signal: None,
                evidence: verdict.evidence,
                session_refused: verdict.session_refused,
                spent: verdict.spent,
            },
        };
        self.ready.push_back(AgentEvent::Ended(end));
    }
}

impl Invocation for Conversation {
    fn group(&self) -> Option<u32> {
        Some(self.process.group())
    }

    fn next(&mut self) -> Pin<Box<dyn Future<Output = AgentEvent> + '_>> {
        Box::pin(async {
            loop {
                if let Some(event) = self.ready.pop_front() {
                    return event;
                }
                let happened = self.happens().await;
                self.note(happened);
            }
        })
    }

    fn cancel(&mut self) {
        let steps = self.dialogue.cancel();
        self.take(steps);
    }
}
