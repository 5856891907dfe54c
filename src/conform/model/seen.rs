//! What the scripted model saw of a request and did about it. Serializable, so that a verdict can be recomputed from it.
//!
//! A request's key is never in it: of the headers only those of a list are kept, and of the address only the path.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Dialect, Usage};
use crate::contract::vocabulary;
use crate::system::clock::Millis;

/// One request, in the order in which they were understood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestSeen {
    /// Its number among all requests, counted from 0.
    pub number: u64,
    /// When its last byte was read, by the judge's monotonic clock, since the epoch that the model was started with.
    pub at: Millis,
    /// When its answer was sent or broken off; absent while that is going on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Millis>,
    /// Whether the client left before the whole of what was scripted had been sent; of a stall, before the model stopped.
    #[serde(default)]
    pub left: bool,
    /// The HTTP method.
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// The headers of the allow-list, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Whose API it asked; of a path that nobody has, the one whose error was sent.
    pub dialect: Dialect,
    /// What decided about the answer.
    pub by: By,
    /// What was answered.
    pub answer: Answered,
    /// The status that was answered; absent when the connection broke, or stalls, before the headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The usage that was reported, as it was scripted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// For how many milliseconds nobody listened after the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_ms: Option<u32>,
    /// Why it was not understood, or why a scripted command could not be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What it asked the model; absent where it was not understood, or asked something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompt>,
}

impl RequestSeen {
    /// Whether it asked for an answer of the model and was understood.
    #[must_use]
    pub fn is_turn(&self) -> bool {
        self.prompt.is_some()
    }

    /// Whether it was answered by a step, or by what follows the last: not a side request.
    #[must_use]
    pub fn is_main(&self) -> bool {
        matches!(self.by, By::Step(_) | By::After)
    }

    /// Whether it was answered by the route of this name.
    #[must_use]
    pub fn is_route(&self, name: &str) -> bool {
        matches!(&self.by, By::Route(route) if route == name)
    }
}

/// What decided about an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A step of the script, counted from 0.
    Step(usize),
    /// A route of the script, by name.
    Route(String),
    /// The plain text that follows the last step.
    After,
    /// The server itself: a request that was not understood, a count of tokens, an unknown path.
    Server,
}

vocabulary! {
    /// What a request was answered with.
    pub enum Answered ("answer") {
        /// A text.
        Text = "text",
        /// One tool call or more, with or without a text.
        Calls = "calls",
        /// A scripted error.
        Error = "error",
        /// A stream with an error event in its middle.
        ErrorEvent = "error_event",
        /// Nothing, or half an answer and then nothing.
        Stall = "stall",
        /// A reset connection.
        Reset = "reset",
        /// An answer that ends too early, in good order.
        Truncated = "truncated",
        /// The vendor's error for a request that cannot be understood.
        Refused = "refused",
        /// The vendor's error for a path that it does not have.
        NoSuchPath = "no_such_path",
        /// A count of tokens.
        Count = "count",
        /// A sign of life.
        Hello = "hello",
    }
}

/// What a request asked the model, in the same words for every dialect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// The model.
    pub model: String,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// The names of the tools that were offered.
    pub tools: Vec<String>,
    /// How hard the model is to think.
    #[serde(default, skip_serializing_if = "Effort::is_unsaid")]
    pub effort: Effort,
    /// What the model is told before everything that was said, where the dialect has a place of its own for it; long texts
    /// are cut in their middle.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// The text of the last message: what routes match. Empty when it only brings what tools returned.
    pub last_text: String,
    /// What tools returned in the last message, all parts of one answer's calls.
    pub last_results: Vec<ToolResult>,
    /// The whole conversation that the request carried, oldest first; long texts are cut in their middle. Empty when the
    /// record had grown beyond its bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversation: Vec<Said>,
}

/// How hard a model is to think, in the request's own words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// A word, such as `low`, in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// How many tokens it may think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<i64>,
}

impl Effort {
    /// Whether the request leaves it to the vendor.
    #[must_use]
    pub fn is_unsaid(&self) -> bool {
        self.level.is_none() && self.budget.is_none()
    }
}

impl Prompt {
    /// Whether a text of the conversation, of anyone, holds these words: history that was carried.
    #[must_use]
    pub fn carries(&self, words: &str) -> bool {
        self.conversation.iter().any(|said| match said {
            Said::Text { text, .. } => text.contains(words),
            Said::Call { input, .. } => input.to_string().contains(words),
            Said::Result(result) => result.text.contains(words),
        })
    }
}

