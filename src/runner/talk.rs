//! Listens to one invocation of an agent until it ends or has to be ended.

use std::ffi::OsString;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;

use super::attempt::{AttemptEnd, Setting};
use super::context::Compactor;
use super::engine::Engine;
use super::port::{AgentEnd, AgentEvent, Backend, Capabilities, Invocation, Surroundings, Task};
use super::watch::{Stop, TICK};
use super::{AgentWork, Progress, RunError, Stage};
use crate::contract::{ContextLimits, Phase};
use crate::policy::{Class, Ending};
use crate::store::{AgentRecord, InvocationRecord, Layout, SESSION_VERSION, read_agent_record, write_agent_record};
use crate::system::clock;
use crate::system::process::kill_group;

/// How the model's answers are counted out to people: the first, and then every tenth.
const TURNS_SHOWN: u32 = 10;

/// One agent in one attempt.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) phase: Phase,
    pub(super) attempt: u32,
    pub(super) backend: Rc<dyn Backend>,
    pub(super) work: AgentWork,
    pub(super) capabilities: Capabilities,
    surroundings: Surroundings,
    limits: ContextLimits,
    /// What is on disk about it.
    pub(super) record: AgentRecord,
    /// The session that the invocation at hand works in.
    current: Option<String>,
    pub(super) turns: u32,
    tokens: Option<u64>,
    /// What it said last.
    pub(super) said: Option<String>,
    /// A compaction was asked for in this attempt.
    pub(super) compacted: bool,
    /// How often a limit was met.
    pub(super) limits_met: u32,
}

/// How listening ended.
#[derive(Debug)]
pub(super) enum Heard {
    /// The invocation ended.
    Ended(AgentEnd),
    /// It was ended, and the attempt with it.
    Over(AttemptEnd),
    /// It was ended, because its context has to be compacted before it goes on.
    Full,
}

impl Talk {
    pub(super) fn begin(
        engine: &Engine<'_>,
        stage: &Stage,
        work: &AgentWork,
        attempt: u32,
        variables: &[(String, OsString)],
    ) -> Result<Self, RunError> {
        let backend = engine.backends.get(&work.backend).expect("a session begins only with every backend of its plan");
        let earlier = read_agent_record(&engine.layout, stage.phase)?;
        let own = |record: &AgentRecord| record.execution_id == *engine.execution() && record.backend == work.backend;
        let record = earlier.filter(own).unwrap_or_else(|| AgentRecord {
            version: SESSION_VERSION,
            execution_id: engine.execution().clone(),
            phase: stage.phase,
            backend: work.backend.clone(),
            session: None,
            invocations: Vec::new(),
        });
        let surroundings = Surroundings {
            workspace: engine.layout.workspace().to_path_buf(),
            variables: variables.to_vec(),
            withheld: engine.backends.withheld_from(Some(&work.backend)),
            container: None,
        };
        Ok(Self {
            phase: stage.phase,
            attempt,
            capabilities: backend.capabilities(),
            backend,
            work: work.clone(),
            surroundings,
            limits: engine.bounds.context,
            record,
            current: None,
            turns: 0,
            tokens: None,
            said: None,
            compacted: false,
            limits_met: 0,
        })
    }

    /// The session to go on with, where the backend can.
    pub(super) fn session(&self) -> Option<&str> {
        self.record.session.as_deref().filter(|_| self.capabilities.resumes)
    }

    /// When the subscription may be used again, if its quota is used up.
    pub(super) fn used_up(&self) -> Option<Timestamp> {
        self.backend.used_up(&self.surroundings, clock::now().wall())
    }

    /// What the backend is given.
    pub(super) fn task<'a>(&'a self, prompt: &'a str) -> Task<'a> {
        Task {
            prompt,
            system: None,
            max_turns: None,
            effort: self.work.effort,
            limits: self.limits,
            surroundings: &self.surroundings,
        }
    }

    /// Forgets the session: the next invocation begins a new one.
    pub(super) fn forget(&mut self, layout: &Layout) -> Result<(), RunError> {
        self.record.session = None;
        Ok(write_agent_record(layout, &self.record)?)
    }

    /// Takes note of the session, durably, before anything else is done with what the agent says.
    fn named(&mut self, layout: &Layout, session: String) -> Result<(), RunError> {
        self.current = Some(session.clone());
        if self.record.session.as_ref() != Some(&session) {
            self.record.session = Some(session);
            write_agent_record(layout, &self.record)?;
        }
        Ok(())
    }

    /// Takes note of how an invocation ended.
    fn ended(&mut self, layout: &Layout, end: &AgentEnd) -> Result<(), RunError> {
        self.record.invocations.push(InvocationRecord {
            ended_at: clock::now().wall(),
            attempt: self.attempt,
            session: self.current.take(),
            class: end.class.name(),
            code: end.code,
            signal: end.signal.clone(),
            evidence: end.evidence.clone(),
        });
        Ok(write_agent_record(layout, &self.record)?)
    }
}

/// Who compacts the context of a backend's agents.
pub(super) fn compactor(capabilities: Capabilities) -> Compactor {
    Compactor::Agent { itself: capabilities.compacts_itself, on_request: capabilities.compacts_on_request }
}

