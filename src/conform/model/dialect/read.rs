//! What reading a request has in common in all dialects.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Rejected;
use crate::conform::model::seen::{Effort, Said, ToolResult};

impl Rejected {
    /// Of the field that the message is about.
    pub(super) fn of(param: &'static str, message: impl Into<String>) -> Self {
        Self { message: message.into(), param: Some(param) }
    }
}

/// A body as JSON.
pub(super) fn json(body: &[u8]) -> Result<Value, Rejected> {
    serde_json::from_slice(body)
        .map_err(|error| Rejected { message: format!("The request body is not valid JSON: {error}"), param: None })
}

/// The text of a content that is a text, a list of parts of which those with a `text` count, or an object around one.
pub(super) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        Value::Object(object) => object.get("content").map(text).unwrap_or_default(),
        _ => String::new(),
    }
}

/// How hard the model is to think, by a word or by tokens, as far as a request says it.
pub(super) fn effort(level: &Value, budget: &Value) -> Effort {
    Effort { level: level.as_str().map(str::to_lowercase), budget: budget.as_i64() }
}

/// A field that is a text; empty where it is none.
pub(super) fn word(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// The results among what was said.
pub(super) fn results(said: &[Said]) -> Vec<ToolResult> {
    let results = said.iter().filter_map(|said| match said {
        Said::Result(result) => Some(result.clone()),
        _ => None,
    });
    results.collect()
}

/// The ids of the calls, and those of the results, in order.
pub(super) fn pairs(said: &[Said]) -> (Vec<&str>, Vec<&str>) {
    let mut pairs = (Vec::new(), Vec::new());
    for said in said {
        match said {
            Said::Call { id, .. } => pairs.0.push(id.as_str()),
            Said::Result(result) => pairs.1.push(result.id.as_str()),
            Said::Text { .. } => {}
        }
    }
    pairs
}

/// The ids that are on the one side alone, in order.
pub(super) fn without<'a>(ids: &[&'a str], others: &[&str]) -> Vec<&'a str> {
    let others: BTreeSet<&str> = others.iter().copied().collect();
    ids.iter().copied().filter(|id| !others.contains(id)).collect()
}
