//! The APIs that the model speaks: reading a request, writing an answer or an error. Pure, and one file a vendor's API.
//!
//! Shapes were taken from what real agents accept. A request that the vendor would refuse is refused here in its words:
//! a body that is no JSON, a missing field, a tool call without its result.

mod anthropic;
mod read;
mod responses;

use serde_json::Value;

use super::answer::Refusal;
use super::script::{ErrorKind, Usage};
use super::seen::Prompt;
use super::shell::Tool;
use crate::contract::vocabulary;

vocabulary! {
    /// An API of a vendor.
    pub enum Dialect ("dialect") {
        /// Anthropic Messages: `POST /v1/messages`.
        Anthropic = "anthropic",
        /// `OpenAI` Responses: `POST /v1/responses`.
        Responses = "responses",
    }
}

/// What a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// An answer of the model.
    Turn,
    /// A count of the tokens that a prompt has.
    Count,
}

/// A request that was understood: what it asked, whole, and the tools with what they take.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) prompt: Prompt,
    pub(super) tools: Vec<Tool>,
}

/// Why a request is refused: what the vendor would say, and of which field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejected {
    pub(super) message: String,
    pub(super) param: Option<&'static str>,
}

/// An answer of the model, about to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply<'a> {
    pub(super) ids: Ids,
    /// Seconds since 1970.
    pub(super) created: i64,
    pub(super) model: &'a str,
    pub(super) text: Option<&'a str>,
    /// Tools and their arguments.
    pub(super) calls: Vec<(String, Value)>,
    pub(super) usage: Usage,
}

/// The vendor's error, about to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failure {
    pub(super) status: u16,
    /// The vendor's own headers for it.
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) body: Value,
}

/// Where the ids of an answer come from: the same seed and number give the same ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ids {
    pub(super) seed: u64,
    pub(super) number: u64,
}

impl Ids {
    /// The id of the `part`-th thing of this answer.
    pub(super) fn id(self, prefix: &str, part: usize) -> String {
        format!("{prefix}{:08x}{:08x}{part:02x}", self.seed, self.number)
    }
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Event {
    pub(super) name: &'static str,
    pub(super) data: Value,
}

impl Event {
    /// As it goes over the wire.
    pub(super) fn bytes(&self) -> Vec<u8> {
        format!("event: {}\ndata: {}\n\n", self.name, self.data).into_bytes()
    }
}

impl Dialect {
    /// Whose path it is, and what for.
    pub(super) fn of_path(path: &str) -> Option<(Self, Operation)> {
        match path {
            "/v1/messages" => Some((Self::Anthropic, Operation::Turn)),
            "/v1/messages/count_tokens" => Some((Self::Anthropic, Operation::Count)),
            "/v1/responses" => Some((Self::Responses, Operation::Turn)),
            _ => None,
        }
    }

    /// Reads a request.
    ///
    /// # Errors
    /// [`Rejected`] when the vendor would refuse it.
    pub(super) fn read(self, body: &[u8], operation: Operation) -> Result<Asked, Rejected> {
        let body = read::json(body)?;
        match self {
            Self::Anthropic => anthropic::read(&body, operation),
            Self::Responses => responses::read(&body),
        }
    }

    /// An answer in one piece.
    pub(super) fn whole(self, reply: &Reply<'_>) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(reply),
            Self::Responses => responses::whole(reply),
        }
    }

    /// The same answer as a stream.
    pub(super) fn events(self, reply: &Reply<'_>) -> Vec<Event> {
        match self {
            Self::Anthropic => anthropic::events(reply),
            Self::Responses => responses::events(reply),
        }
    }

    /// What is sent in the middle of a stream that fails.
    pub(super) fn error_event(self, kind: ErrorKind, reply: &Reply<'_>) -> Event {
        match self {
            Self::Anthropic => anthropic::error_event(kind, reply),
            Self::Responses => responses::error_event(kind, reply),
        }
    }

    /// An error.
    pub(super) fn error(self, refusal: &Refusal, model: &str, ids: Ids) -> Failure {
        let kind = refusal.kind.or(refusal.status.map(ErrorKind::of_status)).unwrap_or(ErrorKind::Server);
        let message = refusal.message.as_deref();
        let failure = match self {
            Self::Anthropic => anthropic::error(kind, message, model, ids),
            Self::Responses => responses::error(kind, message, model),
        };
        Failure { status: refusal.status.unwrap_or(failure.status), ..failure }
    }

    /// The error for a path that the vendor does not have.
    pub(super) fn no_such_path(self, ids: Ids) -> Failure {
        let refusal = Refusal {
            kind: Some(ErrorKind::NotFound),
            message: Some("There is nothing at this path.".to_owned()),
            ..Refusal::default()
        };
        let mut failure = self.error(&refusal, "", ids);
        if self == Self::Responses {
            // The usual code is that of a missing model.
            failure.body["error"]["code"] = Value::Null;
        }
        failure
    }

    /// The error for a request that was not understood.
    pub(super) fn rejection(self, rejected: &Rejected, ids: Ids) -> Failure {
        let refusal = Refusal {
            kind: Some(ErrorKind::InvalidRequest),
            message: Some(rejected.message.clone()),
            ..Refusal::default()
        };
        let mut failure = self.error(&refusal, "", ids);
        if let (Self::Responses, Some(param)) = (self, rejected.param) {
            failure.body["error"]["param"] = param.into();
        }
        failure
    }

    /// The header under which the vendor names a request.
    pub(super) fn request_id_header(self) -> &'static str {
        match self {
            Self::Anthropic => "request-id",
            Self::Responses => "x-request-id",
        }
    }
}

/// A text in at most sixteen pieces of at least six characters, as a model would stream it.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks((characters.len() / 16).max(6)).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests;
