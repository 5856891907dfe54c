//! From the story of an execution to a report. Pure: the present moment and who works on the execution are arguments.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use super::value::{
    Answer, AttemptOutcome, AttemptReport, Call, ContextEvent, Gap, GapCause, Limit, Notice, OutageReport, PhaseReport,
    Remediation, RunReport, Wait,
};
use crate::contract::{Checkpoint, EscalationReport, Phase, PhaseExit};
use crate::events::{AgentActivity, Dated, Event, Outage, RunEnd, RunStatus, State};
use crate::policy::Redactor;
use crate::runner::Story;
use crate::store::{Layout, Writer, report_paths, tail};
use crate::text::Untrusted;

/// Of how many failed attempts, the newest, the end of the log is shown.
pub(super) const MOST_LOGS: usize = 200;
/// How many lines of it.
const LINES: usize = 30;

/// What was seen from outside when the files were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The present moment.
    pub now: Timestamp,
    /// Whether a process works on the execution.
    pub working: bool,
}

/// The report of an execution. `logs` are the folders in which the logs of its attempts may be, the first one first.
#[must_use]
pub fn fold(story: &Story, layout: &Layout, logs: &[&Path], seen: Seen) -> RunReport {
    let state = &story.state;
    let last_at = if seen.working { seen.now } else { last_known(story) };
    let mut walk = Walk { last_at, working: seen.working, ..Walk::new(seen.now) };
    story.events.iter().for_each(|event| walk.event(event));
    walk.finish();
    if walk.attempts.is_empty() {
        walk.attempts = state.checkpoints.values().filter_map(attempt_of).collect();
    }
    for attempt in &mut walk.attempts {
        attempt.log = logs.iter().find_map(|folder| log_of(folder, attempt));
    }
    let failed = walk.attempts.iter_mut().rev().filter(|attempt| attempt.outcome.is_failure());
    for attempt in failed.take(MOST_LOGS) {
        let writer = Writer::of(state.is_by_agent(attempt.phase));
        attempt.log_end = attempt.log.iter().flat_map(|log| tail(log, LINES, writer, &Redactor::default())).collect();
    }
    let earliest = walk.attempts.iter().map(|attempt| attempt.started_at).min();
    RunReport {
        execution_id: state.execution_id.clone(),
        status: status(state, seen.working),
        started_at: earliest.map_or(state.started_at, |earliest| earliest.min(state.started_at)),
        last_at,
        spent: state.spent_in_all(),
        elapsed_ms: u64::try_from(state.counters.elapsed().as_millis()).unwrap_or(u64::MAX),
        sessions: state.sessions.len(),
        phases: phases(state),
        attempts: walk.attempts,
        waits: walk.waits,
        remediations: walk.remediations,
        context: walk.context,
        limits: walk.limits,
        outages: walk.outages,
        calls: state.reports.iter().map(|(number, report)| call(*number, report, state, layout)).collect(),
        gaps: walk.gaps,
        notices: story.events.iter().filter_map(notice).collect(),
        findings: state.findings.clone(),
        boundary: state.boundary.clone(),
        changed_files: state.changed_files.clone(),
        last_error: state.last_error.clone(),
        head: story.head.clone(),
        unreadable: story.unreadable,
    }
}

fn notice(dated: &Dated) -> Option<Notice> {
    match &dated.event {
        Event::Notice { text } => Some(Notice { at: dated.at, text: text.clone() }),
        _ => None,
    }
}

fn status(state: &State, working: bool) -> &'static str {
    match state.status {
        RunStatus::Running if !working => "died",
        // Only the checkpoints of another program are known.
        RunStatus::Ready if state.sessions.is_empty() && !state.checkpoints.is_empty() => "found",
        status => status.as_str(),
    }
}

fn last_known(story: &Story) -> Timestamp {
    let newest = story.events.last().map_or(story.state.updated_at, |event| event.at);
    newest.max(story.state.updated_at)
}

