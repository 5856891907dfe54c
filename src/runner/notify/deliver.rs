//! Delivers what is queued: to every receiver at once, under the lease, until nothing is left or the time is over. What was
//! not taken is tried by the next command that delivers.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;

use super::difference::{Difference, differences};
use super::morning::{Answering, Morning, Observed, logs_of};
use super::outbox::{Outcome, Undelivered, due, next_try, tried, undelivered};
use super::send::Sender;
use super::work_tree::changed;
use crate::events::{ChangedFiles, Message, News, PinnedFile, State};
use crate::runner::changed_files::before_telling;
use crate::runner::receivers::{Notification, Receiver};
use crate::runner::{Bounds, RunError};
use crate::store::{FileStore, Journal, Layout, Place, RunStore, StoreError, Writer, tail};
use crate::system::clock::{self, Moment};
use crate::system::lock::LockError;
use crate::system::process::Interrupts;

/// The longest that a run which has ended waits for anybody.
const LONGEST: Duration = Duration::from_secs(10);
/// The pauses after which it is looked again for what is due.
const SHORTEST: Duration = Duration::from_millis(200);
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// How many lines of a log are told.
const LINES: usize = 30;

/// A message that was given to a receiver, and what became of that.
type Try = (Message, String, Outcome);

/// Delivers the messages of a workspace's execution.
#[derive(Debug, Clone)]
pub struct Deliverer {
    /// The workspace.
    pub layout: Layout,
    /// Where its state lies.
    pub place: Place,
    /// Who is told.
    pub notification: Notification,
    /// How they answer.
    pub answering: Answering,
    /// What delivers to one of them.
    sender: Sender,
}

/// What came of a delivery.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Who has taken a message now, and its id.
    pub taken: Vec<(String, String)>,
    /// What nobody tries any more, or what waits for the next try.
    pub left: Vec<Undelivered>,
}

impl Deliverer {
    /// Whoever delivers by these bounds. `withheld` are variables that no program is given.
    #[must_use]
    pub fn new(layout: &Layout, place: &Place, bounds: &Bounds, answering: Answering, withheld: &[String]) -> Self {
        let (workspace, redactor) = (layout.workspace().to_path_buf(), bounds.redactor.clone());
        let mut given = bounds.notification.given.clone();
        given.retain(|name| !withheld.contains(name));
        let sender = Sender { workspace, redactor, given };
        let (layout, place, notification) = (layout.clone(), place.clone(), bounds.notification.clone());
        Self { layout, place, notification, answering, sender }
    }

    /// Delivers what is due, and tries again what is due soon, for ten seconds at most; a signal ends it before that. With
    /// `insists` also what is to be tried later, and what was refused.
    ///
    /// # Errors
    /// [`RunError`]: somebody else works on the execution, or its journal cannot be read or written.
    pub async fn deliver(mut self, insists: bool, mut interrupts: Interrupts) -> Result<Delivered, RunError> {
        // A first run has only just given the workspace its place.
        self.place = self.place.found_again()?;
        let receivers = &self.notification.receivers;
        let mut store = FileStore::new(self.place.clone(), self.layout.clone());
        let now = clock::now().wall();
        let is_due = |state: &State| !due(state, receivers, now, insists).is_empty();
        // Where there is nothing to tell, nobody is kept from anything.
        let Some(recorded) = store.current()? else { return Ok(Delivered::default()) };
        if !is_due(&recorded.state) {
            return Ok(Delivered { taken: Vec::new(), left: undelivered(&recorded.state, receivers) });
        }
        store.claim(now, false)?;
        store.say_ending();
        let Some(recorded) = store.current()? else { return Ok(Delivered::default()) };
        let mut journal = Journal::resume(Box::new(store), &recorded)?;
        let mut delivered = Delivered::default();
        self.tries(&mut journal, insists, &mut interrupts, &mut delivered).await?;
        delivered.left = undelivered(journal.state(), receivers);
        Ok(delivered)
    }

