//! Messages: who takes them, and whether each end is told until it is taken or nobody needs to hear of it any more.

use std::time::Duration;

use loa::config::NotifyOn;
use loa::events::{Envelope, Event, Message, RunEnd};
use loa::runner::{Means, Notification, Outcome, Receiver, tried};
use loa::store::{FileStore, Journal, RunStore};
use loa::system::process::Interrupt;

use super::faults::Fault;
use super::session::Session;
use super::story::Teller;
use super::truth::Truth;

/// More deliveries than it lawfully takes until a receiver that takes everything has everything.
const ROUNDS: usize = 40;
/// Longer than any pause between two tries.
const LATER: Duration = Duration::from_mins(20);

/// One receiver, who wants to be told of everything.
pub(super) fn notification() -> Notification {
    let (name, on, means) = ("phone".to_owned(), NotifyOn::ALL.to_vec(), Means::Command(vec!["tell".to_owned()]));
    let receiver = Receiver { name, on, time: Duration::from_secs(1), means };
    Notification { receivers: vec![receiver], given: Vec::new(), patience: Duration::ZERO, answer_with: None }
}

impl Teller {
    /// A process delivers what is due, as at the end of a run or by `loa-run notify`, unless it dies before. Where the
    /// receiver is `willing`, it takes everything.
    pub(super) fn deliver(&self, willing: bool) {
        let lives = {
            let mut truth = self.truth.borrow_mut();
            let (dies, lives) = (truth.post.u8(0..4) == 0, truth.post.u64(0..8));
            (dies && !willing && truth.disturbs()).then_some(lives)
        };
        self.disk.die_after(lives);
        let told = self.tell_what_is_due(willing);
        let died = self.disk.is_dead();
        self.disk.die_after(None);
        if died {
            let power = matches!(self.death(), Session::Died { power: true });
            return self.learn(power);
        }
        if let Err(error) = told {
            self.truth.borrow_mut().breaks(format!("nothing is delivered: {error}"));
        }
        self.learn(false);
    }

    fn tell_what_is_due(&self, willing: bool) -> Result<(), String> {
        let words = |error: loa::store::StoreError| error.to_string();
        let mut store = FileStore::new(self.place(), self.layout.clone());
        let now = self.truth.borrow().wall;
        if store.current().map_err(words)?.is_none() {
            return Ok(());
        }
        store.claim(now, false).map_err(words)?;
        let Some(recorded) = store.current().map_err(words)? else { return Ok(()) };
        let mut journal = Journal::resume(Fault::store(self.fault, store), &recorded).map_err(words)?;
        let state = journal.state().clone();
        let receivers = &self.rules.bounds.notification.receivers;
        for (message, receiver) in Fault::due(self.fault)(&state, receivers, now, false) {
            if self.disk.is_dead() {
                return Ok(());
            }
            let outcome = self.truth.borrow_mut().hears(message, willing);
            let chance = self.truth.borrow_mut().post.f64();
            journal.record(now, tried(message, &receiver.name, &outcome, now, chance)).map_err(words)?;
            if outcome == Outcome::Taken && !self.disk.is_dead() {
                self.truth.borrow_mut().acknowledged.insert(message.id.clone());
            }
        }
        Ok(())
    }

    /// Time passes, and processes deliver to somebody who takes everything.
    fn deliver_until_taken(&self) {
        for _ in 0..ROUNDS {
            let is_done = self.recorded().is_none_or(|recorded| self.untold(&recorded.envelopes).is_none());
            if is_done || self.truth.borrow().broken.is_some() {
                return;
            }
            self.truth.borrow_mut().pass(LATER);
            self.deliver(true);
        }
    }

    /// A human who answers has mostly been told before; some look by themselves.
    pub(super) fn calls_before_an_answer(&self) {
        let looks = self.truth.borrow_mut().post.u8(0..4) == 0;
        if looks || self.truth.borrow().settings.script.is_some() {
            return;
        }
        self.tell_all();
    }

    /// Whatever happened, each end is told at last, or of no interest any more.
    pub(super) fn tell_all(&self) {
        self.deliver_until_taken();
        // Another command comes by.
        if self.truth.borrow_mut().post.bool() {
            self.deliver(true);
        }
        let Some(recorded) = self.recorded() else { return };
        if let Some(lost) = self.untold(&recorded.envelopes) {
            self.truth.borrow_mut().breaks(format!("nobody is ever told of event {lost}"));
        }
        let mut truth = self.truth.borrow_mut();
        let ends = recorded.envelopes.iter().filter(|it| is_end(&it.event));
        if ends.into_iter().any(|end| !truth.told.contains_key(&format!("exec-1-{}", end.seq))) {
            truth.count("messages expired");
        }
    }

    /// An end that nobody was told of, and that somebody has to be.
    fn untold(&self, envelopes: &[Envelope]) -> Option<u64> {
        let truth = self.truth.borrow();
        let ends = envelopes.iter().enumerate().filter(|(_, it)| is_end(&it.event));
        let open = |(at, end): &(usize, &Envelope)| {
            let later = &envelopes[at + 1..];
            let id = format!("exec-1-{}", end.seq);
            !truth.told.contains_key(&id) && !later.iter().any(|it| ends_interest(&end.event, &it.event))
        };
        ends.into_iter().find(open).map(|(_, end)| end.seq)
    }
}

/// Whoever interrupts a run at its terminal knows of it; this comes from elsewhere.
const TERMINATED: RunEnd = RunEnd::Interrupted { by: Interrupt::Terminate };

fn is_end(event: &Event) -> bool {
    matches!(
        event,
        Event::Escalated { .. }
            | Event::ExecutionCompleted
            | Event::DeathNoticed { .. }
            | Event::SessionEnded { end: RunEnd::Failed { .. } | RunEnd::Paused { .. } | TERMINATED }
    )
}

/// Whether nobody has to hear of an end after this.
fn ends_interest(end: &Event, later: &Event) -> bool {
    match (end, later) {
        (Event::Escalated { number, .. }, Event::Resolved { escalation, .. }) => number == escalation,
        (Event::SessionEnded { .. } | Event::DeathNoticed { .. }, Event::SessionStarted { .. }) => true,
        _ => false,
    }
}

impl Truth {
    /// Somebody is told: whether it takes the message.
    fn hears(&mut self, message: &Message, willing: bool) -> Outcome {
        self.tell(|| format!("message {}: {}", message.id, message.news.word()));
        if self.acknowledged.contains(&message.id) {
            self.breaks(format!("message {} is told again after it was taken", message.id));
        }
        let taken = willing || self.settings.script.is_some() || self.post.bool();
        if !taken {
            self.count("messages not taken");
            let after = self.post.bool().then(|| Duration::from_secs(self.post.u64(0..600)));
            return Outcome::Later { reason: "nobody answers".into(), after };
        }
        self.count("messages taken");
        let times = self.told.entry(message.id.clone()).or_default();
        *times += 1;
        if *times > 1 {
            self.count("messages taken twice");
        }
        Outcome::Taken
    }
}
