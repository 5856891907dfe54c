//! What goes over the wire, read back as clients read it.

use serde_json::json;

use super::*;
use crate::conform::model::seen::{Said, ToolResult};

const IDS: Ids = Ids { seed: 7, number: 3 };
const STAMP: Stamp = Stamp { ids: IDS, created: 1_800_000_000 };

fn reply(text: Option<&str>, calls: usize) -> Reply<'_> {
    let calls =
        (0..calls).map(|n| ("Bash".to_owned(), json!({"command": format!("printf '\"{n}\" é' > file")}))).collect();
    let usage = Usage { input: 6000, cached: 5000, output: 70 };
    Reply { ids: IDS, created: 1_800_000_000, model: "some-model", text, calls, stop: None, usage }
}

fn replies() -> Vec<Reply<'static>> {
    let long = "A sentence that is long enough to be cut into several pieces, ünïcode included. ";
    vec![reply(Some("x"), 0), reply(Some(long), 0), reply(None, 1), reply(None, 3), reply(Some(long), 2)]
}

/// Reads a stream without names as a client does: data and empty lines.
fn chunks(events: &[Event]) -> Vec<Value> {
    let bytes: Vec<u8> = events.iter().flat_map(Event::bytes).collect();
    let text = String::from_utf8(bytes).expect("UTF-8");
    let read = text.strip_suffix("\n\n").expect("an empty line at the end").split("\n\n");
    let read = read.map(|line| line.strip_prefix("data: ").expect("data"));
    read.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

/// Reads a stream as a client does: names, data, empty lines.
fn stream(events: &[Event]) -> Vec<(String, Value)> {
    let bytes: Vec<u8> = events.iter().flat_map(Event::bytes).collect();
    let text = String::from_utf8(bytes).expect("UTF-8");
    assert!(text.ends_with("\n\n"));
    let read = text.trim_end().split("\n\n").map(|event| {
        let (name, data) = event.split_once('\n').expect("two lines");
        let data = data.strip_prefix("data: ").expect("data");
        assert!(!data.contains('\n'));
        let data: Value = serde_json::from_str(data).expect("JSON");
        (name.strip_prefix("event: ").expect("a name").to_owned(), data)
    });
    let read: Vec<(String, Value)> = read.collect();
    assert!(read.iter().all(|(name, data)| data["type"] == name.as_str()));
    read
}

/// The message that a client of Anthropic puts together.
fn anthropic_message(events: &[(String, Value)]) -> Value {
    let mut message = Value::Null;
    let mut inputs: Vec<String> = Vec::new();
    for (name, data) in events {
        let index = usize::try_from(data["index"].as_u64().unwrap_or(0)).expect("small");
        match name.as_str() {
            "message_start" => message = data["message"].clone(),
            "content_block_start" => {
                let content = message["content"].as_array_mut().expect("a list");
                assert_eq!(content.len(), index);
                content.push(data["content_block"].clone());
                inputs.push(String::new());
            }
            "content_block_delta" => match data["delta"]["type"].as_str().expect("a type") {
                "text_delta" => {
                    let text = &mut message["content"][index]["text"];
                    *text = (text.as_str().expect("text").to_owned() + data["delta"]["text"].as_str().expect("text"))
                        .into();
                }
                "input_json_delta" => inputs[index] += data["delta"]["partial_json"].as_str().expect("text"),
                other => panic!("{other}"),
            },
            "content_block_stop" => {
                if !inputs[index].is_empty() {
                    message["content"][index]["input"] = serde_json::from_str(&inputs[index]).expect("JSON");
                }
            }
            "message_delta" => {
                message["stop_reason"] = data["delta"]["stop_reason"].clone();
                message["usage"] = data["usage"].clone();
            }
            "message_stop" => return message,
            other => panic!("{other}"),
        }
    }
    panic!("the stream did not end")
}

#[test]
fn a_stream_of_anthropic_adds_up_to_the_whole_answer() {
    for reply in replies() {
        let (events, whole) = (stream(&Dialect::Anthropic.events(&reply)), Dialect::Anthropic.whole(&reply));
        assert_eq!(anthropic_message(&events), whole);
        assert_eq!(whole["stop_reason"], if reply.calls.is_empty() { "end_turn" } else { "tool_use" });
        let usage = &whole["usage"];
        assert_eq!(usage["input_tokens"], 1000, "what was cached is not counted twice");
        assert_eq!((&usage["cache_read_input_tokens"], &usage["output_tokens"]), (&json!(5000), &json!(70)));
        let begun = &events[0].1["message"];
        assert_eq!((&begun["usage"]["output_tokens"], &begun["stop_reason"]), (&json!(1), &Value::Null));
    }
}

#[test]
fn a_stream_of_responses_adds_up_to_the_whole_answer() {
    for reply in replies() {
        let (events, whole) = (stream(&Dialect::Responses.events(&reply)), Dialect::Responses.whole(&reply));
        for (at, (_, data)) in events.iter().enumerate() {
            assert_eq!(data["sequence_number"], at);
        }
        let (last, data) = events.last().expect("events");
        assert_eq!((last.as_str(), &data["response"]), ("response.completed", &whole));
        let of = |name: &str| -> Vec<&Value> {
            events.iter().filter(|(event, _)| event == name).map(|(_, data)| data).collect()
        };
        let done: Vec<&Value> = of("response.output_item.done").iter().map(|data| &data["item"]).collect();
        assert_eq!(json!(done), whole["output"]);
        for (item, index) in done.iter().zip(0..) {
            let deltas = events.iter().map(|(_, data)| data).filter(|data| data["output_index"] == index);
            let text: String = deltas.filter_map(|data| data["delta"].as_str()).collect();
            let expected = item["arguments"].as_str().or(item["content"][0]["text"].as_str());
            assert_eq!(Some(text.as_str()), expected);
        }
        assert_eq!(of("response.output_item.added").len(), done.len());
        assert_eq!(whole["usage"]["total_tokens"], 6070);
        assert_eq!(whole["usage"]["input_tokens_details"]["cached_tokens"], 5000);
    }
}

/// The message that a client of Chat Completions puts together.
fn chat_message(chunks: &[Value]) -> Value {
    let mut text = String::new();
    let mut calls: Vec<Value> = Vec::new();
    for delta in chunks.iter().filter_map(|chunk| chunk["choices"].get(0)).map(|choice| &choice["delta"]) {
        text += delta["content"].as_str().unwrap_or_default();
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = usize::try_from(call["index"].as_u64().expect("an index")).expect("small");
            let more = call["function"]["arguments"].as_str().expect("a text");
            if index == calls.len() {
                calls.push(call.clone());
                calls[index].as_object_mut().expect("an object").remove("index");
                assert_eq!(more, "");
            } else {
                let so_far = calls[index]["function"]["arguments"].as_str().expect("a text").to_owned();
                calls[index]["function"]["arguments"] = (so_far + more).into();
            }
        }
    }
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    if !text.is_empty() {
        message["content"] = text.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

#[test]
fn a_stream_of_chat_completions_adds_up_to_the_whole_answer() {
    for reply in replies() {
        let events = Dialect::Chat.events(&reply);
        assert_eq!(events.last().map(Event::bytes), Some(b"data: [DONE]\n\n".to_vec()));
        let (chunks, whole) = (chunks(&events), Dialect::Chat.whole(&reply));
        assert_eq!(chat_message(&chunks), whole["choices"][0]["message"]);
        let finish: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]["finish_reason"]).collect();
        let finish: Vec<&str> = finish.into_iter().filter_map(Value::as_str).collect();
        assert_eq!(finish, [if reply.calls.is_empty() { "stop" } else { "tool_calls" }]);
        assert_eq!(whole["choices"][0]["finish_reason"], finish[0]);
        let last = chunks.last().expect("chunks");
        assert_eq!((&last["usage"], &last["choices"]), (&whole["usage"], &json!([])));
        assert_eq!(whole["usage"]["total_tokens"], 6070);
        assert_eq!(whole["usage"]["prompt_tokens_details"]["cached_tokens"], 5000);
    }
}