    /// Gives each message that is due to each of its receivers, and journals what becomes of each. Every receiver has a clock
    /// of its own: one that takes long keeps no other from being tried again.
    async fn tries(
        &self,
        journal: &mut Journal,
        mut insists: bool,
        interrupts: &mut Interrupts,
        delivered: &mut Delivered,
    ) -> Result<(), RunError> {
        let began = clock::now();
        let mut written = BTreeMap::new();
        let mut tries: JoinSet<Try> = JoinSet::new();
        // Who is being tried, and how many messages it is given.
        let mut busy: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            let idle = self.notification.receivers.iter().filter(|receiver| !busy.contains_key(&receiver.name));
            let idle: Vec<Receiver> = idle.cloned().collect();
            tokio::select! {
                given = self.begin(journal, &idle, (insists, began), &mut written, &mut tries) => {
                    given?.into_iter().for_each(|receiver| *busy.entry(receiver).or_default() += 1);
                }
                _ = interrupts.next() => return Ok(()),
            }
            insists = false;
            let idle: Vec<Receiver> = idle.into_iter().filter(|receiver| !busy.contains_key(&receiver.name)).collect();
            let pause = self.pause(journal.state(), &idle, began);
            if tries.is_empty() && pause.is_none() {
                return Ok(());
            }
            tokio::select! {
                Some(ended) = tries.join_next() => {
                    let Ok((message, receiver, outcome)) = ended else { continue };
                    let now = clock::now().wall();
                    journal.record(now, tried(&message, &receiver, &outcome, now, fastrand::f64()))?;
                    busy.entry(receiver.clone()).and_modify(|messages| *messages -= 1);
                    busy.retain(|_, messages| *messages > 0);
                    if outcome == Outcome::Taken {
                        delivered.taken.push((receiver, message.id));
                    }
                }
                () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => {}
                _ = interrupts.next() => return Ok(()),
            }
        }
    }

    /// How long until something is tried again, where that is within the patience.
    fn pause(&self, state: &State, receivers: &[Receiver], began: Moment) -> Option<Duration> {
        let now = clock::now();
        let next = next_try(state, receivers)?;
        let pause = Duration::try_from(next.duration_since(now.wall())).unwrap_or_default();
        let patience = self.notification.patience.min(LONGEST);
        (now.since(began) + pause < patience).then_some(pause)
    }

    /// Begins to give each message that is due to each of these receivers; who is tried, once for each message.
    async fn begin(
        &self,
        journal: &Journal,
        receivers: &[Receiver],
        (insists, began): (bool, Moment),
        written: &mut BTreeMap<String, Morning>,
        tries: &mut JoinSet<Try>,
    ) -> Result<Vec<String>, RunError> {
        let mut given = Vec::new();
        for (message, receiver) in due(journal.state(), receivers, clock::now().wall(), insists) {
            if !written.contains_key(&message.id) {
                written.insert(message.id.clone(), self.write(journal, message).await?);
            }
            let (morning, receiver, sender) = (written[&message.id].clone(), receiver.clone(), self.sender.clone());
            let message = message.clone();
            let time = LONGEST.saturating_sub(clock::now().since(began)).max(Duration::from_millis(1));
            given.push(receiver.name.clone());
            let refused = self.refused(&receiver, &journal.state().pinned);
            tries.spawn(async move {
                let outcome = match refused {
                    Some(refused) => refused,
                    None => sender.send(&receiver, &morning, time).await,
                };
                (message, receiver.name, outcome)
            });
        }
        Ok(given)
    }

    /// Why a receiver's program is not started: a phase may have made another one of it.
    fn refused(&self, receiver: &Receiver, pinned: &[PinnedFile]) -> Option<Outcome> {
        let changed = before_telling(self.layout.workspace(), receiver.program()?, pinned);
        (!changed.is_empty()).then(|| Outcome::Never {
            reason: format!(
                "it was not started: {} changed since the run began; `loa-run resume --config new` takes it as it is",
                ChangedFiles::of(&changed)
            )
            .into(),
        })
    }

    /// The message, with what is seen now. One of an execution that is over is made of that one's journal.
    async fn write(&self, journal: &Journal, message: &Message) -> Result<Morning, RunError> {
        let earlier;
        let state = if message.execution == *journal.execution() {
            journal.state()
        } else {
            earlier = journal.read(&message.execution)?.map(|recorded| recorded.state);
            earlier.as_ref().unwrap_or(journal.state())
        };
        let is_present = state.execution_id == *journal.execution();
        let log = logs_of(&message.news, state).into_iter().find_map(|(phase, attempt)| {
            let path = self.place.log(&state.execution_id, phase, attempt);
            let lines = tail(&path, LINES, Writer::of(state.is_by_agent(phase)), &self.sender.redactor);
            (!lines.is_empty()).then_some(((phase, attempt), lines))
        });
        let (log_of, log) = log.map_or((None, Vec::new()), |(of, lines)| (Some(of), lines));
        // The tree of an execution that is over went on with the next one.
        let began = state.outbox.as_ref().map(|outbox| &outbox.began).filter(|_| is_present);
        let changed = match began {
            // A secret may stand in a name, too.
            Some(began) => {
                let lines = changed(&self.layout, began).await.into_iter();
                lines.map(|line| self.sender.redactor.text(&line)).collect()
            }
            None => Vec::new(),
        };
        let differences = if is_present { self.differences(journal, &message.news) } else { Vec::new() };
        Ok(Morning::of(message, state, &self.layout, &self.answering, Observed { differences, changed, log_of, log }))
    }

    /// What changed in the files that a call asks about.
    fn differences(&self, journal: &Journal, news: &News) -> Vec<Difference> {
        let (News::Escalated { number, phase, .. }, state) = (news, journal.state()) else { return Vec::new() };
        let is_pending = state.pending.as_ref().is_some_and(|pending| pending.number == *number);
        let Some(files) = state.changed_gates.get(phase).filter(|_| is_pending) else { return Vec::new() };
        // What cannot be read is not shown, and the file is named all the same.
        let kept = |digest: &str| journal.kept(digest).ok().flatten();
        differences(self.layout.workspace(), files, &state.pinned, kept, &self.sender.redactor)
    }
}

