//! Where an execution stands, for people and for other programs. Reads only; a run may be working meanwhile.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::next::{goes_on, interrupted_by, last_end, next_step};
use super::work::{LastFailure, LastOutput, Standing, WorkAtHand, uncharged};
use crate::contract::{EscalationTrigger, ExecutionId, ExecutionState, Phase, PhaseProgress, ResolutionAction};
use crate::events::{
    ApprovalState, BoundaryDrawn, ChangedFiles, Outage, Pause, PinnedFile, RecordedResolution, RunEnd, RunStatus,
    Spent, State,
};
use crate::runner::decide::UNVERIFIED;
use crate::runner::dispatch::{Existing, present};
use crate::runner::receivers::Receiver;
use crate::runner::{RunError, Undelivered, undelivered};
use crate::store::{Layout, Place, RunStore, Writer, read_context_state, report_paths};
use crate::system::lock::Holder;
use crate::system::process::Interrupt;
use crate::text::Untrusted;

/// Where an execution stands.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The execution.
    pub execution_id: ExecutionId,
    /// Where it stands; `running` without a process is a session that died.
    pub status: RunStatus,
    /// When that was looked at.
    pub as_of: Timestamp,
    /// What that comes to for somebody who asks.
    pub standing: Standing,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Holder>,
    /// When it began.
    pub started_at: Timestamp,
    /// Time in which stages ran or backed off, in milliseconds, until now.
    pub elapsed_ms: u64,
    /// How much of that it may have in all, in milliseconds; absent where its configuration cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_ms: Option<u64>,
    /// Remediation loops so far.
    pub remediation_loops: u32,
    /// The tokens in the context, as they were last known; absent when nobody said any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// What agents used so far, as far as they say so.
    #[serde(skip_serializing_if = "Spent::is_unknown")]
    pub spent: Spent,
    /// The attempt of the phase that is being worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What the phase at work does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkAtHand>,
    /// The attempt that failed last, unless its phase has succeeded since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
    /// The flags that it was started with and goes on with, without their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Its phases, in the order in which they run.
    pub phases: Vec<PhaseLine>,
    /// Why the last session ended before its time, where the provider or its user wanted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<Pause>,
    /// The signal that ended the last session before its time, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted_by: Option<Interrupt>,
    /// What comes next, in words; absent where a process works on it, and where everything is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// What waits for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// Scripts of gates and protected files that changed since the start, and that nobody agreed to, by the phase whose gate was
    /// not asked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changed_gates: BTreeMap<Phase, Vec<PinnedFile>>,
    /// What was not as the execution began with it when a session ended last.
    #[serde(skip_serializing_if = "ChangedFiles::is_empty")]
    pub changed_files: ChangedFiles,
    /// The provider that is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// What keeps its phases from its state; absent where an earlier program began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boundary: Option<BoundaryDrawn>,
    /// The answers that were given, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerLine>,
    /// Why the last session could not go on, when an error ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Untrusted>,
    /// Nothing but checkpoints is known of it: no state of it lies where was looked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub only_checkpoints: bool,
    /// Who is to be told of an end and was not yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undelivered: Vec<Undelivered>,
}

/// One phase of a status.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseLine {
    /// The phase.
    pub phase: Phase,
    /// Where it stands.
    pub status: PhaseProgress,
    /// The summary of its checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Untrusted>,
    /// An agent calls it done, and no gate does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unverified: bool,
}

/// An answer to a report.
#[derive(Debug, Clone, Serialize)]
pub struct AnswerLine {
    /// The number of the report.
    pub escalation: u32,
    /// When it was given.
    pub at: Timestamp,
    /// What to do.
    pub action: ResolutionAction,
    /// A phase could reach the place where it was given: it may be one of theirs.
    pub unguarded: bool,
}

impl From<&RecordedResolution> for AnswerLine {
    fn from(answer: &RecordedResolution) -> Self {
        let RecordedResolution { escalation, at, resolution, unguarded } = answer;
        Self { escalation: *escalation, at: *at, action: resolution.action, unguarded: *unguarded }
    }
}

/// A report that waits for an answer.
#[derive(Debug, Clone, Serialize)]
pub struct Pending {
    /// What names it, so that an answer is taken for no other.
    pub id: String,
    /// Why.
    pub trigger: EscalationTrigger,
    /// Where.
    pub phase: Phase,
    /// The report.
    pub report: PathBuf,
    /// What happened, in one line.
    #[serde(skip_serializing_if = "Untrusted::is_empty")]
    pub reason: Untrusted,
    /// It asks for the approval of a deployment.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
    /// The words that answer it, each a line to type; the first lets it go on.
    pub answers: Vec<String>,
    /// What is typed behind the first of them.
    pub goes_on: String,
}

/// From where a status is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Vantage<'a> {
    /// Where the state lies.
    pub place: &'a Place,
    /// The present moment.
    pub now: Timestamp,
    /// How long the execution may work in all, where that is known.
    pub limit: Option<Duration>,
    /// Who is to be told of its ends; nobody where that is not known.
    pub receivers: &'a [Receiver],
    /// A service goes on with it by itself.
    pub has_service: bool,
}