#[test]
fn a_stream_of_gemini_adds_up_to_the_whole_answer() {
    for reply in replies() {
        let (chunks, whole) = (chunks(&Dialect::Gemini.events(&reply)), Dialect::Gemini.whole(&reply));
        let parts: Vec<&Value> = chunks.iter().map(|chunk| &chunk["candidates"][0]["content"]["parts"][0]).collect();
        let text: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        assert_eq!(text, reply.text.unwrap_or_default());
        let called: Vec<&&Value> = parts.iter().filter(|part| part["functionCall"].is_object()).collect();
        let whole_parts = whole["candidates"][0]["content"]["parts"].as_array().expect("a list");
        let expected: Vec<&Value> = whole_parts.iter().filter(|part| part["functionCall"].is_object()).collect();
        assert_eq!(called.len(), reply.calls.len());
        assert!(called.iter().zip(expected).all(|(called, expected)| **called == expected));
        let ends: Vec<bool> = chunks.iter().map(|chunk| chunk["candidates"][0]["finishReason"] == "STOP").collect();
        assert_eq!(ends.iter().position(|end| *end), Some(chunks.len() - 1), "only the last one ends it");
        assert_eq!(chunks.last().expect("chunks")["usageMetadata"], whole["usageMetadata"]);
        assert_eq!(whole["usageMetadata"]["totalTokenCount"], 6070);
        assert_eq!(whole["usageMetadata"]["cachedContentTokenCount"], 5000);
    }
}

