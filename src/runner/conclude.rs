//! Makes the outcome of a phase durable and takes the step that follows from it.

use std::time::Duration;

use jiff::Timestamp;

use super::RunError;
use super::decision::{Facts, decide};
use super::engine::Engine;
use super::phase::{Concluded, failure_line};
use crate::contract::{Checkpoint, Decision, ExecutionId, Finding, Metrics, Phase, PhaseError, PhaseExit};
use crate::events::{CycleMark, Due, Event, NextAction, RunEnd};
use crate::policy::{Signature, trigger_for_failure};
use crate::store::Layout;
use crate::system::git;

/// How the summary of a phase begins that an agent calls done and no gate does.
pub(super) const UNVERIFIED: &str = "UNVERIFIED:";
/// The most characters of an agent's words in a summary.
const SUMMARY: usize = 200;

impl Engine<'_> {
    /// Journals the outcome of a phase, writes its checkpoint, and decides; `None` means that the walk goes on.
    pub(super) fn conclude(&mut self, phase: Phase, concluded: &Concluded) -> Result<Option<RunEnd>, RunError> {
        let (id, now) = (self.execution().clone(), self.stamp());
        let checkpoint = checkpoint(&id, phase, concluded, now);
        let summary = checkpoint.summary.clone();
        let findings = if phase == Phase::Audit { findings(concluded) } else { Vec::new() };
        self.record(Event::StageConcluded {
            cycle: concluded.remediable.then(|| self.mark(&findings)),
            checkpoint: Box::new(checkpoint),
            attempts: concluded.attempts,
            duration_ms: millis(concluded.duration),
            failure: concluded.failures.last().cloned().flatten(),
            overflow: concluded.last.overflow,
            remediable: concluded.remediable,
            findings,
            tree: None,
        })?;
        self.project(phase)?;
        if let Some(reason) = &concluded.last.result_refused {
            self.notice(format!("{phase}: the result file was not used: {reason}"));
        }
        let facts = Facts {
            outcome: &concluded.outcome,
            remediable: concluded.remediable,
            fired: self.journal.state().counters.fired(&self.bounds.triggers),
            otherwise: trigger_for_failure(&concluded.outcome, &concluded.failures),
        };
        let due = Due { phase, next: decide(&facts), reason: summary };
        if due.next != NextAction::Proceed {
            let Due { phase, next, reason } = due.clone();
            self.record(Event::NextDecided { phase, next, reason })?;
        }
        self.follow(&due)
    }

    fn mark(&self, findings: &[Finding]) -> CycleMark {
        let snapshot = git::snapshot(self.layout.workspace(), Layout::OWN);
        let (head, tree) = snapshot.map_or((None, None), |snapshot| (snapshot.head, Some(snapshot.tree)));
        CycleMark { head, tree, findings: Signature::of(findings, &[], "") }
    }

    pub(super) fn remediate(&mut self) -> Result<(), RunError> {
        let number = self.journal.state().counters.remediation_loops() + 1;
        self.record(Event::Remediation { number, of: self.bounds.triggers.max_loops })
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
