//! Stores that are wrong: planted faults that lie between the owner and its journal.

use jiff::Timestamp;
use loa::contract::ExecutionId;
use loa::events::{Envelope, Event};
use loa::store::{Claimed, Durability, FileStore, Head, Recorded, RunStore, StoreError, Summary};
use loa::system::lock::Holder;

/// A planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// An owner with an old epoch is not refused.
    KnowsNoEpoch,
    /// The outcome of a phase is journaled after its checkpoint was written.
    JournalsLate,
    /// That an attempt failed is not journaled: a counter that a kill loses.
    ForgetsFailures,
    /// That somebody has taken a message is not journaled.
    ForgetsReceipts,
}

/// A store that does something wrong.
#[derive(Debug)]
pub(super) struct WrongStore {
    inner: FileStore,
    wrong: Wrong,
    /// What is journaled with the next event.
    late: Vec<Envelope>,
}

impl WrongStore {
    pub(super) fn new(inner: FileStore, wrong: Wrong) -> Self {
        Self { inner, wrong, late: Vec::new() }
    }
}

/// The same event, in the place of a failure that says nothing.
fn without_failure(envelope: Envelope) -> Envelope {
    match envelope.event {
        Event::BackedOff { .. } => Envelope { event: Event::Notice { text: "nothing happened".into() }, ..envelope },
        _ => envelope,
    }
}

/// The same event, in the place of a receipt.
fn without_receipt(envelope: Envelope) -> Envelope {
    match envelope.event {
        Event::Notified { failed: None, .. } => {
            Envelope { event: Event::Notice { text: "nobody took it".into() }, ..envelope }
        }
        _ => envelope,
    }
}

impl RunStore for WrongStore {
    fn append(&mut self, envelopes: &[Envelope], durability: Durability) -> Result<(), StoreError> {
        let is_outcome = |it: &Envelope| matches!(it.event, Event::StageConcluded { .. });
        match self.wrong {
            Wrong::KnowsNoEpoch => match self.inner.append(envelopes, durability) {
                Err(StoreError::Superseded { .. }) => Ok(()),
                appended => appended,
            },
            Wrong::JournalsLate if envelopes.iter().any(is_outcome) => {
                self.late.extend(envelopes.iter().cloned());
                Ok(())
            }
            Wrong::JournalsLate => {
                let all: Vec<Envelope> = self.late.drain(..).chain(envelopes.iter().cloned()).collect();
                self.inner.append(&all, durability)
            }
            Wrong::ForgetsReceipts => {
                let without: Vec<Envelope> = envelopes.iter().cloned().map(without_receipt).collect();
                self.inner.append(&without, durability)
            }
            Wrong::ForgetsFailures => {
                let without: Vec<Envelope> = envelopes.iter().cloned().map(without_failure).collect();
                self.inner.append(&without, durability)
            }
        }
    }

    fn claim(&mut self, now: Timestamp, patient: bool) -> Result<Claimed, StoreError> {
        self.inner.claim(now, patient)
    }

    fn say_ending(&mut self) {
        self.inner.say_ending();
    }

    fn holder(&self) -> Result<Option<Holder>, StoreError> {
        self.inner.holder()
    }

    fn current(&self) -> Result<Option<Recorded>, StoreError> {
        self.inner.current()
    }

    fn read(&self, execution: &ExecutionId) -> Result<Option<Recorded>, StoreError> {
        self.inner.read(execution)
    }

    fn is_known(&self, execution: &ExecutionId) -> Result<bool, StoreError> {
        self.inner.is_known(execution)
    }

    fn executions(&self) -> Result<Vec<Summary>, StoreError> {
        self.inner.executions()
    }

    fn remove(&mut self, execution: &ExecutionId) -> Result<(), StoreError> {
        self.inner.remove(execution)
    }

    fn begin(&mut self, execution: &ExecutionId, first: &Envelope) -> Result<(), StoreError> {
        self.inner.begin(execution, first)
    }

    fn open(&mut self, recorded: &Recorded) -> Result<(), StoreError> {
        self.inner.open(recorded)
    }

    fn verify(&self) -> Result<(), StoreError> {
        self.inner.verify()
    }

    fn keep(&mut self, text: &[u8]) -> Result<(), StoreError> {
        self.inner.keep(text)
    }

    fn kept(&self, execution: &ExecutionId, digest: &str) -> Result<Option<String>, StoreError> {
        self.inner.kept(execution, digest)
    }

    fn head(&self) -> Head {
        self.inner.head()
    }
}
