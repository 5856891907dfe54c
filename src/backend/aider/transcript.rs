//! Understands what Aider 0.86 says: the log of its events (`--analytics-log`), which stays on the machine.
//!
//! Its exit code is 0 whatever happened. In the log, a request that was begun (`message_send_starting`) and never
//! answered (`message_send`) failed. Why, no data says; where the log tells of a failure, and only there, the type of
//! the last error that its library printed (`litellm.…Error:`) is read from the output. What the model said is printed like
//! everything else; it is read from the file of the conversation (`--llm-history-file`), where each line says whose it is.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::backend::process::{Reader, Verdict, brief, silent};
use crate::backend::recorded::Recorded;
use crate::backend::status::is_unreachable;
use crate::events::Spent;
use crate::policy::Class;
use crate::runner::AgentEvent;
use crate::system::process::ProcessExit;

/// What was read so far.
#[derive(Debug)]
pub(super) struct Transcript {
    recorded: Recorded,
    /// The file of the conversation.
    history: PathBuf,
    facts: Facts,
}

/// What log and output said.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The last request that was begun, and whether it was answered.
    request: Option<bool>,
    /// It came to its own end.
    over: bool,
    /// The last error that was printed since the last request was begun.
    error: Option<String>,
    /// The line that follows is the rest of it: a long one is folded.
    folded: bool,
    /// What its requests used.
    spent: Option<Spent>,
}

impl Transcript {
    pub(super) fn new(recorded: Recorded, history: PathBuf) -> Self {
        Self { recorded, history, facts: Facts::default() }
    }
}

impl Reader for Transcript {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        let events = self.poll();
        events.into_iter().chain(self.facts.printed(line)).collect()
    }

    fn poll(&mut self) -> Vec<AgentEvent> {
        let lines = self.recorded.fresh(Some(""));
        lines.iter().flat_map(|line| self.facts.logged(line)).collect()
    }

    fn end(&mut self, _exit: &ProcessExit) -> Vec<AgentEvent> {
        // Not there where nobody was asked.
        let bytes = fs::read(&self.history).unwrap_or_default();
        answer(&String::from_utf8_lossy(&bytes)).map(AgentEvent::Said).into_iter().collect()
    }

    fn verdict(&self, exit: &ProcessExit) -> Verdict {
        Verdict { spent: self.facts.spent, ..self.facts.verdict(exit) }
    }
}

/// What the model said last, by the file of the conversation.
fn answer(history: &str) -> Option<String> {
    let lines: Vec<&str> = history.lines().collect();
    let last = lines.iter().rposition(|line| line.starts_with("LLM RESPONSE "))?;
    let said: Vec<&str> = lines[last..].iter().filter_map(|line| line.strip_prefix("ASSISTANT ")).collect();
    Some(said.join("\n").trim().to_owned()).filter(|said| !said.is_empty())
}

impl Facts {
    /// A line of the log.
    pub(super) fn logged(&mut self, line: &str) -> Vec<AgentEvent> {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        match event["event"].as_str() {
            Some("message_send_starting") => self.request = Some(false),
            Some("message_send") => {
                self.request = Some(true);
                let micro_usd = event["properties"]["cost"].as_f64().and_then(Spent::micro);
                let spent =
                    Spent { tokens: event["properties"]["total_tokens"].as_u64(), micro_usd, of_session: false };
                self.spent = Some(self.spent.unwrap_or_default().and(spent)).filter(|spent| !spent.is_unknown());
                let tokens = event["properties"]["prompt_tokens"].as_u64().map(AgentEvent::Usage);
                return tokens.into_iter().chain([AgentEvent::Turn]).collect();
            }
            Some("exit") => self.over = true,
            _ => {}
        }
        Vec::new()
    }

    /// A line of its output.
    pub(super) fn printed(&mut self, line: &str) -> Vec<AgentEvent> {
        if error_type(line).is_some() {
            self.error = Some(line.to_owned());
            self.folded = true;
            return Vec::new();
        }
        let is_folded = std::mem::take(&mut self.folded);
        let Some(error) = &mut self.error else { return Vec::new() };
        if line.starts_with("Retrying in ") {
            let unreached = is_unreachable(error).then_some(AgentEvent::Unreached);
            return [AgentEvent::Retrying { status: None, wait: None }].into_iter().chain(unreached).collect();
        }
        if is_folded {
            error.push(' ');
            error.push_str(line);
        }
        Vec::new()
    }

    pub(super) fn verdict(&self, exit: &ProcessExit) -> Verdict {
        match (self.request, exit) {
            (Some(true), ProcessExit::Exited(_)) if self.over => Verdict::new(Class::Done, "message_send"),
            (Some(false), ProcessExit::Exited(_)) if self.over => {
                let error = self.error.as_deref().unwrap_or_default();
                let class = error_type(error).map_or(Class::Transient { wait: None }, class);
                Verdict::new(class, format!("a request without an answer: {}", brief(error)))
            }
            _ => silent(exit),
        }
    }
}

/// The type of an error of its library at the head of a line.
fn error_type(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("litellm.")?.split_once(':')?;
    (name == "Timeout" || name.ends_with("Error")).then_some(name)
}

fn class(error: &str) -> Class {
    match error {
        "ContextWindowExceededError" => Class::Overflow,
        "AuthenticationError"
        | "BadRequestError"
        | "BudgetExceededError"
        | "ContentPolicyViolationError"
        | "InvalidRequestError"
        | "NotFoundError"
        | "PermissionDeniedError"
        | "UnprocessableEntityError"
        | "UnsupportedParamsError" => Class::Permanent,
        // Its library files a connection that failed under the first, and a status without a name of its own, such as 529,
        // under the second.
        "InternalServerError"
        | "APIError"
        | "APIConnectionError"
        | "Timeout"
        | "ServiceUnavailableError"
        | "BadGatewayError" => Class::Outage,
        _ => Class::Transient { wait: None },
    }
}

#[cfg(test)]
mod tests;