#[test]
fn a_path_tells_whose_it_is_and_what_for() {
    use Operation::{Count, Turn};
    for (path, expected) in [
        ("/v1/messages", Some((Dialect::Anthropic, Turn))),
        ("/v1/messages/count_tokens", Some((Dialect::Anthropic, Count))),
        ("/v1/responses", Some((Dialect::Responses, Turn))),
        ("/v1/chat/completions", Some((Dialect::Chat, Turn))),
        ("/v1beta/models/gemini-pro:generateContent", Some((Dialect::Gemini, Turn))),
        ("/v1beta/models/gemini-pro:streamGenerateContent", Some((Dialect::Gemini, Turn))),
        ("/v1beta/models/gemini-pro:countTokens", Some((Dialect::Gemini, Count))),
        ("/v1beta/models/gemini-pro:embedContent", None),
        ("/v1beta/models/gemini-pro", None),
        ("/v1/models", None),
        ("/", None),
    ] {
        assert_eq!(Dialect::of_path(path), expected, "{path}");
    }
    for (path, header, expected) in [
        ("/v1beta/models", "", Dialect::Gemini),
        ("/v1/models", "x-goog-api-key", Dialect::Gemini),
        ("/v1/models", "anthropic-version", Dialect::Anthropic),
        ("/v1/models", "x-api-key", Dialect::Anthropic),
        ("/v1/models", "authorization", Dialect::Responses),
    ] {
        assert_eq!(Dialect::of_stranger(path, |name| name == header), expected, "{path} {header}");
    }
    assert_eq!(Dialect::Gemini.count(7), json!({"totalTokens": 7}));
    assert_eq!(Dialect::Anthropic.count(7), json!({"input_tokens": 7}));
}

#[test]
fn ids_tell_everything_apart() {
    let of = |seed, number| {
        let reply = Reply { ids: Ids { seed, number }, ..reply(Some("x"), 2) };
        let calls = Dialect::Anthropic.whole(&reply)["content"].clone();
        [calls[1]["id"].clone(), calls[2]["id"].clone(), Dialect::Anthropic.whole(&reply)["id"].clone()]
    };
    let all = [of(7, 3), of(7, 4), of(8, 3)].concat();
    let different: std::collections::BTreeSet<String> = all.iter().map(Value::to_string).collect();
    assert_eq!(different.len(), all.len(), "{all:?}");
    assert_eq!(of(7, 3), of(7, 3));
}

