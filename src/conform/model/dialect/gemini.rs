//! Gemini: `POST /v1beta/models/MODEL:generateContent` and its stream. Model and stream stand in the path.

use serde_json::{Value, json};

use super::read::{effort, pairs, results, text, word};
use super::{Asked, Event, Failure, Rejected, Reply, pieces};
use crate::conform::model::script::{ErrorKind, Stop, Usage};
use crate::conform::model::seen::{Prompt, Said, ToolResult};
use crate::conform::model::shell::Tool;

/// Model and method of a path.
pub(super) fn method(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("/v1beta/models/").or_else(|| path.strip_prefix("/v1/models/"))?.split_once(':')
}

pub(super) fn read(body: &Value, path: &str) -> Result<Asked, Rejected> {
    let (model, method) = method(path).unwrap_or_default();
    let contents = match body["contents"].as_array() {
        Some(contents) if !contents.is_empty() => contents,
        _ => {
            let message = "* GenerateContentRequest.contents: contents is not specified";
            return Err(Rejected::of("contents", message));
        }
    };
    let turns: Vec<Vec<Said>> = contents.iter().map(said).collect();
    results_follow_calls(&turns)?;
    let last = turns.last().expect("there is a content");
    let texts = last.iter().filter_map(|said| match said {
        Said::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let last_text = texts.collect::<Vec<_>>().join("\n");
    let tools: Vec<Tool> = body["tools"].as_array().into_iter().flatten().flat_map(tools).collect();
    let thinking = &body["generationConfig"]["thinkingConfig"];
    let prompt = Prompt {
        model: model.to_owned(),
        stream: method == "streamGenerateContent",
        tools: tools.iter().map(|tool| tool.name.clone()).collect(),
        effort: effort(&thinking["thinkingLevel"], &thinking["thinkingBudget"]),
        system: text(&body["systemInstruction"]["parts"]),
        last_text,
        last_results: results(last),
        conversation: turns.concat(),
    };
    Ok(Asked { prompt, tools })
}

fn tools(group: &Value) -> Vec<Tool> {
    let declared = group["functionDeclarations"].as_array().into_iter().flatten();
    let schema = |tool: &Value| match &tool["parametersJsonSchema"] {
        Value::Null => tool["parameters"].clone(),
        schema => schema.clone(),
    };
    declared.map(|tool| Tool { name: word(tool, "name"), schema: schema(tool) }).collect()
}

/// What a content says, part by part. Thoughts say nothing.
fn said(content: &Value) -> Vec<Said> {
    let role = content["role"].as_str().unwrap_or("user");
    let part = |part: &Value| {
        let (call, response) = (&part["functionCall"], &part["functionResponse"]);
        // Ids are optional here; without one the name stands for it.
        let id = |value: &Value| value["id"].as_str().map_or_else(|| word(value, "name"), str::to_owned);
        if call.is_object() {
            return Some(Said::Call { id: id(call), name: word(call, "name"), input: call["args"].clone() });
        }
        if response.is_object() {
            return Some(Said::Result(result(id(response), &response["response"])));
        }
        let text = part["text"].as_str().filter(|_| part["thought"] != true)?;
        Some(Said::Text { role: role.to_owned(), text: text.to_owned() })
    };
    content["parts"].as_array().into_iter().flatten().filter_map(part).collect()
}

/// By custom of this API, `output` holds what a function returned, and `error` why it failed.
fn result(id: String, response: &Value) -> ToolResult {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (&response["output"], &response["error"]) {
        (Value::Null, Value::Null) => ToolResult { id, text: text(response), failed: None },
        (Value::Null, error) => ToolResult { id, text: text(error), failed: Some(true) },
        (output, _) => ToolResult { id, text: text(output), failed: None },
    }
}

/// As many results follow a content as it has calls.
fn results_follow_calls(turns: &[Vec<Said>]) -> Result<(), Rejected> {
    let nobody = Vec::new();
    let calls = |turn: &Vec<Said>| pairs(turn).0.len();
    let results = |turn: &Vec<Said>| pairs(turn).1.len();
    let before = [&nobody].into_iter().chain(turns);
    for (before, turn) in before.zip(turns.iter().chain([&nobody])) {
        if calls(before) != results(turn) {
            let message = "Please ensure that the number of function response parts is equal to the number of function \
                           call parts of the function call turn.";
            return Err(Rejected::of("contents", message));
        }
    }
    Ok(())
}

pub(super) fn whole(reply: &Reply<'_>) -> Value {
    answer(reply, &parts(reply), true)
}

fn parts(reply: &Reply<'_>) -> Vec<Value> {
    let text = reply.text.iter().map(|text| json!({"text": text}));
    text.chain(calls(reply)).collect()
}

fn calls(reply: &Reply<'_>) -> impl Iterator<Item = Value> {
    let call = |(name, input): &(String, Value)| json!({"functionCall": {"name": name, "args": input}});
    reply.calls.iter().map(call)
}

fn answer(reply: &Reply<'_>, parts: &[Value], last: bool) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if last {
        candidate["finishReason"] = finish_reason(reply).into();
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": usage(reply.usage),
        "modelVersion": reply.model,
        "responseId": reply.ids.id("", 0)
    })
}

