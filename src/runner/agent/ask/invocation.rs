//! One invocation of an agent that is asked: how it begins, and what is passed on of it.

use std::convert::Infallible;
use std::time::Duration;

use tracing::{Instrument, info_span};

use super::super::driver::{Driven, Host, activity, drive};
use super::super::port::{AgentEnd, AgentEvent, Invocation, Task};
use super::super::prompt::prompt;
use super::super::unreached::{EVIDENCE, Sign, Unreached};
use super::{Asking, Begins, Printed, Thread, retold};
use crate::events::AgentActivity;
use crate::policy::{Class, RedactedStream};
use crate::system::clock;
use crate::system::guard::Guard;
use crate::system::process::{Interrupt, Piece, Stream};

/// Why an agent is not listened to any longer.
pub(super) enum Cut {
    Interrupted(Interrupt),
    /// Its time is over.
    Late,
    /// It does nothing any more but try to reach its provider.
    Unreached,
}

impl Host for Asking<'_> {
    type Cut = Cut;
    type Error = Infallible;

    fn guard<T>(&mut self, tell: impl FnOnce(&mut Guard) -> T) -> T {
        tell(&mut self.guard)
    }

    fn grace(&self) -> Duration {
        self.question.grace
    }

    async fn heard(&mut self, event: AgentEvent) -> Result<Option<Cut>, Infallible> {
        let in_vain = self.unreached.heard(&event, clock::now(), Duration::MAX) == Some(Sign::InVain);
        self.note(event);
        Ok(self.is_late().or(in_vain.then_some(Cut::Unreached)))
    }

    async fn interrupted(&mut self) -> Cut {
        Cut::Interrupted(self.interrupts.next().await)
    }

    async fn tick(&mut self) -> Result<Option<Cut>, Infallible> {
        self.guard.watch_orphans();
        Ok(self.is_late())
    }
}

impl Asking<'_> {
    /// Starts the agent and listens until it is over. Leaves nothing of its group behind.
    pub(super) async fn invoke(&mut self) -> (AgentEnd, Option<Interrupt>) {
        self.begin();
        let invocation = match self.start() {
            Ok(invocation) => invocation,
            Err(error) => return (not_started(&error), None),
        };
        let (backend, number) = (self.question.backend.name(), self.attempts);
        let span = info_span!(target: "invocation", "invocation", backend, number);
        let Ok(driven) = drive(invocation, self).instrument(span).await;
        let ended = match driven {
            Driven::Ended(end) => (end, None),
            Driven::Cut(Cut::Interrupted(interrupt), end) => (end, Some(interrupt)),
            Driven::Cut(Cut::Late, end) => {
                let evidence = "it took as long as it may".to_owned();
                (AgentEnd { class: Class::TimedOut, evidence, session_refused: false, ..end }, None)
            }
            Driven::Cut(Cut::Unreached, end) => {
                let (class, evidence) = (Class::Outage, EVIDENCE.to_owned());
                (AgentEnd { class, evidence, session_refused: false, ..end }, None)
            }
        };
        let rest = self.complaints.finish(&self.question.redactor);
        self.complain(rest);
        ended
    }

    fn is_late(&self) -> Option<Cut> {
        (self.time_left() == Some(Duration::ZERO)).then_some(Cut::Late)
    }

    /// Forgets the invocation before, and says how the next one begins.
    fn begin(&mut self) {
        self.attempts += 1;
        (self.denied, self.announced, self.complaints) = (0, None, RedactedStream::default());
        (self.printed, self.unreached) = (Printed::default(), Unreached::default());
        let (begins, session) = self.beginning();
        let session = match begins {
            Begins::Named => match &self.thread {
                Thread::Named(id) => Some(id.clone()),
                _ => None,
            },
            _ => session.earlier().map(str::to_owned),
        };
        let backend = self.question.backend.name().to_owned();
        self.listener.on(&AgentActivity::Attempt { number: self.attempts, backend, begins, session });
    }

    fn start(&self) -> std::io::Result<Box<dyn Invocation>> {
        let (_, session) = self.beginning();
        let told = match &self.thread {
            Thread::Retold(earlier) => retold(earlier, &self.question.prompt),
            _ => prompt(&self.question.prompt, self.told, None),
        };
        let task = Task {
            prompt: &told,
            system: self.question.system.as_deref(),
            max_turns: self.question.max_turns,
            effort: self.question.effort,
            limits: self.question.limits,
            surroundings: &self.surroundings,
        };
        self.question.backend.invoke(&task, session)
    }

    /// Takes note of something that the agent did, and passes it on.
    fn note(&mut self, event: AgentEvent) {
        if let AgentEvent::Output(piece) = &event {
            return self.output(piece);
        }
        self.turns += u32::from(event == AgentEvent::Turn);
        let Some(did) = activity(event, self.turns, &self.question.redactor) else { return };
        match &did {
            AgentActivity::Session { session } => {
                self.announced = Some(session.clone());
                self.session = Some(session.clone());
            }
            AgentActivity::Said { text } => self.said = Some(text.clone()),
            AgentActivity::Denied { tools } => self.denied += usize::try_from(*tools).unwrap_or(usize::MAX),
            _ => {}
        }
        self.listener.on(&did);
    }

    fn output(&mut self, piece: &Piece) {
        match piece.stream {
            Stream::Stdout if !self.capabilities.structured => self.printed.take(&piece.bytes),
            Stream::Stdout => {}
            Stream::Stderr => {
                let safe = self.complaints.push(&self.question.redactor, &piece.bytes);
                self.complain(safe);
            }
        }
    }

    fn complain(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.listener.wrote(&Piece { stream: Stream::Stderr, bytes });
        }
    }
}

/// A program that the host cannot start will not start next time either.
fn not_started(error: &std::io::Error) -> AgentEnd {
    let evidence = format!("it could not be started: {error}");
    AgentEnd { class: Class::Permanent, code: None, signal: None, evidence, session_refused: false, spent: None }
}
