//! What an execution runs: the phases, in order, each with its stage.
//!
//! A plan comes from `runtime.phases` of the configuration or from a file of its own, which names phases and commands and
//! leaves everything else to the configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::{Command, Settings};
use crate::contract::Phase;
use crate::diag::render::all;
use crate::diag::{Budget, Diagnostic, Format, Value};
use crate::policy::Backoff;
use crate::schema::{Checker, Kind, Rule, Subject};

/// A plan's file: the phases to run, in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Plan")]
#[serde(deny_unknown_fields)]
pub struct PlanDocument {
    /// The phases. At least one, none twice.
    #[schemars(length(min = 1))]
    pub phases: Vec<PlannedPhase>,
}

/// One phase of a plan's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedPhase {
    /// The phase.
    pub id: Phase,
    /// What to run: its exit code decides.
    pub command: Command,
}

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
    /// Program and arguments; never empty, unless the phase is skipped.
    pub command: Vec<String>,
    /// The gate: program and arguments. It runs after the command succeeded, and its exit code then decides.
    pub verify: Option<Vec<String>>,
    /// Variables besides those that the runtime sets.
    pub env: BTreeMap<String, String>,
    /// Longest duration of one attempt, gate included.
    pub timeout: Option<Duration>,
    /// Retries after the first attempt.
    pub retries: u32,
    /// The pauses before them.
    pub backoff: Backoff,
    /// Whether it is passed over.
    pub skip: bool,
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
    #[error("phase `{phase}` has no command")]
    NoCommand {
        /// The phase.
        phase: Phase,
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
    /// A phase and those behind it.
    From(Phase),
}

impl Stage {
    fn configured(settings: &Settings, phase: Phase, command: Option<&Command>) -> Self {
        let configured = settings.phase(phase);
        let command = command.or(configured.command.as_ref());
        Self {
            phase,
            command: command.map(Command::argv).unwrap_or_default(),
            verify: configured.verify.as_ref().map(Command::argv),
            env: configured.env,
            timeout: configured.timeout,
            retries: configured.retry.max,
            backoff: configured.retry.backoff,
            skip: configured.skip,
        }
    }
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
            if stage.command.is_empty() && !stage.skip {
                return Err(PlanError::NoCommand { phase });
            }
        }
        Ok(Self { stages })
    }

    /// The eight phases as the configuration has them.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn from_settings(settings: &Settings) -> Result<Self, PlanError> {
        Self::new(Phase::ALL.iter().map(|phase| Stage::configured(settings, *phase, None)).collect())
    }

    /// The phases of a plan's file; everything but their commands as the configuration has it.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn from_document(document: &PlanDocument, settings: &Settings) -> Result<Self, PlanError> {
        let stage = |planned: &PlannedPhase| Stage::configured(settings, planned.id, Some(&planned.command));
        Self::new(document.phases.iter().map(stage).collect())
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
        let (Selection::Only(phase) | Selection::From(phase)) = selection else { return Ok(self) };
        let position = self.stages.iter().position(|stage| stage.phase == phase);
        let position = position.ok_or(PlanError::Missing { phase })?;
        self.stages.drain(..position);
        if matches!(selection, Selection::Only(_)) {
            self.stages.truncate(1);
        }
        Ok(self)
    }
}

/// The document kind of a plan's file.
pub const PLAN: Kind = Kind::of::<PlanDocument>("plan", || {
    vec![json!({ "phases": [
        { "id": "design", "command": ["/usr/local/bin/design", "--brief"] },
        { "id": "implementation", "command": "make build" },
    ] })]
})
.place("what `loa-run run --plan` is given")
.written_in(Format::Yaml)
.rules(&[PHASE_ONCE]);

/// A phase has one command.
const PHASE_ONCE: Rule = Rule { id: "phase-once", about: "a phase stands once in a plan", check: phase_once };

fn phase_once(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let Some(Value::Seq(phases)) = subject.document.root().get("phases").map(|phases| &phases.value) else {
        return Vec::new();
    };
    let ids: Vec<_> = phases.iter().filter_map(|phase| phase.get("id")).collect();
    let twice = (0..ids.len()).filter_map(|at| {
        let word = ids[at].as_str()?;
        let first = ids[..at].iter().find(|earlier| earlier.as_str() == Some(word))?;
        let finding = Diagnostic::error(PHASE_ONCE.id, format!("phase `{word}` stands twice in the plan"))
            .at(ids[at].span)
            .of(format!("/phases/{at}/id"))
            .expected("a phase that is not in the plan yet")
            .found(ids[at].describe());
        Some(finding.related(first.span, "here it stands first").help("one command a phase: put both into one script"))
    });
    twice.collect()
}

/// Reads a plan's file.
///
/// # Errors
/// [`PlanError::File`] or [`PlanError::Invalid`].
pub fn read_plan(path: &Path) -> Result<PlanDocument, PlanError> {
    let budget = Budget::default();
    let bytes = crate::system::files::read(path, budget.bytes)?;
    let name = Utf8PathBuf::from(path.to_string_lossy().into_owned());
    Checker::new(&PLAN).read(&bytes, &name, &budget).map_err(|findings| PlanError::Invalid {
        path: path.to_path_buf(),
        findings: all(name.as_str(), &bytes, &findings),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(phase: Phase) -> Stage {
        Stage {
            phase,
            command: vec!["true".to_owned()],
            verify: None,
            env: BTreeMap::new(),
            timeout: None,
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
        assert_eq!(phases(Selection::From(Phase::Discovery)), [Phase::Discovery, Phase::Audit]);
        assert!(matches!(
            plan().select(Selection::From(Phase::Deploy)),
            Err(PlanError::Missing { phase: Phase::Deploy })
        ));
    }

    #[test]
    fn a_phase_runs_something_once() {
        let twice = Plan::new(vec![stage(Phase::Design), stage(Phase::Audit), stage(Phase::Design)]);
        assert!(matches!(twice, Err(PlanError::Twice { phase: Phase::Design })));
        let idle = Stage { command: Vec::new(), ..stage(Phase::Deploy) };
        assert!(matches!(Plan::new(vec![idle.clone()]), Err(PlanError::NoCommand { phase: Phase::Deploy })));
        assert!(Plan::new(vec![Stage { skip: true, ..idle }]).is_ok());
    }
}
