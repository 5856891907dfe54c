//! Brings an agent through one attempt of a phase: invocations in one session until its work is done, failed, or has to
//! stop.

use std::time::Duration;

use jiff::Timestamp;
use tracing::{Instrument, info, info_span};

use super::agent_session::AgentSession;
use super::attempt::{End, StageTask};
use super::inbox::Fact;
use super::outage::HANGS;
use crate::events::{AgentActivity, Begins, Event, Observation};
use crate::policy::{Class, Consequence, StageOutcome, next_look};
use crate::runner::agent::{Driven, EVIDENCE, Host, Sign, TICK, activity, drive, ended, left, prompt};
use crate::runner::decide::Stop;
use crate::runner::{AgentEnd, AgentEvent, AgentWork, Invocation, RunError, Session};
use crate::system::clock;
use crate::system::guard::Guard;

/// How the model's answers are counted out to people: the first, and then every tenth.
const TURNS_SHOWN: u32 = 10;

/// How one invocation went on.
enum Next {
    /// The attempt is over.
    End(End),
    /// Another invocation follows.
    Again,
}

/// Why an invocation in a phase is cut short.
#[derive(Debug)]
enum Cut {
    /// The attempt is over.
    Over(Stop),
    /// Its context has to be compacted before it goes on.
    Full,
    /// Within an outage, it was not answered for so long that it hangs.
    Unanswered,
    /// It does nothing any more but try to reach its provider.
    Unreached,
}

/// A phase that has an agent do its work.
struct PhaseHost<'h> {
    task: &'h mut StageTask,
    agent: &'h mut AgentSession,
}

impl Host for PhaseHost<'_> {
    type Cut = Cut;
    type Error = RunError;

    fn guard<T>(&mut self, tell: impl FnOnce(&mut Guard) -> T) -> T {
        tell(&mut self.task.guard.borrow_mut())
    }

    fn grace(&self) -> Duration {
        self.task.bounds.grace
    }

    async fn heard(&mut self, event: AgentEvent) -> Result<Option<Cut>, RunError> {
        let patience = self.task.patience_left(self.agent);
        let sign = self.agent.unreached.heard(&event, clock::now(), patience);
        self.task.charge_by(sign, self.agent).await;
        self.task.note(event, self.agent).await?;
        if sign == Some(Sign::InVain) {
            return Ok(Some(Cut::Unreached));
        }
        if let Some(since) = &mut self.agent.probing {
            *since = clock::now();
        }
        if self.task.context.overflowed() {
            return Ok(Some(Cut::Over(Stop::Overflow)));
        }
        let full = self.task.context.compaction_due() && self.agent.earlier().is_some();
        Ok(full.then_some(Cut::Full))
    }

    async fn interrupted(&mut self) -> Cut {
        Cut::Over(self.task.stop().await)
    }

    async fn tick(&mut self) -> Result<Option<Cut>, RunError> {
        self.task.look().await?;
        let sign = self.agent.unreached.looked_at(clock::now());
        self.task.charge_by(sign, self.agent).await;
        if self.agent.probing.is_some_and(|since| clock::now().since(since) >= HANGS) {
            return Ok(Some(Cut::Unanswered));
        }
        if let Some(exceeded) = self.task.exceeded() {
            return Ok(Some(Cut::Over(Stop::Exceeded(exceeded))));
        }
        Ok(self.task.context.overflowed().then_some(Cut::Over(Stop::Overflow)))
    }
}

impl StageTask {
    /// Runs the agent until the attempt is over.
    pub(super) async fn run_agent(&mut self, work: &AgentWork) -> Result<End, RunError> {
        let mut agent = AgentSession::begin(self, work);
        let mut trouble = self.order.trouble.clone();
        let end = loop {
            if let Some(until) = agent.used_up()
                && let Next::End(end) = self.wait_for_limit(&mut agent, Some(until)).await?
            {
                break end;
            }
            let prompt = prompt(&work.prompt, agent.earlier().is_some(), trouble.take().as_deref());
            if let Next::End(end) = self.invoke(&mut agent, &prompt).await? {
                break end;
            }
        };
        self.said = agent.said;
        Ok(end)
    }

