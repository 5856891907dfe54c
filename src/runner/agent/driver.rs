//! Listens to one invocation of an agent until it ends, or until its host cuts it short. The same for phases and for agents
//! that are asked outside of a run.

use std::time::Duration;

use super::port::{AgentEnd, AgentEvent, Invocation};
use jiff::Timestamp;

use crate::events::AgentActivity;
use crate::policy::{Class, Redactor};
use crate::system::clock;
use crate::system::guard::Guard;
use crate::system::process::kill_group;

/// How often whoever waits for a child looks around.
pub(in crate::runner) const TICK: Duration = Duration::from_millis(20);

/// Whoever has an agent do something.
pub(in crate::runner) trait Host {
    /// Why an invocation is cut short.
    type Cut;
    /// Why it cannot be listened to any longer.
    type Error;

    /// Has a guard end the agent's processes if we die.
    fn guard<T>(&mut self, tell: impl FnOnce(&mut Guard) -> T) -> T;

    /// How long a process may take to obey TERM before it is killed.
    fn grace(&self) -> Duration;

    /// The agent did something. Whether it is cut short because of it.
    async fn heard(&mut self, event: AgentEvent) -> Result<Option<Self::Cut>, Self::Error>;

    /// Returns when the agent is to be cut short by somebody else. May be dropped and called again.
    async fn interrupted(&mut self) -> Self::Cut;

    /// A moment passed. Whether it is cut short because of what was seen meanwhile.
    async fn tick(&mut self) -> Result<Option<Self::Cut>, Self::Error>;
}

/// How an invocation went.
#[derive(Debug)]
pub(in crate::runner) enum Driven<Cut> {
    /// It ended by itself.
    Ended(AgentEnd),
    /// It was cut short; how it ended then.
    Cut(Cut, AgentEnd),
}

/// Listens until the invocation is over, and leaves no process of its group behind.
pub(in crate::runner) async fn drive<H: Host>(
    mut invocation: Box<dyn Invocation>,
    host: &mut H,
) -> Result<Driven<H::Cut>, H::Error> {
    let group = invocation.group();
    if let Some(group) = group {
        host.guard(|guard| guard.watch(group));
    }
    let driven = match listen(invocation.as_mut(), host).await {
        Ok(Driven::Cut(cut, _)) => Ok(Driven::Cut(cut, hear_out(invocation.as_mut(), host).await)),
        Err(error) => {
            hear_out(invocation.as_mut(), host).await;
            Err(error)
        }
        ended => ended,
    };
    drop(invocation);
    if let Some(group) = group {
        kill_group(group, host.grace()).await;
        host.guard(|guard| guard.forget(group));
    }
    driven
}

async fn listen<H: Host>(invocation: &mut dyn Invocation, host: &mut H) -> Result<Driven<H::Cut>, H::Error> {
    let mut ticks = tokio::time::interval(TICK);
    loop {
        let cut = tokio::select! {
            event = invocation.next() => match event {
                AgentEvent::Ended(end) => return Ok(Driven::Ended(end)),
                event => host.heard(event).await?,
            },
            cut = host.interrupted() => Some(cut),
            _ = ticks.tick() => host.tick().await?,
        };
        if let Some(cut) = cut {
            return Ok(Driven::Cut(cut, killed()));
        }
    }
}

/// Asks the agent to end and keeps what it says to that.
async fn hear_out<H: Host>(invocation: &mut dyn Invocation, host: &mut H) -> AgentEnd {
    let grace = host.grace();
    invocation.cancel();
    let said = async {
        loop {
            match invocation.next().await {
                AgentEvent::Ended(end) => return end,
                // A disk that is full keeps nobody from ending.
                event => drop(host.heard(event).await),
            }
        }
    };
    tokio::time::timeout(grace, said).await.unwrap_or_else(|_| killed())
}

/// The end of one that did not obey in time.
fn killed() -> AgentEnd {
    let signal = Some("SIGKILL".to_owned());
    AgentEnd {
        class: Class::Cancelled,
        code: None,
        signal,
        evidence: String::new(),
        session_refused: false,
        spent: None,
    }
}

/// What an agent did in the one vocabulary, without secrets. Output and the end are none of it: they are the host's.
pub(in crate::runner) fn activity(event: AgentEvent, turns: u32, redactor: &Redactor) -> Option<AgentActivity> {
    Some(match event {
        AgentEvent::Session(session) => AgentActivity::Session { session },
        AgentEvent::Turn => AgentActivity::Turn { turns },
        AgentEvent::Usage(context_tokens) => AgentActivity::Usage { context_tokens },
        AgentEvent::Said(text) => AgentActivity::Said { text: redactor.text(&text) },
        AgentEvent::Retrying { status, wait } => AgentActivity::Retrying { status, wait_ms: wait.map(millis) },
        AgentEvent::Compacted { before, after } => AgentActivity::Compacted { before, after },
        AgentEvent::Denied(tools) => AgentActivity::Denied { tools: tools as u64 },
        AgentEvent::Output(_) | AgentEvent::Unreached | AgentEvent::Working | AgentEvent::Ended(_) => return None,
    })
}

/// The end of an invocation in the one vocabulary.
pub(in crate::runner) fn ended(
    end: &AgentEnd,
    session: Option<String>,
    answer: Option<String>,
    turns: Option<u32>,
) -> AgentActivity {
    AgentActivity::Ended {
        class: end.class.name(),
        exit_code: end.code,
        signal: end.signal.clone(),
        evidence: end.evidence.clone(),
        session,
        answer,
        turns,
        spent: end.spent,
    }
}

pub(in crate::runner) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The time that is left until then.
pub(in crate::runner) fn left(until: Timestamp) -> Duration {
    Duration::try_from(until.duration_since(clock::now().wall())).unwrap_or(Duration::ZERO)
}
