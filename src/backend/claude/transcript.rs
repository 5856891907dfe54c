//! Understands the stream of Claude Code (`--output-format stream-json`), version 2.1.
//!
//! Its exit code says little: 0 also when it was interrupted, 1 for every failure. `subtype` of the last event says
//! `success` beside most failures; what counts is `is_error`, `terminal_reason` and `api_error_status`. Older versions have
//! the first of them only, or say `false` there too, and write a provider's failure where the answer stands: `API Error: …`.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::backend::process::{Reader, Verdict, brief, silent};
use crate::backend::status::{class_of, class_without_answer, is_outage, status, status_in};
use crate::events::Spent;
use crate::policy::Class;
use crate::runner::AgentEvent;
use crate::system::process::ProcessExit;

/// What was read so far.
#[derive(Debug)]
pub(super) struct Transcript {
    resumes: bool,
    began: bool,
    /// The message whose usage was told: one message comes in several events.
    message: Option<String>,
    /// When the quota that refused the last request is given anew.
    limit: Option<Limit>,
    /// The kind of the failure that it told last, if no answer came after it.
    failure: Option<String>,
    /// What the model said last.
    said: Option<String>,
    result: Option<Value>,
}

/// A quota that refused a request.
#[derive(Debug, Clone, Copy)]
struct Limit {
    resets_at: Option<Timestamp>,
}

impl Transcript {
    pub(super) fn new(resumes: bool) -> Self {
        Self { resumes, began: false, message: None, limit: None, failure: None, said: None, result: None }
    }

    fn system(&mut self, event: &Value) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        if let (false, Some(session)) = (self.began, event["session_id"].as_str()) {
            self.began = true;
            events.push(AgentEvent::Session(session.to_owned()));
        }
        match event["subtype"].as_str() {
            Some("api_retry") => {
                let status = status(&event["error_status"]);
                let wait =
                    event["retry_delay_ms"].as_f64().and_then(|delay| Duration::try_from_secs_f64(delay / 1e3).ok());
                events.push(AgentEvent::Retrying { status, wait });
                if status.is_none() {
                    events.push(AgentEvent::Unreached);
                }
            }
            Some("compact_boundary") => {
                let tokens = |key: &str| event["compact_metadata"][key].as_u64();
                events.push(AgentEvent::Compacted { before: tokens("pre_tokens"), after: tokens("post_tokens") });
            }
            _ => {}
        }
        events
    }

    fn assistant(&mut self, event: &Value) -> Vec<AgentEvent> {
        let message = &event["message"];
        if event["api_error"] == "usage_limit_reached" {
            self.limit = Some(Limit::of(&event["api_error_params"]["rate_limit_info"]));
        }
        if is_its_own(message) {
            self.failure = event["error"].as_str().map(str::to_owned);
            return Vec::new();
        }
        self.failure = None;
        // What a subagent does in a context of its own.
        if !event["parent_tool_use_id"].is_null() {
            return vec![AgentEvent::Working];
        }
        let mut events = Vec::new();
        let id = message["id"].as_str().map(str::to_owned);
        if id != self.message || id.is_none() {
            self.message = id;
            events.extend(context(&message["usage"]).map(AgentEvent::Usage));
            events.push(AgentEvent::Turn);
        }
        let texts = message["content"].as_array().into_iter().flatten().filter(|part| part["type"] == "text");
        let texts: Vec<String> = texts.filter_map(|part| part["text"].as_str().map(str::to_owned)).collect();
        self.said = texts.last().cloned().or(self.said.take());
        events.extend(texts.into_iter().map(AgentEvent::Said));
        events
    }

    fn rate_limit(&mut self, event: &Value) {
        let info = &event["rate_limit_info"];
        self.limit = (info["status"] == "rejected").then(|| Limit::of(info));
    }

    fn result(&mut self, event: Value) -> Vec<AgentEvent> {
        let denied = event["permission_denials"].as_array().map_or(0, Vec::len);
        self.result = Some(event);
        if denied > 0 { vec![AgentEvent::Denied(denied)] } else { Vec::new() }
    }

    fn class(&self, result: &Value) -> Class {
        let reason = result["terminal_reason"].as_str();
        // Whatever else ended it, words about a request did not.
        let own = self.own_words(result).filter(|_| matches!(reason, None | Some("api_error" | "completed")));
        let complains = reason.is_none() && own.is_some_and(is_complaint);
        let failed = complains || result["is_error"] != false || result["subtype"] != "success";
        match (reason, status(&result["api_error_status"]).or_else(|| own.and_then(status_in))) {
            (Some("completed") | None, _) if !failed => Class::Done,
            (Some("aborted_tools" | "aborted_streaming"), _) => Class::Cancelled,
            (Some("max_turns"), _) => Class::TimedOut,
            (Some("prompt_too_long" | "rapid_refill_breaker"), _) => Class::Overflow,
            (_, Some(429)) => match self.limit {
                Some(limit) => Class::Limit { resets_at: limit.resets_at },
                None => Class::Transient { wait: None },
            },
            (_, Some(status)) => class_of(status),
            // Version 2.1.197 calls a turn completed that was never answered.
            (Some("api_error" | "completed") | None, None) if self.was_unreached(own) => Class::Outage,
            // No answer of the provider, or not all of one.
            (Some("api_error"), None) => class_without_answer(own.unwrap_or_default()),
            // It broke down without a reason that it knows.
            (None, None) => Class::Lost,
            // Somebody's hook or policy stopped it, or it refuses itself.
            (Some(_), None) => Class::Permanent,
        }
    }
}

