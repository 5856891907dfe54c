//! A human's answer to an escalation (Escalation Handling: `Resolution`).

use crate::contract::{ExecutionId, Phase, Resolution, ResolutionAction};
use crate::events::{Event, State};
use crate::policy::Redactor;
use crate::runner::RunError;
use crate::runner::decide::skipped;
use crate::runner::dispatch::{Existing, start_over, take_over};
use crate::store::{FileStore, Journal, Layout, Place, RunStore, project_all, write_checkpoint};
use crate::system::clock;

/// What an answer led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The execution that goes on; a new one after a reset.
    pub execution: ExecutionId,
    /// The phase that the report was about.
    pub phase: Phase,
    /// Whether `resume` goes on from here.
    pub resumable: bool,
}

/// Records the answer durably, without what the redactor takes out of its notes; `resume` then goes on. Where a `call` is
/// named, the answer is for that one alone.
///
/// # Errors
/// [`RunError`]: a run still works here, nothing waits for an answer or for this one, or something cannot be read or written.
pub fn resolve(
    layout: &Layout,
    place: &Place,
    resolution: &Resolution,
    call: Option<&str>,
    redactor: &Redactor,
) -> Result<Resolved, RunError> {
    let notes = resolution.notes.as_deref().map(|notes| redactor.text(notes));
    let resolution = Resolution { notes, ..resolution.clone() };
    let (mut journal, place) = owned(layout, place)?;
    let state = journal.state();
    if let Some(named) = call {
        is_what_waits(state, named)?;
    }
    let Some(pending) = state.pending.clone() else {
        let (execution, status) = (state.execution_id.clone(), state.status.as_str());
        return Err(RunError::NothingToResolve { execution, status });
    };
    let (action, phase) = (resolution.action, pending.phase);
    if action == ResolutionAction::SkipPhase && state.asks_about_weaker() {
        return Err(RunError::NotAnAnswer { action });
    }
    let because = resolution.notes.clone().unwrap_or_else(|| "a human answered skip_phase".to_owned());
    if action == ResolutionAction::SkipPhase {
        // Before the answer: whoever dies in between is still waited for.
        skip(&mut journal, layout, phase, &because)?;
    }
    // Where nothing kept a phase from this state, nobody can tell that it does not answer.
    let unguarded = journal.state().was_in_reach;
    let answer = Event::Resolved { escalation: pending.number, resolution, unguarded };
    journal.record(clock::now().wall(), answer)?;
    if action == ResolutionAction::Reset {
        journal = start_over(journal, layout, &place)?;
    }
    let execution = journal.execution().clone();
    Ok(Resolved { execution, phase, resumable: action != ResolutionAction::Abort })
}

/// Refuses an answer to a call that does not wait: what waits now was asked later, and may be something else.
fn is_what_waits(state: &State, named: &str) -> Result<(), RunError> {
    let id = |number| state.execution_id.call(number);
    if state.pending.as_ref().is_some_and(|pending| id(pending.number) == named) {
        return Ok(());
    }
    let answered = state.resolutions.iter().rfind(|answer| id(answer.escalation) == named);
    Err(RunError::AnotherCall {
        named: named.to_owned(),
        answered: answered.map(|answer| (answer.resolution.action, answer.at)),
        waits: state.pending.as_ref().map(|pending| (id(pending.number), pending.clone())),
    })
}

/// The journal of the workspace's execution, in our hand, and where it lies. An execution of format 1 is taken over.
pub(super) fn owned(layout: &Layout, place: &Place) -> Result<(Journal, Place), RunError> {
    let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
    let mut store = FileStore::new(place.clone(), layout.clone());
    // Where there is nothing, nothing is made.
    if matches!(Existing::look(&store, layout)?, Existing::Nothing | Existing::Checkpoints(_)) {
        return Err(none());
    }
    let now = clock::now().wall();
    store.claim(now, true)?;
    // It takes a moment: whoever waited for the answer and resumes at once waits for that too.
    store.say_ending();
    let place = store.place().clone();
    let store: Box<dyn RunStore> = Box::new(store);
    // Looked at again: it may have gone on meanwhile.
    match Existing::look(store.as_ref(), layout)? {
        Existing::Nothing | Existing::Checkpoints(_) => Err(none()),
        Existing::Format1(earlier) if store.is_known(&earlier.state.execution_id)? => {
            Err(RunError::NotOurs { state: Box::new(earlier.state), folder: layout.run() })
        }
        Existing::Format1(earlier) => Ok((take_over(store, layout, *earlier, now)?, place)),
        Existing::Journal(recorded) => {
            let journal = Journal::resume(store, &recorded)?;
            project_all(layout, &recorded.state)?;
            Ok((journal, place))
        }
    }
}

fn skip(journal: &mut Journal, layout: &Layout, phase: Phase, because: &str) -> Result<(), RunError> {
    if journal.state().is_completed(phase) {
        return Ok(());
    }
    let now = clock::now().wall();
    let checkpoint = skipped(journal.state(), phase, because, now);
    journal.record(now, Event::StageSkipped { checkpoint: Box::new(checkpoint.clone()) })?;
    Ok(write_checkpoint(layout, &checkpoint)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::RunOrigin;

    #[test]
    fn whoever_resumes_while_an_answer_is_written_knows_that_it_takes_a_moment() {
        let folder = tempfile::tempdir().expect("a folder");
        let (workspace, state) = (folder.path().join("work"), folder.path().join("state"));
        crate::system::files::ensure_folder(&workspace).expect("made");
        let layout = Layout::new(&workspace);
        let place = Place::find(&workspace, Some(&state)).expect("found");
        let mut store = FileStore::new(place, layout.clone());
        let now = clock::now().wall();
        store.claim(now, false).expect("nobody works here");
        let place = store.place().clone();
        let execution = ExecutionId::new("exec-1").expect("an id");
        let first = Event::ExecutionStarted {
            execution,
            phases: vec![Phase::Design],
            origin: RunOrigin::config(),
            overrides: Vec::new(),
        };
        drop(Journal::begin(Box::new(store), now, first).expect("begun"));
        let owned = owned(&layout, &place).expect("in our hand");
        let holder = FileStore::new(place, layout).holder().expect("readable").expect("held");
        assert!(holder.ending);
        drop(owned);
    }
}
