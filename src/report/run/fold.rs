//! From what lies on disk to a report. Pure: the present moment and who works on the execution are arguments.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use super::value::{
    Answer, AttemptOutcome, AttemptReport, Call, ContextEvent, Gap, GapCause, Limit, PhaseReport, Remediation,
    RunReport, Wait,
};
use crate::contract::{Checkpoint, EscalationReport, ExecutionId, Phase, PhaseExit};
use crate::policy::Execution;
use crate::store::{FiledReport, HistoryEvent, HistoryLine, Past, RunRecord, RunStatus};

/// What was seen from outside when the files were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The present moment.
    pub now: Timestamp,
    /// Whether a process works on the execution.
    pub working: bool,
}

/// The report of an execution; `None` when nothing is known of it but that it was begun.
#[must_use]
pub fn fold(past: &Past, seen: Seen) -> Option<RunReport> {
    let record = past.record.as_ref();
    let id = record.map(|record| &record.execution_id).or_else(|| Some(&past.checkpoints.first()?.execution_id))?;
    let last_at = if seen.working { seen.now } else { last_known(past).unwrap_or(seen.now) };
    let mut walk = Walk { last_at, working: seen.working, ..Walk::new(seen.now) };
    past.history.iter().for_each(|line| walk.line(line));
    walk.finish();
    if past.history.is_empty() {
        walk.attempts = past.checkpoints.iter().filter_map(attempt_of).collect();
    }
    for attempt in &mut walk.attempts {
        attempt.log = log_of(&past.logs, attempt);
    }
    let earliest = walk.attempts.iter().map(|attempt| attempt.started_at).min();
    Some(RunReport {
        execution_id: id.clone(),
        status: status(record, seen.working),
        started_at: record.map(|record| record.started_at).or(earliest).unwrap_or(last_at),
        last_at,
        elapsed_ms: record.map_or(0, |record| u64::try_from(record.counters.elapsed().as_millis()).unwrap_or(u64::MAX)),
        sessions: record.map_or(0, |record| record.sessions.len()),
        phases: phases(past, id),
        attempts: walk.attempts,
        waits: walk.waits,
        remediations: walk.remediations,
        context: walk.context,
        limits: walk.limits,
        calls: past.reports.iter().map(|filed| call(filed, record)).collect(),
        gaps: walk.gaps,
        findings: record.map(|record| record.findings.clone()).unwrap_or_default(),
        unreadable: past.unreadable,
    })
}

fn status(record: Option<&RunRecord>, working: bool) -> &'static str {
    match record.map(|record| record.status) {
        Some(RunStatus::Running) if !working => "died",
        Some(status) => status.as_str(),
        None => "found",
    }
}

fn last_known(past: &Past) -> Option<Timestamp> {
    let written = past.record.as_ref().map(|record| record.updated_at);
    let seen = past.history.last().map(|line| line.at);
    let ended = past.checkpoints.iter().map(|checkpoint| checkpoint.created_at).max();
    [written, seen, ended].into_iter().flatten().max()
}

fn phases(past: &Past, id: &ExecutionId) -> Vec<PhaseReport> {
    let record = past.record.as_ref();
    let order = record.map_or_else(|| Phase::ALL.to_vec(), |record| record.phases.clone());
    // A checkpoint counts only when it is newer than the reopening of its phase.
    let stale = |phase: &Phase, at: &Timestamp| {
        !past.checkpoints.iter().any(|checkpoint| checkpoint.phase == *phase && checkpoint.created_at > *at)
    };
    let reopened: BTreeSet<Phase> = record
        .map(|record| record.reopened.iter().filter(|(phase, at)| stale(phase, at)).map(|(phase, _)| *phase).collect())
        .unwrap_or_default();
    let active = record.filter(|record| record.status == RunStatus::Running).and_then(|record| record.active.as_ref());
    let execution = Execution { id, order: &order, checkpoints: &past.checkpoints, reopened: &reopened };
    let statuses = execution.phase_statuses(active.map(|active| active.phase));
    let of = |phase: &Phase| {
        let status = statuses.iter().find(|status| status.phase == *phase)?;
        let checkpoint = past.checkpoints.iter().find(|checkpoint| checkpoint.phase == *phase).cloned();
        Some(PhaseReport { phase: *phase, status: status.status, checkpoint })
    };
    order.iter().filter_map(of).collect()
}

/// All that is known of a phase without a history: when it ended and how long it took.
fn attempt_of(checkpoint: &Checkpoint) -> Option<AttemptReport> {
    let took = i64::try_from(checkpoint.metrics?.duration_ms).ok()?;
    Some(AttemptReport {
        phase: checkpoint.phase,
        attempt: None,
        started_at: checkpoint.created_at.checked_sub(SignedDuration::from_millis(took)).ok()?,
        ended_at: checkpoint.created_at,
        outcome: outcome(Some(checkpoint.exit_code)),
        reason: checkpoint.errors.first().map(|error| error.message.clone()),
        log: None,
    })
}

fn outcome(exit: Option<PhaseExit>) -> AttemptOutcome {
    match exit {
        Some(PhaseExit::Success) => AttemptOutcome::Success,
        Some(PhaseExit::Retry) => AttemptOutcome::Retry,
        Some(PhaseExit::Blocked) => AttemptOutcome::Blocked,
        None => AttemptOutcome::Stopped,
    }
}