    /// One invocation, and what follows from it.
    async fn invoke(&mut self, agent: &mut AgentSession, prompt: &str) -> Result<Next, RunError> {
        self.begin_invocation(agent).await;
        let backend = agent.backend.clone();
        let session = agent.earlier().map_or(Session::New, Session::Earlier);
        let invocation = match backend.invoke(&agent.task(prompt), session) {
            Ok(invocation) => invocation,
            Err(error) => return Ok(Next::End(Ok(StageOutcome::spawn_failed(&error.to_string())))),
        };
        Ok(match self.drive(invocation, agent).await? {
            Driven::Cut(Cut::Over(stop), _) => Next::End(Err(stop)),
            Driven::Cut(Cut::Full, _) => self.compact_agent(agent).await?,
            Driven::Cut(Cut::Unanswered, end) => self.wait_for_provider(agent, &end.evidence).await?,
            Driven::Cut(Cut::Unreached, end) | Driven::Ended(end) => self.after(&end, agent).await?,
        })
    }

    async fn begin_invocation(&mut self, agent: &mut AgentSession) {
        agent.invocations += 1;
        let sign = agent.unreached.over();
        self.charge_by(sign, agent).await;
        agent.idle_since = Some(clock::now());
        let session = agent.earlier().map(str::to_owned);
        let begins = if session.is_some() { Begins::Resumed } else { Begins::New };
        let (number, backend) = (agent.invocations, agent.backend.name().to_owned());
        let attempt = AgentActivity::Attempt { number, backend, begins, session };
        self.inbox.announce(Fact::Happened(Event::Agent { phase: agent.phase, agent: attempt })).await;
    }

    /// Listens until the invocation is over, and has journaled how it ended.
    async fn drive(
        &mut self,
        invocation: Box<dyn Invocation>,
        agent: &mut AgentSession,
    ) -> Result<Driven<Cut>, RunError> {
        let (backend, number) = (agent.backend.name(), agent.invocations);
        let span = info_span!(target: "invocation", "invocation", backend, number);
        let driven = drive(invocation, &mut PhaseHost { task: self, agent }).instrument(span.clone()).await;
        self.end_of_process(!agent.capabilities.structured).await?;
        let end = match driven? {
            Driven::Ended(mut end) => {
                end.evidence = self.bounds.redactor.text(&end.evidence);
                end = end.with_outage_codes(agent.capabilities.structured, &self.bounds.outage_codes);
                if end.class == Class::Outage {
                    end.class = self.class_of_outage();
                }
                Driven::Ended(end)
            }
            Driven::Cut(Cut::Unanswered, end) => {
                let evidence = "the provider did not answer".to_owned();
                Driven::Cut(Cut::Unanswered, AgentEnd { class: Class::Outage, evidence, ..end })
            }
            Driven::Cut(Cut::Unreached, end) => {
                let (class, evidence) = (self.class_of_outage(), EVIDENCE.to_owned());
                Driven::Cut(Cut::Unreached, AgentEnd { class, evidence, session_refused: false, ..end })
            }
            // The reason that ended it comes before what it made of that.
            Driven::Cut(cut, end) => {
                let late = matches!(cut, Cut::Over(Stop::Late(_) | Stop::Silent(_)));
                let class = if late { Class::TimedOut } else { Class::Cancelled };
                Driven::Cut(cut, AgentEnd { class, evidence: "it was ended by the run".to_owned(), ..end })
            }
        };
        let (Driven::Ended(told) | Driven::Cut(_, told)) = &end;
        span.in_scope(|| info!(target: "invocation", class = %told.class.name(), "ended"));
        let told = ended(told, agent.current.take(), None, Some(agent.turns));
        self.inbox.announce(Fact::Happened(Event::Agent { phase: agent.phase, agent: told })).await;
        Ok(end)
    }