impl Transcript {
    /// Whether the turn failed because the provider was not reached: it gave no status, and no answer.
    fn was_unreached(&self, own: Option<&str>) -> bool {
        self.failure.as_deref() == Some("server_error") || own.is_some_and(is_outage)
    }

    /// Its own words about a failure, which stand where else the model's answer does.
    fn own_words<'a>(&self, result: &'a Value) -> Option<&'a str> {
        let text = result["result"].as_str()?;
        let is_own = self.said.as_deref() != Some(text) && (result["is_error"] == true || is_complaint(text));
        is_own.then_some(text)
    }
}

impl Limit {
    fn of(info: &Value) -> Self {
        let resets_at = info["resetsAt"].as_i64().and_then(|second| Timestamp::from_second(second).ok());
        Self { resets_at }
    }
}

impl Reader for Transcript {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        match event["type"].as_str() {
            Some("system") => self.system(&event),
            Some("assistant") => self.assistant(&event),
            Some("rate_limit_event") => {
                self.rate_limit(&event);
                Vec::new()
            }
            Some("result") => self.result(event),
            _ => Vec::new(),
        }
    }

    /// A command that it left in the background keeps it from ending.
    fn is_over(&self) -> bool {
        self.result.is_some()
    }

    fn verdict(&self, exit: &ProcessExit) -> Verdict {
        // The stream of one that is not there has nothing but this.
        let unknown = |result: &Value| result["subtype"] == "error_during_execution";
        let told = !self.began && matches!(exit, ProcessExit::Exited(_)) && self.result.as_ref().is_some_and(unknown);
        let verdict = match &self.result {
            Some(result) => Verdict::new(self.class(result), evidence(result)),
            None => silent(exit),
        };
        let spent = self.result.as_ref().and_then(spent);
        Verdict { session_refused: self.resumes && told, spent, ..verdict }
    }
}

/// Whether a message is its own, about a failure, and not the model's. Where it is not marked, the model used nothing for it.
fn is_its_own(message: &Value) -> bool {
    let complains = || message["content"][0]["text"].as_str().is_some_and(is_complaint);
    message["model"] == "<synthetic>" || message["usage"]["output_tokens"].as_u64().unwrap_or(0) == 0 && complains()
}

/// Whether a text is how it words that a request failed.
fn is_complaint(text: &str) -> bool {
    text.starts_with("API Error")
}

/// Tokens in the context when the message was made.
fn context(usage: &Value) -> Option<u64> {
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    let input = usage["input_tokens"].as_u64()?;
    Some(input + count("cache_read_input_tokens") + count("cache_creation_input_tokens"))
}

/// What the session used, which a session that is gone on with counts on.
fn spent(result: &Value) -> Option<Spent> {
    let of_model = |usage: &Value| {
        let kinds = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
        kinds.iter().filter_map(|kind| usage[*kind].as_u64()).sum::<u64>()
    };
    let models = result["modelUsage"].as_object();
    let tokens = models.map(|models| models.values().map(of_model).sum());
    let spent = Spent { tokens, micro_usd: result["total_cost_usd"].as_f64().and_then(Spent::micro), of_session: true };
    (!spent.is_unknown()).then_some(spent)
}

/// What the class was read from, in one line.
fn evidence(result: &Value) -> String {
    let mut parts = Vec::new();
    if let Some(reason) = result["terminal_reason"].as_str().or_else(|| result["subtype"].as_str()) {
        parts.push(reason.to_owned());
    }
    if let Some(status) = status(&result["api_error_status"]) {
        parts.push(format!("status {status}"));
    }
    let said = result["result"].as_str().or_else(|| result["errors"][0].as_str());
    let said = said.filter(|said| result["is_error"] != false || is_complaint(said)).map(brief);
    parts.extend(said.filter(|said| !said.is_empty()));
    parts.join(", ")
}

#[cfg(test)]
mod tests;
