//! The record of what was asked: shared between the connections that add to it and the judge that reads it while it grows.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::seen::{Prompt, RequestSeen};
use crate::system::clock::Millis;
use crate::system::clock::{self, Moment};

/// Bytes of what was said that are kept; requests beyond are recorded without it, and say so.
const MOST_KEPT: usize = 128 << 20;

/// What is said of a request that came too late to be kept: nothing can be judged by it.
const FULL: &str = "the record of what was asked is full";

/// Everything that was asked so far.
#[derive(Debug)]
pub(super) struct Record {
    epoch: Moment,
    /// How many bytes of what was said are kept.
    room: usize,
    kept: Mutex<Kept>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Kept {
    requests: Vec<RequestSeen>,
    /// How many of them used up a step.
    main: u64,
    bytes: usize,
    closed: bool,
}

/// What a request is to be recorded under.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) at: Millis,
    /// How many requests before it used up a step.
    pub(super) before: u64,
}

impl Record {
    pub(super) fn new(epoch: Moment) -> Self {
        Self { epoch, room: MOST_KEPT, kept: Mutex::default(), changed: Condvar::new() }
    }

    /// When time began.
    pub(super) fn epoch(&self) -> Moment {
        self.epoch
    }

    fn now(&self) -> Millis {
        Millis::try_from(clock::now().since(self.epoch).as_millis()).unwrap_or(Millis::MAX)
    }

    /// Adds a request, while no other can come between; returns what else was made of it, and the ticket of its answer.
    pub(super) fn add<T>(self: &Arc<Self>, make: impl FnOnce(Entry) -> (RequestSeen, T)) -> (Ticket, T) {
        let mut kept = self.kept();
        let entry = Entry { number: kept.requests.len() as u64, at: self.now(), before: kept.main };
        let (mut request, rest) = make(entry);
        if let Some(prompt) = &mut request.prompt {
            if kept.bytes + prompt.size() > self.room {
                *prompt = Prompt { stream: prompt.stream, ..Prompt::default() };
                request.fault.get_or_insert_with(|| FULL.to_owned());
            } else {
                kept.bytes += prompt.size();
            }
        }
        kept.main += u64::from(request.is_main());
        kept.requests.push(request);
        self.changed.notify_all();
        (Ticket { record: Arc::clone(self), number: entry.number, kept: false }, rest)
    }

    /// From now on nobody leaves any more: the model itself does.
    pub(super) fn close(&self) {
        self.kept().closed = true;
    }

    /// What is recorded so far.
    pub(super) fn requests(&self) -> Vec<RequestSeen> {
        self.kept().requests.clone()
    }

    /// Waits until the record is as wished; `false` when patience ends before.
    pub(super) fn wait_for(&self, patience: Duration, mut holds: impl FnMut(&[RequestSeen]) -> bool) -> bool {
        let kept = self.kept();
        let waited = self.changed.wait_timeout_while(kept, patience, |kept| !holds(&kept.requests));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn end(&self, number: u64, kept_word: bool) {
        let at = self.now();
        let mut kept = self.kept();
        let left = !kept_word && !kept.closed;
        let index = usize::try_from(number).expect("a number that was given is an index");
        if let Some(request) = kept.requests.get_mut(index) {
            (request.ended, request.left) = (Some(at), left);
        }
        self.changed.notify_all();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer of a request while it is being sent. Dropped, the request has ended.
#[derive(Debug)]
pub(super) struct Ticket {
    record: Arc<Record>,
    number: u64,
    kept: bool,
}

impl Ticket {
    /// Everything that was scripted has been sent.
    pub(super) fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.record.end(self.number, self.kept);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::conform::model::seen::Said;
    use crate::conform::model::{Answered, By, Dialect};

    fn request(entry: Entry, by: By, words: &str) -> RequestSeen {
        let conversation = vec![Said::Text { role: "user".to_owned(), text: words.to_owned() }];
        RequestSeen {
            number: entry.number,
            at: entry.at,
            ended: None,
            left: false,
            method: "POST".to_owned(),
            path: "/v1/messages".to_owned(),
            headers: BTreeMap::new(),
            dialect: Dialect::Anthropic,
            by,
            answer: Answered::Text,
            status: Some(200),
            usage: None,
            away_ms: None,
            fault: None,
            prompt: Some(Prompt { conversation, ..Prompt::default() }),
        }
    }

    #[test]
    fn only_what_answers_of_steps_went_to_uses_them_up() {
        let record = Arc::new(Record::new(clock::now()));
        let before = |by: By| record.add(|entry| (request(entry, by, ""), entry.before)).1;
        let ways = [By::Step(0), By::Route("r".to_owned()), By::Server, By::Step(1), By::After, By::After];
        assert_eq!(ways.map(before), [0, 1, 1, 1, 2, 3]);
    }

    #[test]
    fn a_record_that_grew_too_long_goes_on_without_conversations() {
        let record = Arc::new(Record { room: 40, ..Record::new(clock::now()) });
        for words in ["twenty characters, no", "twenty characters, no", "few"] {
            record.add(|entry| (request(entry, By::After, words), ()));
        }
        let kept: Vec<usize> = record
            .requests()
            .iter()
            .map(|request| request.prompt.as_ref().map_or(9, |p| p.conversation.len()))
            .collect();
        assert_eq!(kept, [1, 0, 1], "a short one still fits");
        let faults: Vec<bool> = record.requests().iter().map(|request| request.fault.is_some()).collect();
        assert_eq!(faults, [false, true, false]);
    }

    #[test]
    fn a_request_ends_with_its_ticket() {
        let record = Arc::new(Record::new(clock::now()));
        let mut tickets: Vec<Ticket> =
            (0..3).map(|_| record.add(|entry| (request(entry, By::After, ""), ())).0).collect();
        assert!(record.requests().iter().all(|request| request.ended.is_none()));
        tickets[0].keep();
        tickets.truncate(2);
        drop(tickets.remove(0));
        record.close();
        drop(tickets);
        let ends = record.requests().into_iter().map(|request| (request.ended.is_some(), request.left));
        assert_eq!(
            ends.collect::<Vec<_>>(),
            [(true, false), (true, false), (true, true)],
            "nobody leaves a closed model"
        );
        assert!(!record.wait_for(Duration::ZERO, |requests| requests.len() > 3));
        assert!(record.wait_for(Duration::ZERO, |requests| requests.len() == 3));
    }
}
