//! Anthropic Messages.

use serde_json::{Value, json};

use super::read::{effort, pairs, results, text, without, word};
use super::{Asked, Event, Failure, Ids, Operation, Rejected, Reply, pieces};
use crate::conform::model::script::{ErrorKind, Stop, Usage};
use crate::conform::model::seen::{Prompt, Said, ToolResult};
use crate::conform::model::shell::Tool;

pub(super) fn read(body: &Value, operation: Operation) -> Result<Asked, Rejected> {
    let missing = |field: &'static str| Rejected::of(field, format!("{field}: Field required"));
    let model = body["model"].as_str().ok_or_else(|| missing("model"))?.to_owned();
    let messages = body["messages"].as_array().ok_or_else(|| missing("messages"))?;
    if messages.is_empty() {
        return Err(Rejected::of("messages", "messages: at least one message is required"));
    }
    if operation == Operation::Turn && body["max_tokens"].as_u64().is_none() {
        return Err(missing("max_tokens"));
    }
    let turns: Vec<Vec<Said>> = messages.iter().map(said).collect();
    if operation == Operation::Turn {
        results_follow_calls(messages, &turns)?;
    }
    let last = turns.last().expect("there is a message");
    let last_results = results(last);
    let last_text = last.iter().filter_map(|said| match said {
        Said::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let last_text = last_text.collect::<Vec<_>>().join("\n");
    let tools: Vec<Tool> = body["tools"].as_array().into_iter().flatten().map(tool).collect();
    let names = tools.iter().map(|tool| tool.name.clone()).collect();
    let stream = body["stream"].as_bool().unwrap_or(false);
    let prompt = Prompt {
        model,
        stream,
        tools: names,
        effort: effort(&body["output_config"]["effort"], &body["thinking"]["budget_tokens"]),
        system: text(&body["system"]),
        last_text,
        last_results,
        conversation: turns.concat(),
    };
    Ok(Asked { prompt, tools })
}

fn tool(tool: &Value) -> Tool {
    Tool { name: word(tool, "name"), schema: tool["input_schema"].clone() }
}

/// What a message says, block by block.
fn said(message: &Value) -> Vec<Said> {
    let role = word(message, "role");
    let Some(blocks) = message["content"].as_array() else {
        return vec![Said::Text { role, text: text(&message["content"]) }];
    };
    let block = |block: &Value| match block["type"].as_str()? {
        "text" => Some(Said::Text { role: role.clone(), text: word(block, "text") }),
        "tool_use" => {
            Some(Said::Call { id: word(block, "id"), name: word(block, "name"), input: block["input"].clone() })
        }
        "tool_result" => Some(Said::Result(ToolResult {
            id: word(block, "tool_use_id"),
            text: text(&block["content"]),
            failed: block["is_error"].as_bool(),
        })),
        _ => None,
    };
    blocks.iter().filter_map(block).collect()
}

/// Every call has its result in the message that follows, and every result its call in the message before. Messages of one
/// role in a row count as one.
fn results_follow_calls(messages: &[Value], turns: &[Vec<Said>]) -> Result<(), Rejected> {
    let mut grouped: Vec<(usize, String, Vec<Said>)> = Vec::new();
    for (at, (message, turn)) in messages.iter().zip(turns).enumerate() {
        let role = word(message, "role");
        match grouped.last_mut() {
            Some((_, last, group)) if *last == role => group.extend(turn.iter().cloned()),
            _ => grouped.push((at, role, turn.clone())),
        }
    }
    let nobody = (0, String::new(), Vec::new());
    let follow = grouped.iter().skip(1).chain([&nobody]);
    let precede = [&nobody].into_iter().chain(&grouped);
    for ((group, next), before) in grouped.iter().zip(follow).zip(precede) {
        let (at, _, said) = group;
        let (calls, results) = pairs(said);
        if let [first, ..] = without(&calls, &pairs(&next.2).1)[..] {
            let message = "`tool_use` ids were found without `tool_result` blocks immediately after";
            return Err(Rejected::of("messages", format!("messages.{at}: {message}: {first}")));
        }
        if let [first, ..] = without(&results, &pairs(&before.2).0)[..] {
            let message = "unexpected `tool_use_id` found in `tool_result` blocks";
            return Err(Rejected::of("messages", format!("messages.{at}: {message}: {first}")));
        }
    }
    Ok(())
}

pub(super) fn whole(reply: &Reply<'_>) -> Value {
    message(reply, &blocks(reply), Some(stop_reason(reply)), &usage(reply.usage, reply.usage.output))
}

fn message(reply: &Reply<'_>, content: &[Value], stop_reason: Option<&str>, usage: &Value) -> Value {
    json!({
        "id": reply.ids.id("msg_01", 0),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage
    })
}

fn stop_reason(reply: &Reply<'_>) -> &'static str {
    match reply.stop {
        Some(Stop::Length) => "max_tokens",
        Some(Stop::Refusal) => "refusal",
        None if reply.calls.is_empty() => "end_turn",
        None => "tool_use",
    }
}

fn blocks(reply: &Reply<'_>) -> Vec<Value> {
    let text = reply.text.iter().map(|text| json!({"type": "text", "text": text}));
    let calls = reply.calls.iter().enumerate().map(|(at, (name, input))| {
        json!({"type": "tool_use", "id": reply.ids.id("toolu_01", at), "name": name, "input": input})
    });
    text.chain(calls).collect()
}

/// What was not read from a cache counts as input here, so the three figures of the prompt add up to the whole of it.
fn usage(usage: Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": output,
        "service_tier": "standard"
    })
}

pub(super) fn events(reply: &Reply<'_>) -> Vec<Event> {
    let event = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        Event::Named { name, data }
    };
    let begun = message(reply, &[], None, &usage(reply.usage, 1));
    let mut events = vec![event("message_start", json!({"type": "", "message": begun}))];
    for (index, block) in blocks(reply).into_iter().enumerate() {
        let (empty, deltas) = streamed(block);
        events.push(event("content_block_start", json!({"type": "", "index": index, "content_block": empty})));
        let deltas = deltas.into_iter().map(|delta| json!({"type": "", "index": index, "delta": delta}));
        events.extend(deltas.map(|data| event("content_block_delta", data)));
        events.push(event("content_block_stop", json!({"type": "", "index": index})));
    }
    let delta = json!({"stop_reason": stop_reason(reply), "stop_sequence": null});
    let spent = usage(reply.usage, reply.usage.output);
    events.push(event("message_delta", json!({"type": "", "delta": delta, "usage": spent})));
    events.push(event("message_stop", json!({"type": ""})));
    events
}

