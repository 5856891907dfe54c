//! Understands the stream of pi 0.73 (`--mode json -p`).
//!
//! Its exit code is 0 after every failure of a provider. What counts is the `stopReason` of the last answer; the
//! provider's status stands at the head of `errorMessage`. A prompt that is too long is known by the compaction that
//! follows it (`compaction_start`, `overflow`), which a run that prints does not wait for.

use std::time::Duration;

use serde_json::Value;

use crate::backend::process::{Reader, Verdict, brief, silent};
use crate::backend::refusal::Resumption;
use crate::backend::status::{class_of, class_without_answer, is_unreachable, status_in};
use crate::events::Spent;
use crate::policy::Class;
use crate::runner::AgentEvent;
use crate::system::process::ProcessExit;

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    resumption: Resumption,
    /// Tokens of the context by the last answer.
    tokens: Option<u64>,
    /// What its answers used.
    spent: Option<Spent>,
    /// The last answer: why it stopped, and what its failure says.
    answer: Option<(String, String)>,
    state: State,
}

/// What it is at.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Works,
    /// It does nothing more, as far as it knows.
    Over,
    /// It found its context too full, and begins to compact it.
    Overflowed,
}

impl Transcript {
    pub(super) fn new(resumption: Resumption) -> Self {
        Self { resumption, ..Self::default() }
    }

    fn answer(&mut self, message: &Value) -> Vec<AgentEvent> {
        let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        let usage = &message["usage"];
        let micro_usd = usage["cost"]["total"].as_f64().and_then(Spent::micro);
        let spent = Spent { tokens: usage["totalTokens"].as_u64(), micro_usd, of_session: false };
        self.spent = Some(self.spent.unwrap_or_default().and(spent)).filter(|spent| !spent.is_unknown());
        let reason = text("stopReason");
        let failed = reason == "error";
        self.answer = Some((reason, text("errorMessage")));
        if failed {
            return Vec::new();
        }
        let count = |key: &str| message["usage"][key].as_u64().unwrap_or(0);
        let tokens = count("input") + count("cacheRead") + count("cacheWrite");
        self.tokens = Some(tokens).filter(|tokens| *tokens > 0);
        let said =
            message["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).next_back();
        let mut events: Vec<AgentEvent> = self.tokens.map(AgentEvent::Usage).into_iter().collect();
        events.push(AgentEvent::Turn);
        events.extend(said.map(|said| AgentEvent::Said(said.to_owned())));
        events
    }

    fn class(&self, reason: &str, message: &str) -> Class {
        match (reason, status_in(message)) {
            _ if self.state == State::Overflowed => Class::Overflow,
            ("stop", _) => Class::Done,
            ("aborted", _) => Class::Cancelled,
            ("error", Some(status)) => class_of(status),
            ("error", None) => class_without_answer(message),
            _ => Class::Lost,
        }
    }
}

impl Reader for Transcript {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        self.resumption.heard(line);
        let Ok(event) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        match event["type"].as_str() {
            Some("session") => event["id"].as_str().map(|id| AgentEvent::Session(id.to_owned())).into_iter().collect(),
            Some("agent_start") => {
                self.state = State::Works;
                Vec::new()
            }
            Some("agent_end") => {
                self.state = State::Over;
                Vec::new()
            }
            Some("message_end") if event["message"]["role"] == "assistant" => self.answer(&event["message"]),
            Some("auto_retry_start") => {
                let message = event["errorMessage"].as_str().unwrap_or_default();
                let (status, wait) = (status_in(message), event["delayMs"].as_u64().map(Duration::from_millis));
                let unreached = (status.is_none() && is_unreachable(message)).then_some(AgentEvent::Unreached);
                [AgentEvent::Retrying { status, wait }].into_iter().chain(unreached).collect()
            }
            Some("compaction_start") => {
                if event["reason"] == "overflow" {
                    self.state = State::Overflowed;
                }
                Vec::new()
            }
            Some("compaction_end") if !event["result"].is_null() => {
                self.state = State::Over;
                let before = event["result"]["tokensBefore"].as_u64().or(self.tokens);
                vec![AgentEvent::Compacted { before, after: None }]
            }
            _ => Vec::new(),
        }
    }

    fn verdict(&self, exit: &ProcessExit) -> Verdict {
        let session_refused = self.resumption.refused(exit, &[0, 1]);
        let verdict = match (&self.answer, exit) {
            (Some((reason, message)), ProcessExit::Exited(_)) if self.state != State::Works => {
                let told = if message.is_empty() { String::new() } else { format!(", {}", brief(message)) };
                Verdict::new(self.class(reason, message), format!("stopReason {reason}{told}"))
            }
            _ => silent(exit),
        };
        Verdict { session_refused, spent: self.spent, ..verdict }
    }
}

#[cfg(test)]
mod tests;