#[test]
fn errors_are_the_vendors_own() {
    use ErrorKind as Kind;
    for (kind, anthropic, word, responses, code) in [
        (Kind::InvalidRequest, 400, "invalid_request_error", 400, Value::Null),
        (Kind::Credit, 400, "invalid_request_error", 429, json!("insufficient_quota")),
        (Kind::PromptTooLong, 400, "invalid_request_error", 400, json!("context_length_exceeded")),
        (Kind::Authentication, 401, "authentication_error", 401, json!("invalid_api_key")),
        (Kind::Permission, 403, "permission_error", 403, Value::Null),
        (Kind::NotFound, 404, "not_found_error", 404, json!("model_not_found")),
        (Kind::TooLarge, 413, "request_too_large", 413, Value::Null),
        (Kind::RateLimit, 429, "rate_limit_error", 429, json!("rate_limit_exceeded")),
        (Kind::Server, 500, "api_error", 500, Value::Null),
        (Kind::Overloaded, 529, "overloaded_error", 503, json!("server_is_overloaded")),
    ] {
        let refusal = Refusal { kind: Some(kind), ..Refusal::default() };
        let failure = Dialect::Anthropic.error(&refusal, "m", STAMP);
        let retry = if matches!(anthropic, 429 | 500 | 529) { "true" } else { "false" };
        assert_eq!(
            (failure.status, failure.headers),
            (anthropic, vec![("x-should-retry", retry.to_owned())]),
            "{kind}"
        );
        assert_eq!(failure.body["error"]["type"], word, "{kind}");
        assert_eq!((&failure.body["type"], failure.body["request_id"].is_string()), (&json!("error"), true));
        let failure = Dialect::Responses.error(&refusal, "m", STAMP);
        assert_eq!((failure.status, &failure.body["error"]["code"]), (responses, &code), "{kind}");
        assert!(failure.body["error"]["message"].as_str().is_some_and(|message| !message.contains('{')));
        let failure = Dialect::Chat.error(&refusal, "m", STAMP);
        assert_eq!((failure.status, &failure.body["error"]["code"]), (responses, &code), "{kind}");
        let (status, word) = match anthropic {
            529 => (503, "UNAVAILABLE"),
            500 => (500, "INTERNAL"),
            404 => (404, "NOT_FOUND"),
            403 => (403, "PERMISSION_DENIED"),
            401 => (401, "UNAUTHENTICATED"),
            _ if responses == 429 => (429, "RESOURCE_EXHAUSTED"),
            _ => (400, "INVALID_ARGUMENT"),
        };
        let failure = Dialect::Gemini.error(&refusal, "m", STAMP);
        assert_eq!((failure.status, &failure.body["error"]["status"]), (status, &json!(word)), "{kind}");
        assert_eq!(failure.body["error"]["code"], status, "{kind}");
        assert!(failure.body["error"]["message"].as_str().is_some_and(|message| !message.contains('{')));
        let given = Refusal { status: Some(418), message: Some("own words".to_owned()), ..refusal };
        for &dialect in Dialect::ALL {
            let failure = dialect.error(&given, "m", STAMP);
            assert_eq!((failure.status, &failure.body["error"]["message"]), (418, &json!("own words")));
        }
    }
    let too_long = Refusal { kind: Some(Kind::PromptTooLong), ..Refusal::default() };
    let body = Dialect::Anthropic.error(&too_long, "m", STAMP).body;
    assert!(body["error"]["message"].as_str().is_some_and(|words| words.starts_with("prompt is too long: ")), "{body}");
}

#[test]
fn a_status_alone_is_enough() {
    for (status, kind) in [
        (400, ErrorKind::InvalidRequest),
        (401, ErrorKind::Authentication),
        (403, ErrorKind::Permission),
        (404, ErrorKind::NotFound),
        (422, ErrorKind::InvalidRequest),
        (429, ErrorKind::RateLimit),
        (500, ErrorKind::Server),
        (502, ErrorKind::Server),
        (503, ErrorKind::Overloaded),
        (529, ErrorKind::Overloaded),
    ] {
        assert_eq!(ErrorKind::of_status(status), kind, "{status}");
    }
}

#[test]
fn an_error_in_a_stream_says_why() {
    let of = |dialect: Dialect, kind| stream(&[dialect.error_event(kind, &reply(None, 1))]).remove(0);
    let (name, data) = of(Dialect::Anthropic, ErrorKind::Overloaded);
    assert_eq!((name.as_str(), &data["error"]["type"]), ("error", &json!("overloaded_error")));
    let (name, data) = of(Dialect::Responses, ErrorKind::RateLimit);
    assert_eq!((name.as_str(), &data["response"]["status"]), ("response.failed", &json!("failed")));
    assert_eq!(data["response"]["error"]["code"], "rate_limit_exceeded");
    let of = |dialect: Dialect, kind| chunks(&[dialect.error_event(kind, &reply(None, 1))]).remove(0);
    assert_eq!(of(Dialect::Chat, ErrorKind::RateLimit)["error"]["code"], "rate_limit_exceeded");
    assert_eq!(of(Dialect::Gemini, ErrorKind::Overloaded)["error"]["status"], "UNAVAILABLE");
}

fn asked(dialect: Dialect, body: &Value) -> Result<Asked, Rejected> {
    let path = match dialect {
        Dialect::Anthropic => "/v1/messages",
        Dialect::Responses => "/v1/responses",
        Dialect::Chat => "/v1/chat/completions",
        Dialect::Gemini => "/v1beta/models/m:streamGenerateContent",
    };
    dialect.read(path, body.to_string().as_bytes(), Operation::Turn)
}

