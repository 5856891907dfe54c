//! From a request to what is sent for it: pure, so that every answer can be tested without a socket.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::answer::{Answer, Fate, Message, Refusal, Way};
use super::dialect::{Asked, Event, Failure, Operation, Rejected, Reply, Stamp};
use super::playbook::Playbook;
use super::script::{ErrorKind, Point, Usage};
use super::seen::{Answered, By, Prompt};
use super::{Dialect, shell};

/// What is said where a command cannot be called.
const NO_SHELL: &str = "I was offered no tool that runs a command.";

/// What a request is answered with, for the record and for the wire.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exchange {
    pub(super) by: By,
    pub(super) answered: Answered,
    pub(super) usage: Option<Usage>,
    pub(super) away_ms: Option<u32>,
    pub(super) fault: Option<String>,
    pub(super) prompt: Option<Prompt>,
    pub(super) sent: Sent,
}

/// What goes over the wire.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sent {
    /// Absent when not a byte is sent.
    pub(super) head: Option<Head>,
    /// The body, piece by piece.
    pub(super) pieces: Vec<Vec<u8>>,
    /// How many bytes the body is said to have; absent for a stream.
    pub(super) length: Option<usize>,
    pub(super) end: End,
    /// For how many milliseconds nobody listens afterwards.
    pub(super) away_ms: Option<u32>,
}

/// Status and headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
}

/// What follows the last piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The orderly end of the message.
    Orderly,
    /// Nothing, for ever.
    Stall,
    /// A reset of the connection.
    Reset,
    /// A closed connection, without an answer.
    Close,
}

impl Exchange {
    /// The server's own answer to what is no question to the model.
    pub(super) fn hello(dialect: Dialect, stamp: Stamp) -> Self {
        let body = json!({"message": "hello"});
        Self::by_server(Answered::Hello, None, Sent::json(dialect, stamp, 200, BTreeMap::new(), &body))
    }

    /// The vendor's error for a path that it does not have.
    pub(super) fn no_such_path(dialect: Dialect, stamp: Stamp) -> Self {
        let sent = failed(dialect, &dialect.no_such_path(stamp), &BTreeMap::new(), stamp);
        Self::by_server(Answered::NoSuchPath, None, sent)
    }

    /// The vendor's error for a body that is longer than it takes.
    pub(super) fn too_large(dialect: Dialect, stamp: Stamp) -> Self {
        let refusal = Refusal { kind: Some(ErrorKind::TooLarge), ..Refusal::default() };
        let fault = "the body is longer than the vendors take".to_owned();
        Self::by_server(Answered::Refused, Some(fault), refused(dialect, &refusal, "", stamp))
    }

    /// The vendor's error for a request that cannot be understood.
    pub(super) fn rejected(dialect: Dialect, rejected: Rejected, stamp: Stamp) -> Self {
        let failure = dialect.rejection(&rejected, stamp);
        let sent = failed(dialect, &failure, &BTreeMap::new(), stamp);
        Self::by_server(Answered::Refused, Some(rejected.message), sent)
    }

    fn by_server(answered: Answered, fault: Option<String>, sent: Sent) -> Self {
        Self { by: By::Server, answered, usage: None, away_ms: None, fault, prompt: None, sent }
    }

    /// The answer to a request that was understood; `before` requests have used up steps so far.
    pub(super) fn of(
        dialect: Dialect,
        operation: Operation,
        asked: Asked,
        playbook: &Playbook,
        before: u64,
        stamp: Stamp,
    ) -> Self {
        if operation == Operation::Count {
            let body = dialect.count(estimate(&asked.prompt));
            return Self::by_server(Answered::Count, None, Sent::json(dialect, stamp, 200, BTreeMap::new(), &body));
        }
        let (by, answer) = playbook.answer(&asked.prompt.last_text, before);
        let (answered, usage, fault, sent) = match answer {
            Answer::Refusal(refusal) => {
                (Answered::Error, None, None, refused(dialect, &refusal, &asked.prompt.model, stamp))
            }
            Answer::Message(message) => said(dialect, &asked, &message, stamp),
        };
        let away_ms = sent.away_ms;
        Self { by, answered, usage, away_ms, fault, prompt: Some(asked.prompt.trimmed()), sent }
    }
}

/// About as many tokens as the texts of a prompt have.
fn estimate(prompt: &Prompt) -> usize {
    let bytes: usize = prompt.conversation.iter().map(super::seen::Said::size).sum();
    bytes.div_ceil(4)
}

fn refused(dialect: Dialect, refusal: &Refusal, model: &str, stamp: Stamp) -> Sent {
    failed(dialect, &dialect.error(refusal, model, stamp), &refusal.headers, stamp)
}

/// An error with the vendor's headers and those of the script, which come first; an empty one leaves the vendor's out.
fn failed(dialect: Dialect, failure: &Failure, more: &BTreeMap<String, String>, stamp: Stamp) -> Sent {
    let own = failure.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let more = more.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    let mut headers: BTreeMap<String, String> = own.chain(more).collect();
    headers.retain(|_, value| !value.is_empty());
    Sent::json(dialect, stamp, failure.status, headers, &failure.body)
}

