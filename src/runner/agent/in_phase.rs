//! Brings an agent through one attempt of a phase: invocations in one session until its work is done, failed, or has to
//! stop.

use std::ffi::OsString;
use std::time::Duration;

use jiff::Timestamp;

use super::driver::{Driven, Host, activity, drive, ended};
use super::port::{AgentEnd, AgentEvent, Capabilities, Invocation, Session};
use super::session::AgentSession;
use crate::contract::Phase;
use crate::events::{AgentActivity, Begins, Event, Observation};
use crate::policy::{Class, Consequence, Ending, next_look};
use crate::runner::attempt::{AttemptEnd, Setting};
use crate::runner::context::Compactor;
use crate::runner::engine::Engine;
use crate::runner::watch::{Stop, signal_or_tick};
use crate::runner::{AgentWork, RunError};
use crate::system::clock;
use crate::system::guard::Guard;

/// What an agent is told when it goes on in its own session.
const GO_ON: &str = "You were stopped before the task was done. Go on where you stopped, and finish the task.";
/// How the model's answers are counted out to people: the first, and then every tenth.
const TURNS_SHOWN: u32 = 10;

/// How one invocation went on.
enum Next {
    /// The attempt is over.
    End(AttemptEnd),
    /// Another invocation follows.
    Again,
}

/// Why an invocation in a phase is cut short.
#[derive(Debug)]
enum Cut {
    /// The attempt is over.
    Over(AttemptEnd),
    /// Its context has to be compacted before it goes on.
    Full,
}

/// Who compacts the context of a backend's agents.
pub(in crate::runner) fn compactor(capabilities: Capabilities) -> Compactor {
    Compactor::Agent { itself: capabilities.compacts_itself, on_request: capabilities.compacts_on_request }
}

/// A phase that has an agent do its work.
struct PhaseHost<'h, 'e, 's> {
    engine: &'h mut Engine<'e>,
    agent: &'h mut AgentSession,
    setting: &'h mut Setting<'s>,
}

impl Host for PhaseHost<'_, '_, '_> {
    type Cut = Cut;
    type Error = RunError;

    fn guard(&mut self) -> &mut Guard {
        &mut self.engine.guard
    }

    fn grace(&self) -> Duration {
        self.engine.bounds.grace
    }

    fn heard(&mut self, event: AgentEvent) -> Result<Option<Cut>, RunError> {
        self.engine.note(event, self.agent, self.setting)?;
        if self.setting.context.overflowed() {
            return Ok(Some(Cut::Over(AttemptEnd::Stopped(Stop::Overflow))));
        }
        let full = self.setting.context.compaction_due() && self.agent.earlier().is_some();
        Ok(full.then_some(Cut::Full))
    }

    async fn interrupted(&mut self) -> Cut {
        let interrupt = self.engine.interrupts.next().await;
        self.engine.journal.say_ending();
        Cut::Over(AttemptEnd::Stopped(Stop::Interrupted(interrupt)))
    }

    async fn tick(&mut self) -> Result<Option<Cut>, RunError> {
        Ok(self.engine.look(self.setting).await?.map(Cut::Over))
    }
}

