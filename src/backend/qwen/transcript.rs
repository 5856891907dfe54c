//! Understands what Qwen Code 0.24 says: its stream (`-o stream-json`) and the lines of its session file.
//!
//! The stream has sessions, answers with the size of the context, denials and whether it ended well; about a failure it has
//! a sentence, which it also prints as if the model had said it. The session file has every request as data: the status
//! of one that failed (`api_error`), and compactions (`chat_compression`). Without that line, a status that stands in
//! the sentence of `error.message` is read. Neither tells a prompt that is too long from any other refused request (400).
//!
//! Version 0.15 calls a failure a success: its sentence is the answer then. What tells it from one is that it took no tokens.

use serde_json::Value;

use crate::backend::process::{Verdict, brief, silent};
use crate::backend::recorded::{Beside, Followed};
use crate::backend::status::{class_of, class_without_answer, is_unreachable, status, status_in};
use crate::events::Spent;
use crate::policy::Class;
use crate::runner::AgentEvent;
use crate::system::process::ProcessExit;

/// Exit codes of its own, for ends without a `result`: turns used up; time or tool calls used up; interrupted.
const TURNS: i32 = 53;
const BUDGET: i32 = 55;
const INTERRUPTED: i32 = 130;

/// The first version that was seen to call a failure one.
const HONEST: (u32, u32) = (0, 24);
/// What its own sentence about a failed request begins with.
const FAILURE: &str = "[API Error: ";

/// Reads both.
pub(super) type Transcript = Followed<Facts>;

/// What stream and session file said.
#[derive(Debug, Default)]
pub(super) struct Facts {
    session: Option<String>,
    /// Its version is one that calls a failure one.
    honest: bool,
    /// The last message took tokens, so the model made it.
    paid: bool,
    /// What was said last; a failure is printed as such a text too, before it is told as one.
    said: Option<String>,
    /// The request that failed last, while no other was made.
    failed: Option<Failed>,
    result: Option<Value>,
}

/// A request that failed.
#[derive(Debug)]
struct Failed {
    /// The provider's answer, when there was one.
    status: Option<u16>,
}

impl Beside for Facts {
    const UNKNOWN_SESSION: i32 = 1;

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn stream(&mut self, line: &str) -> Vec<AgentEvent> {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        match event["type"].as_str() {
            Some("system") if event["subtype"] == "init" => {
                self.session = event["session_id"].as_str().map(str::to_owned);
                self.honest = event["qwen_code_version"].as_str().and_then(version) >= Some(HONEST);
                self.session.clone().map(AgentEvent::Session).into_iter().collect()
            }
            // What a subagent does, it does in a context of its own.
            Some("assistant") if event["parent_tool_use_id"].is_null() => self.assistant(&event["message"]),
            Some("result") => self.result(event),
            _ => Vec::new(),
        }
    }

    fn recorded(&mut self, line: &str) -> Vec<AgentEvent> {
        let Ok(record) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        let payload = &record["systemPayload"];
        let request = payload["uiEvent"]["event.name"].as_str();
        let mut events = Vec::new();
        if matches!(request, Some("qwen-code.api_error" | "qwen-code.api_response")) {
            events.extend(self.failed.take().map(|failed| AgentEvent::Retrying { status: failed.status, wait: None }));
        }
        if request == Some("qwen-code.api_error") {
            let status = status(&payload["uiEvent"]["status_code"]);
            let is_unreached =
                status.is_none() && payload["uiEvent"]["error_message"].as_str().is_some_and(is_unreachable);
            events.extend(is_unreached.then_some(AgentEvent::Unreached));
            self.failed = Some(Failed { status });
        }
        if record["subtype"] == "chat_compression" {
            let tokens = |key: &str| payload["info"][key].as_u64();
            events.push(AgentEvent::Compacted { before: tokens("originalTokenCount"), after: tokens("newTokenCount") });
        }
        events
    }

    fn spent(&self) -> Option<Spent> {
        let tokens = self.result.as_ref()?["usage"]["total_tokens"].as_u64()?;
        Some(Spent { tokens: Some(tokens), micro_usd: None, of_session: true })
    }

    fn verdict(&self, exit: &ProcessExit) -> Verdict {
        match (&self.result, exit) {
            (Some(result), _) => self.of_result(result),
            (None, ProcessExit::Exited(TURNS)) => Verdict::new(Class::TimedOut, "exit 53: its turns are used up"),
            (None, ProcessExit::Exited(BUDGET)) => {
                Verdict::new(Class::TimedOut, "exit 55: its time or tool calls are used up")
            }
            (None, ProcessExit::Exited(INTERRUPTED)) => Verdict::new(Class::Cancelled, "exit 130: it was interrupted"),
            (None, exit) => silent(exit),
        }
    }
}

impl Facts {
    fn assistant(&mut self, message: &Value) -> Vec<AgentEvent> {
        let mut events: Vec<AgentEvent> = self.said.take().map(AgentEvent::Said).into_iter().collect();
        let tokens = message["usage"]["input_tokens"].as_u64().filter(|tokens| *tokens > 0);
        self.paid = tokens.is_some();
        if let Some(tokens) = tokens {
            events.extend([AgentEvent::Usage(tokens), AgentEvent::Turn]);
        }
        let parts = message["content"].as_array().into_iter().flatten();
        self.said = parts.filter_map(|part| part["text"].as_str()).next_back().map(str::to_owned);
        events
    }

    fn result(&mut self, event: Value) -> Vec<AgentEvent> {
        let said = self.said.take().filter(|_| self.succeeded(&event));
        let denied = event["permission_denials"].as_array().map_or(0, Vec::len);
        self.result = Some(event);
        said.map(AgentEvent::Said).into_iter().chain((denied > 0).then_some(AgentEvent::Denied(denied))).collect()
    }

    /// Whether a result that claims success is one. A command of its own, such as `/compress`, takes neither turn nor tokens.
    fn succeeded(&self, result: &Value) -> bool {
        result["is_error"] == false && (self.honest || self.paid || result["num_turns"] == 0)
    }

    fn of_result(&self, result: &Value) -> Verdict {
        if self.succeeded(result) {
            // It also stops in the middle, and calls that a success.
            let answered = result["result"].as_str().is_some_and(|answer| !answer.is_empty());
            return if answered {
                Verdict::new(Class::Done, "success")
            } else {
                Verdict::new(Class::Lost, "success, without an answer")
            };
        }
        let told = result["error"]["message"].as_str().or(result["result"].as_str()).unwrap_or_default();
        // Before it may stand what the model said until its answer broke off.
        let own = told.rfind(FAILURE).map(|at| &told[at..]);
        let message = own.unwrap_or(told);
        match self.failed.as_ref().and_then(|failed| failed.status).or_else(|| own.and_then(status_in)) {
            Some(status) => Verdict::new(class_of(status), format!("status {status}, {}", brief(message))),
            // No answer of a provider: the connection, an answer that broke off, or a limit of its own.
            // What the model said itself says nothing about a connection.
            None => Verdict::new(class_without_answer(own.unwrap_or_default()), brief(message)),
        }
    }
}

/// The first two numbers of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests;
