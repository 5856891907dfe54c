//! `OpenAI` Responses.

use serde_json::{Value, json};

use super::read::{effort, pairs, results, text, without, word};
use super::{Asked, Event, Failure, Rejected, Reply, pieces};
use crate::conform::model::script::{ErrorKind, Stop, Usage};
use crate::conform::model::seen::{Prompt, Said, ToolResult};
use crate::conform::model::shell::Tool;

pub(super) fn read(body: &Value) -> Result<Asked, Rejected> {
    let missing = |field: &'static str| Rejected::of(field, format!("Missing required parameter: '{field}'."));
    let model = body["model"].as_str().ok_or_else(|| missing("model"))?.to_owned();
    if let Some(id) = body["previous_response_id"].as_str() {
        // Nothing is stored here, so the vendor would not find it either.
        return Err(Rejected::of("previous_response_id", format!("Previous response with id '{id}' not found.")));
    }
    let conversation: Vec<Said> = match &body["input"] {
        Value::String(prompt) => vec![Said::Text { role: "user".to_owned(), text: prompt.clone() }],
        Value::Array(items) => items.iter().filter_map(said).collect(),
        _ => return Err(missing("input")),
    };
    results_have_calls(&conversation)?;
    let tools: Vec<Tool> = body["tools"].as_array().into_iter().flatten().filter_map(tool).collect();
    // Results come one item each: those of one answer stand together at the end.
    let ending = conversation.iter().rev().take_while(|said| matches!(said, Said::Result(_))).count();
    let last_results = results(&conversation[conversation.len() - ending..]);
    let last_text = match conversation.last() {
        Some(Said::Text { text, .. }) => text.clone(),
        _ => String::new(),
    };
    let names = tools.iter().map(|tool| tool.name.clone()).collect();
    let stream = body["stream"].as_bool().unwrap_or(false);
    let prompt = Prompt {
        model,
        stream,
        tools: names,
        effort: effort(&body["reasoning"]["effort"], &Value::Null),
        system: word(body, "instructions"),
        last_text,
        last_results,
        conversation,
    };
    Ok(Asked { prompt, tools })
}

/// A function that is offered; the vendor's own tools have no name.
fn tool(tool: &Value) -> Option<Tool> {
    Some(Tool { name: tool["name"].as_str()?.to_owned(), schema: tool["parameters"].clone() })
}

/// What an item says; reasoning and the like say nothing.
fn said(item: &Value) -> Option<Said> {
    match item["type"].as_str().unwrap_or("message") {
        "message" => Some(Said::Text { role: word(item, "role"), text: text(&item["content"]) }),
        "function_call" => {
            let arguments = word(item, "arguments");
            let input = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
            Some(Said::Call { id: word(item, "call_id"), name: word(item, "name"), input })
        }
        "custom_tool_call" => {
            Some(Said::Call { id: word(item, "call_id"), name: word(item, "name"), input: item["input"].clone() })
        }
        "function_call_output" | "custom_tool_call_output" => {
            Some(Said::Result(ToolResult { id: word(item, "call_id"), text: text(&item["output"]), failed: None }))
        }
        _ => None,
    }
}

/// Every call has its output, and every output its call, anywhere in the conversation.
fn results_have_calls(conversation: &[Said]) -> Result<(), Rejected> {
    let (calls, results) = pairs(conversation);
    if let [first, ..] = without(&calls, &results)[..] {
        return Err(Rejected::of("input", format!("No tool output found for function call {first}.")));
    }
    if let [first, ..] = without(&results, &calls)[..] {
        let message = format!("No tool call found for function call output with call_id {first}.");
        return Err(Rejected::of("input", message));
    }
    Ok(())
}

pub(super) fn whole(reply: &Reply<'_>) -> Value {
    let mut whole = response(reply, "completed", &items(reply), Some(&usage(reply.usage)));
    if let Some(stop) = reply.stop {
        whole["status"] = "incomplete".into();
        whole["incomplete_details"] = json!({"reason": match stop {
            Stop::Length => "max_output_tokens",
            Stop::Refusal => "content_filter",
        }});
    }
    whole
}

fn response(reply: &Reply<'_>, status: &str, output: &[Value], usage: Option<&Value>) -> Value {
    json!({
        "id": reply.ids.id("resp_", 0),
        "object": "response",
        "created_at": reply.created,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "metadata": {},
        "model": reply.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "store": false,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage
    })
}

fn items(reply: &Reply<'_>) -> Vec<Value> {
    let text = reply.text.iter().map(|text| {
        json!({
            "type": "message",
            "id": reply.ids.id("msg_", 0),
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}]
        })
    });
    let calls = reply.calls.iter().enumerate().map(|(at, (name, input))| {
        json!({
            "type": "function_call",
            "id": reply.ids.id("fc_", at),
            "call_id": reply.ids.id("call_", at),
            "name": name,
            "arguments": input.to_string(),
            "status": "completed"
        })
    });
    text.chain(calls).collect()
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output
    })
}

/// Events, each with its number in the stream.
#[derive(Default)]
struct Stream(Vec<Event>);

impl Stream {
    fn add(&mut self, name: &'static str, data: Value) {
        let mut whole = json!({"type": name, "sequence_number": self.0.len()});
        if let (Value::Object(whole), Value::Object(data)) = (&mut whole, data) {
            whole.extend(data);
        }
        self.0.push(Event::Named { name, data: whole });
    }
}