fn text(role: &str, text: &str) -> Said {
    Said::Text { role: role.to_owned(), text: text.to_owned() }
}

#[test]
fn a_conversation_of_anthropic_is_understood() {
    let body = json!({
        "model": "m", "max_tokens": 9, "stream": true,
        "tools": [{"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}}}}, {"type": "web_search"}],
        "messages": [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look"},
                {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "pwd"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": [
                {"type": "text", "text": "/w"}, {"type": "image"}, {"type": "text", "text": "end"}]}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "Exit code 2", "is_error": true},
                {"type": "text", "text": "and now"}, {"type": "text", "text": "this"}]}
        ]
    });
    let asked = asked(Dialect::Anthropic, &body).expect("understood");
    let result = |id: &str, text: &str, failed| ToolResult { id: id.to_owned(), text: text.to_owned(), failed };
    let call = |id: &str, command: &str| Said::Call {
        id: id.to_owned(),
        name: "Bash".to_owned(),
        input: json!({"command": command}),
    };
    let prompt = asked.prompt;
    assert_eq!((prompt.model.as_str(), prompt.stream), ("m", true));
    assert_eq!(prompt.tools, ["Bash", ""]);
    assert_eq!(prompt.last_text, "and now\nthis");
    assert_eq!(prompt.last_results, [result("a", "Exit code 2", Some(true))]);
    let expected = [
        text("user", "first"),
        text("assistant", "I look"),
        call("a", "ls"),
        call("b", "pwd"),
        Said::Result(result("b", "/w\nend", None)),
        Said::Result(result("a", "Exit code 2", Some(true))),
        text("user", "and now"),
        text("user", "this"),
    ];
    assert_eq!(prompt.conversation, expected);
    assert!(prompt.carries("first") && prompt.carries("pwd") && prompt.carries("code 2") && !prompt.carries("hm"));
}

#[test]
fn a_conversation_of_responses_is_understood() {
    let body = json!({
        "model": "m", "instructions": "i",
        "tools": [{"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {"type": "string"}}}},
                  {"type": "web_search"}, {"type": "custom", "name": "apply_patch", "format": {}}],
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
            {"role": "user", "content": "first"},
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "a", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}"},
            {"type": "custom_tool_call", "call_id": "b", "name": "apply_patch", "input": "patch"},
            {"type": "function_call_output", "call_id": "a", "output": "exited with code 2"},
            {"type": "custom_tool_call_output", "call_id": "b", "output": {"content": [{"type": "input_text", "text": "ok"}]}}
        ]
    });
    let asked = asked(Dialect::Responses, &body).expect("understood");
    let result = |id: &str, text: &str| ToolResult { id: id.to_owned(), text: text.to_owned(), failed: None };
    let prompt = asked.prompt;
    assert_eq!(prompt.tools, ["exec_command", "apply_patch"]);
    assert_eq!((prompt.stream, prompt.last_text.as_str()), (false, ""));
    assert_eq!(prompt.last_results, [result("a", "exited with code 2"), result("b", "ok")]);
    assert_eq!(prompt.conversation.len(), 6);
    assert!(prompt.carries("\"cmd\":\"ls\"") && prompt.carries("rules"));
}

#[test]
fn a_conversation_of_chat_completions_is_understood() {
    let body = json!({
        "model": "m", "stream": true,
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"properties": {"command": {"type": "string"}}}}}],
        "messages": [
            {"role": "system", "content": "rules"},
            {"role": "user", "content": [{"type": "text", "text": "first"}, {"type": "image_url"}]},
            {"role": "assistant", "content": "I look", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}},
                {"id": "b", "type": "function", "function": {"name": "bash", "arguments": "broken"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "exited with code 2"},
            {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "ok"}]}
        ]
    });
    let asked = asked(Dialect::Chat, &body).expect("understood");
    let result = |id: &str, text: &str| ToolResult { id: id.to_owned(), text: text.to_owned(), failed: None };
    let call = |id: &str, input: Value| Said::Call { id: id.to_owned(), name: "bash".to_owned(), input };
    let prompt = asked.prompt;
    assert_eq!((prompt.model.as_str(), prompt.stream, prompt.last_text.as_str()), ("m", true, ""));
    assert_eq!(prompt.tools, ["bash"]);
    let results = [result("a", "exited with code 2"), result("b", "ok")];
    assert_eq!(prompt.last_results, results);
    let [first, second] = results;
    let expected = [
        text("system", "rules"),
        text("user", "first"),
        text("assistant", "I look"),
        call("a", json!({"command": "ls"})),
        call("b", json!("broken")),
        Said::Result(first),
        Said::Result(second),
    ];
    assert_eq!(prompt.conversation, expected);
}

