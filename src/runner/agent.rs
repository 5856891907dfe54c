//! Brings an agent through one attempt: invocations in one session until its work is done, failed, or has to stop.

use std::ffi::OsString;
use std::time::Duration;

use jiff::Timestamp;

use super::attempt::{AttemptEnd, Setting};
use super::engine::Engine;
use super::port::{AgentEnd, Session};
use super::talk::{Heard, Talk};
use super::watch::{Stop, signal_or_tick};
use super::{AgentWork, Progress, RunError};
use crate::contract::Phase;
use crate::policy::{Class, Consequence, Ending, next_look};
use crate::store::{AgentRecord, read_agent_record, write_agent_record};
use crate::system::clock;

/// What an agent is told when it goes on in its own session.
const GO_ON: &str = "You were stopped before the task was done. Go on where you stopped, and finish the task.";

/// How one invocation went on.
enum Next {
    /// The attempt is over.
    End(AttemptEnd),
    /// Another invocation follows.
    Again,
}

impl Engine<'_> {
    /// Runs the agent until the attempt is over. `trouble` is how the attempt before failed, as far as this session knows.
    pub(super) async fn run_agent(
        &mut self,
        work: &AgentWork,
        setting: &mut Setting<'_>,
        variables: &[(String, OsString)],
        trouble: Option<&str>,
    ) -> Result<AttemptEnd, RunError> {
        let mut talk = Talk::begin(self, setting.stage, work, setting.attempt, variables)?;
        let mut trouble = trouble.map(str::to_owned);
        let end = loop {
            if let Some(until) = talk.used_up()
                && let Next::End(end) = self.wait_for_limit(&mut talk, setting, Some(until)).await?
            {
                break end;
            }
            let prompt = prompt(&work.prompt, talk.session().is_some(), trouble.take().as_deref());
            let heard = match self.invoke(&mut talk, &prompt, setting).await? {
                Ok(heard) => heard,
                Err(failed) => break failed,
            };
            let next = match heard {
                Heard::Over(end) => Next::End(end),
                Heard::Full => self.compact_agent(&mut talk, setting).await?,
                Heard::Ended(end) => self.follow(&end, &mut talk, setting).await?,
            };
            if let Next::End(end) = next {
                break end;
            }
        };
        setting.said = talk.said;
        Ok(end)
    }

    /// What follows an invocation that ended by itself.
    async fn follow(&mut self, end: &AgentEnd, talk: &mut Talk, setting: &mut Setting<'_>) -> Result<Next, RunError> {
        if end.session_refused {
            let text = format!("{}: the session is not there any more; a new one begins", talk.phase);
            self.listener.on(&Progress::Notice { text: &text });
            talk.forget(&self.layout)?;
            return Ok(Next::Again);
        }
        if let Class::Transient { wait } = end.class {
            setting.wait = wait;
        }
        let may_compact = talk.capabilities.compacts_on_request && talk.session().is_some() && !talk.compacted;
        Ok(match end.class.consequence(may_compact, &end.evidence) {
            Consequence::Gate => Next::End(AttemptEnd::Ended(Ending::Exited(0))),
            Consequence::Conclude(outcome) => Next::End(AttemptEnd::Concluded(outcome)),
            Consequence::Compact => self.compact_agent(talk, setting).await?,
            Consequence::Overflow => {
                setting.context.give_up();
                Next::End(AttemptEnd::Stopped(Stop::Overflow))
            }
            Consequence::Stop => Next::End(AttemptEnd::Stopped(Stop::Cancelled)),
            Consequence::Wait(until) => self.wait_for_limit(talk, setting, until).await?,
        })
    }

    /// One invocation; `Err` is the attempt's end when it could not even be started.
    async fn invoke(
        &mut self,
        talk: &mut Talk,
        prompt: &str,
        setting: &mut Setting<'_>,
    ) -> Result<Result<Heard, AttemptEnd>, RunError> {
        let (phase, backend) = (talk.phase, talk.backend.clone());
        self.listener.on(&Progress::AgentStarted { phase, backend: backend.name(), session: talk.session() });
        let session = talk.session().map_or(Session::New, Session::Earlier);
        match backend.invoke(&talk.task(prompt), session) {
            Ok(invocation) => Ok(Ok(self.talk(invocation, talk, setting).await?)),
            Err(error) => Ok(Err(AttemptEnd::Ended(Ending::SpawnFailed(error.to_string())))),
        }
    }

    /// Asks the agent for an emergency compaction; the invocation that follows goes on in the smaller context.
    async fn compact_agent(&mut self, talk: &mut Talk, setting: &mut Setting<'_>) -> Result<Next, RunError> {
        talk.compacted = true;
        let session = talk.session().expect("only a session that is there is compacted").to_owned();
        let backend = talk.backend.clone();
        setting.context.request_taken();
        let heard = match backend.compact(&talk.task(""), &session) {
            Ok(Some(invocation)) => self.talk(invocation, talk, setting).await?,
            Ok(None) => unreachable!("asked only of a backend that can"),
            Err(error) => return Ok(Next::End(AttemptEnd::Ended(Ending::SpawnFailed(error.to_string())))),
        };
        setting.context.request_ended();
        match heard {
            Heard::Over(end) => return Ok(Next::End(end)),
            Heard::Ended(end) if end.class != Class::Done => {
                let text = format!("{}: the compaction did not succeed: {}", talk.phase, end.evidence);
                self.listener.on(&Progress::Notice { text: &text });
            }
            Heard::Ended(_) | Heard::Full => {}
        }
        Ok(Next::Again)
    }

    /// Waits until a provider's limit is lifted. The time is neither the run's nor the attempt's.
    async fn wait_for_limit(
        &mut self,
        talk: &mut Talk,
        setting: &mut Setting<'_>,
        resets_at: Option<Timestamp>,
    ) -> Result<Next, RunError> {
        self.charge();
        let began = clock::now();
        let until = next_look(resets_at, talk.limits_met, began.wall());
        talk.limits_met = talk.limits_met.saturating_add(1);
        let wait = left(until);
        if wait > self.bounds.limit_patience {
            let known = resets_at.filter(|reset| *reset == until);
            return Ok(Next::End(AttemptEnd::Stopped(Stop::OutOfPatience(known))));
        }
        self.bounds.limit_patience -= wait;
        self.listener.on(&Progress::LimitReached { phase: talk.phase, until });
        self.save()?;
        let mut stop = None;
        while stop.is_none() && !left(until).is_zero() {
            stop = signal_or_tick(&mut self.interrupts, left(until)).await;
            stop = stop.or(self.layout.halt_request().exists().then_some(Stop::Halted));
        }
        self.charged = clock::now();
        setting.began = setting.began.later(self.charged.since(began));
        Ok(stop.map_or(Next::Again, |stop| Next::End(AttemptEnd::Stopped(stop))))
    }

    /// A phase that begins anew begins in a new session.
    pub(super) fn forget_session(&self, phase: Phase) -> Result<(), RunError> {
        if let Some(record) = read_agent_record(&self.layout, phase)?.filter(|record| record.session.is_some()) {
            write_agent_record(&self.layout, &AgentRecord { session: None, ..record })?;
        }
        Ok(())
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
