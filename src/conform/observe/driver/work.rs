//! A verb at work: a process of its own, or an ask that the adapter answers. Who watches it need not know which.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::select;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::adapter::{Adapter, Asked, Ending};
use super::chamber::{Call, Chamber};
use super::stage::Stage;
use super::verb::GRACE;
use crate::conform::observe::ProcessEnd;
use crate::conform::spec::{AdapterAsk, Verb};
use crate::system::process::{Event, ProcessExit, Running, signal_name};

/// How a verb is begun.
#[derive(Debug, Clone)]
pub(super) enum Way {
    Command(Call),
    Ask(AdapterAsk),
}

/// A verb at work.
#[derive(Debug)]
pub(super) enum Work<'a> {
    Process { running: Running, killed: bool },
    Ask { adapter: &'a Adapter, ask: AdapterAsk, asked: Asked, killing: Killing },
}

/// Whoever asks the runtime to stop, beside its run. Yields an end when that was the adapter's fault, or is not offered.
pub(super) type Halting = JoinHandle<Option<ProcessEnd>>;

/// How far a kill is that the adapter was asked for.
#[derive(Debug)]
pub(super) enum Killing {
    No,
    Asked(Asked),
    Done,
}

impl<'a> Work<'a> {
    /// Begins it.
    ///
    /// # Errors
    /// The end of a verb that could not begin.
    pub(super) async fn begin(way: &Way, adapter: Option<&'a Adapter>, chamber: &Chamber) -> Result<Self, ProcessEnd> {
        match (way, adapter) {
            (Way::Command(call), _) => match chamber.start(call).await {
                Ok(running) => Ok(Self::Process { running, killed: false }),
                Err(error) => Err(ProcessEnd::NotStarted(error.to_string())),
            },
            (Way::Ask(ask), Some(adapter)) => {
                let asked = adapter.ask(ask.clone());
                Ok(Self::Ask { adapter, ask: ask.clone(), asked, killing: Killing::No })
            }
            (Way::Ask(_), None) => Err(ProcessEnd::NoVerb),
        }
    }

    /// Its end; what it says meanwhile is heard. May be dropped and called again, until it has said so.
    pub(super) async fn ended(&mut self, stage: &Arc<Stage>) -> ProcessEnd {
        match self {
            Self::Process { running, killed } => loop {
                match running.next().await {
                    Event::Output(piece) => stage.hear(&piece),
                    Event::Ended(exit) => return exited(&exit, *killed),
                }
            },
            Self::Ask { asked, killing, .. } => loop {
                let Killing::Asked(kill) = killing else { break end(asked.ended().await, asked.verb, killing) };
                select! {
                    // First what was asked first: a runtime that ended before it was killed has ended.
                    biased;
                    ending = asked.ended() => break end(ending, asked.verb, killing),
                    ending = kill.ended() => match ending {
                        Ending::Exit(0) => *killing = Killing::Done,
                        ending => break refused(ending, kill),
                    },
                }
            },
        }
    }

    /// SIGKILL to the runtime's own process and to nothing else, or the same asked of the adapter; once, however often it is
    /// called.
    pub(super) fn kill(&mut self) {
        match self {
            Self::Process { running, killed } => *killed = *killed || running.signal(Signal::KILL),
            Self::Ask { adapter, ask, killing, .. } => {
                if matches!(killing, Killing::No) {
                    let kill = AdapterAsk { verb: Verb::Kill, action: None, ..ask.clone() };
                    *killing = Killing::Asked(adapter.ask(kill));
                }
            }
        }
    }

    /// Ends it, because its time is over or it has settled. What an adapter has under way only its own end ends for sure.
    pub(super) async fn cut(self) {
        match self {
            Self::Process { running, .. } => _ = running.end(GRACE).await,
            Self::Ask { asked, .. } => asked.give_up(),
        }
    }