impl Prompt {
    /// About how many bytes it has.
    pub(super) fn size(&self) -> usize {
        let said: usize = self.conversation.iter().map(Said::size).sum();
        let results: usize = self.last_results.iter().map(|result| result.id.len() + result.text.len()).sum();
        let names: usize = self.tools.iter().map(String::len).sum();
        self.model.len() + self.system.len() + self.last_text.len() + said + results + names
    }
}

/// Bytes of one text that are recorded: its beginning and its end, in equal parts.
const LONGEST_TEXT: usize = 16 << 10;
/// The same of what stands before everything that was said, which is longer and holds what a memory file says in its middle.
const LONGEST_SYSTEM: usize = 256 << 10;

impl Prompt {
    /// The same with every long text cut in its middle, for the record.
    pub(super) fn trimmed(mut self) -> Self {
        trim(&mut self.system, LONGEST_SYSTEM);
        trim(&mut self.last_text, LONGEST_TEXT);
        self.last_results.iter_mut().for_each(|result| trim(&mut result.text, LONGEST_TEXT));
        for said in &mut self.conversation {
            match said {
                // Where instructions are messages, they are as long as elsewhere.
                Said::Text { role, text } if role == "system" || role == "developer" => trim(text, LONGEST_SYSTEM),
                Said::Text { text, .. } | Said::Result(ToolResult { text, .. }) => trim(text, LONGEST_TEXT),
                Said::Call { input, .. } => {
                    let mut text = input.to_string();
                    if text.len() > LONGEST_TEXT {
                        trim(&mut text, LONGEST_TEXT);
                        *input = Value::String(text);
                    }
                }
            }
        }
        self
    }
}

fn trim(text: &mut String, longest: usize) {
    if text.len() > longest {
        let half = longest / 2;
        let head = &text[..text.floor_char_boundary(half)];
        let tail = &text[text.ceil_char_boundary(text.len() - half)..];
        *text = format!("{head}\n[… {} bytes …]\n{tail}", text.len() - head.len() - tail.len());
    }
}

/// One thing that was said in a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// A text.
    Text {
        /// Whose, in the vendor's word: `user`, `assistant`, `system`, `developer`.
        role: String,
        /// The text.
        text: String,
    },
    /// A tool call of the model.
    Call {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        input: Value,
    },
    /// What a tool returned.
    Result(ToolResult),
}

impl Said {
    /// About how many bytes it has.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text { role, text } => role.len() + text.len(),
            Self::Call { id, name, input } => id.len() + name.len() + input.to_string().len(),
            Self::Result(result) => result.id.len() + result.text.len(),
        }
    }
}

/// What a tool returned to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// What it returned.
    pub text: String,
    /// Whether the agent marked it as failed; absent where the dialect has no such mark or the agent did not set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_cut_in_their_middle_and_short_ones_stay() {
        let long = format!("begin{}end", "é".repeat(LONGEST_TEXT));
        let result = ToolResult { id: "a".to_owned(), text: long.clone(), failed: None };
        let call = |input| Said::Call { id: "a".to_owned(), name: "Bash".to_owned(), input };
        let prompt = Prompt {
            last_text: long.clone(),
            last_results: vec![result.clone()],
            conversation: vec![
                Said::Text { role: "user".to_owned(), text: long.clone() },
                Said::Result(result),
                call(json!({"command": long})),
                call(json!({"command": "ls"})),
            ],
            ..Prompt::default()
        };
        let trimmed = prompt.clone().trimmed();
        let cut = |text: &str| text.len() < LONGEST_TEXT + 64 && text.contains("begin") && text.contains("end");
        assert!(cut(&trimmed.last_text) && cut(&trimmed.last_results[0].text));
        assert!(trimmed.conversation.iter().all(|said| said.size() < LONGEST_TEXT + 128));
        assert!(trimmed.carries("end"));
        assert_eq!(trimmed.conversation[3], prompt.conversation[3]);
        assert_eq!(trimmed.clone().trimmed().conversation.len(), 4);
        for (role, whole) in [("system", true), ("developer", true), ("user", false)] {
            let said = Said::Text { role: role.to_owned(), text: long.clone() };
            let kept = Prompt { conversation: vec![said.clone()], ..Prompt::default() }.trimmed();
            assert_eq!(kept.conversation[0] == said, whole, "{role}");
        }
    }
}
