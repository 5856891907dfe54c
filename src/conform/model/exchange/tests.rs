//! Every fate of an answer, without a socket.

use super::*;
use crate::conform::model::Script;

const STAMP: Stamp = Stamp { ids: crate::conform::model::dialect::Ids { seed: 1, number: 2 }, created: 1_800_000_000 };

fn asked(dialect: Dialect, stream: bool, tools: &Value) -> Asked {
    let body = match dialect {
        Dialect::Anthropic => {
            json!({"model": "m", "max_tokens": 1, "stream": stream, "tools": tools, "messages": [{"role": "user", "content": "hi"}]})
        }
        Dialect::Responses => json!({"model": "m", "stream": stream, "tools": tools, "input": "hi"}),
        Dialect::Chat => {
            json!({"model": "m", "stream": stream, "tools": tools, "messages": [{"role": "user", "content": "hi"}]})
        }
        Dialect::Gemini => json!({"tools": tools, "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
    };
    let path = if stream { "/v1beta/models/m:streamGenerateContent" } else { "/v1beta/models/m:generateContent" };
    dialect.read(path, body.to_string().as_bytes(), Operation::Turn).expect("understood")
}

fn shell() -> Value {
    let schema = json!({"properties": {"command": {"type": "string"}}});
    let tool = json!({"name": "Bash", "parameters": schema});
    // Each vendor's form; the others' keys are passed over.
    json!([{
        "name": "Bash", "input_schema": schema, "parameters": schema, "function": tool, "functionDeclarations": [tool]
    }])
}

fn exchange(dialect: Dialect, stream: bool, tools: &Value, step: &Value) -> Exchange {
    let script: Script = serde_json::from_value(json!({"steps": [step]})).expect("a script");
    let playbook = Playbook::new(&script).expect("it can be played");
    Exchange::of(dialect, Operation::Turn, asked(dialect, stream, tools), &playbook, 0, STAMP)
}

#[test]
fn every_fate_of_an_answer_is_told_and_sent() {
    use Answered as A;
    for (step, stream, answered, status, end, reported) in [
        (json!({"text": "x"}), true, A::Text, Some(200), End::Orderly, true),
        (json!({"text": "x"}), false, A::Text, Some(200), End::Orderly, true),
        (json!({"shell": "ls"}), true, A::Calls, Some(200), End::Orderly, true),
        (json!({"text": "x", "shells": ["ls", "pwd"]}), false, A::Calls, Some(200), End::Orderly, true),
        (json!({"error": {"status": 500}}), true, A::Error, Some(500), End::Orderly, false),
        (json!({"error": {"status": 500}}), false, A::Error, Some(500), End::Orderly, false),
        (json!({"error_event": "server"}), true, A::ErrorEvent, Some(200), End::Orderly, false),
        (json!({"error_event": "server"}), false, A::Error, Some(500), End::Orderly, false),
        (json!({"stall": "before_headers"}), true, A::Stall, None, End::Stall, false),
        (json!({"stall": "in_stream"}), true, A::Stall, Some(200), End::Stall, false),
        (json!({"stall": "in_stream"}), false, A::Stall, Some(200), End::Stall, false),
        (json!({"reset": "before_headers"}), false, A::Reset, None, End::Reset, false),
        (json!({"reset": "in_stream"}), true, A::Reset, Some(200), End::Reset, false),
        (json!({"reset": "in_stream"}), false, A::Reset, Some(200), End::Reset, false),
        (json!({"truncate": "before_headers"}), true, A::Truncated, None, End::Close, false),
        (json!({"truncate": "in_stream"}), true, A::Truncated, Some(200), End::Orderly, false),
        (json!({"truncate": "in_stream"}), false, A::Truncated, Some(200), End::Orderly, false),
    ] {
        for &dialect in Dialect::ALL {
            let exchange = exchange(dialect, stream, &shell(), &step);
            let told = (exchange.answered, exchange.sent.status(), exchange.sent.end, exchange.usage.is_some());
            assert_eq!(told, (answered, status, end, reported), "{dialect} {step} {stream}");
            assert_eq!(exchange.by, By::Step(0));
            assert_eq!(exchange.sent.pieces.is_empty(), status.is_none(), "{dialect} {step}");
            assert_eq!(exchange.prompt.map(|prompt| prompt.last_text), Some("hi".to_owned()));
        }
    }
}

#[test]
fn half_an_answer_is_neither_nothing_nor_all() {
    for &dialect in Dialect::ALL {
        let whole = |stream| exchange(dialect, stream, &shell(), &json!({"text": "x"})).sent;
        for way in ["stall", "reset", "truncate"] {
            let half = |stream| exchange(dialect, stream, &shell(), &json!({"text": "x", way: "in_stream"})).sent;
            let (streamed, all) = (half(true).pieces, whole(true).pieces);
            assert!(!streamed.is_empty() && streamed.len() < all.len());
            assert_eq!(streamed, all[..streamed.len()]);
            let (plain, all) = (half(false), whole(false));
            let bytes: usize = plain.pieces.iter().map(Vec::len).sum();
            assert!(bytes > 0 && bytes < all.pieces[0].len());
            // A truncated answer is whole for HTTP; one that is cut off is not.
            let promised = if way == "truncate" { bytes } else { all.pieces[0].len() };
            assert_eq!(plain.length, Some(promised), "{dialect} {way}");
        }
        let failed = exchange(dialect, true, &shell(), &json!({"error_event": "overloaded"})).sent.pieces;
        let last = String::from_utf8(failed.last().expect("a piece").clone()).expect("UTF-8");
        let error = ["event: error\n", "event: response.failed\n", "data: {\"error\":"];
        assert!(failed.len() > 2 && error.iter().any(|begin| last.starts_with(begin)), "{dialect}: {last}");
    }
}

#[test]
fn a_command_without_a_shell_is_a_fault_of_the_request_that_the_record_shows() {
    for &dialect in Dialect::ALL {
        let exchange = exchange(dialect, false, &json!([{"name": "Read"}]), &json!({"shells": ["ls", "pwd"]}));
        assert_eq!((exchange.answered, exchange.by), (Answered::Text, By::Step(0)));
        assert!(exchange.fault.is_some_and(|fault| fault.contains("no tool")));
        assert!(String::from_utf8_lossy(&exchange.sent.pieces[0]).contains(NO_SHELL));
    }
}

#[test]
fn headers_of_the_script_come_first_and_an_empty_one_leaves_the_vendors_out() {
    let headers = |headers: Value| {
        let step = json!({"error": {"status": 429, "headers": headers}});
        exchange(Dialect::Anthropic, true, &shell(), &step).sent.head.expect("a head").headers
    };
    let usual = headers(json!({}));
    assert_eq!((usual["x-should-retry"].as_str(), usual["content-type"].as_str()), ("true", "application/json"));
    assert!(usual["request-id"].starts_with("req_"));
    let own = headers(json!({"Retry-After": "2", "X-Should-Retry": "false"}));
    assert_eq!((own["retry-after"].as_str(), own["x-should-retry"].as_str()), ("2", "false"));
    assert!(!headers(json!({"x-should-retry": ""})).contains_key("x-should-retry"));
}

#[test]
fn a_count_grows_with_the_prompt_and_uses_up_no_step() {
    let playbook = Playbook::new(&Script::default()).expect("it can be played");
    let count = |text: &str| {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]}).to_string();
        let asked = Dialect::Anthropic
            .read("/v1/messages/count_tokens", body.as_bytes(), Operation::Count)
            .expect("understood");
        let exchange = Exchange::of(Dialect::Anthropic, Operation::Count, asked, &playbook, 0, STAMP);
        assert_eq!((exchange.by, exchange.answered, exchange.prompt), (By::Server, Answered::Count, None));
        let body: Value = serde_json::from_slice(&exchange.sent.pieces[0]).expect("JSON");
        body["input_tokens"].as_u64().expect("a number")
    };
    assert!(count("one word") > 0 && count(&"word ".repeat(4000)) > 4000);
}
