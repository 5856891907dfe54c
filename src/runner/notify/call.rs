//! What a human is told first.

use crate::contract::{EscalationTrigger, Phase};
use crate::events::State;
use crate::store::{Layout, ReportPaths, report_paths};
use crate::text::Untrusted;

/// What a human is told first.
#[derive(Debug, Clone)]
pub struct Call {
    /// What names it, so that an answer is taken for no other.
    pub id: String,
    /// Why.
    pub trigger: EscalationTrigger,
    /// Where.
    pub phase: Phase,
    /// What happened, in one line.
    pub reason: Untrusted,
    /// The report.
    pub report: ReportPaths,
}

impl Call {
    /// The call that waits for its answer; `None` when none does.
    #[must_use]
    pub fn pending(state: &State, layout: &Layout) -> Option<Self> {
        let pending = state.pending.as_ref()?;
        Some(Self {
            id: state.execution_id.call(pending.number),
            trigger: pending.trigger,
            phase: pending.phase,
            reason: pending.reason.clone(),
            report: report_paths(layout, &state.execution_id, pending.number),
        })
    }
}
