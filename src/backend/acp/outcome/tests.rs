use serde_json::json;

use super::*;

const TRANSIENT: Class = Class::Transient { wait: None };
const LIMIT: Class = Class::Limit { resets_at: None };

fn failed(code: i64, message: &str, data: Value) -> Class {
    of_failure("it failed", &Failure { code, message: message.to_owned(), data }).class
}

#[test]
fn an_error_has_the_class_that_its_code_or_its_words_have() {
    let internal = -32603;
    for (code, message, data, class) in [
        (-32000, "Authentication required", json!({ "authMethods": [] }), Class::Permanent),
        (401, "bad key", Value::Null, Class::Permanent),
        (internal, "Internal error", json!({ "details": "401 scripted error 401" }), Class::Permanent),
        (internal, "Incorrect API key provided", Value::Null, Class::Permanent),
        (internal, "Internal error: Prompt is too long", json!({ "errorKind": "invalid_request" }), Class::Overflow),
        (400, "The input token count (1) exceeds the maximum number of tokens allowed", Value::Null, Class::Overflow),
        (internal, "400 This model's maximum context length is 8192 tokens", Value::Null, Class::Overflow),
        (internal, "x", json!({ "errorName": "ContextOverflowError" }), Class::Overflow),
        (429, "scripted error 429", Value::Null, LIMIT),
        (internal, "API Error: Request rejected (429)", json!({ "errorKind": "rate_limit" }), LIMIT),
        (internal, "x", json!({ "codex_error_info": { "failed": { "http_status_code": 429 } } }), LIMIT),
        (internal, "You exceeded your current quota", Value::Null, LIMIT),
        (internal, "Reached maximum number of turns (3)", Value::Null, Class::TimedOut),
        (internal, "x", json!({ "code": "LOOP_DETECTED" }), Class::TimedOut),
        (internal, "x", json!({ "errorKind": "max_output_tokens" }), Class::TimedOut),
        (529, "Overloaded", Value::Null, Class::Outage),
        (503, "", Value::Null, Class::Outage),
        (internal, "529 Overloaded", Value::Null, Class::Outage),
        (
            internal,
            "Connection to the API was lost (ECONNRESET)",
            json!({ "errorKind": "server_error" }),
            Class::Outage,
        ),
        (internal, "Internal error: Connection reset by server", json!(["any", 1]), Class::Outage),
        (internal, "terminated", Value::Null, TRANSIENT),
        (1001, r#"Codex process has exited with code 1: {"restartable":true}"#, Value::Null, TRANSIENT),
        (400, "scripted error 400", Value::Null, Class::Permanent),
        // A refusal may speak of what others break of.
        (400, "the socket option was reset", Value::Null, Class::Permanent),
        (internal, "x", json!({ "errorKind": "invalid_request" }), Class::Permanent),
        (-32602, "Invalid params", Value::Null, Class::Permanent),
        (internal, "Internal error", Value::Null, Class::Permanent),
        (0, "", Value::Null, Class::Permanent),
    ] {
        assert_eq!(failed(code, message, data.clone()), class, "{code} {message} {data}");
    }
}

fn turn<'a>(reply: &'a Result<Value, Failure>, honest: bool, spoke: bool, last: &'a str) -> Turn<'a> {
    Turn { reply, honest, spoke, last, denied: 0, compacts: false }
}

#[test]
fn a_failure_that_is_told_as_data_comes_before_the_reason_to_stop() {
    for (category, severity, title, actions, class) in [
        ("limit", "error", "exceeded retry limit, last status: 429", vec!["retry"], LIMIT),
        ("limit", "error", "Your credit is used up", vec![], Class::Permanent),
        ("access", "error", "log in", vec!["login"], Class::Permanent),
        (
            "connection",
            "error",
            "unexpected status 529 <unknown>: Overloaded, url: http://x/v1",
            vec!["retry"],
            Class::Outage,
        ),
        ("connection", "error", "it broke", vec![], Class::Outage),
        ("service", "error", "API Error: 400 scripted error 400", vec!["retry"], Class::Permanent),
        (
            "service",
            "error",
            r#"{"error": {"message": "no", "type": "invalid_request_error"}}"#,
            vec!["retry"],
            Class::Permanent,
        ),
        ("service", "error", "maximum context length is 8192 tokens", vec!["retry"], Class::Overflow),
        ("request", "error", "Prompt is too long", vec![], Class::Overflow),
        ("request", "error", "Overloaded", vec![], Class::Permanent),
        ("of tomorrow", "error", "", vec![], TRANSIENT),
        ("limit", "warning", "429", vec!["retry"], Class::Done),
    ] {
        let told = json!({ "category": category, "severity": severity, "title": title, "actions": actions });
        let told = json!({ "stopReason": "end_turn", "_meta": { "jetbrains": { "air": { "sessionFailure": told } } } });
        assert_eq!(of_turn(&turn(&Ok(told), true, false, "")).class, class, "{category} {title}");
    }
}

#[test]
fn a_reason_to_stop_has_its_class() {
    for (reason, class) in [
        (json!("end_turn"), Class::Done),
        (json!("max_tokens"), Class::TimedOut),
        (json!("max_turn_requests"), Class::TimedOut),
        (json!("refusal"), Class::Permanent),
        (json!("cancelled"), Class::TimedOut),
        (Value::Null, Class::Lost),
        (json!(7), Class::Lost),
    ] {
        let reply = Ok(json!({ "stopReason": reason }));
        assert_eq!(of_turn(&turn(&reply, false, true, "Done.")).class, class, "{reason}");
    }
}

#[test]
fn an_end_that_claims_success_is_looked_at() {
    let reply = Ok(json!({ "stopReason": "end_turn" }));
    for (honest, spoke, last, class) in [
        (false, true, "All done.", Class::Done),
        (false, true, "exceeded retry limit, last status: 429 Too Many Requests\n\n", LIMIT),
        (false, true, r#"{"error": {"message": "no", "type": "invalid_request_error"}}"#, Class::Permanent),
        (
            false,
            true,
            r#"{"error":{"message": "no", "type": "invalid_request_error", "code": null}}"#,
            Class::Permanent,
        ),
        (false, true, "stream disconnected before completion", TRANSIENT),
        (false, true, "I mended what made the stream disconnected.", Class::Done),
        (false, true, "Error: 400 We could not parse the JSON body of your request.", Class::Permanent),
        (
            false,
            true,
            "Error: Authentication failed with provider at http://x/v1 (HTTP 401).\n  Check",
            Class::Permanent,
        ),
        (
            false,
            true,
            "Error: Failed to get response from the AI model; retried 5 times (total) Last error: 529 x",
            Class::Outage,
        ),
        (
            false,
            true,
            "Error: Failed to get response from the AI model; retried 5 times (total) Last error: 429 x",
            LIMIT,
        ),
        (
            false,
            true,
            "Error: The provider rejected the prompt as too long, but automatic recovery could not reduce it.",
            Class::Overflow,
        ),
        (false, true, "Error: this is what the program prints, and it is mended.", Class::Done),
        (false, true, "Unexpected status codes are told now.", Class::Done),
        (true, true, "stream disconnected before completion", Class::Done),
        (false, false, "", TRANSIENT),
        (true, false, "", Class::Done),
    ] {
        assert_eq!(of_turn(&turn(&reply, honest, spoke, last)).class, class, "{honest} {spoke} {last}");
    }
    let stopped = Turn { denied: 1, ..turn(&reply, false, false, "") };
    assert_eq!(of_turn(&stopped).class, Class::Permanent, "it stopped at what it was not allowed");
    let went_on = Turn { denied: 1, ..turn(&reply, false, true, "Done without it.") };
    assert_eq!(of_turn(&went_on).class, Class::Done);
    let compacted = Turn { compacts: true, ..turn(&reply, false, false, "") };
    assert_eq!(of_turn(&compacted).class, Class::Done, "a compaction needs no words");
}

#[test]
fn a_status_is_found_where_a_text_names_one() {
    for (text, status) in [
        ("401 scripted", Some(401)),
        ("API Error: 400 no", Some(400)),
        ("API Error: Request rejected (429)", Some(429)),
        ("unexpected status 529 <unknown status code>", Some(529)),
        (r#"{"http_status_code":503}"#, Some(503)),
        ("a limit of 500 tokens", None),
        ("Reconnecting... 1/1", None),
        ("error 4290", None),
    ] {
        assert_eq!(status_in(text), status, "{text}");
    }
}