impl Engine<'_> {
    /// Runs the agent until the attempt is over. `trouble` is how the attempt before failed, as far as this session knows.
    pub(in crate::runner) async fn run_agent(
        &mut self,
        work: &AgentWork,
        setting: &mut Setting<'_>,
        variables: &[(String, OsString)],
        trouble: Option<&str>,
    ) -> Result<AttemptEnd, RunError> {
        let mut agent = AgentSession::begin(self, setting.stage, work, variables);
        let mut trouble = trouble.map(str::to_owned);
        let end = loop {
            if let Some(until) = agent.used_up()
                && let Next::End(end) = self.wait_for_limit(&mut agent, setting, Some(until)).await?
            {
                break end;
            }
            let prompt = prompt(&work.prompt, agent.earlier().is_some(), trouble.take().as_deref());
            if let Next::End(end) = self.invoke(&mut agent, &prompt, setting).await? {
                break end;
            }
        };
        setting.said = agent.said;
        Ok(end)
    }

    /// One invocation, and what follows from it.
    async fn invoke(
        &mut self,
        agent: &mut AgentSession,
        prompt: &str,
        setting: &mut Setting<'_>,
    ) -> Result<Next, RunError> {
        self.begin_invocation(agent)?;
        let backend = agent.backend.clone();
        let session = agent.earlier().map_or(Session::New, Session::Earlier);
        let invocation = match backend.invoke(&agent.task(prompt), session) {
            Ok(invocation) => invocation,
            Err(error) => return Ok(Next::End(AttemptEnd::Ended(Ending::SpawnFailed(error.to_string())))),
        };
        Ok(match self.drive(invocation, agent, setting).await? {
            Driven::Cut(Cut::Over(end), _) => Next::End(end),
            Driven::Cut(Cut::Full, _) => self.compact_agent(agent, setting).await?,
            Driven::Ended(end) => self.after(&end, agent, setting).await?,
        })
    }

    fn begin_invocation(&mut self, agent: &mut AgentSession) -> Result<(), RunError> {
        agent.invocations += 1;
        let session = agent.earlier().map(str::to_owned);
        let begins = if session.is_some() { Begins::Resumed } else { Begins::New };
        let (number, backend) = (agent.invocations, agent.backend.name().to_owned());
        let attempt = AgentActivity::Attempt { number, backend, begins, session };
        self.record(Event::Agent { phase: agent.phase, agent: attempt })
    }

    /// Listens until the invocation is over, and journals how it ended.
    async fn drive(
        &mut self,
        invocation: Box<dyn Invocation>,
        agent: &mut AgentSession,
        setting: &mut Setting<'_>,
    ) -> Result<Driven<Cut>, RunError> {
        let driven = drive(invocation, &mut PhaseHost { engine: self, agent, setting }).await;
        for piece in setting.end_of_process()? {
            if !agent.capabilities.structured {
                self.show(&piece, setting.stage);
            }
        }
        setting.context.finish(self.stamp()).await?;
        self.tell(setting)?;
        let end = match driven? {
            Driven::Ended(mut end) => {
                end.evidence = self.bounds.redactor.text(&end.evidence);
                Driven::Ended(end)
            }
            // The reason that ended it comes before what it made of that.
            Driven::Cut(cut, end) => {
                let late = matches!(cut, Cut::Over(AttemptEnd::Ended(_)));
                let class = if late { Class::TimedOut } else { Class::Cancelled };
                Driven::Cut(cut, AgentEnd { class, evidence: "it was ended by the run".to_owned(), ..end })
            }
        };
        let (Driven::Ended(told) | Driven::Cut(_, told)) = &end;
        let told = ended(told, agent.current.take(), None, Some(agent.turns));
        self.record(Event::Agent { phase: agent.phase, agent: told })?;
        Ok(end)
    }

    /// What follows an invocation that ended by itself.
    async fn after(
        &mut self,
        end: &AgentEnd,
        agent: &mut AgentSession,
        setting: &mut Setting<'_>,
    ) -> Result<Next, RunError> {
        if end.session_refused {
            self.notice(format!("{}: the session is not there any more; a new one begins", agent.phase));
            agent.known = None;
            self.record(Event::AgentSessionDropped { phase: agent.phase })?;
            return Ok(Next::Again);
        }
        if let Class::Transient { wait } = end.class {
            setting.wait = wait;
        }
        let may_compact = agent.capabilities.compacts_on_request && agent.earlier().is_some() && !agent.compacted;
        Ok(match end.class.consequence(may_compact, &end.evidence) {
            Consequence::Gate => Next::End(AttemptEnd::Ended(Ending::Exited(0))),
            Consequence::Conclude(outcome) => Next::End(AttemptEnd::Concluded(outcome)),
            Consequence::Compact => self.compact_agent(agent, setting).await?,
            Consequence::Overflow => {
                setting.context.give_up();
                Next::End(AttemptEnd::Stopped(Stop::Overflow))
            }
            Consequence::Stop => Next::End(AttemptEnd::Stopped(Stop::Cancelled)),
            Consequence::Wait(until) => self.wait_for_limit(agent, setting, until).await?,
        })
    }

    /// Asks the agent for an emergency compaction; the invocation that follows goes on in the smaller context.
    async fn compact_agent(&mut self, agent: &mut AgentSession, setting: &mut Setting<'_>) -> Result<Next, RunError> {
        agent.compacted = true;
        let session = agent.earlier().expect("only a session that is there is compacted").to_owned();
        let backend = agent.backend.clone();
        setting.context.request_taken();
        let driven = match backend.compact(&agent.task(""), &session) {
            Ok(Some(invocation)) => self.drive(invocation, agent, setting).await?,
            Ok(None) => unreachable!("asked only of a backend that can"),
            Err(error) => return Ok(Next::End(AttemptEnd::Ended(Ending::SpawnFailed(error.to_string())))),
        };
        setting.context.request_ended();
        match driven {
            Driven::Cut(Cut::Over(end), _) => return Ok(Next::End(end)),
            Driven::Ended(end) if end.class != Class::Done => {
                self.notice(format!("{}: the compaction did not succeed: {}", agent.phase, end.evidence));
            }
            Driven::Ended(_) | Driven::Cut(Cut::Full, _) => {}
        }
        Ok(Next::Again)
    }

    /// Waits until a provider's limit is lifted. The time is neither the run's nor the attempt's.
    async fn wait_for_limit(
        &mut self,
        agent: &mut AgentSession,
        setting: &mut Setting<'_>,
        resets_at: Option<Timestamp>,
    ) -> Result<Next, RunError> {
        self.charge()?;
        let began = clock::now();
        let until = next_look(resets_at, agent.limits_met, began.wall());
        agent.limits_met = agent.limits_met.saturating_add(1);
        let wait = left(until);
        if wait > self.bounds.limit_patience {
            let known = resets_at.filter(|reset| *reset == until);
            return Ok(Next::End(AttemptEnd::Stopped(Stop::OutOfPatience(known))));
        }
        self.bounds.limit_patience -= wait;
        self.record(Event::LimitReached { phase: agent.phase, until })?;
        let mut stop = None;
        while stop.is_none() && !left(until).is_zero() {
            stop = signal_or_tick(&mut self.interrupts, left(until)).await;
            stop = stop.or(self.place.halt_request().exists().then_some(Stop::Halted));
        }
        self.charged = clock::now();
        setting.began = setting.began.later(self.charged.since(began));
        Ok(stop.map_or(Next::Again, |stop| Next::End(AttemptEnd::Stopped(stop))))
    }

    /// Takes note of something that an agent did.
    fn note(&mut self, event: AgentEvent, agent: &mut AgentSession, setting: &mut Setting<'_>) -> Result<(), RunError> {
        let phase = agent.phase;
        if let AgentEvent::Output(piece) = &event {
            let piece = setting.keep(piece)?;
            if !agent.capabilities.structured {
                self.show(&piece, setting.stage);
            }
            return Ok(());
        }
        agent.turns += u32::from(event == AgentEvent::Turn);
        let Some(did) = activity(event, agent.turns, &self.bounds.redactor) else { return Ok(()) };
        match &did {
            AgentActivity::Session { session } => {
                agent.current = Some(session.clone());
                // Durable before anything else is done with what the agent says.
                if agent.known.as_ref() != Some(session) {
                    agent.known = Some(session.clone());
                    self.record(Event::Agent { phase, agent: did })?;
                }
            }
            AgentActivity::Turn { turns } if *turns == 1 || turns.is_multiple_of(TURNS_SHOWN) => {
                self.observe(&Observation::Agent { phase, agent: did });
            }
            AgentActivity::Usage { context_tokens } => {
                agent.tokens = Some(*context_tokens);
                let now = self.stamp();
                setting.context.reported(*context_tokens, now)?;
                self.tell(setting)?;
            }
            AgentActivity::Said { text } => agent.said = Some(text.clone()),
            AgentActivity::Retrying { .. } => self.observe(&Observation::Agent { phase, agent: did }),
            AgentActivity::Compacted { before, after } => {
                let freed = before.unwrap_or(0).saturating_sub(after.unwrap_or(0));
                self.record(Event::Agent { phase, agent: did })?;
                setting.context.agent_compacted(freed)?;
                self.tell(setting)?;
            }
            AgentActivity::Denied { .. } => self.record(Event::Agent { phase, agent: did })?,
            _ => {}
        }
        Ok(())
    }

    /// A phase that begins anew begins in a new session.
    pub(in crate::runner) fn drop_session(&mut self, phase: Phase) -> Result<(), RunError> {
        let known = self.journal.state().agents.get(&phase).is_some_and(|agent| agent.session.is_some());
        if known { self.record(Event::AgentSessionDropped { phase }) } else { Ok(()) }
    }
}

/// The time that is left until then.
pub(super) fn left(until: Timestamp) -> Duration {
    Duration::try_from(until.duration_since(clock::now().wall())).unwrap_or(Duration::ZERO)
}

/// What the agent is told.
pub(super) fn prompt(task: &str, goes_on: bool, trouble: Option<&str>) -> String {
    let trouble = trouble.map(|trouble| format!("The last attempt did not succeed: {trouble}"));
    match (goes_on, trouble) {
        (false, None) => task.to_owned(),
        (false, Some(trouble)) => format!("{task}\n\n{trouble}"),
        (true, None) => GO_ON.to_owned(),
        (true, Some(trouble)) => format!("{trouble}\n\nMend that, and finish the task."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_goes_on_is_not_told_its_task_again() {
        assert_eq!(prompt("Build it.", false, None), "Build it.");
        assert_eq!(prompt("Build it.", true, None), GO_ON);
        for goes_on in [true, false] {
            let told = prompt("Build it.", goes_on, Some("exit 1: two tests fail"));
            assert!(told.contains("two tests fail"));
            assert_eq!(told.contains("Build it."), !goes_on);
        }
    }
}
