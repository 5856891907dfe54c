//! What an agent asks, understood in every dialect, and what its vendor would refuse.

use serde_json::json;

use super::*;
use crate::conform::model::seen::{Said, ToolResult};

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