impl Engine<'_> {
    /// Listens until the invocation is over, and leaves no process of its group behind.
    pub(super) async fn talk(
        &mut self,
        mut invocation: Box<dyn Invocation>,
        talk: &mut Talk,
        setting: &mut Setting<'_>,
    ) -> Result<Heard, RunError> {
        let group = invocation.group();
        if let Some(group) = group {
            self.guard.watch(group);
        }
        let mut heard = self.listen(invocation.as_mut(), talk, setting).await;
        if !matches!(heard, Ok(Heard::Ended(_))) {
            let end = self.hear_agent_out(invocation.as_mut(), talk, setting).await;
            // The reason that ended it comes before what it made of that.
            let class =
                if matches!(heard, Ok(Heard::Over(AttemptEnd::Ended(_)))) { Class::TimedOut } else { Class::Cancelled };
            talk.ended(&self.layout, &AgentEnd { class, evidence: "it was ended by the run".to_owned(), ..end })?;
        }
        drop(invocation);
        if let Some(group) = group {
            kill_group(group, self.bounds.grace).await;
            self.guard.forget(group);
        }
        self.charge();
        for piece in setting.end_of_process()? {
            if !talk.capabilities.structured {
                self.show(&piece, setting.stage);
            }
        }
        setting.context.finish(self.stamp(), self.listener).await?;
        if let Ok(Heard::Ended(end)) = &mut heard {
            end.evidence = self.bounds.redactor.text(&end.evidence);
            talk.ended(&self.layout, end)?;
            self.listener.on(&Progress::AgentEnded { phase: talk.phase, end, turns: talk.turns });
        }
        heard
    }

    async fn listen(
        &mut self,
        invocation: &mut dyn Invocation,
        talk: &mut Talk,
        setting: &mut Setting<'_>,
    ) -> Result<Heard, RunError> {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                event = invocation.next() => {
                    if let AgentEvent::Ended(end) = event {
                        return Ok(Heard::Ended(end));
                    }
                    self.note(event, talk, setting)?;
                    if setting.context.overflowed() {
                        return Ok(Heard::Over(AttemptEnd::Stopped(Stop::Overflow)));
                    }
                    if setting.context.compaction_due() && talk.session().is_some() {
                        return Ok(Heard::Full);
                    }
                }
                interrupt = self.interrupts.next() => {
                    return Ok(Heard::Over(AttemptEnd::Stopped(Stop::Interrupted(interrupt))));
                }
                _ = ticks.tick() => {
                    if let Some(end) = self.look(setting).await? {
                        return Ok(Heard::Over(end));
                    }
                }
            }
        }
    }

    /// Asks the agent to end and keeps what it says to that.
    async fn hear_agent_out(
        &mut self,
        invocation: &mut dyn Invocation,
        talk: &mut Talk,
        setting: &mut Setting<'_>,
    ) -> AgentEnd {
        let grace = self.bounds.grace;
        invocation.cancel();
        let said = async {
            loop {
                match invocation.next().await {
                    AgentEvent::Ended(end) => return end,
                    // A disk that is full keeps nobody from ending.
                    event => drop(self.note(event, talk, setting)),
                }
            }
        };
        let signal = Some("SIGKILL".to_owned());
        let killed =
            AgentEnd { class: Class::Cancelled, code: None, signal, evidence: String::new(), session_refused: false };
        tokio::time::timeout(grace, said).await.unwrap_or(killed)
    }

    /// Takes note of something that an agent did.
    fn note(&mut self, event: AgentEvent, talk: &mut Talk, setting: &mut Setting<'_>) -> Result<(), RunError> {
        let phase = talk.phase;
        match event {
            AgentEvent::Session(session) => talk.named(&self.layout, session)?,
            AgentEvent::Output(piece) => {
                let piece = setting.keep(&piece)?;
                if !talk.capabilities.structured {
                    self.show(&piece, setting.stage);
                }
            }
            AgentEvent::Turn => {
                talk.turns += 1;
                if talk.turns == 1 || talk.turns.is_multiple_of(TURNS_SHOWN) {
                    self.listener.on(&Progress::AgentTurn { phase, turns: talk.turns, tokens: talk.tokens });
                }
            }
            AgentEvent::Usage(tokens) => {
                talk.tokens = Some(tokens);
                let now = self.stamp();
                setting.context.reported(tokens, now, self.listener)?;
            }
            AgentEvent::Said(text) => talk.said = Some(self.bounds.redactor.text(&text)),
            AgentEvent::Retrying { status, wait } => {
                self.listener.on(&Progress::AgentRetrying { phase, status, wait });
            }
            AgentEvent::Compacted { before, after } => {
                self.listener.on(&Progress::AgentCompacted { phase, before, after });
                setting.context.agent_compacted(before.unwrap_or(0).saturating_sub(after.unwrap_or(0)))?;
            }
            AgentEvent::Denied(tools) => {
                let text = format!(
                    "{phase}: the agent was not allowed to use {tools} tools; see `permissions` of its backend"
                );
                self.listener.on(&Progress::Notice { text: &text });
            }
            AgentEvent::Ended(_) => {}
        }
        Ok(())
    }

    /// The end of an attempt that took too long.
    pub(super) fn late(setting: &Setting<'_>) -> Option<AttemptEnd> {
        let now = clock::now();
        let late = setting.stage.timeout.filter(|timeout| now.since(setting.began) >= *timeout);
        let silent = setting.stage.idle_timeout.filter(|timeout| now.since(setting.heard) >= *timeout);
        late.or(silent).map(|timeout: Duration| AttemptEnd::Ended(Ending::TimedOut(timeout)))
    }
}