#[test]
fn a_conversation_of_gemini_is_understood() {
    let body = json!({
        "tools": [{"functionDeclarations": [
            {"name": "run_shell_command", "parametersJsonSchema": {"properties": {"command": {"type": "string"}}}},
            {"name": "read", "parameters": {"properties": {}}}]}, {"googleSearch": {}}],
        "contents": [
            {"role": "user", "parts": [{"text": "first"}, {"inlineData": {}}]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": true}, {"text": "I look"},
                {"functionCall": {"name": "run_shell_command", "args": {"command": "ls"}}},
                {"functionCall": {"id": "b", "name": "read", "args": {}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "run_shell_command", "response": {"output": "Exit Code: 2"}}},
                {"functionResponse": {"id": "b", "name": "read", "response": {"error": "no such file"}}},
                {"text": "and now"}]}
        ]
    });
    let asked = asked(Dialect::Gemini, &body).expect("understood");
    let result = |id: &str, text: &str, failed| ToolResult { id: id.to_owned(), text: text.to_owned(), failed };
    let prompt = asked.prompt;
    assert_eq!((prompt.model.as_str(), prompt.stream, prompt.last_text.as_str()), ("m", true, "and now"));
    assert_eq!(prompt.tools, ["run_shell_command", "read"]);
    assert_eq!(asked.tools[0].schema["properties"]["command"]["type"], "string");
    let results = [result("run_shell_command", "Exit Code: 2", None), result("b", "no such file", Some(true))];
    assert_eq!(prompt.last_results, results);
    assert_eq!(prompt.conversation.len(), 7);
    assert!(prompt.carries("\"command\":\"ls\"") && prompt.carries("I look") && !prompt.carries("hm"));
}

#[test]
fn a_bare_prompt_is_a_message_of_the_user() {
    let asked = asked(Dialect::Responses, &json!({"model": "m", "input": "hello"})).expect("understood");
    assert_eq!((asked.prompt.last_text.as_str(), asked.prompt.conversation), ("hello", vec![text("user", "hello")]));
}

