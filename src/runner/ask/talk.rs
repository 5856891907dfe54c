//! One invocation of an agent that is asked: listened to until it ends, or until we are to end.

use std::time::Duration;

use super::super::agent::prompt;
use super::super::port::{AgentEnd, AgentEvent, Invocation, Task};
use super::super::watch::TICK;
use super::{AskEvent, Asking, Begins, Printed, Thread, millis, retold};
use crate::policy::{Class, RedactedStream};
use crate::system::process::{Interrupt, Piece, Stream, kill_group};

/// Why an agent is not listened to any longer.
enum Cut {
    Interrupted(Interrupt),
    /// Its time is over.
    Late,
}

impl Asking<'_> {
    /// Starts the agent and listens until it is over. Leaves nothing of its group behind.
    pub(super) async fn invoke(&mut self) -> (AgentEnd, Option<Interrupt>) {
        self.begin();
        let mut invocation = match self.start() {
            Ok(invocation) => invocation,
            Err(error) => return (not_started(&error), None),
        };
        let group = invocation.group();
        if let Some(group) = group {
            self.guard.watch(group);
        }
        let heard = self.listen(invocation.as_mut()).await;
        let ended = match heard {
            Ok(end) => (end, None),
            Err(Cut::Interrupted(interrupt)) => (self.hear_out(invocation.as_mut()).await, Some(interrupt)),
            Err(Cut::Late) => {
                let end = self.hear_out(invocation.as_mut()).await;
                let evidence = "it took as long as it may".to_owned();
                (AgentEnd { class: Class::TimedOut, evidence, session_refused: false, ..end }, None)
            }
        };
        drop(invocation);
        if let Some(group) = group {
            kill_group(group, self.question.grace).await;
            self.guard.forget(group);
        }
        let rest = self.complaints.finish(&self.question.redactor);
        self.complain(rest);
        ended
    }

    /// Forgets the invocation before, and says how the next one begins.
    fn begin(&mut self) {
        self.attempts += 1;
        (self.denied, self.announced, self.complaints) = (0, None, RedactedStream::default());
        self.printed = Printed::default();
        let (begins, session) = self.beginning();
        let session = match begins {
            Begins::Named => match &self.thread {
                Thread::Named(id) => Some(id.clone()),
                _ => None,
            },
            _ => session.earlier().map(str::to_owned),
        };
        let backend = self.question.backend.name().to_owned();
        self.listener.on(&AskEvent::Attempt { number: self.attempts, backend, begins, session });
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

    async fn listen(&mut self, invocation: &mut dyn Invocation) -> Result<AgentEnd, Cut> {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            if self.time_left() == Some(Duration::ZERO) {
                return Err(Cut::Late);
            }
            tokio::select! {
                event = invocation.next() => match event {
                    AgentEvent::Ended(end) => return Ok(end),
                    event => self.note(event),
                },
                interrupt = self.interrupts.next() => return Err(Cut::Interrupted(interrupt)),
                _ = ticks.tick() => self.guard.watch_orphans(),
            }
        }
    }

    /// Asks the agent to end and keeps what it says to that.
    async fn hear_out(&mut self, invocation: &mut dyn Invocation) -> AgentEnd {
        let grace: Duration = self.question.grace;
        invocation.cancel();
        let said = async {
            loop {
                match invocation.next().await {
                    AgentEvent::Ended(end) => return end,
                    event => self.note(event),
                }
            }
        };
        let signal = Some("SIGKILL".to_owned());
        let killed =
            AgentEnd { class: Class::Cancelled, code: None, signal, evidence: String::new(), session_refused: false };
        tokio::time::timeout(grace, said).await.unwrap_or(killed)
    }

    /// Takes note of something that the agent did, and passes it on.
    fn note(&mut self, event: AgentEvent) {
        let redactor = &self.question.redactor;
        let event = match event {
            AgentEvent::Output(piece) => return self.output(&piece),
            AgentEvent::Session(session) => {
                self.announced = Some(session.clone());
                self.session = Some(session.clone());
                AskEvent::Session { session }
            }
            AgentEvent::Turn => {
                self.turns += 1;
                AskEvent::Turn { turns: self.turns }
            }
            AgentEvent::Usage(context_tokens) => AskEvent::Usage { context_tokens },
            AgentEvent::Said(text) => {
                let text = redactor.text(&text);
                self.said = Some(text.clone());
                AskEvent::Said { text }
            }
            AgentEvent::Retrying { status, wait } => AskEvent::Retrying { status, wait_ms: wait.map(millis) },
            AgentEvent::Compacted { before, after } => AskEvent::Compacted { before, after },
            AgentEvent::Denied(tools) => {
                self.denied += tools;
                AskEvent::Denied { tools: tools as u64 }
            }
            AgentEvent::Ended(_) => return,
        };
        self.listener.on(&event);
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
    AgentEnd { class: Class::Permanent, code: None, signal: None, evidence, session_refused: false }
}
