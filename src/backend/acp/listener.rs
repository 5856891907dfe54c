//! What the updates of a turn (`session/update`) tell. Kinds that are not named here are passed over: there are more of them
//! with every version of every agent.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use crate::backend::status::{is_unreachable, status_in};
use crate::events::Spent;
use crate::runner::AgentEvent;

/// How much of one message is kept, in bytes.
const LONGEST_MESSAGE: usize = 1024 * 1024;
/// What a tool is called that is none: the agent compacts its context.
const COMPACTION: &str = "Compact conversation";
/// What an agent puts in place of a message when it has ended trying again.
const TRIED: &str = "Retry finished";

/// What was heard in a turn so far.
#[derive(Debug, Default)]
pub(super) struct Listener {
    /// Turns of the model.
    pub(super) turns: u32,
    /// It said something behind its last tool.
    pub(super) spoke: bool,
    /// The last part of a message, as it came.
    pub(super) last: String,
    /// The model's answer is coming.
    answering: bool,
    /// The message that is coming, and its id.
    message: String,
    id: Option<String>,
    used: Option<u64>,
    /// What the session cost so far, in dollars, where the agent says so.
    cost: Option<f64>,
    /// Kinds of the tools that are at work, by their call.
    kinds: BTreeMap<String, String>,
    /// Compactions that began, with the tokens before.
    compactions: BTreeMap<String, Option<u64>>,
    /// Calls and compactions that are over: some agents say so twice.
    over: BTreeSet<String>,
}

impl Listener {
    /// What an update tells.
    pub(super) fn update(&mut self, update: &Value) -> Vec<AgentEvent> {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => self.part(update),
            Some("agent_thought_chunk") => self.answered().into_iter().collect(),
            Some("tool_call" | "tool_call_update") => self.tool(update),
            Some("usage_update") => self.usage(update),
            Some("compaction_update") => self.compaction(update),
            Some("session_info_update") => retrying(update),
            _ => Vec::new(),
        }
    }

    /// The message that was coming is complete.
    pub(super) fn said(&mut self) -> Option<AgentEvent> {
        let message = std::mem::take(&mut self.message);
        let message = message.trim();
        (!message.is_empty()).then(|| AgentEvent::Said(message.to_owned()))
    }

    /// What the session used, where the agent says so.
    pub(super) fn spent(&self) -> Option<Spent> {
        let micro_usd = Spent::micro(self.cost?)?;
        Some(Spent { tokens: None, micro_usd: Some(micro_usd), of_session: true })
    }

    /// The kind of a tool that is at work.
    pub(super) fn kind(&self, call: &str) -> Option<&str> {
        self.kinds.get(call).map(String::as_str)
    }

    fn answered(&mut self) -> Option<AgentEvent> {
        let first = !std::mem::replace(&mut self.answering, true);
        self.turns += u32::from(first);
        first.then_some(AgentEvent::Turn)
    }

    fn part(&mut self, update: &Value) -> Vec<AgentEvent> {
        let Some(text) = update["content"]["text"].as_str() else { return Vec::new() };
        if is_greeting(text) {
            return Vec::new();
        }
        let tries_again = tries_again(text);
        if tries_again || text.starts_with(TRIED) {
            // What came of the answer is void.
            (self.message, self.spoke, self.last) = Default::default();
            let wait = text.split_once("waiting ").and_then(|(_, rest)| rest.split_once('s')?.0.parse().ok());
            let retrying = AgentEvent::Retrying { status: None, wait: wait.map(Duration::from_secs) };
            let unreached = (tries_again && is_unreachable(text)).then_some(AgentEvent::Unreached);
            return tries_again.then_some(retrying).into_iter().chain(unreached).collect();
        }
        let mut events: Vec<AgentEvent> = self.answered().into_iter().collect();
        let id = update["messageId"].as_str().map(str::to_owned);
        if id != self.id {
            events.extend(self.said());
            self.id = id;
        }
        if self.message.len() + text.len() <= LONGEST_MESSAGE {
            self.message.push_str(text);
        }
        if !text.trim().is_empty() {
            self.spoke = true;
            text.clone_into(&mut self.last);
        }
        events
    }

    /// The first or a further word about a tool; some agents leave out the first.
    fn tool(&mut self, update: &Value) -> Vec<AgentEvent> {
        let call = update["toolCallId"].as_str().unwrap_or_default().to_owned();
        let over = matches!(update["status"].as_str(), Some("completed" | "failed"));
        if update["title"] == COMPACTION {
            self.compactions.entry(call.clone()).or_insert(self.used);
        }
        if self.compactions.contains_key(&call) {
            return if over { self.compacted(&call, update) } else { Vec::new() };
        }
        if let Some(kind) = update["kind"].as_str() {
            self.kinds.insert(call.clone(), kind.to_owned());
        }
        let begins = update["sessionUpdate"] == "tool_call";
        let ends = over && self.over.insert(call.clone());
        if !begins && !ends {
            return Vec::new();
        }
        let mut events: Vec<AgentEvent> = self.said().into_iter().collect();
        events.extend(self.answered());
        self.spoke = false;
        self.last.clear();
        if ends {
            self.answering = false;
            self.kinds.remove(&call);
        }
        events
    }

    fn usage(&mut self, update: &Value) -> Vec<AgentEvent> {
        let cost = &update["cost"];
        if cost["currency"] == "USD" {
            self.cost = cost["amount"].as_f64().or(self.cost);
        }
        // One agent says 0 when it does not know.
        let used = update["used"].as_u64().filter(|used| *used > 0);
        if used.is_none() || used == self.used {
            return Vec::new();
        }
        self.used = used;
        used.map(AgentEvent::Usage).into_iter().collect()
    }

    fn compaction(&mut self, update: &Value) -> Vec<AgentEvent> {
        let id = update["compactionId"].as_str().unwrap_or_default().to_owned();
        self.compactions.entry(id.clone()).or_insert(self.used);
        if update["status"] == "completed" { self.compacted(&id, update) } else { Vec::new() }
    }

    fn compacted(&mut self, id: &str, update: &Value) -> Vec<AgentEvent> {
        let succeeded = update["status"] == "completed";
        if !self.over.insert(id.to_owned()) || !succeeded {
            return Vec::new();
        }
        let tokens = |key: &str| update["rawOutput"][key].as_u64();
        let before = tokens("preTokens").or_else(|| self.compactions.get(id).copied().flatten());
        vec![AgentEvent::Compacted { before, after: tokens("postTokens") }]
    }
}

/// Whether a part of a message says that its program tries again: that of pi, or that of Copilot.
fn tries_again(part: &str) -> bool {
    part.starts_with("Retrying (attempt") || part.starts_with("Info: ") && part.trim_end().ends_with("Retrying...")
}

/// Whether a part of a message is what pi says of itself in its first turn, which is no answer.
fn is_greeting(part: &str) -> bool {
    part.strip_prefix("pi v")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains("\n---"))
}

/// A retry that the agent tells as data.
fn retrying(update: &Value) -> Vec<AgentEvent> {
    let told = &update["_meta"]["jetbrains"]["air"]["sessionFailure"];
    let title = told["title"].as_str().unwrap_or_default();
    if told["severity"] != "warning" {
        return Vec::new();
    }
    let status = status_in(title);
    let is_unreached = status.is_none() && (told["category"] == "connection" || is_unreachable(title));
    let unreached = is_unreached.then_some(AgentEvent::Unreached);
    [AgentEvent::Retrying { status, wait: None }].into_iter().chain(unreached).collect()
}

#[cfg(test)]
mod tests;
