//! What is there to go on with: a journal, what an earlier program recorded, or checkpoints alone.

use jiff::Timestamp;

use super::projection::Remedy;
use crate::contract::{Checkpoint, ExecutionId, Phase, PhaseExit};
use crate::events::{Dated, Event, RunOrigin, State};
use crate::runner::RunError;
use crate::store::{Earlier, Layout, Recorded, RunStore, StoreError, found_checkpoints, read_format1};

/// What a workspace holds of an execution.
#[derive(Debug)]
pub(in crate::runner) enum Existing {
    /// Nothing.
    Nothing,
    /// A journal.
    Journal(Box<Recorded>),
    /// The record of a program of format 1.
    Format1(Box<Earlier>),
    /// Checkpoints, and nothing that says who wrote them.
    Checkpoints(Vec<Checkpoint>),
}

impl Existing {
    /// Looks at the store first, and at the workspace only where that knows nothing.
    pub(in crate::runner) fn look(store: &dyn RunStore, layout: &Layout) -> Result<Self, StoreError> {
        if let Some(recorded) = store.current()? {
            return Ok(Self::Journal(Box::new(recorded)));
        }
        if let Some(earlier) = read_format1(layout)? {
            return Ok(Self::Format1(Box::new(earlier)));
        }
        let (checkpoints, _) = found_checkpoints(layout);
        Ok(if checkpoints.is_empty() { Self::Nothing } else { Self::Checkpoints(checkpoints) })
    }

    /// What is known of the execution; `None` where there is none.
    pub(in crate::runner) fn state(&self) -> Option<State> {
        match self {
            Self::Nothing => None,
            Self::Journal(recorded) => Some(recorded.state.clone()),
            Self::Format1(earlier) => Some(earlier.state.clone()),
            Self::Checkpoints(checkpoints) => of_checkpoints(checkpoints),
        }
    }
}

/// The event that takes an execution over that was recorded elsewhere.
pub(super) fn taken_over(state: State, history: Vec<Dated>, from: &str) -> Event {
    Event::ExecutionTakenOver { state: Box::new(state), history, from: from.to_owned() }
}

/// An execution of which only the checkpoints are known: that of the newest one.
pub(super) fn of_checkpoints(checkpoints: &[Checkpoint]) -> Option<State> {
    let newest = checkpoints.iter().max_by_key(|checkpoint| (checkpoint.created_at, checkpoint.phase))?;
    let own: Vec<&Checkpoint> =
        checkpoints.iter().filter(|checkpoint| checkpoint.execution_id == newest.execution_id).collect();
    let began = own.iter().map(|checkpoint| checkpoint.created_at).min()?;
    let mut state = State::new(newest.execution_id.clone(), Phase::ALL.to_vec(), RunOrigin::config(), began);
    state.updated_at = newest.created_at;
    state.checkpoints = own.iter().map(|checkpoint| (checkpoint.phase, (*checkpoint).clone())).collect();
    // Nobody here was called about its failures: they are tried again.
    let failed = own.iter().filter(|checkpoint| checkpoint.exit_code != PhaseExit::Success);
    state.reopened = failed.map(|checkpoint| checkpoint.phase).collect();
    Some(state)
}

/// Refuses checkpoints that nothing here knows the writer of, unless a human adopts them.
///
/// # Errors
/// [`RunError::NotOurs`]; [`RunError`] when something on disk is not valid.
pub fn refuse_foreign(layout: &Layout, store: &dyn RunStore, remedy: Option<Remedy>) -> Result<(), RunError> {
    match Existing::look(store, layout)? {
        Existing::Checkpoints(checkpoints) if remedy != Some(Remedy::Adopt) => match of_checkpoints(&checkpoints) {
            Some(state) => Err(RunError::NotOurs { state: Box::new(state), folder: layout.checkpoints() }),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// What is known of the workspace's execution, for whoever only looks; `None` where there is none.
///
/// # Errors
/// [`RunError`] when something on disk is not valid.
pub fn present(store: &dyn RunStore, layout: &Layout) -> Result<Option<State>, RunError> {
    Ok(Existing::look(store, layout)?.state())
}

/// All that is known of an execution, for whoever tells its story.
#[derive(Debug, Clone, PartialEq)]
pub struct Story {
    /// Where it stands.
    pub state: State,
    /// What happened, oldest first.
    pub events: Vec<Dated>,
    /// The hash of the newest event; `None` before there was a journal.
    pub head: Option<String>,
    /// Lines of an earlier program's history that could not be read.
    pub unreadable: usize,
}

impl Story {
    fn of_journal(recorded: Recorded) -> Self {
        let head = Some(recorded.head.as_str().to_owned());
        let mut events = Vec::new();
        for envelope in recorded.envelopes {
            if let Event::ExecutionTakenOver { history, .. } = envelope.event {
                events.extend(history);
            } else {
                events.push(Dated { at: envelope.at, event: envelope.event });
            }
        }
        Self { state: recorded.state, events, head, unreadable: 0 }
    }

    fn of_format1(earlier: Earlier) -> Self {
        Self { state: earlier.state, events: earlier.history, head: None, unreadable: earlier.unreadable }
    }
}

/// The story of the present execution, or of one that is over; `None` when there is no such.
///
/// # Errors
/// [`RunError`] when something on disk is not valid.
pub fn story(store: &dyn RunStore, layout: &Layout, named: Option<&str>) -> Result<Option<Story>, RunError> {
    let Some(name) = named else {
        return Ok(match Existing::look(store, layout)? {
            Existing::Nothing => None,
            Existing::Journal(recorded) => Some(Story::of_journal(*recorded)),
            Existing::Format1(earlier) => Some(Story::of_format1(*earlier)),
            Existing::Checkpoints(checkpoints) => {
                of_checkpoints(&checkpoints).map(|state| Story { state, events: Vec::new(), head: None, unreadable: 0 })
            }
        });
    };
    let known = store.executions()?.into_iter().find(|summary| summary.is_named(name));
    if let Some(summary) = known {
        return Ok(store.read(&summary.execution)?.map(Story::of_journal));
    }
    match read_format1(layout)?.filter(|earlier| earlier.state.execution_id.as_str() == name) {
        Some(earlier) => Ok(Some(Story::of_format1(earlier))),
        None => Ok(crate::store::archived_format1(layout, name)?.map(Story::of_format1)),
    }
}

/// A fresh identifier for an execution that begins now.
pub(super) fn fresh_execution(now: Timestamp) -> ExecutionId {
    ExecutionId::new(crate::system::ids::execution(now)).expect("a fresh id is not empty")
}
