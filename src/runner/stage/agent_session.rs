//! One agent in one attempt of a phase: its session, and what was heard of it.

use std::rc::Rc;

use jiff::Timestamp;

use super::attempt::StageTask;
use crate::contract::{ContextLimits, Phase};
use crate::runner::agent::Unreached;
use crate::runner::{AgentWork, Backend, Capabilities, Surroundings, Task};
use crate::system::clock::{self, Moment};

/// One agent in one attempt.
#[derive(Debug)]
pub(super) struct AgentSession {
    pub(super) phase: Phase,
    pub(super) backend: Rc<dyn Backend>,
    pub(super) work: AgentWork,
    pub(super) capabilities: Capabilities,
    surroundings: Surroundings,
    limits: ContextLimits,
    /// The session to go on with, as the journal has it.
    pub(super) known: Option<String>,
    /// The session that the invocation at hand works in.
    pub(super) current: Option<String>,
    /// Invocations so far.
    pub(super) invocations: u32,
    pub(super) turns: u32,
    pub(super) tokens: Option<u64>,
    /// What it said last.
    pub(super) said: Option<String>,
    /// A compaction was asked for in this attempt.
    pub(super) compacted: bool,
    /// How often a limit was met.
    pub(super) limits_met: u32,
    /// What the invocation at hand says of not reaching its provider.
    pub(super) unreached: Unreached,
    /// When its invocation began, while nobody has answered it.
    pub(super) idle_since: Option<Moment>,
    /// Within an outage, since when a probe was not answered.
    pub(super) probing: Option<Moment>,
}

impl AgentSession {
    pub(super) fn begin(task: &StageTask, work: &AgentWork) -> Self {
        let backend = task.backends.get(&work.backend).expect("a session begins only with every backend of its plan");
        let known = task.order.known.clone().filter(|(backend, _)| *backend == work.backend);
        let surroundings = Surroundings {
            workspace: task.layout.workspace().to_path_buf(),
            variables: task.variables.clone(),
            withheld: task.backends.withheld_from(Some(&work.backend)),
            boundary: task.boundary.clone(),
            container: None,
        };
        Self {
            phase: task.order.stage.phase,
            capabilities: backend.capabilities(),
            backend,
            work: work.clone(),
            surroundings,
            limits: task.bounds.context,
            known: known.map(|(_, session)| session),
            current: None,
            invocations: 0,
            turns: 0,
            tokens: None,
            said: None,
            compacted: false,
            limits_met: 0,
            unreached: Unreached::default(),
            idle_since: None,
            probing: task.order.patience_ends.map(|_| clock::now()),
        }
    }

    /// The session to go on with, where the backend can.
    pub(super) fn earlier(&self) -> Option<&str> {
        self.known.as_deref().filter(|_| self.capabilities.resumes)
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
}
