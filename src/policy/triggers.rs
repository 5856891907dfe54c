//! When to call a human (Escalation Triggers).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Signature, StageOutcome};
use crate::contract::{EscalationTrigger, PhaseExit};

/// The thresholds of the triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggerLimits {
    /// Remediation loops that may run before a failed audit is a human's matter.
    pub max_loops: u32,
    /// Consecutive failures with one signature.
    pub same_issue: u32,
    /// Consecutive cycles that changed nothing.
    pub no_progress: u32,
    /// Time in which a stage ran or backed off, over all sessions of the execution.
    pub timeout: Duration,
}

impl Default for TriggerLimits {
    fn default() -> Self {
        Self { max_loops: 3, same_issue: 3, no_progress: 5, timeout: Duration::from_hours(8) }
    }
}

/// What is counted towards the triggers. Part of what a run must keep on disk: a restart does not forget it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggerCounters {
    remediation_loops: u32,
    awaits_remediation: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issue: Option<Signature>,
    issue_count: u32,
    idle_cycles: u32,
    elapsed_ms: u64,
    overflow: bool,
}

impl TriggerCounters {
    /// An audit, or an iteration of a loop, failed. Retries of one phase are not counted here.
    pub fn audit_failed(&mut self, signature: Option<Signature>) {
        self.awaits_remediation = true;
        let same = signature.is_some() && self.issue == signature;
        self.issue_count = match (&signature, same) {
            (None, _) => 0,
            (Some(_), true) => self.issue_count + 1,
            (Some(_), false) => 1,
        };
        self.issue = signature;
    }

    /// An audit, or an iteration of a loop, succeeded: its issues are gone.
    pub fn audit_passed(&mut self) {
        self.awaits_remediation = false;
        self.issue = None;
        self.issue_count = 0;
    }

    /// A remediation loop starts.
    pub fn remediation_started(&mut self) {
        self.awaits_remediation = false;
        self.remediation_loops += 1;
    }

    /// A remediation loop or an iteration of a loop ended; whether the tree, the commits or the findings changed.
    pub fn cycle_ended(&mut self, changed: bool) {
        self.idle_cycles = if changed { 0 } else { self.idle_cycles + 1 };
    }

    /// A stage ran, or a backoff lasted, this long. Waiting for people or for a provider's reset does not count.
    pub fn add_elapsed(&mut self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.elapsed_ms = self.elapsed_ms.saturating_add(millis);
    }

    /// The context stayed at its hard limit.
    pub fn context_overflowed(&mut self) {
        self.overflow = true;
    }

    /// How many remediation loops were started since the counter began.
    #[must_use]
    pub fn remediation_loops(&self) -> u32 {
        self.remediation_loops
    }

    /// The time that counts towards the timeout.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed_ms)
    }

    /// The trigger that holds now. When several do, the first in this order: `context_overflow`, `timeout`,
    /// `same_issue`, `no_progress`, `max_loops`.
    #[must_use]
    pub fn fired(&self, limits: &TriggerLimits) -> Option<EscalationTrigger> {
        let in_order = [
            (EscalationTrigger::ContextOverflow, self.overflow),
            (EscalationTrigger::Timeout, self.elapsed() >= limits.timeout),
            (EscalationTrigger::SameIssue, self.issue_count >= limits.same_issue),
            (EscalationTrigger::NoProgress, self.idle_cycles >= limits.no_progress),
            (EscalationTrigger::MaxLoops, self.awaits_remediation && self.remediation_loops >= limits.max_loops),
        ];
        in_order.into_iter().find_map(|(trigger, holds)| holds.then_some(trigger))
    }

    /// A human mended the cause: the counter or clock of the trigger that fired starts anew, the others go on.
    pub fn reset(&mut self, trigger: EscalationTrigger) {
        match trigger {
            EscalationTrigger::ContextOverflow => self.overflow = false,
            EscalationTrigger::Timeout => self.elapsed_ms = 0,
            EscalationTrigger::SameIssue => (self.issue, self.issue_count) = (None, 0),
            EscalationTrigger::NoProgress => self.idle_cycles = 0,
            EscalationTrigger::MaxLoops => (self.remediation_loops, self.awaits_remediation) = (0, false),
            EscalationTrigger::Manual => {}
        }
    }
}

/// The trigger to report for a phase that failed for good, given the signatures of all its attempts.
///
/// The contract has no word for these: blocked and unknown endings are `manual`; exhausted retries are `same_issue` when
/// every attempt failed alike, and `no_progress` when they differ or say nothing about themselves.
#[must_use]
pub fn trigger_for_failure(outcome: &StageOutcome, attempts: &[Option<Signature>]) -> EscalationTrigger {
    if outcome.exit != PhaseExit::Retry {
        return EscalationTrigger::Manual;
    }
    let alike = attempts.windows(2).all(|pair| pair[0] == pair[1]);
    let known = attempts.first().is_some_and(Option::is_some);
    if alike && known { EscalationTrigger::SameIssue } else { EscalationTrigger::NoProgress }
}

#[cfg(test)]
mod tests;