fn finish_reason(reply: &Reply<'_>) -> &'static str {
    match reply.stop {
        Some(Stop::Length) => "MAX_TOKENS",
        Some(Stop::Refusal) => "SAFETY",
        None => "STOP",
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": usage.input + usage.output,
        "cachedContentTokenCount": usage.cached
    })
}

pub(super) fn events(reply: &Reply<'_>) -> Vec<Event> {
    let texts = pieces(reply.text.unwrap_or_default()).into_iter().map(|piece| json!({"text": piece}));
    let parts = texts.chain(calls(reply)).map(|part| Event::Data(answer(reply, &[part], false)));
    // The end comes with an empty text, as the vendor has it.
    parts.chain([Event::Data(answer(reply, &[json!({"text": ""})], true))]).collect()
}

pub(super) fn error_event(kind: ErrorKind, reply: &Reply<'_>) -> Event {
    Event::Data(error(kind, None, reply.model).body)
}

pub(super) fn error(kind: ErrorKind, message: Option<&str>, model: &str) -> Failure {
    let (status, word, usual) = words(kind);
    let usual = usual.replace("{model}", model);
    let body = json!({"error": {"code": status, "message": message.unwrap_or(&usual), "status": word}});
    Failure { status, headers: Vec::new(), body }
}

/// Status, its word, and message.
fn words(kind: ErrorKind) -> (u16, &'static str, &'static str) {
    let invalid = |message| (400, "INVALID_ARGUMENT", message);
    let exhausted = |message| (429, "RESOURCE_EXHAUSTED", message);
    match kind {
        ErrorKind::InvalidRequest => invalid("Request contains an invalid argument."),
        ErrorKind::Credit | ErrorKind::Quota => {
            exhausted("You exceeded your current quota, please check your plan and billing details.")
        }
        ErrorKind::PromptTooLong => {
            invalid("The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).")
        }
        ErrorKind::Authentication => (
            401,
            "UNAUTHENTICATED",
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid \
             authentication credential.",
        ),
        ErrorKind::Permission => (403, "PERMISSION_DENIED", "The caller does not have permission"),
        ErrorKind::NotFound => {
            (404, "NOT_FOUND", "models/{model} is not found for API version v1beta, or is not supported.")
        }
        ErrorKind::TooLarge => invalid("Request payload size exceeds the limit: 20971520 bytes."),
        ErrorKind::RateLimit => exhausted("Resource has been exhausted (e.g. check quota)."),
        ErrorKind::Server => (500, "INTERNAL", "An internal error has occurred."),
        ErrorKind::Overloaded => (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    }
}