impl Deliverer {
    /// Delivers again whenever something is due, as often as it takes, until everything was taken or refused. Between the
    /// tries nobody is kept from the execution; who works on it delivers by itself.
    ///
    /// # Errors
    /// [`RunError`]: its journal cannot be read or written.
    pub async fn deliver_on(&self, listen: impl Fn() -> Result<Interrupts, RunError>) -> Result<(), RunError> {
        loop {
            let store = FileStore::new(self.place.found_again()?, self.layout.clone());
            let next = store.current()?.and_then(|it| next_try(&it.state, &self.notification.receivers));
            let Some(next) = next else { return Ok(()) };
            let pause = Duration::try_from(next.duration_since(clock::now().wall())).unwrap_or_default();
            tokio::time::sleep(pause.clamp(SHORTEST, LOOK_AGAIN)).await;
            match self.clone().deliver(false, listen()?).await {
                Ok(_) | Err(RunError::Store(StoreError::Lock(LockError::Held { .. }))) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives every receiver a message that nothing is journaled of: what became of each.
    pub async fn test(&self, id: &str) -> Vec<(String, Outcome)> {
        let morning = Morning::test(id.to_owned(), self.layout.workspace());
        let mut tried = Vec::new();
        for receiver in &self.notification.receivers {
            tried.push((receiver.name.clone(), self.sender.send(receiver, &morning, receiver.time).await));
        }
        tried
    }

    /// What the execution recorded, where that can be read.
    fn pinned(&self) -> Vec<PinnedFile> {
        let place = self.place.found_again().ok();
        let store = place.map(|place| FileStore::new(place, self.layout.clone()));
        store.and_then(|store| store.current().ok()?).map(|recorded| recorded.state.pinned).unwrap_or_default()
    }

    /// Tells of an end that no journal holds, such as one of a full disk: each receiver that wants failures, once, for ten
    /// seconds at most. What became of each.
    pub async fn tell_unrecorded(&self, id: &str, error: &str) -> Vec<(String, Outcome)> {
        let news = News::Failed { error: error.into() };
        let morning = Morning::unrecorded(id.to_owned(), &news, self.layout.workspace(), &self.answering);
        let pinned = self.pinned();
        let mut tries = JoinSet::new();
        for receiver in self.notification.receivers.iter().filter(|receiver| receiver.wants(&news)).cloned() {
            let (sender, morning) = (self.sender.clone(), morning.clone());
            let refused = self.refused(&receiver, &pinned);
            tries.spawn(async move {
                let outcome = match refused {
                    Some(refused) => refused,
                    None => sender.send(&receiver, &morning, LONGEST).await,
                };
                (receiver.name, outcome)
            });
        }
        tries.join_all().await
    }
}
