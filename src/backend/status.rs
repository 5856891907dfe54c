//! What an HTTP status of a provider means for the invocation that met it.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::policy::Class;

/// At the head of a message, or behind a word that announces it: a port and a count are numbers of three digits too.
static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(?:^|error|status|code|\()["':\s(]*([45]\d\d)\b"#).expect("a pattern that tests compile")
});

/// The class of a failure that a provider answered with this status.
pub(super) fn class_of(status: u16) -> Class {
    match status {
        408 | 409 | 425 | 429 | 500.. => Class::Transient { wait: None },
        _ => Class::Permanent,
    }
}

/// The status that stands in an error's message, for a program that passes it on nowhere else.
pub(super) fn status_in(message: &str) -> Option<u16> {
    STATUS.captures(message).and_then(|found| found[1].parse().ok())
}

/// A number as a status.
pub(super) fn status(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|status| u16::try_from(status).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_gone_next_time_is_transient() {
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            assert_eq!(class_of(status), Class::Transient { wait: None }, "{status}");
        }
        for status in [400, 401, 402, 403, 404, 413, 422] {
            assert_eq!(class_of(status), Class::Permanent, "{status}");
        }
    }

    #[test]
    fn a_status_is_read_from_a_message() {
        let rows = [
            ("[API Error: 401 Incorrect API key]", Some(401)),
            (r#"529 {"type":"error"}"#, Some(529)),
            (r#"[API Error: {"error":{"code":400,"message":"Request contains an invalid argument."}}]"#, Some(400)),
            ("got status: 503 Service Unavailable", Some(503)),
            ("Cloud Code Assist API error (429): slow down", Some(429)),
            ("[API Error: connect ECONNREFUSED 104.18.6.192:443]", None),
            ("Error: connect ETIMEDOUT 104.18.6.192:443", None),
            ("[API Error: fetch failed (cause: connect ECONNREFUSED ::1:443)]", None),
            ("terminated after 500 tokens", None),
            ("Model stream ended without a finish reason.", None),
            ("took 400ms for 1400 tokens of 200", None),
        ];
        for (message, status) in rows {
            assert_eq!(status_in(message), status, "{message}");
        }
    }
}
