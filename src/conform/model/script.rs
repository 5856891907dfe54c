//! What a scripted model answers, as its author writes it. The format is explained in `contract-tests/README.md`; what a
//! step comes to is [`super::answer`]'s, which request gets which step is [`super::playbook`]'s.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contract::vocabulary;

/// A scripted model: what it answers to the requests of an agent.
///
/// It speaks Anthropic Messages, `OpenAI` Responses and Chat Completions, and Gemini on one port; a script names no vendor,
/// so the same one serves every agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Model script")]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// One sentence about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The answers to requests that no route takes, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// What follows the last step.
    #[serde(default, skip_serializing_if = "is_default")]
    pub then: Then,
    /// Answers by what the last message of a request says; looked through in order before the steps, and they use none up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

vocabulary! {
    /// What follows the last step of a script.
    #[derive(Default)]
    pub enum Then ("what follows the last step") {
        /// A plain text and no tool call, which ends an agent's turn.
        #[default]
        Text = "text",
        /// The last step again, for ever.
        Repeat = "repeat",
    }
}

/// A side request, or a reaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// What it is called in the record, such as `compaction`.
    #[schemars(length(min = 1))]
    pub name: String,
    /// A regular expression on the text of the last message. What tools returned is no text, and neither is what was said
    /// before. Named groups may be used in `reply` as `{{name}}`.
    pub r#match: String,
    /// The answer, every time.
    pub reply: Step,
}

/// One answer: texts and commands, or an error; and, if it is not to arrive whole, what becomes of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What the model says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub text: Option<String>,
    /// A command, called by whatever shell tool the request offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub shell: Option<String>,
    /// Several commands, as several tool calls of one answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shells: Vec<String>,
    /// The usage that the answer reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// A refusal with the vendor's own status, body and headers, instead of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReply>,
    /// An error event in the middle of the stream; to a request that asked for no stream, the error itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_event: Option<ErrorKind>,
    /// Nothing more is sent from here on, and the connection stays open until the client leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<Point>,
    /// The connection is reset here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<Point>,
    /// The answer ends here, without an error: before the headers by a closed connection, in the stream by its orderly end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncate: Option<Point>,
    /// Why the model stopped, where it had not said all that it would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Once the answer was sent, nobody listens for so many milliseconds: every connection is closed, and new ones are
    /// refused. Then the server is back at the same address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3_600_000))]
    pub away_ms: Option<u32>,
    /// How many requests get this answer before the next step's turn.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 10000))]
    pub times: u32,
}

vocabulary! {
    /// Why a model stops before it has said everything. Each vendor has a word of its own for it.
    pub enum Stop ("reason to stop") {
        /// The answer has become as long as it may be.
        Length = "length",
        /// The model, or what watches over it, does not want to say it.
        Refusal = "refusal",
    }
}

vocabulary! {
    /// Where an answer breaks off.
    pub enum Point ("point of an answer") {
        /// Before the first byte.
        BeforeHeaders = "before_headers",
        /// After the headers and about half of the answer.
        InStream = "in_stream",
    }
}

/// What the model says that an answer cost, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// The whole prompt, what was cached included.
    #[serde(default = "usual_input")]
    pub input: u64,
    /// The part of the prompt that was read from a cache; at most `input`.
    #[serde(default)]
    pub cached: u64,
    /// The answer.
    #[serde(default = "usual_output")]
    pub output: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: usual_input(), cached: 0, output: usual_output() }
    }
}

/// A refusal. At least one of `kind` and `status`; the other follows from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorReply {
    /// Why; by the status when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ErrorKind>,
    /// The HTTP status; the vendor's for the kind when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 400, max = 599))]
    pub status: Option<u16>,
    /// The message, instead of the vendor's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How many seconds the server asks to wait: in the header `retry-after`, or, by Google, in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// Headers besides the vendor's own, such as `retry-after: "2"`, or instead of one of them; an empty one leaves it out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

vocabulary! {
    /// Why a model refuses. Each vendor has a status, a type and words of its own for it.
    pub enum ErrorKind ("error kind") {
        /// The request is malformed: 400.
        InvalidRequest = "invalid_request",
        /// Nothing is left to pay with: 400 by Anthropic, 429 by `OpenAI`.
        Credit = "credit",
        /// The prompt does not fit into the context window: 400.
        PromptTooLong = "prompt_too_long",
        /// The key is wrong: 401.
        Authentication = "authentication",
        /// The key may not do this: 403.
        Permission = "permission",
        /// There is no such model, or no such path: 404.
        NotFound = "not_found",
        /// The request has too many bytes: 413.
        TooLarge = "too_large",
        /// Too many requests or tokens at a time: 429.
        RateLimit = "rate_limit",
        /// What a period allows is used up until the next one begins: 429.
        Quota = "quota",
        /// The server failed: 500.
        Server = "server",
        /// The server has too much to do: 529 by Anthropic, 503 by `OpenAI`.
        Overloaded = "overloaded",
    }
}

impl ErrorKind {
    /// What a bare status stands for.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        match status {
            401 => Self::Authentication,
            403 => Self::Permission,
            404 => Self::NotFound,
            413 => Self::TooLarge,
            429 => Self::RateLimit,
            503 | 529 => Self::Overloaded,
            500.. => Self::Server,
            _ => Self::InvalidRequest,
        }
    }
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(times: &u32) -> bool {
    *times == 1
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn usual_input() -> u64 {
    100
}

fn usual_output() -> u64 {
    10
}
