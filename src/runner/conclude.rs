//! Makes the outcome of a phase durable and takes the step that follows from it.

use std::time::Duration;

use jiff::Timestamp;

use super::decision::{Facts, Step, decide};
use super::engine::{End, Engine};
use super::phase::{Concluded, failure_line};
use super::{Progress, RunError};
use crate::contract::{Checkpoint, Decision, ExecutionId, Finding, Metrics, Phase, PhaseError, PhaseExit};
use crate::policy::{Signature, trigger_for_failure};
use crate::store::{CycleMark, Layout};
use crate::system::git;

/// How the summary of a phase begins that an agent calls done and no gate does.
pub(super) const UNVERIFIED: &str = "UNVERIFIED:";
/// The most characters of an agent's words in a summary.
const SUMMARY: usize = 200;

impl Engine<'_> {
    /// Writes the checkpoint, then decides; `None` means that the walk goes on.
    pub(super) fn conclude(&mut self, phase: Phase, concluded: &Concluded) -> Result<Option<End>, RunError> {
        let (id, now) = (self.execution().clone(), self.stamp());
        let checkpoint = checkpoint(&id, phase, concluded, now);
        self.standing.write(&self.layout, checkpoint.clone())?;
        self.listener.on(&Progress::PhaseEnded {
            phase,
            exit: checkpoint.exit_code,
            summary: &checkpoint.summary,
            duration: concluded.duration,
            tokens: checkpoint.metrics.and_then(|metrics| metrics.tokens_used),
            checkpoint: &self.layout.checkpoint(phase),
        });
        if let Some(reason) = &concluded.last.result_refused {
            let text = format!("{phase}: the result file was not used: {reason}");
            self.listener.on(&Progress::Notice { text: &text });
        }
        self.record().active = None;
        let changed = self.count(phase, concluded);
        let facts = Facts {
            outcome: &concluded.outcome,
            remediable: concluded.remediable,
            fired: self.standing.record.counters.fired(&self.bounds.triggers),
            otherwise: trigger_for_failure(&concluded.outcome, &concluded.failures),
        };
        match decide(&facts) {
            // Nobody else writes down, durably, that the audit is satisfied.
            Step::Proceed if changed => self.save().map(|()| None),
            Step::Proceed => Ok(None),
            Step::Remediate => self.remediate().map(|()| None),
            Step::Escalate(trigger) => self.escalate(trigger, phase, None, &checkpoint.summary).map(Some),
        }
    }

    /// Brings the outcome to the counters; whether they are others now.
    fn count(&mut self, phase: Phase, concluded: &Concluded) -> bool {
        let before = self.standing.record.clone();
        if concluded.last.overflow {
            self.record().counters.context_overflowed();
        }
        if phase != Phase::Audit {
            return self.standing.record != before;
        }
        let findings = findings(concluded);
        if concluded.outcome.exit == PhaseExit::Success {
            self.record().counters.audit_passed();
            self.record().cycle = None;
        } else if concluded.remediable {
            let signature = concluded.failures.last().cloned().flatten();
            let mark = self.mark(&findings);
            let earlier = self.record().cycle.replace(mark.clone());
            if let Some(earlier) = earlier {
                self.record().counters.cycle_ended(earlier != mark);
            }
            self.record().counters.audit_failed(signature);
        }
        self.record().findings = findings;
        self.standing.record != before
    }

    fn mark(&self, findings: &[Finding]) -> CycleMark {
        let snapshot = git::snapshot(self.layout.workspace(), Layout::OWN);
        let (head, tree) = snapshot.map_or((None, None), |snapshot| (snapshot.head, Some(snapshot.tree)));
        CycleMark { head, tree, findings: Signature::of(findings, &[], "") }
    }

    fn remediate(&mut self) -> Result<(), RunError> {
        let now = self.stamp();
        self.record().counters.remediation_started();
        for phase in [Phase::Implementation, Phase::Audit] {
            self.record().reopened.insert(phase, now);
        }
        self.save()?;
        let number = self.standing.record.counters.remediation_loops();
        self.listener.on(&Progress::Remediation { number, of: self.bounds.triggers.max_loops });
        Ok(())
    }
}

fn findings(concluded: &Concluded) -> Vec<Finding> {
    concluded.last.result.as_ref().map(|result| result.findings.clone()).unwrap_or_default()
}

/// The checkpoint of an outcome: what the phase says about itself, and what we know better.
fn checkpoint(id: &ExecutionId, phase: Phase, concluded: &Concluded, now: Timestamp) -> Checkpoint {
    let result = concluded.last.result.clone().unwrap_or_default();
    let reported = result.metrics.unwrap_or_default();
    let summary = result.summary.filter(|summary| !summary.trim().is_empty());
    let mut errors = result.errors;
    errors.extend(own_errors(concluded));
    Checkpoint {
        execution_id: id.clone(),
        phase,
        created_at: now,
        exit_code: concluded.outcome.exit,
        summary: marked(concluded, summary.unwrap_or_else(|| own_summary(phase, concluded))),
        decisions: result.decisions,
        artifacts: if result.artifacts.is_empty() { concluded.artifacts.clone() } else { result.artifacts },
        errors,
        metrics: Some(Metrics {
            duration_ms: millis(concluded.duration),
            tokens_used: reported.tokens_used,
            api_calls: reported.api_calls,
        }),
    }
}

/// An agent's word that nobody checked is marked as such.
fn marked(concluded: &Concluded, summary: String) -> String {
    let unchecked = concluded.last.unverified && concluded.outcome.exit == PhaseExit::Success;
    if unchecked { format!("{UNVERIFIED} {summary}") } else { summary }
}

fn own_summary(phase: Phase, concluded: &Concluded) -> String {
    let attempts = match concluded.attempts {
        1 => String::new(),
        more => format!(" in {more} attempts"),
    };
    match concluded.outcome.exit {
        PhaseExit::Success => match concluded.last.said.as_deref().map(shortened) {
            Some(said) if !said.is_empty() => said,
            _ => format!("{phase} completed{attempts}"),
        },
        _ => format!("{phase} failed{attempts}: {}", failure_line(&concluded.last, &concluded.outcome)),
    }
}

/// The first line of what an agent said, short enough for a summary.
fn shortened(said: &str) -> String {
    let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut short: String = line.chars().take(SUMMARY).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

fn own_errors(concluded: &Concluded) -> Vec<PhaseError> {
    let refused = concluded.last.result_refused.as_ref().map(|reason| PhaseError {
        code: "RESULT_INVALID".to_owned(),
        message: format!("the result file was not used: {reason}"),
        recoverable: true,
    });
    concluded.outcome.error.iter().cloned().chain(refused).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The checkpoint of a phase that is passed over: a success that says so, with the decision behind it.
pub(super) fn skipped(id: &ExecutionId, phase: Phase, because: &str, now: Timestamp) -> Checkpoint {
    let decision = Decision {
        id: "D-001".to_owned(),
        description: format!("Skip the phase {phase}"),
        reasoning: because.to_owned(),
        timestamp: now.to_string(),
    };
    Checkpoint {
        execution_id: id.clone(),
        phase,
        created_at: now,
        exit_code: PhaseExit::Success,
        summary: format!("SKIPPED: {because}"),
        decisions: vec![decision],
        artifacts: Vec::new(),
        errors: Vec::new(),
        metrics: None,
    }
}
