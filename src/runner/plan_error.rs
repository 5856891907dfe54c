//! Why a plan cannot be executed.

use std::path::PathBuf;

use crate::config::Origin;
use crate::contract::Phase;

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
    /// Phases have nothing to run and are not skipped.
    #[error("{}", has_nothing(phases))]
    NoCommand {
        /// The phases; at least one.
        phases: Vec<Phase>,
    },
    /// A phase's agent is one that nothing is known of.
    #[error("{}phase `{phase}` asks for the backend `{backend}`, which is not configured", said(origin.as_ref()))]
    NoBackend {
        /// The phase.
        phase: Phase,
        /// The name.
        backend: String,
        /// Where the configuration says so; `None` where it does not.
        origin: Option<Origin>,
        /// A name that is known and looks like it.
        similar: Option<String>,
    },
    /// A phase stands twice in the plan.
    #[error("phase `{phase}` stands twice in the plan")]
    Twice {
        /// The phase.
        phase: Phase,
    },
    /// A phase that the execution needs is not in the plan.
    #[error("phase `{phase}` is not in the plan")]
    Missing {
        /// The phase.
        phase: Phase,
    },
    /// A phase was asked for that is not in the plan.
    #[error("phase `{phase}` is not in the plan, which has {}", listed(planned))]
    NotPlanned {
        /// The phase.
        phase: Phase,
        /// Those that are.
        planned: Vec<Phase>,
    },
    /// The last phase that was asked for comes before the first.
    #[error("nothing runs from `{from}` until `{until}`: in the plan `{until}` comes first")]
    Backwards {
        /// The first.
        from: Phase,
        /// The last.
        until: Phase,
    },
    /// Every phase that was asked for is to be skipped.
    #[error("nothing runs: every phase that is asked for is to be skipped ({})", listed(phases))]
    AllSkipped {
        /// Those phases.
        phases: Vec<Phase>,
    },
    /// More than one of these.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<PlanError>),
}

fn said(origin: Option<&Origin>) -> String {
    origin.map(|origin| format!("{origin}: ")).unwrap_or_default()
}

fn listed(phases: &[Phase]) -> String {
    phases.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn has_nothing(phases: &[Phase]) -> String {
    match phases {
        [phase] => format!("phase `{phase}` has no command and no prompt"),
        _ => format!("these phases have no command and no prompt: {}", listed(phases)),
    }
}

impl PlanError {
    /// One error for all of them; `None` where there is none.
    pub(super) fn of(mut errors: Vec<Self>) -> Option<Self> {
        if errors.len() > 1 { Some(Self::Several(errors)) } else { errors.pop() }
    }

    /// The same where the configuration is broken too: a phase whose work it spells wrong counts as skipped in what is left of
    /// it, and that nothing else runs is no error of its own.
    #[must_use]
    pub fn beside_a_broken_configuration(self) -> Option<Self> {
        match self {
            Self::AllSkipped { .. } => None,
            Self::Several(errors) => {
                Self::of(errors.into_iter().filter_map(Self::beside_a_broken_configuration).collect())
            }
            error => Some(error),
        }
    }
}
