//! What an execution runs: the phases, in order, each with its stage.
//!
//! A plan comes from `runtime.phases` of the configuration or from a file of its own, which names phases and what they run
//! and leaves everything else to the configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::PlanDocument;
use crate::config::{Command, Settings};
use crate::contract::{EffortLevel, Phase};
use crate::policy::{Backoff, effort};

/// The phases of an execution and what each runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    stages: Vec<Stage>,
}

/// What one phase runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The phase.
    pub phase: Phase,
    /// The work; absent only where the phase is skipped.
    pub work: Option<Work>,
    /// The gate: program and arguments. It runs after the work is done, and its exit code then decides.
    pub verify: Option<Vec<String>>,
    /// Variables besides those that the runtime sets.
    pub env: BTreeMap<String, String>,
    /// Longest duration of one attempt, gate included.
    pub timeout: Option<Duration>,
    /// Longest time in which an attempt says nothing.
    pub idle_timeout: Option<Duration>,
    /// Retries after the first attempt.
    pub retries: u32,
    /// The pauses before them.
    pub backoff: Backoff,
    /// Whether it is passed over.
    pub skip: bool,
}

/// The work of a stage.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// A program with its arguments, which is judged by its exit code. Never empty.
    Command(Vec<String>),
    /// An agent with what it is told.
    Agent(AgentWork),
}

/// What an agent is told, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentWork {
    /// The name of its backend.
    pub backend: String,
    /// What it is told.
    pub prompt: String,
    /// How hard it should think; its own default without one.
    pub effort: Option<EffortLevel>,
}

/// A plan that cannot be executed.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] crate::system::files::FileError),
    /// What stands in the file is no plan.
    #[error("{} is not valid:\n{findings}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The diagnostics, rendered.
        findings: String,
    },
    /// A phase has nothing to run and is not skipped.
    #[error("phase `{phase}` has no command and no prompt")]
    NoCommand {
        /// The phase.
        phase: Phase,
    },
    /// A phase's agent is one that nothing is known of.
    #[error("phase `{phase}` asks for the backend `{backend}`, which is not configured")]
    NoBackend {
        /// The phase.
        phase: Phase,
        /// The name.
        backend: String,
    },
    /// A phase stands twice in the plan.
    #[error("phase `{phase}` stands twice in the plan")]
    Twice {
        /// The phase.
        phase: Phase,
    },
    /// A phase that the execution needs, or that was asked for, is not in the plan.
    #[error("phase `{phase}` is not in the plan")]
    Missing {
        /// The phase.
        phase: Phase,
    },
}

/// Which part of a plan to execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// All of it.
    All,
    /// One phase.
    Only(Phase),
    /// From one phase to another, both included; from the first, or to the last, where one is missing.
    Between(Option<Phase>, Option<Phase>),
}

impl Stage {
    /// A phase as the configuration has it, with the work that a plan gives it, if it gives any.
    fn configured(settings: &Settings, phase: Phase, planned: Option<Planned<'_>>) -> Result<Self, PlanError> {
        let configured = settings.phase(phase);
        let work = planned.or_else(|| match (&configured.command, &configured.prompt) {
            (Some(command), _) => Some(Planned::Command(command)),
            (None, Some(prompt)) => Some(Planned::Prompt { prompt, backend: None }),
            (None, None) => None,
        });
        let work = match work {
            Some(Planned::Command(command)) => Some(Work::Command(command.argv())),
            Some(Planned::Prompt { prompt, backend }) => {
                let backend = backend.unwrap_or(&configured.backend).to_owned();
                if settings.backend(&backend).is_none() {
                    return Err(PlanError::NoBackend { phase, backend });
                }
                let effort = settings.effort().map(|config| effort(&config, phase).0);
                Some(Work::Agent(AgentWork { backend, prompt: prompt.to_owned(), effort }))
            }
            None => None,
        };
        let retry = match &work {
            Some(Work::Agent(agent)) => settings.phase_retry(phase, &agent.backend),
            Some(Work::Command(_)) | None => configured.retry,
        };
        Ok(Self {
            phase,
            work,
            verify: configured.verify.as_ref().map(Command::argv),
            env: configured.env,
            timeout: configured.timeout,
            idle_timeout: configured.idle_timeout,
            retries: retry.max,
            backoff: retry.backoff,
            skip: configured.skip,
        })
    }

    /// The agent's part, when an agent does the work.
    #[must_use]
    pub fn agent(&self) -> Option<&AgentWork> {
        match &self.work {
            Some(Work::Agent(agent)) => Some(agent),
            Some(Work::Command(_)) | None => None,
        }
    }
}