fn log_of(logs: &Path, attempt: &AttemptReport) -> Option<std::path::PathBuf> {
    let path = logs.join(format!("{}-{}.log", attempt.phase, attempt.attempt?));
    path.is_file().then_some(path)
}

fn call(filed: &FiledReport, record: Option<&RunRecord>) -> Call {
    let EscalationReport { timestamp, trigger, phase, context, .. } = &filed.report;
    let answers = record.map_or(&[][..], |record| &record.resolutions);
    let answer = answers.iter().rfind(|answer| answer.escalation == filed.number).map(|answer| Answer {
        at: answer.at,
        action: answer.resolution.action,
        notes: answer.resolution.notes.clone(),
    });
    let reason = context.suggested_actions.first().map_or("", String::as_str);
    Call {
        number: filed.number,
        at: *timestamp,
        trigger: *trigger,
        phase: *phase,
        reason: reason.strip_prefix("what happened: ").unwrap_or(reason).to_owned(),
        report: filed.paths.markdown.clone(),
        answer,
    }
}

/// The history, read line by line.
struct Walk {
    attempts: Vec<AttemptReport>,
    waits: Vec<Wait>,
    remediations: Vec<Remediation>,
    context: Vec<ContextEvent>,
    limits: Vec<Limit>,
    gaps: Vec<Gap>,
    /// The line before.
    before: Timestamp,
    /// A session is open, or how the last one ended.
    session: Session,
    last_at: Timestamp,
    working: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Session {
    None,
    Open,
    Ended(Timestamp, GapCause),
}

impl Walk {
    fn new(now: Timestamp) -> Self {
        Self {
            attempts: Vec::new(),
            waits: Vec::new(),
            remediations: Vec::new(),
            context: Vec::new(),
            limits: Vec::new(),
            gaps: Vec::new(),
            before: Timestamp::MIN,
            session: Session::None,
            last_at: now,
            working: false,
        }
    }

    fn line(&mut self, line: &HistoryLine) {
        // A clock that was set back must not turn a stretch round.
        let at = line.at.max(self.before);
        match &line.event {
            HistoryEvent::SessionStarted { .. } => self.session_started(at),
            HistoryEvent::SessionEnded { end } => {
                self.close(at, AttemptOutcome::Stopped);
                let cause = if end == "escalated" { GapCause::Human } else { GapCause::Interrupted };
                self.session = Session::Ended(at, cause);
            }
            HistoryEvent::AttemptStarted { phase, attempt } => {
                self.close(at, AttemptOutcome::Lost);
                self.attempts.push(AttemptReport {
                    phase: *phase,
                    attempt: Some(*attempt),
                    started_at: at,
                    ended_at: at,
                    outcome: AttemptOutcome::Running,
                    reason: None,
                    log: None,
                });
            }
            HistoryEvent::AttemptEnded { exit, reason, .. } => {
                self.close(at, outcome(*exit));
                if let Some(attempt) = self.attempts.last_mut() {
                    attempt.reason.clone_from(reason);
                }
            }
            HistoryEvent::BackedOff { phase, delay_ms } => {
                let delay = SignedDuration::from_millis(i64::try_from(*delay_ms).unwrap_or(i64::MAX));
                let to = at.checked_add(delay).unwrap_or(Timestamp::MAX);
                self.waits.push(Wait { phase: *phase, from: at, to });
            }
            HistoryEvent::Remediation { number } => self.remediations.push(Remediation { number: *number, at }),
            HistoryEvent::ContextCrossed { phase, level, tokens } => {
                self.context.push(ContextEvent::Crossed { at, phase: *phase, level: *level, tokens: *tokens });
            }
            HistoryEvent::Compacted { phase, level } => {
                self.context.push(ContextEvent::Compacted { at, phase: *phase, level: *level });
            }
            HistoryEvent::AgentCompacted { phase, before, after } => {
                let (before, after) = (*before, *after);
                self.context.push(ContextEvent::AgentCompacted { at, phase: *phase, before, after });
            }
            HistoryEvent::LimitReached { phase, until } => {
                self.limits.push(Limit { at, phase: *phase, until: *until });
            }
            HistoryEvent::PhaseSkipped { .. }
            | HistoryEvent::AgentEnded { .. }
            | HistoryEvent::GateStarted { .. }
            | HistoryEvent::PhaseEnded { .. }
            | HistoryEvent::Escalated { .. }
            | HistoryEvent::Notified { .. }
            | HistoryEvent::Other => {}
        }
        self.before = at;
    }

    fn session_started(&mut self, at: Timestamp) {
        let gap = match self.session {
            Session::None => None,
            Session::Open => Some((self.before, GapCause::Died)),
            Session::Ended(from, cause) => Some((from, cause)),
        };
        if let Some((from, cause)) = gap {
            self.close(from, AttemptOutcome::Lost);
            self.gaps.push(Gap { from, to: at, cause });
        }
        self.session = Session::Open;
    }

    /// Ends what is still open.
    fn close(&mut self, at: Timestamp, outcome: AttemptOutcome) {
        if let Some(wait) = self.waits.last_mut() {
            wait.to = wait.to.min(at).max(wait.from);
        }
        if let Some(open) = self.attempts.last_mut().filter(|attempt| attempt.outcome == AttemptOutcome::Running) {
            open.outcome = outcome;
            open.ended_at = at;
        }
    }

    fn finish(&mut self) {
        let outcome = if self.working { AttemptOutcome::Running } else { AttemptOutcome::Lost };
        self.close(self.last_at.max(self.before), outcome);
    }
}
