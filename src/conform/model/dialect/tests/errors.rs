//! Errors and limits, as each vendor tells them.

use serde_json::json;

use super::*;

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
        let expected = (dialect != Dialect::Gemini).then_some("3");
        assert_eq!(header(&asks, "retry-after").as_deref(), expected, "{dialect}");
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
