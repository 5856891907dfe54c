//! Understands what Codex 0.169 says: its stream (`exec --json`) and the lines of its session file.
//!
//! The stream names the session, the answers and whether the turn ended well; about a failure it has prose only, of which no
//! more is believed than that the provider is out of order, and its usage is a sum over the whole session. The session file
//! has the rest as data: the size of the context after each answer (`token_count`), compactions, and the kind of a failure
//! (`task_complete`, `codex_error_info`). Where there is no such file, the prose is all that is known.

use jiff::Timestamp;
use serde_json::Value;

use crate::backend::process::{Verdict, brief, silent};
use crate::backend::recorded::{Beside, Followed};
use crate::backend::status::{class_of, class_without_answer, is_outage};
use crate::events::Spent;
use crate::policy::Class;
use crate::runner::AgentEvent;
use crate::system::process::ProcessExit;

/// Reads both.
pub(super) type Transcript = Followed<Facts>;

/// What stream and session file said.
#[derive(Debug, Default)]
pub(super) struct Facts {
    thread: Option<String>,
    /// How the turn ended, by the stream.
    turn: Option<Turn>,
    /// The failure, by the session file.
    error: Option<Value>,
    /// Somebody interrupted the turn, by the session file.
    aborted: bool,
    /// Sum and last value of the usage, to tell a new answer from a repetition.
    usage: Option<(u64, u64)>,
    /// When the quota that is used up is given anew.
    resets_at: Option<Timestamp>,
    /// An error in the stream: a retry of its own, unless the turn's end follows.
    complaint: bool,
    /// What the last of them said, if no work came after it.
    failure: Option<String>,
}

#[derive(Debug)]
enum Turn {
    Completed,
    Failed(String),
}

impl Beside for Facts {
    const UNKNOWN_SESSION: i32 = 1;