/// A block as it begins, and what is then added to it.
fn streamed(mut block: Value) -> (Value, Vec<Value>) {
    if block["type"] == "text" {
        let deltas = pieces(block["text"].as_str().unwrap_or_default());
        block["text"] = "".into();
        return (block, deltas.into_iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect());
    }
    let input = block["input"].to_string();
    block["input"] = json!({});
    // The first piece is empty, as the vendor has it.
    let deltas = [String::new()].into_iter().chain(pieces(&input));
    (block, deltas.map(|piece| json!({"type": "input_json_delta", "partial_json": piece})).collect())
}

pub(super) fn error_event(kind: ErrorKind, reply: &Reply<'_>) -> Event {
    Event::Named { name: "error", data: error(kind, None, reply.model, reply.ids).body }
}

pub(super) fn error(kind: ErrorKind, message: Option<&str>, model: &str, ids: Ids) -> Failure {
    let (status, word, usual) = words(kind);
    let usual = usual.replace("{model}", model);
    let body = json!({
        "type": "error",
        "error": {"type": word, "message": message.unwrap_or(&usual)},
        "request_id": ids.id("req_01", 0)
    });
    // Seen on the vendor's own answers; agents that are built on its library obey it.
    let passes = matches!(kind, ErrorKind::RateLimit | ErrorKind::Server | ErrorKind::Overloaded);
    Failure { status, headers: vec![("x-should-retry", passes.to_string())], body }
}

/// Status, type and message.
fn words(kind: ErrorKind) -> (u16, &'static str, &'static str) {
    let invalid = |message| (400, "invalid_request_error", message);
    match kind {
        ErrorKind::InvalidRequest => invalid("messages: Input should be a valid list"),
        ErrorKind::Credit => invalid(
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or \
             purchase credits.",
        ),
        ErrorKind::PromptTooLong => invalid("prompt is too long: 200001 tokens > 200000 maximum"),
        ErrorKind::Authentication => (401, "authentication_error", "invalid x-api-key"),
        ErrorKind::Permission => {
            (403, "permission_error", "Your API key does not have permission to use the specified resource.")
        }
        ErrorKind::NotFound => (404, "not_found_error", "model: {model}"),
        ErrorKind::TooLarge => (413, "request_too_large", "Request exceeds the maximum size"),
        ErrorKind::RateLimit => (
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit. Please try again later.",
        ),
        ErrorKind::Quota => {
            (429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later.")
        }
        ErrorKind::Server => (500, "api_error", "Internal server error"),
        ErrorKind::Overloaded => (529, "overloaded_error", "Overloaded"),
    }
}
