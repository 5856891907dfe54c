//! How each vendor says that there is too much of something, and when there may be more: headers, and parts of the body.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Dialect, Failure};
use crate::conform::model::script::ErrorKind;

/// How long a period lasts still whose allowance is used up, in seconds.
const PERIOD: u32 = 3 * 60 * 60;

/// Adds what the vendor tells beside status and message. `wait` is what the script asks for, in seconds; `now` is in seconds
/// since 1970.
pub(super) fn tell(dialect: Dialect, kind: ErrorKind, wait: Option<u32>, now: i64, failure: &mut Failure) {
    let headers = &mut failure.headers;
    // Google tells it in the body alone.
    let header = wait.filter(|_| dialect != Dialect::Gemini);
    headers.extend(header.map(|wait| ("retry-after", wait.to_string())));
    match (dialect, kind) {
        (Dialect::Anthropic, ErrorKind::Quota) => {
            let wait = wait.unwrap_or(PERIOD);
            let reset = (now + i64::from(wait)).to_string();
            headers.retain(|(name, _)| !matches!(*name, "retry-after" | "x-should-retry"));
            headers.extend([
                ("retry-after", wait.to_string()),
                ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
                ("anthropic-ratelimit-unified-reset", reset.clone()),
                ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
                ("anthropic-ratelimit-unified-5h-status", "rejected".to_owned()),
                ("anthropic-ratelimit-unified-5h-reset", reset),
                ("anthropic-ratelimit-unified-5h-utilization", "1.0".to_owned()),
            ]);
        }
        (Dialect::Anthropic, ErrorKind::RateLimit) => headers.extend(wait.iter().flat_map(|wait| {
            let reset =
                Timestamp::from_second(now + i64::from(*wait)).map_or_else(|_| String::new(), |at| at.to_string());
            [
                ("anthropic-ratelimit-requests-limit", "50".to_owned()),
                ("anthropic-ratelimit-requests-remaining", "0".to_owned()),
                ("anthropic-ratelimit-requests-reset", reset),
            ]
        })),
        (Dialect::Responses | Dialect::Chat, ErrorKind::RateLimit) => headers.extend(wait.iter().flat_map(|wait| {
            [
                ("x-ratelimit-limit-requests", "3".to_owned()),
                ("x-ratelimit-remaining-requests", "0".to_owned()),
                ("x-ratelimit-reset-requests", format!("{wait}s")),
            ]
        })),
        (Dialect::Gemini, _) => failure.body["error"]["details"] = details(kind, wait),
        _ => {}
    }
    if failure.body["error"]["details"].is_null() {
        failure.body["error"].as_object_mut().map(|error| error.remove("details"));
    }
}

/// Google's own way: parts of the body. Null where there is nothing to add.
fn details(kind: ErrorKind, wait: Option<u32>) -> Value {
    let quota = (kind == ErrorKind::Quota).then(|| {
        json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
                "quotaDimensions": {"location": "global", "model": "gemini-2.5-pro"},
                "quotaValue": "50"
            }]
        })
    });
    let retry =
        wait.map(|wait| json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{wait}s")}));
    let parts: Vec<Value> = quota.into_iter().chain(retry).collect();
    if parts.is_empty() { Value::Null } else { parts.into() }
}