pub(super) fn events(reply: &Reply<'_>) -> Vec<Event> {
    let mut stream = Stream::default();
    let begun = response(reply, "in_progress", &[], None);
    stream.add("response.created", json!({"response": begun}));
    stream.add("response.in_progress", json!({"response": begun}));
    for (index, item) in items(reply).into_iter().enumerate() {
        let mut empty = item.clone();
        empty["status"] = "in_progress".into();
        if item["type"] == "message" {
            empty["content"] = json!([]);
            stream.add("response.output_item.added", json!({"output_index": index, "item": empty}));
            text_events(&mut stream, index, &item);
        } else {
            empty["arguments"] = "".into();
            stream.add("response.output_item.added", json!({"output_index": index, "item": empty}));
            call_events(&mut stream, index, &item);
        }
        stream.add("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    let last = if reply.stop.is_some() { "response.incomplete" } else { "response.completed" };
    stream.add(last, json!({"response": whole(reply)}));
    stream.0
}

fn text_events(stream: &mut Stream, index: usize, item: &Value) {
    let part = &item["content"][0];
    let of = |more: Value| {
        let mut data = json!({"item_id": item["id"], "output_index": index, "content_index": 0});
        if let (Value::Object(data), Value::Object(more)) = (&mut data, more) {
            data.extend(more);
        }
        data
    };
    let empty = json!({"type": "output_text", "text": "", "annotations": []});
    stream.add("response.content_part.added", of(json!({"part": empty})));
    for piece in pieces(part["text"].as_str().unwrap_or_default()) {
        stream.add("response.output_text.delta", of(json!({"delta": piece})));
    }
    stream.add("response.output_text.done", of(json!({"text": part["text"]})));
    stream.add("response.content_part.done", of(json!({"part": part})));
}

fn call_events(stream: &mut Stream, index: usize, item: &Value) {
    for piece in pieces(item["arguments"].as_str().unwrap_or_default()) {
        let delta = json!({"item_id": item["id"], "output_index": index, "delta": piece});
        stream.add("response.function_call_arguments.delta", delta);
    }
    let done = json!({"item_id": item["id"], "output_index": index, "arguments": item["arguments"]});
    stream.add("response.function_call_arguments.done", done);
}

/// A response that failed; its words for the reason are not those of an HTTP error.
pub(super) fn error_event(kind: ErrorKind, reply: &Reply<'_>) -> Event {
    let body = error(kind, None, reply.model).body;
    let code = match kind {
        ErrorKind::InvalidRequest | ErrorKind::TooLarge | ErrorKind::NotFound => "invalid_prompt",
        ErrorKind::Credit | ErrorKind::Quota => "insufficient_quota",
        ErrorKind::PromptTooLong => "context_length_exceeded",
        ErrorKind::RateLimit => "rate_limit_exceeded",
        ErrorKind::Overloaded => "server_is_overloaded",
        ErrorKind::Authentication | ErrorKind::Permission | ErrorKind::Server => "server_error",
    };
    let mut failed = response(reply, "failed", &[], None);
    failed["error"] = json!({"code": code, "message": body["error"]["message"]});
    // The number is one that no earlier event of this stream has.
    let data = json!({"type": "response.failed", "sequence_number": events(reply).len(), "response": failed});
    Event::Named { name: "response.failed", data }
}

pub(super) fn error(kind: ErrorKind, message: Option<&str>, model: &str) -> Failure {
    let (status, word, code, usual) = words(kind);
    let usual = usual.replace("{model}", model);
    let param = (kind == ErrorKind::PromptTooLong).then_some("input");
    let message = message.unwrap_or(&usual);
    let body = json!({"error": {"message": message, "type": word, "param": param, "code": code}});
    Failure { status, headers: Vec::new(), body }
}

/// Status, type, code and message.
fn words(kind: ErrorKind) -> (u16, &'static str, Option<&'static str>, &'static str) {
    let invalid = |status, code, message| (status, "invalid_request_error", code, message);
    match kind {
        ErrorKind::InvalidRequest => invalid(400, None, "We could not parse the JSON body of your request."),
        ErrorKind::Credit | ErrorKind::Quota => (
            429,
            "insufficient_quota",
            Some("insufficient_quota"),
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        ErrorKind::PromptTooLong => invalid(
            400,
            Some("context_length_exceeded"),
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        ),
        ErrorKind::Authentication => invalid(
            401,
            Some("invalid_api_key"),
            "Incorrect API key provided: sk-****. You can find your API key at \
             https://platform.openai.com/account/api-keys.",
        ),
        ErrorKind::Permission => invalid(403, None, "You have insufficient permissions for this operation."),
        ErrorKind::NotFound => {
            invalid(404, Some("model_not_found"), "The model `{model}` does not exist or you do not have access to it.")
        }
        ErrorKind::TooLarge => invalid(413, None, "The request is too large."),
        ErrorKind::RateLimit => (
            429,
            "requests",
            Some("rate_limit_exceeded"),
            "Rate limit reached for {model} on requests per min (RPM): Limit 3, Used 3, Requested 1.",
        ),
        ErrorKind::Server => {
            (500, "server_error", None, "The server had an error while processing your request. Sorry about that!")
        }
        ErrorKind::Overloaded => (
            503,
            "server_error",
            Some("server_is_overloaded"),
            "Our servers are currently overloaded. Please try again later.",
        ),
    }
}
