//! The Backend port: what the runner asks of an agent, whichever it is (backend layer: Backend Interface).
//!
//! A [`Backend`] starts invocations; an [`Invocation`] is a stream of [`AgentEvent`]s whose last one says in exactly one
//! class how it ended. Whether a process's output, a protocol over its pipes or a server stands behind it is the
//! adapter's affair. Retrying, waiting, compacting and judging are the runner's: an adapter only reports.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::config::DockerSection;
use crate::contract::{ContextLimits, EffortLevel};
use crate::events::Spent;
use crate::policy::{Class, Usage, is_outage_code};
use crate::system::boundary::Boundary;
use crate::system::process::Piece;

/// One agent program, as it is configured.
pub trait Backend: fmt::Debug {
    /// Its name in the configuration.
    fn name(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Whether its processes run in a container.
    fn is_contained(&self) -> bool {
        false
    }

    /// Variables that hold its credentials. They reach its own processes and no other of the run.
    fn credentials(&self) -> Vec<String> {
        Vec::new()
    }

    /// Most prompts in a cycle of its subscription, where the configuration sets a bound.
    fn quota(&self) -> Option<u64> {
        None
    }

    /// What its subscription was used for, where the program keeps a record of that.
    fn usage(&self, surroundings: &Surroundings, now: Timestamp) -> Option<Usage> {
        let _ = (surroundings, now);
        None
    }

    /// When its subscription may be used again, if the quota is used up now.
    fn used_up(&self, surroundings: &Surroundings, now: Timestamp) -> Option<Timestamp> {
        let most = self.quota()?;
        self.usage(surroundings, now)?.used_up(most)
    }

    /// Starts an invocation. One that is to resume and cannot begins anew; so does one that is to name its session and cannot.
    ///
    /// # Errors
    /// When the host cannot start the program.
    fn invoke(&self, task: &Task<'_>, session: Session<'_>) -> io::Result<Box<dyn Invocation>>;

    /// Starts an invocation that only compacts a session's context; `None` where that cannot be asked for.
    ///
    /// # Errors
    /// When the host cannot start the program.
    fn compact(&self, task: &Task<'_>, session: &str) -> io::Result<Option<Box<dyn Invocation>>> {
        let _ = (task, session);
        Ok(None)
    }
}

/// The backends of a run, by name.
#[derive(Debug, Clone, Default)]
pub struct Backends {
    at_work: BTreeMap<String, Rc<dyn Backend>>,
    /// Variables that hold credentials of agents that have no work here.
    of_others: Vec<String>,
}

impl Backends {
    /// These.
    #[must_use]
    pub fn new(backends: Vec<Box<dyn Backend>>) -> Self {
        let at_work = backends.into_iter().map(|backend| (backend.name().to_owned(), backend.into())).collect();
        Self { at_work, of_others: Vec::new() }
    }

    /// These alone, and beside them agents that have no work here and whose credentials are in these variables.
    #[must_use]
    pub fn beside(self, credentials: Vec<String>) -> Self {
        Self { of_others: credentials, ..self }
    }

    /// The one of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Rc<dyn Backend>> {
        self.at_work.get(name).cloned()
    }

    /// All of them, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Backend> {
        self.at_work.values().map(AsRef::as_ref)
    }

    /// The variables that hold credentials of backends, those that `name` may see excepted.
    #[must_use]
    pub fn withheld_from(&self, name: Option<&str>) -> Vec<String> {
        let own = name.and_then(|name| self.at_work.get(name)).map(|backend| backend.credentials()).unwrap_or_default();
        let all = self.at_work.values().flat_map(|backend| backend.credentials());
        all.chain(self.of_others.iter().cloned()).filter(|variable| !own.contains(variable)).collect()
    }
}

/// What a backend can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "a matrix of independent yes and no")]
pub struct Capabilities {
    /// A later invocation can go on where an earlier one stopped.
    pub resumes: bool,
    /// A new session can be given an id.
    pub names_sessions: bool,
    /// It reports how many tokens its context holds.
    pub usage: bool,
    /// It compacts by itself, at the soft limit that it is given.
    pub compacts_itself: bool,
    /// It compacts when it is asked to.
    pub compacts_on_request: bool,
    /// It takes a level of effort.
    pub effort: bool,
    /// Its ends are told apart by data; otherwise by its exit code, for want of anything better.
    pub structured: bool,
}

/// What an invocation is to do.
#[derive(Debug, Clone)]
pub struct Task<'a> {
    /// What the agent is told.
    pub prompt: &'a str,
    /// What stands before everything that it is told, with the weight that the program gives to such a text. Of a session that
    /// is gone on with it is the same as before, for a program that does not keep it.
    pub system: Option<&'a str>,
    /// Most turns of the invocation, where the program can be told; otherwise what the configuration says.
    pub max_turns: Option<u32>,
    /// How hard it should think; its own default without one.
    pub effort: Option<EffortLevel>,
    /// Limits of its context.
    pub limits: ContextLimits,
    /// Where and with what it runs.
    pub surroundings: &'a Surroundings,
}