/// Where the execution in the workspace stands.
///
/// # Errors
/// [`RunError`]: there is none, or something on disk is not valid.
pub fn status(layout: &Layout, store: &dyn RunStore, from: Vantage<'_>) -> Result<Status, RunError> {
    let existing = Existing::look(store, layout)?;
    let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
    let state = existing.state().ok_or_else(none)?;
    let envelopes = match &existing {
        Existing::Journal(recorded) => &recorded.envelopes[..],
        _ => &[],
    };
    let process = store.holder()?;
    let unwritten = if process.is_some() { uncharged(envelopes, from.now) } else { Duration::ZERO };
    let elapsed = state.counters.elapsed() + unwritten;
    let mut work = WorkAtHand::of(&state, envelopes, process.is_some());
    let end = last_end(&state, envelopes);
    let paused = if let Some(RunEnd::Paused { pause }) = end { Some(*pause) } else { None };
    let doing = work.as_ref().map(|work| work.doing);
    let standing = Standing::of((state.status, paused.is_some()), process.is_some(), doing, from.has_service);
    if let Some(work) = &mut work {
        work.last_output = last_output(&state, work, from);
    }
    let working = state.phase_at_work().filter(|_| state.status == RunStatus::Running);
    let statuses = state.phase_statuses(working);
    let line = |phase: &Phase| {
        let summary = state.checkpoint(*phase).map(|checkpoint| checkpoint.summary.clone());
        PhaseLine {
            phase: *phase,
            status: statuses.iter().find(|s| s.phase == *phase).map_or(PhaseProgress::Pending, |s| s.status),
            unverified: summary.as_ref().is_some_and(|summary| summary.raw().starts_with(UNVERIFIED)),
            summary,
        }
    };
    // What the file says is newer; what is wrong with it is for whoever needs it to complain about.
    let context = read_context_state(layout).ok().flatten().map(|state| state.current_tokens);
    let report = |number| report_paths(layout, &state.execution_id, number).yaml;
    let id = |number| state.execution_id.call(number);
    let answer = |number, word: &str| format!("loa-run resolve {word} --call {}", id(number));
    // A phase that is passed over answers no question about a configuration.
    let fits = |word: &&&str| !state.asks_about_weaker() || **word != ResolutionAction::SkipPhase.as_str();
    let pending = state.pending.as_ref().map(|pending| Pending {
        id: id(pending.number),
        trigger: pending.trigger,
        phase: pending.phase,
        report: report(pending.number),
        reason: pending.reason.clone(),
        approval: state.deploy == ApprovalState::Asked,
        answers: ResolutionAction::WORDS.iter().filter(fits).map(|word| answer(pending.number, word)).collect(),
        goes_on: goes_on(&state, from.has_service),
    });
    let answer = pending.as_ref().and_then(|pending| pending.answers.first()).map(String::as_str);
    let next = match &existing {
        Existing::Checkpoints(_) => Some("`loa-run resume --adopt` takes them over and goes on".to_owned()),
        _ => next_step(&state, end, answer, from.has_service).filter(|_| process.is_none()),
    };
    // Whoever works on it delivers it.
    let undelivered = if process.is_some() { Vec::new() } else { undelivered(&state, from.receivers) };
    Ok(Status {
        execution_id: state.execution_id.clone(),
        status: state.status,
        as_of: from.now,
        standing,
        process,
        started_at: state.started_at,
        elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        limit_ms: from.limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        remediation_loops: state.counters.remediation_loops(),
        context_tokens: context.or(state.context_tokens).filter(|tokens| *tokens > 0),
        spent: state.spent_in_all(),
        attempt: working.and_then(|phase| state.active_in(phase)).map(|active| active.attempt),
        work,
        last_failure: LastFailure::of(&state, envelopes),
        flags: state.overrides.iter().map(|it| it.flag_alone().to_owned()).collect(),
        phases: state.phases.iter().map(line).collect(),
        paused,
        interrupted_by: interrupted_by(end),
        next,
        pending,
        changed_gates: state.changed_gates.clone(),
        changed_files: state.changed_files.clone(),
        boundary: state.boundary.clone(),
        outage: state.outage.clone().filter(|outage| outage.answered.is_none()),
        answers: state.resolutions.iter().map(AnswerLine::from).collect(),
        last_error: state.last_error.clone(),
        only_checkpoints: matches!(existing, Existing::Checkpoints(_)),
        undelivered,
    })
}

/// What the phase at work wrote last: in this attempt, or while it waits for the next, in the one before.
fn last_output(state: &State, work: &WorkAtHand, from: Vantage<'_>) -> Option<LastOutput> {
    let writer = Writer::of(state.is_by_agent(work.phase));
    let of = |attempt| LastOutput::of(&from.place.log(&state.execution_id, work.phase, attempt), writer, from.now);
    of(work.attempt).or_else(|| of(work.attempt.checked_sub(1)?))
}

/// The contract's `getState`.
///
/// # Errors
/// As [`status`].
pub fn state(layout: &Layout, store: &dyn RunStore) -> Result<ExecutionState, RunError> {
    Ok(known(layout, store)?.execution_state())
}

fn known(layout: &Layout, store: &dyn RunStore) -> Result<State, RunError> {
    let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
    present(store, layout)?.ok_or_else(none)
}