/// The work of a phase as it is written.
pub(super) enum Planned<'a> {
    Command(&'a Command),
    Prompt { prompt: &'a str, backend: Option<&'a str> },
}

impl Plan {
    /// The given stages, in this order.
    ///
    /// # Errors
    /// [`PlanError`] when a phase stands twice, or has nothing to run and is not skipped.
    pub fn new(stages: Vec<Stage>) -> Result<Self, PlanError> {
        for (index, stage) in stages.iter().enumerate() {
            let phase = stage.phase;
            if stages[..index].iter().any(|earlier| earlier.phase == phase) {
                return Err(PlanError::Twice { phase });
            }
            let idle = stage.work.as_ref().is_none_or(|work| matches!(work, Work::Command(argv) if argv.is_empty()));
            if idle && !stage.skip {
                return Err(PlanError::NoCommand { phase });
            }
        }
        Ok(Self { stages })
    }

    /// The eight phases as the configuration has them.
    ///
    /// # Errors
    /// As [`Plan::new`]; also when an agent is unknown.
    pub fn from_settings(settings: &Settings) -> Result<Self, PlanError> {
        let stages = Phase::ALL.iter().map(|phase| Stage::configured(settings, *phase, None));
        Self::new(stages.collect::<Result<_, _>>()?)
    }

    /// The phases of a plan's file; everything but their work as the configuration has it.
    ///
    /// # Errors
    /// As [`Plan::new`]; also when an agent is unknown.
    pub fn from_document(document: &PlanDocument, settings: &Settings) -> Result<Self, PlanError> {
        let stages = document.phases.iter().map(|phase| Stage::configured(settings, phase.id, phase.work()));
        Self::new(stages.collect::<Result<_, _>>()?)
    }

    /// The phases, in the order in which they run.
    #[must_use]
    pub fn phases(&self) -> Vec<Phase> {
        self.stages.iter().map(|stage| stage.phase).collect()
    }

    /// The stages, in the order in which they run.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// What a phase runs.
    #[must_use]
    pub fn stage(&self, phase: Phase) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.phase == phase)
    }

    /// The part that was asked for.
    ///
    /// # Errors
    /// [`PlanError::Missing`] when the phase is not in the plan.
    pub fn select(mut self, selection: Selection) -> Result<Self, PlanError> {
        let (from, until) = match selection {
            Selection::All => (None, None),
            Selection::Only(phase) => (Some(phase), Some(phase)),
            Selection::Between(from, until) => (from, until),
        };
        let of = |phase| {
            let position = self.stages.iter().position(|stage| stage.phase == phase);
            position.ok_or(PlanError::Missing { phase })
        };
        let from = from.map_or(Ok(0), of)?;
        let end = until.map_or(Ok(self.stages.len()), |phase| of(phase).map(|position| position + 1))?;
        self.stages.truncate(end);
        self.stages.drain(..from.min(end));
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(phase: Phase) -> Stage {
        Stage {
            phase,
            work: Some(Work::Command(vec!["true".to_owned()])),
            verify: None,
            env: BTreeMap::new(),
            timeout: None,
            idle_timeout: None,
            retries: 3,
            backoff: Backoff::default(),
            skip: false,
        }
    }

    #[test]
    fn a_selection_keeps_the_order() {
        let plan =
            || Plan::new(vec![stage(Phase::Design), stage(Phase::Discovery), stage(Phase::Audit)]).expect("a plan");
        let phases = |selection| plan().select(selection).expect("in the plan").phases();
        assert_eq!(phases(Selection::All), [Phase::Design, Phase::Discovery, Phase::Audit]);
        assert_eq!(phases(Selection::Only(Phase::Discovery)), [Phase::Discovery]);
        assert_eq!(phases(Selection::Between(Some(Phase::Discovery), None)), [Phase::Discovery, Phase::Audit]);
        assert_eq!(phases(Selection::Between(None, Some(Phase::Discovery))), [Phase::Design, Phase::Discovery]);
        assert!(matches!(
            plan().select(Selection::Between(Some(Phase::Deploy), None)),
            Err(PlanError::Missing { phase: Phase::Deploy })
        ));
    }

    #[test]
    fn a_phase_runs_something_once() {
        let twice = Plan::new(vec![stage(Phase::Design), stage(Phase::Audit), stage(Phase::Design)]);
        assert!(matches!(twice, Err(PlanError::Twice { phase: Phase::Design })));
        let idle = Stage { work: None, ..stage(Phase::Deploy) };
        assert!(matches!(Plan::new(vec![idle.clone()]), Err(PlanError::NoCommand { phase: Phase::Deploy })));
        assert!(Plan::new(vec![Stage { skip: true, ..idle }]).is_ok());
    }
}