fn phases(state: &State) -> Vec<PhaseReport> {
    let working = state.phase_at_work().filter(|_| state.status == RunStatus::Running);
    let statuses = state.phase_statuses(working);
    let of = |phase: &Phase| {
        let status = statuses.iter().find(|status| status.phase == *phase)?;
        let checkpoint = state.checkpoints.get(phase).cloned();
        Some(PhaseReport { phase: *phase, status: status.status, checkpoint })
    };
    state.phases.iter().filter_map(of).collect()
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
        log_end: Vec::new(),
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

fn call(number: u32, report: &EscalationReport, state: &State, layout: &Layout) -> Call {
    let EscalationReport { timestamp, trigger, phase, context, .. } = report;
    let answer = state.resolutions.iter().rfind(|answer| answer.escalation == number).map(|answer| Answer {
        at: answer.at,
        action: answer.resolution.action,
        notes: answer.resolution.notes.clone().map(Into::into),
        unguarded: answer.unguarded,
    });
    let reason = context.suggested_actions.first().map(Untrusted::line).unwrap_or_default();
    Call {
        id: report.execution_id.call(number),
        number,
        at: *timestamp,
        trigger: *trigger,
        phase: *phase,
        reason: reason.strip_prefix("what happened: ").unwrap_or(&reason).into(),
        report: report_paths(layout, &report.execution_id, number).markdown,
        answer,
    }
}

/// The story, read event by event.
struct Walk {
    attempts: Vec<AttemptReport>,
    waits: Vec<Wait>,
    remediations: Vec<Remediation>,
    context: Vec<ContextEvent>,
    limits: Vec<Limit>,
    outages: Vec<OutageReport>,
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
            outages: Vec::new(),
            gaps: Vec::new(),
            before: Timestamp::MIN,
            session: Session::None,
            last_at: now,
            working: false,
        }
    }

    fn event(&mut self, dated: &Dated) {
        // A clock that was set back must not turn a stretch round.
        let at = dated.at.max(self.before);
        match &dated.event {
            Event::SessionStarted { .. } => self.session_started(at),
            Event::SessionEnded { end } => {
                self.close(at, AttemptOutcome::Stopped);
                let cause = if *end == RunEnd::Escalated { GapCause::Human } else { GapCause::Interrupted };
                self.session = Session::Ended(at, cause);
            }
            Event::AttemptStarted { phase, attempt, .. } => {
                self.close(at, AttemptOutcome::Lost);
                self.attempts.push(AttemptReport {
                    phase: *phase,
                    attempt: Some(*attempt),
                    started_at: at,
                    ended_at: at,
                    outcome: AttemptOutcome::Running,
                    reason: None,
                    log: None,
                    log_end: Vec::new(),
                });
            }
            Event::AttemptEnded { exit, reason, .. } => {
                self.close(at, outcome(*exit));
                if let Some(attempt) = self.attempts.last_mut() {
                    attempt.reason.clone_from(reason);
                }
            }
            Event::BackedOff { phase, delay_ms, .. } => {
                let delay = SignedDuration::from_millis(i64::try_from(*delay_ms).unwrap_or(i64::MAX));
                let to = at.checked_add(delay).unwrap_or(Timestamp::MAX);
                self.waits.push(Wait { phase: *phase, from: at, to });
            }
            Event::Remediation { number, .. } => self.remediations.push(Remediation { number: *number, at }),
            Event::ContextCrossed { phase, level, tokens, .. } => {
                self.context.push(ContextEvent::Crossed { at, phase: *phase, level: *level, tokens: *tokens });
            }
            Event::Compacted { phase, level, .. } => {
                self.context.push(ContextEvent::Compacted { at, phase: *phase, level: *level });
            }
            Event::Agent { phase, agent: AgentActivity::Compacted { before, after } } => {
                let (before, after) = (*before, *after);
                self.context.push(ContextEvent::AgentCompacted { at, phase: *phase, before, after });
            }
            Event::LimitReached { phase, until } => {
                self.limits.push(Limit { at, phase: *phase, until: *until });
            }
            Event::OutageMet(outage) => self.outage_met(outage),
            Event::OutageOver { .. } => {
                if let Some(outage) = self.outages.last_mut() {
                    outage.over.get_or_insert(at);
                }
            }
            _ => {}
        }
        self.before = at;
    }

    fn outage_met(&mut self, outage: &Outage) {
        let Outage { phase, reason, since, probe, until, .. } = outage.clone();
        self.outages.retain(|known| known.since != since);
        self.outages.push(OutageReport { phase, reason, since, over: None, until, probes: probe });
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