    /// How long the agent may still try to reach its provider.
    fn patience_left(&self, agent: &AgentSession) -> Duration {
        let all = self.bounds.outage_patience;
        match self.order.patience_ends.filter(|_| agent.probing.is_some()) {
            _ if all.is_zero() => Duration::MAX,
            Some(ends) => left(ends),
            None => all,
        }
    }

    /// The time in which an agent only tries to reach its provider is nobody's, where outages are waited for.
    async fn charge_by(&mut self, sign: Option<Sign>, agent: &AgentSession) {
        let waits = !self.bounds.outage_patience.is_zero();
        match sign.filter(|_| waits && agent.probing.is_none()) {
            Some(Sign::Begins) => drop(self.inbox.announce(Fact::Unreached { since: clock::now() }).await),
            Some(Sign::Over) => drop(self.inbox.announce(Fact::LimitLifted).await),
            Some(Sign::InVain) | None => {}
        }
    }

    /// What an outage is to this run: one that nobody wants to wait for is a failure like others.
    fn class_of_outage(&self) -> Class {
        let waits = !self.bounds.outage_patience.is_zero();
        if waits { Class::Outage } else { Class::Outage.without_outages() }
    }

    /// What follows an invocation that is over, and says itself what that means.
    async fn after(&mut self, end: &AgentEnd, agent: &mut AgentSession) -> Result<Next, RunError> {
        if end.session_refused {
            let text = format!("{}: the session is not there any more; a new one begins", agent.phase);
            self.inbox.tell(Fact::Happened(Event::Notice { text: text.into() })).await;
            agent.known = None;
            self.inbox.announce(Fact::Happened(Event::AgentSessionDropped { phase: agent.phase })).await;
            return Ok(Next::Again);
        }
        if end.class != Class::Outage {
            self.answered(agent).await;
        }
        if let Class::Transient { wait } = end.class {
            self.wait = wait;
        }
        let may_compact = agent.capabilities.compacts_on_request && agent.earlier().is_some() && !agent.compacted;
        Ok(match end.class.consequence(may_compact, &end.evidence) {
            Consequence::Gate => Next::End(Ok(StageOutcome::exited(0))),
            Consequence::Conclude(outcome) => Next::End(Ok(outcome)),
            Consequence::Compact => self.compact_agent(agent).await?,
            Consequence::Overflow => {
                self.context.give_up();
                Next::End(Err(Stop::Overflow))
            }
            Consequence::Stop => Next::End(Err(Stop::Cancelled)),
            Consequence::Wait(until) => self.wait_for_limit(agent, until).await?,
            Consequence::Probe => {
                // It was not answered once, so all that it did was to try.
                if let Some(since) = agent.idle_since.filter(|_| agent.capabilities.usage && agent.probing.is_none()) {
                    self.inbox.announce(Fact::Unreached { since }).await;
                }
                self.wait_for_provider(agent, &end.evidence).await?
            }
        })
    }

    /// Asks the agent for an emergency compaction; the invocation that follows goes on in the smaller context.
    async fn compact_agent(&mut self, agent: &mut AgentSession) -> Result<Next, RunError> {
        agent.compacted = true;
        let session = agent.earlier().expect("only a session that is there is compacted").to_owned();
        let backend = agent.backend.clone();
        self.context.request_taken();
        let driven = match backend.compact(&agent.task(""), &session) {
            Ok(Some(invocation)) => self.drive(invocation, agent).await?,
            Ok(None) => unreachable!("asked only of a backend that can"),
            Err(error) => return Ok(Next::End(Ok(StageOutcome::spawn_failed(&error.to_string())))),
        };
        self.context.request_ended();
        match driven {
            Driven::Cut(Cut::Over(stop), _) => return Ok(Next::End(Err(stop))),
            Driven::Ended(end) if end.class != Class::Done => {
                let text = format!("{}: the compaction did not succeed: {}", agent.phase, end.evidence);
                self.inbox.tell(Fact::Happened(Event::Notice { text: text.into() })).await;
            }
            Driven::Ended(_) | Driven::Cut(Cut::Full | Cut::Unanswered | Cut::Unreached, _) => {}
        }
        Ok(Next::Again)
    }

