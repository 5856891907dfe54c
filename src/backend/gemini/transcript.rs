//! Understands what Gemini CLI 0.61 says: its stream (`-o stream-json`) and the lines of its session file.
//!
//! 0 is also the exit code of an answer that broke off, of a detected loop and of a context that is full. What counts is
//! `result.status`, whether an `error` event came after the last answer, and whether there was an answer at all. The status
//! of a failed request is the exit code, less 256 by its narrowness; where that says nothing, the one that stands in the
//! provider's body, in `error.message`. A prompt that is too long has the status of any other refused request (400). The
//! stream's usage is a sum; the size of the context after each answer stands in the session file. That it asks its provider
//! again it says on standard error alone.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::backend::process::{Verdict, brief, silent};
use crate::backend::recorded::{Beside, Followed};
use crate::backend::status::{class_of, class_without_answer, is_unreachable, status_in};
use crate::events::Spent;
use crate::policy::Class;
use crate::runner::AgentEvent;
use crate::system::process::ProcessExit;

/// What it writes to standard error before it asks its provider again.
static RETRY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^Attempt \d+ failed\b.*\bRetrying\b").expect("a pattern that tests compile"));

/// Reads both.
pub(super) type Transcript = Followed<Facts>;

/// What stream and session file said.
#[derive(Debug, Default)]
pub(super) struct Facts {
    session: Option<String>,
    /// The answer so far, which comes in pieces.
    said: String,
    /// What it complained of since it last answered.
    complaint: Option<String>,
    /// The answer of the session file that was counted last: it is written again with what its tools returned.
    counted: Option<String>,
    result: Option<Value>,
    answered: bool,
}

impl Beside for Facts {
    const UNKNOWN_SESSION: i32 = 42;

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn stream(&mut self, line: &str) -> Vec<AgentEvent> {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        match event["type"].as_str() {
            Some("init") => {
                self.session = event["session_id"].as_str().map(str::to_owned);
                self.session.clone().map(AgentEvent::Session).into_iter().collect()
            }
            Some("message") if event["role"] == "assistant" => {
                self.said.push_str(event["content"].as_str().unwrap_or_default());
                self.complaint = None;
                vec![AgentEvent::Working]
            }
            Some("tool_use") => self.spoken().into_iter().chain([AgentEvent::Working]).collect(),
            Some("error") => {
                self.complaint = event["message"].as_str().map(str::to_owned);
                Vec::new()
            }
            Some("result") => {
                self.answered = !self.said.is_empty();
                self.result = Some(event);
                self.spoken()
            }
            _ => Vec::new(),
        }
    }

    /// Its own retries are told nowhere else.
    fn complaint(&mut self, line: &str) -> Vec<AgentEvent> {
        if !RETRY.is_match(line) {
            return Vec::new();
        }
        let status = status_in(line);
        let unreached = status.is_none() && is_unreachable(line);
        let retrying = AgentEvent::Retrying { status, wait: None };
        std::iter::once(retrying).chain(unreached.then_some(AgentEvent::Unreached)).collect()
    }

    fn recorded(&mut self, line: &str) -> Vec<AgentEvent> {
        let Ok(record) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        let (Some(id), Some(tokens)) = (record["id"].as_str(), record["tokens"]["input"].as_u64()) else {
            return Vec::new();
        };
        if self.counted.replace(id.to_owned()).as_deref() == Some(id) {
            return Vec::new();
        }
        vec![AgentEvent::Usage(tokens), AgentEvent::Turn]
    }

    fn spent(&self) -> Option<Spent> {
        let tokens = self.result.as_ref()?["stats"]["total_tokens"].as_u64()?;
        Some(Spent { tokens: Some(tokens), micro_usd: None, of_session: false })
    }

    fn verdict(&self, exit: &ProcessExit) -> Verdict {
        let Some(result) = &self.result else { return silent(exit) };
        if result["status"] == "success" {
            return match &self.complaint {
                Some(complaint) => Verdict::new(Class::Lost, format!("success, after an error: {}", brief(complaint))),
                None if self.answered => Verdict::new(Class::Done, "success"),
                None => Verdict::new(Class::Lost, "success, without an answer"),
            };
        }
        let error = &result["error"];
        let message = error["message"].as_str().or(self.complaint.as_deref()).unwrap_or_default();
        let status = of_exit(exit).or_else(|| status_in(message));
        match (error["type"].as_str(), status) {
            (Some("FatalTurnLimitedError"), _) => Verdict::new(Class::TimedOut, "FatalTurnLimitedError"),
            (Some("FatalCancellationError"), _) => Verdict::new(Class::Cancelled, "FatalCancellationError"),
            (Some("FatalAuthenticationError" | "FatalInputError" | "FatalConfigError"), _) => {
                Verdict::new(Class::Permanent, brief(message))
            }
            (_, Some(status)) => Verdict::new(class_of(status), format!("status {status}, {}", brief(message))),
            // No answer of a provider: the connection, or an answer that broke off.
            (_, None) => Verdict::new(class_without_answer(inner(message)), brief(message)),
        }
    }
}

impl Facts {
    fn spoken(&mut self) -> Vec<AgentEvent> {
        let said = std::mem::take(&mut self.said);
        if said.is_empty() { Vec::new() } else { vec![AgentEvent::Said(said)] }
    }
}

/// What stands within its own words about a failed request.
fn inner(message: &str) -> &str {
    message.strip_prefix("[API Error: ").and_then(|rest| rest.strip_suffix(']')).unwrap_or(message)
}

/// The status of a provider that an exit code is what is left of.
fn of_exit(exit: &ProcessExit) -> Option<u16> {
    let ProcessExit::Exited(code) = exit else { return None };
    u16::try_from(code + 256).ok().filter(|status| (400..512).contains(status))
}

#[cfg(test)]
mod tests;