    /// What the adapter left undone so that the time went by, if it was the adapter and not the runtime. `began` tells
    /// whether the runtime started any phase, which is a sign of life as well.
    pub(super) fn silence(&self, budget: Duration, began: bool) -> Option<String> {
        let Self::Ask { asked, killing, .. } = self else { return None };
        let within = format!("within {} s", budget.as_secs_f32());
        match killing {
            Killing::Asked(_) => Some(format!("the adapter did not answer `kill` {within}; expected `exit` with 0")),
            Killing::Done => {
                let verb = asked.verb;
                Some(format!(
                    "the adapter killed the runtime and did not end `{verb}` {within}; expected `signal` `KILL`"
                ))
            }
            Killing::No if asked.spoke() || began => None,
            Killing::No => Some(silent(asked.verb, budget)),
        }
    }
}

/// Has the runtime asked to stop, beside its run.
pub(super) fn halt(way: Way, adapter: Option<&Adapter>, budget: Duration, stage: &Arc<Stage>) -> Halting {
    let stage = Arc::clone(stage);
    let time = stage.load.stretched(budget);
    match (way, adapter) {
        (Way::Command(call), _) => tokio::spawn(async move {
            // Its end is no observation.
            if let Ok(running) = stage.chamber.start(&call).await {
                running.captured(0, time).await;
            }
            stage.halted.send_replace(true);
            None
        }),
        (Way::Ask(ask), Some(adapter)) => {
            let mut asked = adapter.ask(ask);
            tokio::spawn(async move {
                let ending = timeout(time, asked.ended()).await;
                stage.halted.send_replace(true);
                let Ok(ending) = ending else {
                    let why = silent(asked.verb, budget);
                    asked.give_up();
                    return Some(ProcessEnd::AdapterFailed(why));
                };
                Some(end(ending, asked.verb, &Killing::No))
                    .filter(|end| matches!(end, ProcessEnd::AdapterFailed(_) | ProcessEnd::NoVerb))
            })
        }
        (Way::Ask(_), None) => tokio::spawn(async { Some(ProcessEnd::NoVerb) }),
    }
}

fn silent(verb: Verb, budget: Duration) -> String {
    let time = budget.as_secs_f32();
    format!("the adapter did not say a word to `{verb}` for {time} s; expected an answer that ends it")
}

/// How a verb ended by the end of its ask.
fn end(ending: Ending, verb: Verb, killing: &Killing) -> ProcessEnd {
    match ending {
        Ending::Exit(code) => ProcessEnd::Exited(code.into()),
        Ending::Signal(name) => {
            let name = name.strip_prefix("SIG").unwrap_or(&name);
            match killing {
                Killing::Asked(_) | Killing::Done if name == "KILL" => ProcessEnd::KilledAsPlanned,
                _ => ProcessEnd::Signalled(format!("SIG{name}")),
            }
        }
        // Nothing is known of a runtime that cannot even be started.
        Ending::Unsupported(why) if verb == Verb::Run => ProcessEnd::AdapterFailed(format!(
            "the adapter does not support `run`: {why}; expected an adapter that does"
        )),
        Ending::Unsupported(_) => ProcessEnd::NoVerb,
        Ending::Fault(why) => ProcessEnd::AdapterFailed(why),
    }
}

/// How a verb ended whose runtime the adapter did not kill.
fn refused(ending: Ending, kill: &Asked) -> ProcessEnd {
    let end = match ending {
        Ending::Exit(code) => {
            let why = format!("the adapter ended `kill` with {code}; expected 0, or `unsupported`");
            ProcessEnd::AdapterFailed(why)
        }
        Ending::Signal(name) => {
            ProcessEnd::AdapterFailed(format!("the adapter ended `kill` by the signal {name}; expected `exit` with 0"))
        }
        ending => end(ending, Verb::Kill, &Killing::No),
    };
    // The run goes on, and nobody waits for it any more.
    kill.give_up();
    end
}

fn exited(exit: &ProcessExit, killed: bool) -> ProcessEnd {
    match exit {
        ProcessExit::Signalled(9) if killed => ProcessEnd::KilledAsPlanned,
        ProcessExit::Exited(code) => ProcessEnd::Exited(*code),
        ProcessExit::Signalled(number) => ProcessEnd::Signalled(signal_name(*number)),
        ProcessExit::SpawnFailed(error) => ProcessEnd::NotStarted(error.to_string()),
    }
}