impl Task<'_> {
    /// Both texts as one, for a program that takes one alone.
    #[must_use]
    pub fn whole_prompt(&self) -> Cow<'_, str> {
        self.system.map_or(Cow::Borrowed(self.prompt), |system| Cow::Owned(format!("{system}\n\n{}", self.prompt)))
    }
}

/// The session that an invocation works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Session<'a> {
    /// A new one.
    New,
    /// A new one that is to have this id.
    Named(&'a str),
    /// An earlier one.
    Earlier(&'a str),
}

impl<'a> Session<'a> {
    /// The earlier session.
    #[must_use]
    pub fn earlier(self) -> Option<&'a str> {
        if let Self::Earlier(id) = self { Some(id) } else { None }
    }
}

/// Folder and environment of an agent's processes.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The folder to work in.
    pub workspace: PathBuf,
    /// Variables to set, over the backend's own.
    pub variables: Vec<(String, OsString)>,
    /// Variables that are not for this agent.
    pub withheld: Vec<String>,
    /// The boundary that its processes run behind, where they run on this host.
    pub boundary: Option<Boundary>,
    /// The container that its processes run in; this host without one.
    pub container: Option<Container>,
}

/// A container that an agent's processes run in.
#[derive(Debug, Clone)]
pub struct Container {
    /// Which, and how to reach it.
    pub docker: DockerSection,
    /// Variables of our environment that are passed on into it.
    pub credentials: Vec<String>,
}

/// An invocation that was started. Dropped before its end, its process is killed, its group is not.
pub trait Invocation: fmt::Debug {
    /// The process group to end if the run dies.
    fn group(&self) -> Option<u32>;

    /// The next event. The future may be dropped and asked for anew without losing one; not to be called again after
    /// [`AgentEvent::Ended`].
    fn next(&mut self) -> Pin<Box<dyn Future<Output = AgentEvent> + '_>>;

    /// Asks it to end. What it still says comes with [`Invocation::next`].
    fn cancel(&mut self);
}

/// Something that an agent did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// It wrote something, for the log. What it means comes as an event of its own.
    Output(Piece),
    /// The session that it works in has this id.
    Session(String),
    /// The model answered once.
    Turn,
    /// Its context holds this many tokens now.
    Usage(u64),
    /// It says something to whoever gave it the task; the last one is its answer.
    Said(String),
    /// The provider failed, and the agent tries again by itself.
    Retrying {
        /// The status that the provider answered with, when it answered.
        status: Option<u16>,
        /// The pause before it tries, when it is known.
        wait: Option<Duration>,
    },
    /// It says that it does not reach its provider, and goes on trying. [`AgentEvent::Retrying`] comes beside it.
    Unreached,
    /// It did something that only an answer of its provider can have brought about, and that is none of the other events.
    Working,
    /// It compacted its context.
    Compacted {
        /// Tokens before, when known.
        before: Option<u64>,
        /// Tokens after, when known.
        after: Option<u64>,
    },
    /// It was not allowed to use this many tools that it wanted.
    Denied(usize),
    /// It ended. Always the last event, and exactly one.
    Ended(AgentEnd),
}

/// How an invocation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEnd {
    /// The class.
    pub class: Class,
    /// The process's exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended the process, such as `SIGKILL`.
    pub signal: Option<String>,
    /// What the class was read from, in one line for people.
    pub evidence: String,
    /// The session that it was to go on with is not there: it never began.
    pub session_refused: bool,
    /// What it used, where it says so.
    pub spent: Option<Spent>,
}

impl AgentEnd {
    /// The same as the configuration reads it: of an agent that has only its exit code to tell its ends apart by, these codes
    /// are an outage.
    #[must_use]
    pub fn with_outage_codes(self, is_structured: bool, codes: &[u8]) -> Self {
        match self.code.filter(|code| !is_structured && is_outage_code(codes, *code)) {
            Some(code) => {
                let evidence = format!("exit {code}, which runtime.outage_codes names");
                Self { class: Class::Outage, evidence, ..self }
            }
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_is_named_is_an_outage_of_an_agent_that_has_nothing_else_to_say() {
        for (code, is_structured, class) in [
            (Some(75), false, Class::Outage),
            (Some(75), true, Class::Permanent),
            (Some(2), false, Class::Permanent),
            (None, false, Class::Permanent),
        ] {
            let evidence = String::new();
            let end =
                AgentEnd { class: Class::Permanent, code, signal: None, evidence, session_refused: false, spent: None };
            assert_eq!(end.with_outage_codes(is_structured, &[75, 99]).class, class, "{code:?} {is_structured}");
        }
    }
}
