//! Asks a human whether an execution may go on with a configuration that asks for less than the one it began with.

use super::resolve::owned;
use crate::contract::EscalationTrigger;
use crate::events::{Event, RunStatus};
use crate::runner::RunError;
use crate::runner::decide::{Cause, call_human};
use crate::runner::session::new_session;
use crate::store::{Layout, Place, report_paths, write_report};
use crate::system::clock;

/// Calls a human about what is weaker, one line each, under the code that names it; `again` is what stood behind `loa-run resume`,
/// as a shell takes it. Asked again about the same, nothing new is
/// recorded; asked about something else, that takes the place of the question before.
///
/// # Errors
/// [`RunError`]: a run works here, another call waits for its answer, or something cannot be read or written.
pub fn ask_about_weaker(
    (layout, place): (&Layout, &Place),
    weaker: &[String],
    (code, again): (&str, &str),
) -> Result<(), RunError> {
    let (mut journal, _) = owned(layout, place)?;
    let state = journal.state();
    if let Some(pending) = state.pending.clone().filter(|_| !state.asks_about_weaker()) {
        let report = report_paths(layout, &state.execution_id, pending.number).yaml;
        return Err(RunError::AwaitsResolution { pending, report });
    }
    if matches!(state.status, RunStatus::Completed | RunStatus::Aborted) {
        let (execution, status) = (state.execution_id.clone(), state.status.as_str());
        return Err(RunError::NothingToResolve { execution, status });
    }
    let asked = state.asks_about_weaker();
    if asked && state.weaker.as_ref().is_some_and(|question| question.code == code) {
        return Ok(());
    }
    let now = clock::now().wall();
    if asked {
        journal.record(now, Event::WeakerWithdrawn)?;
    }
    journal.record(now, Event::WeakerAsked { code: code.to_owned(), again: again.to_owned() })?;
    let state = journal.state();
    let phase = state.execution_state().current_phase;
    let session = state.sessions.last().cloned().unwrap_or_else(new_session);
    let reason = format!(
        "a new configuration asks for less than the one that this execution began with: {}. fix_and_resume agrees, and `loa-run \
         resume {again}` then goes on with it; `loa-run resume` goes on with what it began with",
        weaker.join("; ")
    );
    let cause =
        Cause { trigger: EscalationTrigger::Manual, phase, active: None, reason: reason.into(), approval: false };
    let (number, event) = call_human(state, &session, &cause, now);
    journal.record(now, event)?;
    if let Some(report) = journal.state().reports.get(&number) {
        write_report(layout, report, number)?;
    }
    Ok(())
}
