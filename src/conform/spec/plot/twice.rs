//! Plots in which one thing goes wrong twice in one phase, so that a fault that shows at the second time, at each but the first
//! or at the last alone comes up wherever it can.

use fastrand::Rng;

use super::Plot;
use super::incident::{Cause, Incident, Kind};
use crate::contract::{Phase, ResolutionAction};

impl Plot {
    /// For each phase each cause twice, each answer twice, its state asked twice, and a run that is resumed twice when it is
    /// over.
    #[must_use]
    pub fn twice(rng: &mut Rng) -> Vec<Self> {
        let mut plots = vec![Self { resumed: 2, ..Self::plain() }];
        for &phase in Phase::ALL {
            plots.extend(Cause::ALL.into_iter().filter_map(|cause| of_a_cause(cause, phase, rng)));
            plots.extend(of_the_answers(phase));
            plots.push(of_the_state(phase));
        }
        for plot in &mut plots {
            plot.words = Some(rng.u64(..));
        }
        plots
    }

    fn in_which(incidents: Vec<Incident>) -> Self {
        Self { incidents, ..Self::plain() }
    }
}

fn of_a_cause(cause: Cause, phase: Phase, rng: &mut Rng) -> Option<Plot> {
    let kind = match cause {
        // Both are the failures of one incident.
        Cause::Failed => Kind::Fails(2),
        cause => cause.kind(phase, rng),
    };
    let again = |answer| Incident { phase, kind, answer };
    let first = if kind.leaves_it_open() { ResolutionAction::Reset } else { ResolutionAction::FixAndResume };
    match kind {
        // The story ends there, and what never passes is passed over.
        Kind::OutOfTime | Kind::NeverPasses => None,
        Kind::Fails(2) => Some(Plot::in_which(vec![again(first)])),
        _ => Some(Plot::in_which(vec![again(first), again(ResolutionAction::FixAndResume)])),
    }
}

/// The phase needs a human twice, and the runtime is asked for its state each time.
fn of_the_state(phase: Phase) -> Plot {
    let blocked = Incident { phase, kind: Kind::Blocked, answer: ResolutionAction::FixAndResume };
    Plot { asked: true, ..Plot::in_which(vec![blocked, blocked]) }
}

fn of_the_answers(phase: Phase) -> Vec<Plot> {
    let blocked = |phase, answer| Incident { phase, kind: Kind::Blocked, answer };
    let reset = || blocked(phase, ResolutionAction::Reset);
    let mut plots = vec![
        Plot::in_which(vec![reset(), reset()]),
        Plot { resumed: 1, ..Plot::in_which(vec![blocked(phase, ResolutionAction::Abort)]) },
    ];
    if let Some(later) = phase.next() {
        let skipped = blocked(phase, ResolutionAction::SkipPhase);
        plots.push(Plot::in_which(vec![skipped, blocked(later, ResolutionAction::Reset), skipped]));
        // What is done before a reset is done a second time.
        plots.push(Plot::in_which(vec![blocked(later, ResolutionAction::Reset)]));
    }
    plots
}