#[test]
fn what_the_vendor_would_refuse_is_refused() {
    let call = |id: &str| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {}}]});
    let result =
        |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "x"}]});
    let (hello, word) = (json!({"role": "user", "content": "hello"}), json!({"role": "assistant", "content": "well"}));
    let messages = |messages: Value| json!({"model": "m", "max_tokens": 1, "messages": messages});
    let items = |items: Value| json!({"model": "m", "input": items});
    let chat = |messages: Value| json!({"model": "m", "messages": messages});
    let tool = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
    let tool_calls = json!([{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let asks = json!({"role": "assistant", "content": null, "tool_calls": tool_calls});
    let contents = |contents: Value| json!({"contents": contents});
    let function_call = json!({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]});
    let response = json!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "x"});
    let function = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"});
    for (dialect, body, param, words) in [
        (Dialect::Anthropic, json!(7), Some("model"), "model: Field required"),
        (Dialect::Anthropic, json!({"model": "m", "max_tokens": 1}), Some("messages"), "messages: Field required"),
        (
            Dialect::Anthropic,
            json!({"model": "m", "messages": [hello]}),
            Some("max_tokens"),
            "max_tokens: Field required",
        ),
        (Dialect::Anthropic, messages(json!([])), Some("messages"), "at least one message"),
        (Dialect::Anthropic, messages(json!([hello, call("a")])), Some("messages"), "messages.1: `tool_use`"),
        (
            Dialect::Anthropic,
            messages(json!([hello, call("a"), hello, word, result("a")])),
            Some("messages"),
            "messages.1",
        ),
        (
            Dialect::Anthropic,
            messages(json!([hello, call("a"), result("b")])),
            Some("messages"),
            "immediately after: a",
        ),
        (Dialect::Anthropic, messages(json!([result("a")])), Some("messages"), "unexpected `tool_use_id`"),
        (Dialect::Responses, json!({"input": "x"}), Some("model"), "Missing required parameter: 'model'."),
        (Dialect::Responses, json!({"model": "m"}), Some("input"), "Missing required parameter: 'input'."),
        (Dialect::Responses, items(json!([function])), Some("input"), "No tool output found for function call a."),
        (Dialect::Responses, items(json!([output])), Some("input"), "No tool call found"),
        (
            Dialect::Responses,
            json!({"model": "m", "input": "x", "previous_response_id": "resp_1"}),
            Some("previous_response_id"),
            "'resp_1' not found",
        ),
        (Dialect::Chat, json!({"messages": [hello]}), Some("model"), "Missing required parameter: 'model'."),
        (Dialect::Chat, json!({"model": "m"}), Some("messages"), "Missing required parameter: 'messages'."),
        (Dialect::Chat, chat(json!([])), Some("messages"), "empty array"),
        (Dialect::Chat, chat(json!([hello, asks])), Some("messages"), "response messages: a"),
        (Dialect::Chat, chat(json!([hello, asks, hello, tool])), Some("messages"), "response messages: a"),
        (Dialect::Chat, chat(json!([hello, tool])), Some("messages"), "must be a response"),
        (Dialect::Gemini, json!({}), Some("contents"), "contents is not specified"),
        (Dialect::Gemini, contents(json!([])), Some("contents"), "contents is not specified"),
        (Dialect::Gemini, contents(json!([function_call])), Some("contents"), "number of function response parts"),
        (Dialect::Gemini, contents(json!([response])), Some("contents"), "number of function response parts"),
    ] {
        let rejected = asked(dialect, &body).expect_err("refused");
        assert!(rejected.message.contains(words), "{body}: {}", rejected.message);
        assert_eq!(rejected.param, param, "{body}");
        let failure = dialect.rejection(&rejected, STAMP);
        assert_eq!((failure.status, &failure.body["error"]["message"]), (400, &json!(rejected.message)));
    }
    for body in ["", "{", "[1", "\u{0}"] {
        let rejected = Dialect::Anthropic.read("/v1/messages", body.as_bytes(), Operation::Turn).expect_err("refused");
        assert!(rejected.message.contains("not valid JSON"), "{}", rejected.message);
    }
    assert!(asked(Dialect::Anthropic, &messages(json!([hello, call("a"), result("a"), hello]))).is_ok());
    assert!(asked(Dialect::Responses, &items(json!([function, output]))).is_ok());
    assert!(asked(Dialect::Chat, &chat(json!([hello, asks, tool, hello]))).is_ok());
    assert!(asked(Dialect::Gemini, &contents(json!([function_call, response]))).is_ok());
}

#[test]
fn any_json_is_read_without_a_panic() {
    let odd = [
        json!(null),
        json!([]),
        json!({"content": [1, null, {"type": 5}]}),
        json!({"type": "tool_result"}),
        json!("x"),
    ];
    for value in &odd {
        for list in [json!([value]), json!([value, value]), value.clone()] {
            for &dialect in Dialect::ALL {
                let _ = asked(
                    dialect,
                    &json!({
                        "model": "m", "max_tokens": 1, "messages": list, "input": list, "contents": list, "tools": list
                    }),
                );
            }
        }
    }
}

#[test]
fn a_model_that_stops_short_says_so_in_the_vendors_word() {
    let path = |stop| {
        let reply = Reply { stop: Some(stop), ..reply(Some("x"), 0) };
        let last = |dialect: Dialect| match dialect.events(&reply).into_iter().rev().find(|it| *it != Event::Done) {
            Some(Event::Named { data, .. } | Event::Data(data)) => data,
            other => panic!("{other:?}"),
        };
        let chat = chunks(&Dialect::Chat.events(&reply));
        let delta = stream(&Dialect::Anthropic.events(&reply)).into_iter().find(|(name, _)| name == "message_delta");
        let streamed = [
            delta.expect("a delta").1["delta"]["stop_reason"].clone(),
            last(Dialect::Responses)["response"]["incomplete_details"]["reason"].clone(),
            chat[chat.len() - 2]["choices"][0]["finish_reason"].clone(),
            last(Dialect::Gemini)["candidates"][0]["finishReason"].clone(),
        ];
        let whole = [
            Dialect::Anthropic.whole(&reply)["stop_reason"].clone(),
            Dialect::Responses.whole(&reply)["incomplete_details"]["reason"].clone(),
            Dialect::Chat.whole(&reply)["choices"][0]["finish_reason"].clone(),
            Dialect::Gemini.whole(&reply)["candidates"][0]["finishReason"].clone(),
        ];
        assert_eq!(streamed, whole);
        assert_eq!(last(Dialect::Responses)["type"], "response.incomplete");
        whole
    };
    assert_eq!(path(Stop::Length), ["max_tokens", "max_output_tokens", "length", "MAX_TOKENS"]);
    assert_eq!(path(Stop::Refusal), ["refusal", "content_filter", "content_filter", "SAFETY"]);
}