type Spoken = (Answered, Option<Usage>, Option<String>, Sent);

fn said(dialect: Dialect, asked: &Asked, message: &Message, stamp: Stamp) -> Spoken {
    let calls: Option<Vec<(String, Value)>> =
        message.commands.iter().map(|command| shell::call(&asked.tools, command)).collect();
    let fault = calls.is_none().then(|| "it offers no tool that runs a command".to_owned());
    let calls = calls.unwrap_or_default();
    let text = if fault.is_some() { Some(NO_SHELL) } else { message.text.as_deref() };
    let whole = if calls.is_empty() { Answered::Text } else { Answered::Calls };
    let reply = Reply {
        ids: stamp.ids,
        created: stamp.created,
        model: &asked.prompt.model,
        text,
        calls,
        stop: message.stop,
        usage: message.usage,
    };
    let stream = asked.prompt.stream;
    let (answered, sent) = match message.fate {
        Fate::ErrorEvent(kind) if stream => {
            let mut events = first_half(dialect.events(&reply));
            events.push(dialect.error_event(kind, &reply));
            (Answered::ErrorEvent, Sent::stream(dialect, stamp, &events, End::Orderly))
        }
        Fate::ErrorEvent(kind) => {
            let refusal = Refusal { kind: Some(kind), ..Refusal::default() };
            (Answered::Error, refused(dialect, &refusal, reply.model, stamp))
        }
        Fate::Whole if stream => (whole, Sent::stream(dialect, stamp, &dialect.events(&reply), End::Orderly)),
        Fate::Whole => (whole, Sent::json(dialect, stamp, 200, BTreeMap::new(), &dialect.whole(&reply))),
        Fate::Broken(way, point) => (answered_by(way), broken(dialect, &reply, stamp, stream, (way, point))),
    };
    let arrives = matches!(answered, Answered::Text | Answered::Calls);
    (answered, arrives.then_some(message.usage), fault, sent.before(message.away_ms))
}

fn answered_by(way: Way) -> Answered {
    match way {
        Way::Stall => Answered::Stall,
        Way::Reset => Answered::Reset,
        Way::Truncate => Answered::Truncated,
    }
}

fn broken(dialect: Dialect, reply: &Reply<'_>, stamp: Stamp, stream: bool, (way, point): (Way, Point)) -> Sent {
    let end = match (way, point) {
        (Way::Stall, _) => End::Stall,
        (Way::Reset, _) => End::Reset,
        (Way::Truncate, Point::BeforeHeaders) => End::Close,
        (Way::Truncate, Point::InStream) => End::Orderly,
    };
    if point == Point::BeforeHeaders {
        return Sent { head: None, pieces: Vec::new(), length: None, end, away_ms: None };
    }
    if stream {
        return Sent::stream(dialect, stamp, &first_half(dialect.events(reply)), end);
    }
    let mut sent = Sent::json(dialect, stamp, 200, BTreeMap::new(), &dialect.whole(reply));
    for piece in &mut sent.pieces {
        piece.truncate(piece.len() / 2);
    }
    if end == End::Orderly {
        sent.length = Some(sent.pieces.iter().map(Vec::len).sum());
    }
    sent.end = end;
    sent
}

/// The first half of a stream: never nothing, and never its last event.
fn first_half(mut events: Vec<Event>) -> Vec<Event> {
    events.truncate((events.len() / 2).max(1));
    events
}

impl Sent {
    fn json(dialect: Dialect, stamp: Stamp, status: u16, more: BTreeMap<String, String>, body: &Value) -> Self {
        let body = body.to_string().into_bytes();
        let head = Head { status, headers: headers(dialect, stamp, "application/json", more) };
        Self { head: Some(head), length: Some(body.len()), pieces: vec![body], end: End::Orderly, away_ms: None }
    }

    fn stream(dialect: Dialect, stamp: Stamp, events: &[Event], end: End) -> Self {
        let headers = headers(dialect, stamp, "text/event-stream; charset=utf-8", BTreeMap::new());
        let pieces = events.iter().map(Event::bytes).collect();
        Self { head: Some(Head { status: 200, headers }), pieces, length: None, end, away_ms: None }
    }

    /// The same, before nobody listens for so long: it is the last on its connection.
    fn before(mut self, away_ms: Option<u32>) -> Self {
        if let (Some(_), Some(head)) = (away_ms, &mut self.head) {
            head.headers.insert("connection".to_owned(), "close".to_owned());
        }
        Self { away_ms, ..self }
    }

    /// The status, once there is one.
    pub(super) fn status(&self) -> Option<u16> {
        self.head.as_ref().map(|head| head.status)
    }
}

fn headers(dialect: Dialect, stamp: Stamp, kind: &str, more: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = dialect.request_id_header().map(|name| (name, stamp.ids.id("req_01", 0)));
    let own = [("content-type", kind.to_owned()), ("cache-control", "no-cache".to_owned())].into_iter().chain(named);
    let own = own.map(|(name, value)| (name.to_owned(), value));
    own.chain(more).collect()
}

#[cfg(test)]
mod tests;
