//! The owner's hand on an execution: what happens becomes an event, the event becomes durable, and the state follows.

use jiff::Timestamp;

use super::{Durability, Head, Recorded, RunStore, StoreError};
use crate::contract::ExecutionId;
use crate::events::{AgentActivity, EVENT_VERSION, Envelope, Event, RunEnd, State};
use crate::system::process::Interrupt;

/// The state of an execution, in the hand of its owner.
#[derive(Debug)]
pub struct Journal {
    store: Box<dyn RunStore>,
    state: State,
    epoch: u64,
    /// When the newest event happened.
    last_at: Timestamp,
}

impl Journal {
    /// Begins an execution, in the place of the present one. The store must have been claimed.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// # Panics
    /// When `first` begins no execution.
    pub fn begin(mut store: Box<dyn RunStore>, now: Timestamp, first: Event) -> Result<(Self, Envelope), StoreError> {
        let earlier = match &first {
            Event::ExecutionTakenOver { state, .. } => state.epoch,
            _ => 0,
        };
        let epoch = earlier + 1;
        let envelope = Envelope { version: EVENT_VERSION, seq: 1, at: now, epoch, event: first };
        let state = State::fold([&envelope]).expect("the first event of an execution begins it");
        store.begin(&state.execution_id, &envelope)?;
        Ok((Self { store, state, epoch, last_at: now }, envelope))
    }

    /// Goes on with an execution under a new epoch. The store must have been claimed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn resume(mut store: Box<dyn RunStore>, recorded: &Recorded) -> Result<Self, StoreError> {
        store.open(recorded)?;
        let state = recorded.state.clone();
        let last_at = recorded.envelopes.last().map_or(state.started_at, |newest| newest.at);
        Ok(Self { store, epoch: state.epoch + 1, state, last_at })
    }

    /// Takes an event in: it is written, and then it counts. What has to survive a power cut is on the disk when this
    /// returns.
    ///
    /// # Errors
    /// [`StoreError`]; the event did not happen then.
    pub fn record(&mut self, now: Timestamp, event: Event) -> Result<(), StoreError> {
        self.record_all(now, vec![event], &mut |_, _| {}).map(drop)
    }

    /// Takes events in that are written together, and tells `watch` of each, with what is known since then.
    ///
    /// # Errors
    /// [`StoreError`]; none of the events happened then.
    pub fn record_all(
        &mut self,
        now: Timestamp,
        events: Vec<Event>,
        watch: &mut dyn FnMut(&Envelope, &State),
    ) -> Result<Vec<Envelope>, StoreError> {
        let at = now.max(self.last_at);
        let (version, epoch) = (EVENT_VERSION, self.epoch);
        let numbered = (self.state.seq + 1..).zip(events);
        let envelopes: Vec<Envelope> =
            numbered.map(|(seq, event)| Envelope { version, seq, at, epoch, event }).collect();
        let lasts = envelopes.iter().any(|envelope| durability(&envelope.event) == Durability::Synced);
        self.store.append(&envelopes, if lasts { Durability::Synced } else { Durability::Buffered })?;
        self.last_at = at;
        for envelope in &envelopes {
            self.state.apply(envelope);
            watch(envelope, &self.state);
        }
        Ok(envelopes)
    }

    /// Keeps a text with the execution, which an event names by its digest.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn keep(&mut self, text: &[u8]) -> Result<(), StoreError> {
        self.store.keep(text)
    }

    /// A text that was kept with the execution, by its digest; `None` where none of that digest is there.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn kept(&self, digest: &str) -> Result<Option<String>, StoreError> {
        self.store.kept(self.execution(), digest)
    }

    /// What is known of the execution.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The execution.
    #[must_use]
    pub fn execution(&self) -> &ExecutionId {
        &self.state.execution_id
    }

    /// Reads the execution again: whether it still is what was written.
    ///
    /// # Errors
    /// [`StoreError`] when somebody changed it.
    pub fn verify(&self) -> Result<(), StoreError> {
        self.store.verify()
    }

    /// Another execution of the workspace; `None` when there is no such.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn read(&self, execution: &ExecutionId) -> Result<Option<Recorded>, StoreError> {
        self.store.read(execution)
    }

    /// The hash of the newest event.
    #[must_use]
    pub fn head(&self) -> Head {
        self.store.head()
    }

    /// Lets whoever waits for the workspace know that we are about to let go.
    pub fn say_ending(&mut self) {
        self.store.say_ending();
    }

    /// The store, to begin another execution in it.
    #[must_use]
    pub fn into_store(self) -> Box<dyn RunStore> {
        self.store
    }
}

/// An end that people are told of, although a signal asked for it.
const TERMINATED: RunEnd = RunEnd::Interrupted { by: Interrupt::Terminate };

/// What has to survive a power cut before anything follows from it: that an attempt begins, that it is tried again, that a
/// phase is concluded, what a human was asked and answered, the session of an agent, that a session could not go on, that
/// people are told of an end, and that somebody took a message. The rest goes to the disk with the next of these.
pub(super) fn durability(event: &Event) -> Durability {
    let lasts = matches!(
        event,
        Event::ExecutionStarted { .. }
            | Event::ExecutionTakenOver { .. }
            | Event::AttemptStarted { .. }
            | Event::BackedOff { .. }
            | Event::StageConcluded { .. }
            | Event::StageSkipped { .. }
            | Event::Remediation { .. }
            | Event::LimitReached { .. }
            | Event::OutageMet(_)
            | Event::Escalated { .. }
            | Event::Resolved { .. }
            | Event::SessionEnded { end: RunEnd::Paused { .. } | RunEnd::Failed { .. } | TERMINATED }
            | Event::DeathNoticed { .. }
            | Event::Notified { failed: None, message: Some(_), .. }
            | Event::CheckpointAdopted { .. }
            | Event::PhaseReopened { .. }
            | Event::ExecutionCompleted
            | Event::Agent { agent: AgentActivity::Session { .. }, .. }
    );
    if lasts { Durability::Synced } else { Durability::Buffered }
}
