//! Which part of a plan is executed.

use super::PlanError;
use crate::contract::Phase;

/// Which part of a plan to execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection<'a> {
    /// All of it.
    All,
    /// One phase.
    Only(Phase),
    /// From one phase to another, both included; from the first, or to the last, where one is missing.
    Between(Option<Phase>, Option<Phase>),
    /// The phases of an execution that is there.
    Of(&'a [Phase]),
    /// The same under a plan that was changed since: what it has no longer is passed over, and whoever wants that is asked about
    /// it as about everything weaker.
    OfChanged(&'a [Phase]),
}

impl Selection<'_> {
    /// Those of the phases that are asked for: at least one, where there is any.
    pub(super) fn of(self, planned: &[Phase]) -> Result<Vec<Phase>, PlanError> {
        let (from, until) = match self {
            Self::All => (None, None),
            Self::Only(phase) => (Some(phase), Some(phase)),
            Self::Between(from, until) => (from, until),
            Self::Of(phases) | Self::OfChanged(phases) => return of_execution(phases, planned),
        };
        let place = |phase| {
            let position = planned.iter().position(|planned| *planned == phase);
            position.ok_or_else(|| PlanError::NotPlanned { phase, planned: planned.to_vec() })
        };
        let first = from.map_or(Ok(0), place)?;
        let end = until.map_or(Ok(planned.len()), |phase| place(phase).map(|position| position + 1))?;
        match (from, until) {
            (Some(from), Some(until)) if first >= end => Err(PlanError::Backwards { from, until }),
            _ => Ok(planned[first..end].to_vec()),
        }
    }
}

/// Those of a plan that an execution has. Whether it needs others as well is known where it is gone on with.
fn of_execution(phases: &[Phase], planned: &[Phase]) -> Result<Vec<Phase>, PlanError> {
    let both: Vec<Phase> = planned.iter().filter(|phase| phases.contains(phase)).copied().collect();
    match phases.first() {
        Some(phase) if both.is_empty() => Err(PlanError::Missing { phase: *phase }),
        _ => Ok(both),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_keeps_the_order_of_the_plan_and_is_never_empty() {
        use Phase::{Audit, Deploy, Design, Discovery};
        let planned = [Design, Discovery, Audit];
        for (selection, phases) in [
            (Selection::All, &[Design, Discovery, Audit][..]),
            (Selection::Only(Discovery), &[Discovery]),
            (Selection::Between(Some(Discovery), None), &[Discovery, Audit]),
            (Selection::Between(None, Some(Discovery)), &[Design, Discovery]),
            (Selection::Between(Some(Audit), Some(Audit)), &[Audit]),
            (Selection::Of(&[Audit, Design]), &[Design, Audit]),
            (Selection::Of(&[Audit, Deploy]), &[Audit]),
        ] {
            assert_eq!(selection.of(&planned).expect("in the plan"), phases, "{selection:?}");
        }
        for asked in [Selection::Only(Deploy), Selection::Between(Some(Deploy), None)] {
            assert!(matches!(asked.of(&planned), Err(PlanError::NotPlanned { phase: Deploy, .. })), "{asked:?}");
        }
        let backwards = Selection::Between(Some(Audit), Some(Design)).of(&planned);
        assert!(matches!(backwards, Err(PlanError::Backwards { from: Audit, until: Design })));
        assert!(matches!(Selection::Of(&[Deploy]).of(&planned), Err(PlanError::Missing { phase: Deploy })));
    }
}