    /// Waits until a provider's limit is lifted, unless the owner thinks that too long. The time is neither the run's nor
    /// the attempt's.
    async fn wait_for_limit(
        &mut self,
        agent: &mut AgentSession,
        resets_at: Option<Timestamp>,
    ) -> Result<Next, RunError> {
        let until = next_look(resets_at, agent.limits_met, clock::now().wall());
        agent.limits_met = agent.limits_met.saturating_add(1);
        let known = resets_at.filter(|reset| *reset == until);
        self.inbox.announce(Fact::LimitReached { until, known }).await;
        while !left(until).is_zero() {
            tokio::select! {
                biased;
                stop = self.stop() => return Ok(Next::End(Err(stop))),
                () = tokio::time::sleep(TICK.min(left(until))) => {}
            }
        }
        self.inbox.announce(Fact::LimitLifted).await;
        Ok(Next::Again)
    }

    /// Waits before the provider is asked again.
    async fn wait_for_provider(&mut self, agent: &mut AgentSession, reason: &str) -> Result<Next, RunError> {
        if let Some(stop) = self.wait_out(reason.to_owned()).await {
            return Ok(Next::End(Err(stop)));
        }
        agent.probing = Some(clock::now());
        Ok(Next::Again)
    }

    /// The provider answered, or failed otherwise than by an outage.
    async fn answered(&mut self, agent: &mut AgentSession) {
        let sign = agent.unreached.over();
        self.charge_by(sign, agent).await;
        if agent.probing.take().is_some() {
            self.inbox.announce(Fact::OutageOver).await;
        }
    }

    /// Takes note of something that an agent did.
    async fn note(&mut self, event: AgentEvent, agent: &mut AgentSession) -> Result<(), RunError> {
        let phase = agent.phase;
        if let AgentEvent::Output(piece) = &event {
            return self.keep(piece, !agent.capabilities.structured).await;
        }
        if matches!(event, AgentEvent::Turn | AgentEvent::Usage(_) | AgentEvent::Working | AgentEvent::Compacted { .. })
        {
            agent.idle_since = None;
            self.answered(agent).await;
        }
        agent.turns += u32::from(event == AgentEvent::Turn);
        let Some(did) = activity(event, agent.turns, &self.bounds.redactor) else { return Ok(()) };
        match &did {
            AgentActivity::Session { session } => {
                agent.current = Some(session.clone());
                // Durable before anything else is done with what the agent says.
                if agent.known.as_ref() != Some(session) {
                    agent.known = Some(session.clone());
                    self.inbox.announce(Fact::Happened(Event::Agent { phase, agent: did })).await;
                }
            }
            AgentActivity::Turn { turns } if *turns == 1 || turns.is_multiple_of(TURNS_SHOWN) => {
                self.inbox.tell(Fact::Observed(Observation::Agent { phase, agent: did })).await;
            }
            AgentActivity::Usage { context_tokens } => {
                agent.tokens = Some(*context_tokens);
                let now = self.stamp();
                self.context.reported(*context_tokens, now)?;
                self.pass_on().await;
            }
            AgentActivity::Said { text } => agent.said = Some(text.clone()),
            AgentActivity::Retrying { .. } => {
                self.inbox.tell(Fact::Observed(Observation::Agent { phase, agent: did })).await;
            }
            AgentActivity::Compacted { before, after } => {
                let freed = before.unwrap_or(0).saturating_sub(after.unwrap_or(0));
                self.inbox.tell(Fact::Happened(Event::Agent { phase, agent: did })).await;
                self.context.agent_compacted(freed)?;
                self.pass_on().await;
            }
            AgentActivity::Denied { .. } => self.inbox.tell(Fact::Happened(Event::Agent { phase, agent: did })).await,
            _ => {}
        }
        Ok(())
    }
}
