//! `OpenAI` Chat Completions, which many others speak too.

use serde_json::{Value, json};

use super::read::{effort, pairs, results, text, without, word};
use super::{Asked, Event, Failure, Rejected, Reply, pieces, responses};
use crate::conform::model::script::{ErrorKind, Stop, Usage};
use crate::conform::model::seen::{Prompt, Said, ToolResult};
use crate::conform::model::shell::Tool;

pub(super) fn read(body: &Value) -> Result<Asked, Rejected> {
    let missing = |field: &'static str| Rejected::of(field, format!("Missing required parameter: '{field}'."));
    let model = body["model"].as_str().ok_or_else(|| missing("model"))?.to_owned();
    let messages = body["messages"].as_array().ok_or_else(|| missing("messages"))?;
    if messages.is_empty() {
        let message =
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array.";
        return Err(Rejected::of("messages", message));
    }
    let turns: Vec<Vec<Said>> = messages.iter().map(said).collect();
    results_follow_calls(&turns)?;
    // Results come one message each: those of one answer stand together at the end.
    let is_result = |turn: &&Vec<Said>| turn.iter().any(|said| matches!(said, Said::Result(_)));
    let ending = turns.iter().rev().take_while(is_result).count();
    let last_results = results(&turns[turns.len() - ending..].concat());
    let last_text = match turns.last().map(Vec::as_slice) {
        Some([Said::Text { text, .. }, ..]) => text.clone(),
        _ => String::new(),
    };
    let tools: Vec<Tool> = body["tools"].as_array().into_iter().flatten().map(tool).collect();
    let names = tools.iter().map(|tool| tool.name.clone()).collect();
    let stream = body["stream"].as_bool().unwrap_or(false);
    let level =
        if body["reasoning_effort"].is_string() { &body["reasoning_effort"] } else { &body["reasoning"]["effort"] };
    let prompt = Prompt {
        model,
        stream,
        tools: names,
        effort: effort(level, &body["thinking_budget"]),
        // Instructions are messages here.
        system: String::new(),
        last_text,
        last_results,
        conversation: turns.concat(),
    };
    Ok(Asked { prompt, tools })
}

fn tool(tool: &Value) -> Tool {
    let function = &tool["function"];
    Tool { name: word(function, "name"), schema: function["parameters"].clone() }
}

/// What a message says: a text and calls, or what a tool returned.
fn said(message: &Value) -> Vec<Said> {
    let role = word(message, "role");
    let content = text(&message["content"]);
    if role == "tool" {
        return vec![Said::Result(ToolResult { id: word(message, "tool_call_id"), text: content, failed: None })];
    }
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
        let arguments = word(&call["function"], "arguments");
        let input = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
        Said::Call { id: word(call, "id"), name: word(&call["function"], "name"), input }
    });
    let calls: Vec<Said> = calls.collect();
    let says = (!content.is_empty() || calls.is_empty()).then_some(Said::Text { role, text: content });
    says.into_iter().chain(calls).collect()
}

/// The calls of a message have their results in the messages that follow it at once, and no result comes without a call.
fn results_follow_calls(turns: &[Vec<Said>]) -> Result<(), Rejected> {
    let mut open: Vec<&str> = Vec::new();
    let nobody = Vec::new();
    for (at, turn) in turns.iter().chain([&nobody]).enumerate() {
        let (calls, results) = pairs(turn);
        if let [first, ..] = without(&results, &open)[..] {
            let message = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
            return Err(Rejected::of("messages", format!("Invalid parameter: {message} ({first}, message {at})")));
        }
        open.retain(|call| !results.contains(call));
        if let ([first, ..], true) = (&open[..], results.is_empty()) {
            let message = "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                           'tool_call_id'. The following tool_call_ids did not have response messages:";
            return Err(Rejected::of("messages", format!("{message} {first}")));
        }
        open.extend(calls);
    }
    Ok(())
}

pub(super) fn whole(reply: &Reply<'_>) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text, "refusal": null});
    if !reply.calls.is_empty() {
        message["tool_calls"] = calls(reply).into();
    }
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(reply)});
    let mut whole = envelope(reply, "chat.completion", &[choice]);
    whole["usage"] = usage(reply.usage);
    whole
}

fn envelope(reply: &Reply<'_>, object: &str, choices: &[Value]) -> Value {
    json!({
        "id": reply.ids.id("chatcmpl-", 0),
        "object": object,
        "created": reply.created,
        "model": reply.model,
        "choices": choices
    })
}

fn calls(reply: &Reply<'_>) -> Vec<Value> {
    let call = |(at, (name, input)): (usize, &(String, Value))| {
        let function = json!({"name": name, "arguments": input.to_string()});
        json!({"id": reply.ids.id("call_", at), "type": "function", "function": function})
    };
    reply.calls.iter().enumerate().map(call).collect()
}

fn finish_reason(reply: &Reply<'_>) -> &'static str {
    match reply.stop {
        Some(Stop::Length) => "length",
        Some(Stop::Refusal) => "content_filter",
        None if reply.calls.is_empty() => "stop",
        None => "tool_calls",
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached}
    })
}

pub(super) fn events(reply: &Reply<'_>) -> Vec<Event> {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        Event::Data(envelope(reply, "chat.completion.chunk", &[choice]))
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    for piece in pieces(reply.text.unwrap_or_default()) {
        events.push(chunk(json!({"content": piece}), None));
    }
    for (index, mut call) in calls(reply).into_iter().enumerate() {
        let arguments = call["function"]["arguments"].take();
        call["function"]["arguments"] = "".into();
        call["index"] = index.into();
        events.push(chunk(json!({"tool_calls": [call]}), None));
        for piece in pieces(arguments.as_str().unwrap_or_default()) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            events.push(chunk(json!({"tool_calls": [more]}), None));
        }
    }
    events.push(chunk(json!({}), Some(finish_reason(reply))));
    // The vendor sends this one when it was asked for; others always do.
    let mut spent = envelope(reply, "chat.completion.chunk", &[]);
    spent["usage"] = usage(reply.usage);
    events.extend([Event::Data(spent), Event::Done]);
    events
}

pub(super) fn error_event(kind: ErrorKind, reply: &Reply<'_>) -> Event {
    Event::Data(error(kind, None, reply.model).body)
}

/// The same vendor's errors; only the field that a prompt stands in has another name.
pub(super) fn error(kind: ErrorKind, message: Option<&str>, model: &str) -> Failure {
    let mut failure = responses::error(kind, message, model);
    if kind == ErrorKind::PromptTooLong {
        failure.body["error"]["param"] = "messages".into();
    }
    failure
}
