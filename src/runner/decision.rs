//! What follows the outcome of a phase (Exit Code Handling; Escalation Triggers). Pure.

use crate::contract::{EscalationTrigger, Phase, PhaseExit};
use crate::events::NextAction;
use crate::policy::Outcome;

/// What is known when a phase has its outcome and no retry is left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) outcome: &'a Outcome,
    /// The failure is one that remediation answers.
    pub(super) remediable: bool,
    /// The first trigger that holds, this outcome counted.
    pub(super) fired: Option<EscalationTrigger>,
    /// The trigger for a failure that no counter explains.
    pub(super) otherwise: EscalationTrigger,
}

/// Whether an outcome of `phase` is answered by remediation: the audit's own exit 1, where there is work to do again.
pub(super) fn is_remediable(phase: Phase, outcome: &Outcome, planned: &[Phase]) -> bool {
    phase == Phase::Audit
        && outcome.exit == PhaseExit::Retry
        && outcome.error.is_none()
        && planned.contains(&Phase::Implementation)
}

pub(super) fn decide(facts: &Facts<'_>) -> NextAction {
    match (facts.outcome.exit, facts.fired) {
        (_, Some(EscalationTrigger::ContextOverflow)) => {
            NextAction::Escalate { trigger: EscalationTrigger::ContextOverflow }
        }
        (PhaseExit::Success, _) => NextAction::Proceed,
        (PhaseExit::Retry, Some(trigger)) if facts.remediable => NextAction::Escalate { trigger },
        (PhaseExit::Retry, None) if facts.remediable => NextAction::Remediate,
        (PhaseExit::Retry | PhaseExit::Blocked, _) => NextAction::Escalate { trigger: facts.otherwise },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Ending;
    use EscalationTrigger as T;

    #[test]
    fn what_follows_each_outcome() {
        let of = |code| Outcome::of(&Ending::Exited(code));
        let rows = [
            // A success goes on, whatever counter stands where; a context that is over stops even then.
            (of(0), false, None, NextAction::Proceed),
            (of(0), false, Some(T::Timeout), NextAction::Proceed),
            (of(0), false, Some(T::ContextOverflow), NextAction::Escalate { trigger: T::ContextOverflow }),
            // The audit's exit 1 is work to do, until a counter says enough.
            (of(1), true, None, NextAction::Remediate),
            (of(1), true, Some(T::MaxLoops), NextAction::Escalate { trigger: T::MaxLoops }),
            (of(1), true, Some(T::SameIssue), NextAction::Escalate { trigger: T::SameIssue }),
            // Any other failure is beyond retries here.
            (of(1), false, None, NextAction::Escalate { trigger: T::NoProgress }),
            (of(1), false, Some(T::ContextOverflow), NextAction::Escalate { trigger: T::ContextOverflow }),
            (of(2), false, None, NextAction::Escalate { trigger: T::NoProgress }),
            (of(7), false, Some(T::Timeout), NextAction::Escalate { trigger: T::NoProgress }),
        ];
        for (outcome, remediable, fired, step) in rows {
            let facts = Facts { outcome: &outcome, remediable, fired, otherwise: T::NoProgress };
            assert_eq!(decide(&facts), step, "{facts:?}");
        }
    }

    #[test]
    fn only_the_audits_own_exit_1_is_remediable_and_only_where_there_is_an_implementation() {
        let of = |code| Outcome::of(&Ending::Exited(code));
        let late = Outcome::of(&Ending::TimedOut(std::time::Duration::from_secs(1)));
        let both = [Phase::Implementation, Phase::Audit];
        let rows = [
            (Phase::Audit, of(1), &both[..], true),
            (Phase::Audit, of(1), &both[1..], false),
            (Phase::Audit, of(2), &both[..], false),
            (Phase::Audit, of(0), &both[..], false),
            (Phase::Audit, late, &both[..], false),
            (Phase::Implementation, of(1), &both[..], false),
        ];
        for (phase, outcome, planned, expected) in rows {
            assert_eq!(is_remediable(phase, &outcome, planned), expected, "{phase} {outcome:?}");
        }
    }
}