#[test]
fn limits_are_told_as_each_vendor_tells_them() {
    let failure = |dialect: Dialect, kind, retry_after| {
        dialect.error(&Refusal { kind: Some(kind), retry_after, ..Refusal::default() }, "m", STAMP)
    };
    let header = |failure: &Failure, name: &str| {
        let found: Vec<&String> = failure.headers.iter().filter(|it| it.0 == name).map(|it| &it.1).collect();
        assert!(found.len() < 2, "{name} is told twice");
        found.first().map(|value| (*value).clone())
    };
    for &dialect in Dialect::ALL {
        let bare = failure(dialect, ErrorKind::RateLimit, None);
        assert!(bare.headers.iter().all(|(name, _)| *name == "x-should-retry"), "{dialect}: {:?}", bare.headers);
        assert_eq!(bare.body["error"].get("details"), None, "{dialect}");
        let asks = failure(dialect, ErrorKind::RateLimit, Some(3));
        assert_eq!(header(&asks, "retry-after").as_deref(), Some("3"), "{dialect}");
    }
    let asks = failure(Dialect::Anthropic, ErrorKind::RateLimit, Some(3));
    assert_eq!(header(&asks, "anthropic-ratelimit-requests-reset").as_deref(), Some("2027-01-15T08:00:03Z"));
    let asks = failure(Dialect::Gemini, ErrorKind::Overloaded, Some(3));
    assert_eq!(asks.body["error"]["details"][0]["retryDelay"], "3s");
    let used_up = failure(Dialect::Anthropic, ErrorKind::Quota, None);
    assert_eq!(header(&used_up, "anthropic-ratelimit-unified-reset").as_deref(), Some("1800010800"));
    assert_eq!(header(&used_up, "retry-after").as_deref(), Some("10800"));
    for dialect in [Dialect::Responses, Dialect::Chat] {
        let used_up = failure(dialect, ErrorKind::Quota, None);
        assert_eq!((used_up.status, &used_up.body["error"]["code"]), (429, &json!("insufficient_quota")));
    }
    let used_up = failure(Dialect::Gemini, ErrorKind::Quota, None).body;
    let violation = &used_up["error"]["details"][0]["violations"][0]["quotaId"];
    assert!(violation.as_str().is_some_and(|id| id.contains("PerDay")), "{used_up}");
}

#[test]
fn effort_and_what_stands_before_everything_are_read_in_every_dialect() {
    let said = json!([{"role": "user", "content": "hello"}]);
    let read = |dialect, body: Value| asked(dialect, &body).expect("understood").prompt;
    let anthropic = json!({"model": "m", "max_tokens": 9, "messages": said, "system": [{"type": "text", "text": "be good"}],
        "output_config": {"effort": "LOW"}, "thinking": {"type": "enabled", "budget_tokens": 2048}});
    let responses = json!({"model": "m", "input": "hello", "instructions": "be good", "reasoning": {"effort": "low"}});
    let chat = json!({"model": "m", "messages": said, "reasoning_effort": "low"});
    let gemini = json!({"contents": [{"parts": [{"text": "hello"}]}], "systemInstruction": {"parts": [{"text": "be good"}]},
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 2048}}});
    for (dialect, body, level, budget, system) in [
        (Dialect::Anthropic, anthropic, Some("low"), Some(2048), "be good"),
        (Dialect::Responses, responses, Some("low"), None, "be good"),
        (Dialect::Chat, chat, Some("low"), None, ""),
        (Dialect::Gemini, gemini, None, Some(2048), "be good"),
    ] {
        let prompt = read(dialect, body);
        assert_eq!((prompt.effort.level.as_deref(), prompt.effort.budget), (level, budget), "{dialect}");
        assert_eq!(prompt.system, system, "{dialect}");
    }
    assert!(read(Dialect::Chat, json!({"model": "m", "messages": said})).effort.is_unsaid());
}
