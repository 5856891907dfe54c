//! One line of a session's log, as far as it counts.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// What a line counts as.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Lines of the same id count once.
    pub(super) id: String,
    pub(super) session: String,
    pub(super) at: Timestamp,
    pub(super) what: What,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A person, or a program in a person's place, said something.
    Prompt,
    /// The model answered. Cached tokens are input.
    Answer { model: String, input: u64, output: u64 },
}

/// A line of the log. Its further keys are passed over.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    uuid: Option<String>,
    prompt_id: Option<String>,
    session_id: Option<String>,
    timestamp: Option<Timestamp>,
    user_type: Option<String>,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    is_sidechain: bool,
    message: Option<Value>,
}

/// What the program writes in a person's name: a command of its own, and what that printed.
const ITS_OWN: [&str; 2] = ["<command-name>", "<local-command-stdout>"];

/// What the line counts as; `Ok(None)` when it counts as nothing.
///
/// # Errors
/// When it is no line of a log.
pub(super) fn entry(line: &str) -> Result<Option<Entry>, serde_json::Error> {
    let line: Line = serde_json::from_str(line)?;
    let (Some(at), Some(message)) = (line.timestamp, &line.message) else { return Ok(None) };
    let found = match line.kind.as_str() {
        "user" if line.is_prompt(message) => line.prompt_id.clone().or(line.uuid.clone()).map(|id| (id, What::Prompt)),
        "assistant" => answer(message).and_then(|(id, what)| Some((id.or(line.uuid.clone())?, what))),
        _ => None,
    };
    let session = line.session_id.unwrap_or_default();
    Ok(found.map(|(id, what)| Entry { id, session, at, what }))
}

impl Line {
    /// The result of a tool stands in the person's place too, and so does what a subagent is told.
    fn is_prompt(&self, message: &Value) -> bool {
        let external = self.user_type.as_deref() == Some("external") && !self.is_meta && !self.is_sidechain;
        external && message["role"] == "user" && says_something(&message["content"])
    }
}

fn says_something(content: &Value) -> bool {
    let own = |text: &str| !text.is_empty() && !ITS_OWN.iter().any(|mark| text.contains(mark));
    match content {
        Value::String(text) => own(text),
        Value::Array(parts) => {
            let mut texts = parts.iter().filter(|part| part["type"] == "text").peekable();
            texts.peek().is_some() && texts.all(|part| part["text"].as_str().is_some_and(own))
        }
        _ => false,
    }
}

/// The id and the figures of an answer; none for the program's own words about a failure.
fn answer(message: &Value) -> Option<(Option<String>, What)> {
    let model = message["model"].as_str().filter(|model| *model != "<synthetic>")?;
    let usage = &message["usage"];
    let tokens = |key: &str| usage[key].as_u64().unwrap_or_default();
    let input = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"].map(tokens);
    let input = input.into_iter().fold(0, u64::saturating_add);
    let what = What::Answer { model: model.to_owned(), input, output: tokens("output_tokens") };
    Some((message["id"].as_str().map(str::to_owned), what))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt(content: &Value, more: &Value) -> bool {
        let mut line = json!({ "type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-03-01T12:00:00+05:30",
            "userType": "external", "message": { "role": "user", "content": content } });
        line.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        let entry = entry(&line.to_string()).expect("a line");
        entry.is_some_and(|entry| entry.what == What::Prompt && entry.at.to_string() == "2026-03-01T06:30:00Z")
    }

    #[test]
    fn a_prompt_is_what_somebody_said() {
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        let result = json!([{ "type": "tool_result", "tool_use_id": "t", "content": "one" }]);
        for (content, counts) in [
            (json!("Go on"), true),
            (text("Go on"), true),
            (json!(""), false),
            (json!([]), false),
            (result, false),
            (json!("<command-name>/compact</command-name>"), false),
            (text("<local-command-stdout>done</local-command-stdout>"), false),
        ] {
            assert_eq!(prompt(&content, &json!({})), counts, "{content}");
        }
        for more in [json!({ "isMeta": true }), json!({ "isSidechain": true }), json!({ "userType": "internal" })] {
            assert!(!prompt(&json!("Go on"), &more), "{more}");
        }
    }

    #[test]
    fn an_answer_has_its_messages_id_and_cached_tokens_are_input() {
        let line = |message: Value| {
            json!({ "type": "assistant", "uuid": "u", "sessionId": "s", "timestamp": "2026-03-01T12:00:00Z",
                "message": message })
        };
        let usage = json!({ "input_tokens": 5, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 900,
            "output_tokens": 3 });
        let whole = line(json!({ "id": "m", "model": "claude-opus-5-5", "usage": usage }));
        let found = entry(&whole.to_string()).expect("a line").expect("an answer");
        assert_eq!(found.id, "m");
        assert_eq!(found.what, What::Answer { model: "claude-opus-5-5".to_owned(), input: 975, output: 3 });
        let failure = line(json!({ "id": "m", "model": "<synthetic>", "usage": {} }));
        assert_eq!(entry(&failure.to_string()).expect("a line"), None);
        assert!(entry("{\"type\":\"assistant\",").is_err());
        assert_eq!(entry("{\"type\":\"cost-state\"}").expect("a line"), None);
    }
}
