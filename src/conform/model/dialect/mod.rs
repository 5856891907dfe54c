//! The APIs that the model speaks: reading a request, writing an answer or an error. Pure, and one file a vendor's API.
//!
//! Shapes were taken from what real agents accept. A request that the vendor would refuse is refused here in its words:
//! a body that is no JSON, a missing field, a tool call without its result.

mod anthropic;
mod chat;
mod gemini;
mod limit;
mod read;
mod responses;

use serde_json::{Value, json};

use super::answer::Refusal;
use super::script::{ErrorKind, Stop, Usage};
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
        /// `OpenAI` Chat Completions: `POST /v1/chat/completions`.
        Chat = "chat",
        /// Gemini: `POST /v1beta/models/MODEL:generateContent`, or `:streamGenerateContent`.
        Gemini = "gemini",
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
    /// Why it ends before everything was said.
    pub(super) stop: Option<Stop>,
    pub(super) usage: Usage,
}

/// The vendor's error, about to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failure {
    pub(super) status: u16,
    /// The vendor's own headers for it.
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Value,
}

/// What answers are made from, besides the request: a name for each, and the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    pub(super) ids: Ids,
    /// Seconds since 1970.
    pub(super) created: i64,
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
pub(super) enum Event {
    /// With a name.
    Named { name: &'static str, data: Value },
    /// Without.
    Data(Value),
    /// The word with which Chat Completions ends.
    Done,
}

impl Event {
    /// As it goes over the wire.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let text = match self {
            Self::Named { name, data } => format!("event: {name}\ndata: {data}\n\n"),
            Self::Data(data) => format!("data: {data}\n\n"),
            Self::Done => "data: [DONE]\n\n".to_owned(),
        };
        text.into_bytes()
    }
}

impl Dialect {
    /// Whose path it is, and what for.
    pub(super) fn of_path(path: &str) -> Option<(Self, Operation)> {
        match path {
            "/v1/messages" => Some((Self::Anthropic, Operation::Turn)),
            "/v1/messages/count_tokens" => Some((Self::Anthropic, Operation::Count)),
            "/v1/responses" => Some((Self::Responses, Operation::Turn)),
            "/v1/chat/completions" => Some((Self::Chat, Operation::Turn)),
            _ => match gemini::method(path)?.1 {
                "generateContent" | "streamGenerateContent" => Some((Self::Gemini, Operation::Turn)),
                "countTokens" => Some((Self::Gemini, Operation::Count)),
                _ => None,
            },
        }
    }

    /// Whose errors somebody expects who asked for a path that nobody has.
    pub(super) fn of_stranger(path: &str, has_header: impl Fn(&str) -> bool) -> Self {
        if path.starts_with("/v1beta/") || has_header("x-goog-api-key") {
            Self::Gemini
        } else if has_header("anthropic-version") || has_header("x-api-key") {
            Self::Anthropic
        } else {
            Self::Responses
        }
    }

    /// Reads a request to a path.
    ///
    /// # Errors
    /// [`Rejected`] when the vendor would refuse it.
    pub(super) fn read(self, path: &str, body: &[u8], operation: Operation) -> Result<Asked, Rejected> {
        let body = read::json(body)?;
        match self {
            Self::Anthropic => anthropic::read(&body, operation),
            Self::Responses => responses::read(&body),
            Self::Chat => chat::read(&body),
            Self::Gemini => gemini::read(&body, path),
        }
    }

    /// An answer in one piece.
    pub(super) fn whole(self, reply: &Reply<'_>) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(reply),
            Self::Responses => responses::whole(reply),
            Self::Chat => chat::whole(reply),
            Self::Gemini => gemini::whole(reply),
        }
    }

    /// The same answer as a stream.
    pub(super) fn events(self, reply: &Reply<'_>) -> Vec<Event> {
        match self {
            Self::Anthropic => anthropic::events(reply),
            Self::Responses => responses::events(reply),
            Self::Chat => chat::events(reply),
            Self::Gemini => gemini::events(reply),
        }
    }

    /// What is sent in the middle of a stream that fails.
    pub(super) fn error_event(self, kind: ErrorKind, reply: &Reply<'_>) -> Event {
        match self {
            Self::Anthropic => anthropic::error_event(kind, reply),
            Self::Responses => responses::error_event(kind, reply),
            Self::Chat => chat::error_event(kind, reply),
            Self::Gemini => gemini::error_event(kind, reply),
        }
    }

    /// An error.
    pub(super) fn error(self, refusal: &Refusal, model: &str, stamp: Stamp) -> Failure {
        let kind = refusal.kind.or(refusal.status.map(ErrorKind::of_status)).unwrap_or(ErrorKind::Server);
        let message = refusal.message.as_deref();
        let mut failure = match self {
            Self::Anthropic => anthropic::error(kind, message, model, stamp.ids),
            Self::Responses => responses::error(kind, message, model),
            Self::Chat => chat::error(kind, message, model),
            Self::Gemini => gemini::error(kind, message, model),
        };
        failure.status = refusal.status.unwrap_or(failure.status);
        limit::tell(self, kind, refusal.retry_after, stamp.created, &mut failure);
        failure
    }

    /// A count of tokens, as the vendor tells it.
    pub(super) fn count(self, tokens: usize) -> Value {
        match self {
            Self::Gemini => json!({"totalTokens": tokens}),
            _ => json!({"input_tokens": tokens}),
        }
    }

    /// The error for a path that the vendor does not have.
    pub(super) fn no_such_path(self, stamp: Stamp) -> Failure {
        let refusal = Refusal {
            kind: Some(ErrorKind::NotFound),
            message: Some("There is nothing at this path.".to_owned()),
            ..Refusal::default()
        };
        let mut failure = self.error(&refusal, "", stamp);
        if matches!(self, Self::Responses | Self::Chat) {
            // The usual code is that of a missing model.
            failure.body["error"]["code"] = Value::Null;
        }
        failure
    }

    /// The error for a request that was not understood.
    pub(super) fn rejection(self, rejected: &Rejected, stamp: Stamp) -> Failure {
        let refusal = Refusal {
            kind: Some(ErrorKind::InvalidRequest),
            message: Some(rejected.message.clone()),
            ..Refusal::default()
        };
        let mut failure = self.error(&refusal, "", stamp);
        if let (Self::Responses | Self::Chat, Some(param)) = (self, rejected.param) {
            failure.body["error"]["param"] = param.into();
        }
        failure
    }

    /// The header under which the vendor names a request, if it does.
    pub(super) fn request_id_header(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("request-id"),
            Self::Responses | Self::Chat => Some("x-request-id"),
            Self::Gemini => None,
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