    fn session(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    fn stream(&mut self, line: &str) -> Vec<AgentEvent> {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        let kind = event["type"].as_str().unwrap_or_default();
        let mut events = Vec::new();
        if std::mem::take(&mut self.complaint) && kind != "turn.failed" {
            events.push(AgentEvent::Retrying { status: None, wait: None });
        }
        match kind {
            "thread.started" => {
                if let Some(thread) = event["thread_id"].as_str() {
                    self.thread = Some(thread.to_owned());
                    events.push(AgentEvent::Session(thread.to_owned()));
                }
            }
            "item.completed" if event["item"]["type"] == "agent_message" => {
                self.failure = None;
                events.extend(event["item"]["text"].as_str().map(|text| AgentEvent::Said(text.to_owned())));
            }
            "item.started" | "item.updated" | "item.completed" if event["item"]["type"] != "error" => {
                self.failure = None;
                events.push(AgentEvent::Working);
            }
            "turn.completed" => self.turn = Some(Turn::Completed),
            "turn.failed" => {
                let message = event["error"]["message"].as_str().unwrap_or_default();
                self.turn = Some(Turn::Failed(message.to_owned()));
            }
            "error" => {
                let message = event["message"].as_str().unwrap_or_default();
                self.failure = Some(message.to_owned());
                if is_unreached(message) {
                    events.extend([AgentEvent::Retrying { status: None, wait: None }, AgentEvent::Unreached]);
                } else {
                    self.complaint = true;
                }
            }
            _ => {}
        }
        events
    }

    fn recorded(&mut self, line: &str) -> Vec<AgentEvent> {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        let payload = &event["payload"];
        match (event["type"].as_str(), payload["type"].as_str()) {
            (Some("compacted"), _) => {
                vec![AgentEvent::Compacted { before: self.usage.map(|(_, last)| last), after: None }]
            }
            (Some("event_msg"), Some("token_count")) => self.tokens(payload),
            (Some("event_msg"), Some("task_complete")) => {
                self.error = Some(payload["error"].clone()).filter(|error| !error.is_null());
                Vec::new()
            }
            (Some("event_msg"), Some("turn_aborted")) => {
                self.aborted = true;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn spent(&self) -> Option<Spent> {
        let (sum, _) = self.usage?;
        Some(Spent { tokens: Some(sum), micro_usd: None, of_session: true })
    }

    fn verdict(&self, exit: &ProcessExit) -> Verdict {
        match &self.turn {
            Some(Turn::Completed) => Verdict::new(Class::Done, "turn.completed"),
            Some(Turn::Failed(message)) => match &self.error {
                Some(error) => {
                    let (class, kind) = self.class(error);
                    Verdict::new(class, format!("{kind}: {}", brief(message)))
                }
                None => self.of_prose(message),
            },
            None if self.aborted => Verdict::new(Class::Cancelled, "turn_aborted"),
            // Some versions end behind the last error without a word about the turn.
            None => match &self.failure {
                Some(failure) if matches!(exit, ProcessExit::Exited(_)) && is_outage(failure) => self.of_prose(""),
                _ => silent(exit),
            },
        }
    }
}

impl Facts {
    fn tokens(&mut self, payload: &Value) -> Vec<AgentEvent> {
        let limits = [&payload["rate_limits"]["primary"], &payload["rate_limits"]["secondary"]];
        let used_up = limits.into_iter().filter(|limit| limit["used_percent"].as_f64() >= Some(100.0));
        let resets = used_up.filter_map(|limit| Timestamp::from_second(limit["resets_at"].as_i64()?).ok());
        self.resets_at = resets.max();
        let total = |usage: &str| payload["info"][usage]["total_tokens"].as_u64();
        let (Some(sum), Some(last)) = (total("total_token_usage"), total("last_token_usage")) else {
            return Vec::new();
        };
        let before = self.usage.replace((sum, last));
        let mut events = Vec::new();
        if before.map(|(_, last)| last) != Some(last) {
            events.push(AgentEvent::Usage(last));
        }
        if before.map(|(sum, _)| sum) != Some(sum) {
            events.push(AgentEvent::Turn);
        }
        events
    }

    /// The verdict on a failure of which there is nothing but the stream's prose: the turn's end, and the error before it.
    fn of_prose(&self, message: &str) -> Verdict {
        let failure = self.failure.as_deref().unwrap_or_default();
        let told = if message.is_empty() { failure } else { message };
        let class = if is_outage(told) { Class::Outage } else { Class::Transient { wait: None } };
        Verdict::new(class, format!("no reason on record: {}", brief(told)))
    }

    /// The class of a recorded failure, and its name.
    fn class(&self, error: &Value) -> (Class, String) {
        let message = error["message"].as_str().unwrap_or_default();
        let info = &error["codex_error_info"];
        let Some(kind) = info.as_str() else {
            let (kind, details) = info
                .as_object()
                .and_then(|kinds| kinds.iter().next())
                .map_or(("", &Value::Null), |(kind, details)| (kind.as_str(), details));
            let status = details["http_status_code"].as_u64().and_then(|status| u16::try_from(status).ok());
            return match status {
                Some(status) => (class_of(status), format!("{kind} {status}")),
                // It names what it was at; why there was no answer stands in the message.
                None if kind == "http_connection_failed" => (Class::Outage, kind.to_owned()),
                None => (class_without_answer(message), kind.to_owned()),
            };
        };
        let class = match kind {
            "context_window_exceeded" => Class::Overflow,
            "usage_limit_exceeded" => Class::Limit { resets_at: self.resets_at },
            "unauthorized" | "bad_request" | "sandbox_error" | "cyber_policy" => Class::Permanent,
            // It files a refused request and a broken stream under one name; a refusal's message is the provider's body.
            "other" if is_refusal(&error["message"]) => Class::Permanent,
            "internal_server_error" | "server_overloaded" => Class::Outage,
            _ => class_without_answer(message),
        };
        (class, kind.to_owned())
    }
}

/// Whether a message says that it tries again because there is no network, which it does for ever. Retries after an answer,
/// or after one that broke off, it counts ("1/5"), and gives up.
fn is_unreached(message: &str) -> bool {
    message.starts_with("Reconnecting... waiting for network")
}

/// Whether a message is the body of a provider's error that blames the request.
fn is_refusal(message: &Value) -> bool {
    let body = message.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    body.is_some_and(|body| body["error"]["type"] == "invalid_request_error")
}

#[cfg(test)]
mod tests;
