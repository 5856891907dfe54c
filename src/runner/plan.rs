//! What an execution runs: the phases, in order, each with its stage.
//!
//! A plan comes from `runtime.phases` of the configuration or from a file of its own, which names phases and what they run
//! and leaves everything else to the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::plan_file::Planned;
use super::{PlanDocument, PlanError, Selection};
use crate::config::{BackendSection, BoundaryMode, Command, Network, Settings};
use crate::contract::{EffortLevel, Phase};
use crate::diag::closest;
use crate::policy::{Backoff, Limits, effort};

/// The phases of an execution and what each runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    stages: Vec<Stage>,
    /// Agents of phases that were not asked for.
    idle_agents: BTreeSet<String>,
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
    /// Whether it runs behind a boundary.
    pub boundary: BoundaryMode,
    /// What network it has.
    pub network: Network,
    /// What its processes may take of the host.
    pub limits: Limits,
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
    /// The argument vectors that start it, as far as the configuration says them: those of a program that is no known agent,
    /// or the program of one that is.
    pub starts: Vec<Vec<String>>,
}

/// The argument vectors that start an agent, as far as the configuration says them.
fn starts(settings: &Settings, backend: &str) -> Vec<Vec<String>> {
    let Some(agent) = settings.backend(backend) else { return Vec::new() };
    let BackendSection { run, resume, binary, .. } = agent.section;
    run.into_iter().chain(resume).chain(binary.map(|program| vec![program])).collect()
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
                let origin = backend.is_none().then(|| settings.origin_of_backend(phase));
                let backend = backend.unwrap_or(&configured.backend).to_owned();
                if settings.backend(&backend).is_none() {
                    let known: Vec<String> = settings.backends().into_iter().map(|known| known.name).collect();
                    let similar = closest(&backend, known.iter().map(String::as_str)).map(str::to_owned);
                    return Err(PlanError::NoBackend { phase, backend, origin, similar });
                }
                let effort = settings.effort().map(|config| effort(&config, phase).0);
                let starts = starts(settings, &backend);
                Some(Work::Agent(AgentWork { backend, prompt: prompt.to_owned(), effort, starts }))
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
            boundary: configured.boundary,
            network: configured.network,
            limits: configured.limits,
            skip: configured.skip,
        })
    }

    /// A phase that nothing is planned for.
    fn left_out(phase: Phase) -> Self {
        let (work, verify, env, backoff) = (None, None, BTreeMap::new(), Backoff::default());
        let (timeout, idle_timeout, boundary, network) = (None, None, BoundaryMode::Auto, Network::Host);
        let limits = Limits::default();
        Self {
            phase,
            work,
            verify,
            env,
            timeout,
            idle_timeout,
            retries: 0,
            backoff,
            boundary,
            network,
            limits,
            skip: true,
        }
    }

    /// Each phase of a plan's file, or of the eight where there is none, as the configuration has it.
    fn drafts(settings: &Settings, document: Option<&PlanDocument>) -> Vec<(Phase, Result<Self, PlanError>)> {
        let draft = |phase: Phase, work| (phase, Self::configured(settings, phase, work));
        match document {
            Some(document) => document.phases.iter().map(|planned| draft(planned.id, planned.work())).collect(),
            None => Phase::ALL.iter().map(|phase| draft(*phase, None)).collect(),
        }
    }

    /// Whether it has nothing to run, and is to.
    fn is_idle(&self) -> bool {
        let idle = self.work.as_ref().is_none_or(|work| matches!(work, Work::Command(argv) if argv.is_empty()));
        idle && !self.skip
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

impl Plan {
    /// The given stages, in this order.
    ///
    /// # Errors
    /// [`PlanError`] when a phase stands twice, or has nothing to run and is not skipped.
    pub fn new(stages: Vec<Stage>) -> Result<Self, PlanError> {
        let twice = |(index, stage): (usize, &Stage)| {
            let phase = stage.phase;
            stages[..index].iter().any(|earlier| earlier.phase == phase).then_some(PlanError::Twice { phase })
        };
        let mut wrong: Vec<PlanError> = stages.iter().enumerate().filter_map(twice).collect();
        let phases: Vec<Phase> = stages.iter().filter(|stage| stage.is_idle()).map(|stage| stage.phase).collect();
        if !phases.is_empty() {
            wrong.push(PlanError::NoCommand { phases });
        }
        match PlanError::of(wrong) {
            Some(error) => Err(error),
            None => Ok(Self { stages, idle_agents: BTreeSet::new() }),
        }
    }

    /// Those of the eight phases that are asked for, as the configuration has them.
    ///
    /// # Errors
    /// As [`Plan::new`], and when an agent is unknown: all that is wrong with the phases that are asked for, and nothing
    /// about the others. Also when none are asked for.
    pub fn from_settings(settings: &Settings, selection: Selection<'_>) -> Result<Self, PlanError> {
        Self::selected(Stage::drafts(settings, None), selection)
    }

    /// Those phases of a plan's file that are asked for; everything but their work as the configuration has it.
    ///
    /// # Errors
    /// As [`Plan::from_settings`].
    pub fn from_document(
        document: &PlanDocument,
        settings: &Settings,
        selection: Selection<'_>,
    ) -> Result<Self, PlanError> {
        Self::selected(Stage::drafts(settings, Some(document)), selection)
    }

    /// Those phases that are asked for and could run by themselves, whatever is wrong with the others: for whoever says all
    /// that is wrong.
    #[must_use]
    pub fn of_the_sound(document: Option<&PlanDocument>, settings: &Settings, selection: Selection<'_>) -> Self {
        let drafts = Stage::drafts(settings, document);
        let planned: Vec<Phase> = drafts.iter().map(|(phase, _)| *phase).collect();
        let asked = selection.of(&planned).unwrap_or_default();
        let asked = drafts.into_iter().filter(|(phase, _)| asked.contains(phase));
        let stages = asked.filter_map(|(_, draft)| draft.ok()).filter(|stage| !stage.is_idle()).collect();
        Self { stages, idle_agents: BTreeSet::new() }
    }

    fn selected(
        mut drafts: Vec<(Phase, Result<Stage, PlanError>)>,
        selection: Selection<'_>,
    ) -> Result<Self, PlanError> {
        if let Selection::OfChanged(phases) = selection {
            let left_out = phases.iter().filter(|phase| !drafts.iter().any(|(planned, _)| planned == *phase));
            let left_out: Vec<Phase> = left_out.copied().collect();
            drafts.extend(left_out.into_iter().map(|phase| (phase, Ok(Stage::left_out(phase)))));
        }
        let planned: Vec<Phase> = drafts.iter().map(|(phase, _)| *phase).collect();
        let asked = selection.of(&planned)?;
        let (mut stages, mut wrong, mut idle_agents) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (phase, draft) in drafts {
            match (asked.contains(&phase), draft) {
                (true, Ok(stage)) => stages.push(stage),
                (true, Err(error)) => wrong.push(error),
                (false, draft) => {
                    idle_agents.extend(draft.iter().filter_map(Stage::agent).map(|it| it.backend.clone()));
                }
            }
        }
        // What an execution that goes on still skips is its own matter.
        if !matches!(selection, Selection::Of(_) | Selection::OfChanged(_))
            && !stages.is_empty()
            && stages.iter().all(|stage| stage.skip)
        {
            wrong.push(PlanError::AllSkipped { phases: stages.iter().map(|stage| stage.phase).collect() });
        }
        let plan = Self::new(stages).map_err(|error| wrong.push(error));
        match (plan, PlanError::of(wrong)) {
            (Ok(plan), None) => Ok(Self { idle_agents, ..plan }),
            (_, error) => Err(error.expect("whatever keeps a plan from being made is an error")),
        }
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

    /// The agents of phases that were not asked for: their keys are for them alone all the same.
    #[must_use]
    pub fn idle_agents(&self) -> &BTreeSet<String> {
        &self.idle_agents
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nobody_error(phase: Phase) -> PlanError {
        PlanError::NoBackend { phase, backend: "nobody".to_owned(), origin: None, similar: None }
    }

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
            boundary: BoundaryMode::Auto,
            network: Network::Host,
            limits: Limits::default(),
            skip: false,
        }
    }

    #[test]
    fn a_phase_runs_something_once() {
        let twice = Plan::new(vec![stage(Phase::Design), stage(Phase::Audit), stage(Phase::Design)]);
        assert!(matches!(twice, Err(PlanError::Twice { phase: Phase::Design })));
        let idle = |phase| Stage { work: None, ..stage(phase) };
        let Err(error) = Plan::new(vec![idle(Phase::Deploy), stage(Phase::Audit), idle(Phase::Deploy)]) else {
            panic!("accepted")
        };
        let all = "phase `deploy` stands twice in the plan\nthese phases have no command and no prompt: deploy, deploy";
        assert_eq!(error.to_string(), all);
        assert!(Plan::new(vec![Stage { skip: true, ..idle(Phase::Deploy) }]).is_ok());
    }

    #[test]
    fn only_what_is_asked_for_has_to_be_right_and_other_agents_are_remembered() {
        let agent =
            AgentWork { backend: "codex".to_owned(), prompt: "Review.".to_owned(), effort: None, starts: Vec::new() };
        let nobody = |phase| (phase, Err(nobody_error(phase)));
        let with = |phase, work| (phase, Ok(Stage { work, ..stage(phase) }));
        let drafts = || {
            let audit = with(Phase::Audit, Some(Work::Agent(agent.clone())));
            let others = [nobody(Phase::Submit), nobody(Phase::Deploy), with(Phase::Learning, None)];
            [(Phase::Design, Ok(stage(Phase::Design))), audit].into_iter().chain(others).collect()
        };
        let plan = Plan::selected(drafts(), Selection::Only(Phase::Design)).expect("it is configured");
        assert_eq!((plan.phases(), plan.idle_agents().len()), (vec![Phase::Design], 1));
        let Err(PlanError::Several(all)) = Plan::selected(drafts(), Selection::All) else { panic!("accepted") };
        assert_eq!(all.len(), 3, "two agents and one command are missing: {all:?}");
    }
}
