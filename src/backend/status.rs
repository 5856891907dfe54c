//! What an HTTP status of a provider means for the invocation that met it.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::policy::Class;

/// At the head of a message, or behind a word that announces it: a port and a count are numbers of three digits too.
static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(?:^|error|status|code|\bhttp(?:/\d(?:\.\d)?)?|\()["':=\s(]*([45]\d\d)\b"#)
        .expect("a pattern that tests compile")
});

/// The class of a failure that a provider answered with this status. 529, which Anthropic's API calls `overloaded_error`, is
/// an outage: the provider has no room for anybody, whatever this account did. 429 is about the account.
pub(super) fn class_of(status: u16) -> Class {
    match status {
        // What a server does not implement, it will not in an hour.
        408 | 409 | 425 | 429 | 501 | 505..=511 => Class::Transient { wait: None },
        500.. => Class::Outage,
        _ => Class::Permanent,
    }
}

/// The class of a failure that no provider's answer explains, by its message.
pub(super) fn class_without_answer(message: &str) -> Class {
    if is_unreachable(message) { Class::Outage } else { Class::Transient { wait: None } }
}

/// Whether a message says that the provider was not reached, or that the connection to it was lost. An answer that only
/// broke off is no such message: the provider is there.
pub(super) fn is_unreachable(message: &str) -> bool {
    UNREACHABLE.is_match(message)
}

/// Whether prose tells of an outage: by a status, in the words of a server or of what stands before it, or because there was
/// no answer at all. For a program that passes on nothing but its own words.
pub(super) fn is_outage(message: &str) -> bool {
    match status_in(message) {
        Some(status) => class_of(status) == Class::Outage,
        None => is_unreachable(message) || OUT_OF_ORDER.is_match(message),
    }
}

/// How servers call it, and how Codex words the answer of one that is overloaded.
static OUT_OF_ORDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)\b(
            overloaded | internal\ server\ error | bad\ gateway | gateway\ time-?\ ?out |
            service\ (is\ )?(temporarily\ )?unavailable | experiencing\ high\ demand
        )",
    )
    .expect("a pattern that tests compile")
});

/// As the libraries of the agents spell it: those of Node, `undici` among them, of Rust (`reqwest`), of Python and of Go.
static UNREACHABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)\b(
            ECONN(REFUSED|RESET|ABORTED) | ETIMEDOUT | ENOTFOUND | EAI_AGAIN | E(NET|HOST)(UNREACH|DOWN) | EPIPE |
            UND_ERR_(CONNECT_TIMEOUT|SOCKET) | getaddrinfo | fetch\ failed | terminated$ | socket\ hang\ up |
            network\ (is\ )?(error|unreachable|down) | no\ route\ to\ host | no\ such\ host |
            connection\s*(error|failed|refused|reset|aborted|closed|timed\ out|timeout) | connect(ion)?\ timeout |
            (unable|failed)\ to\ connect | cannot\ connect\ to\ (host|api) | error\ sending\ request |
            name\ resolution | (could\ not|failed\ to)\ resolve | dns\ (error|lookup) |
            request\ timed\ out | operation\ timed\ out | i/o\ timeout | server\ disconnected
        )",
    )
    .expect("a pattern that tests compile")
});

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
        for status in [408, 409, 425, 429, 501, 505] {
            assert_eq!(class_of(status), Class::Transient { wait: None }, "{status}");
        }
        for status in [500, 502, 503, 504, 520, 522, 529, 530] {
            assert_eq!(class_of(status), Class::Outage, "{status}");
        }
        for status in [400, 401, 402, 403, 404, 413, 422] {
            assert_eq!(class_of(status), Class::Permanent, "{status}");
        }
    }

    #[test]
    fn a_provider_that_was_not_reached_is_told_from_one_that_answered() {
        for message in [
            "API Error: Unable to connect to API (ECONNREFUSED)",
            "API Error: Unable to connect to API (ConnectionRefused)",
            "ConnectionReset: the server closed it",
            "[API Error: connect ECONNREFUSED 104.18.6.192:443]",
            "[API Error: terminated (cause: read ECONNRESET)]",
            "getaddrinfo EAI_AGAIN api.example.com",
            "getaddrinfo ENOTFOUND api.example.com",
            "Error: connect ETIMEDOUT 104.18.6.192:443",
            "connect ENETUNREACH 2001:db8::1:443",
            "TypeError: fetch failed",
            "terminated",
            "Connection error.",
            "OpenAIException - Connection \nerror.",
            "Connection reset by peer",
            "Connection failed: error sending request",
            "stream disconnected before completion: Transport error: network error: error decoding response body",
            "Cannot connect to host api.example.com:443 ssl:default [Temporary failure in name resolution]",
            "dial tcp: lookup api.example.com: no such host",
            "Request timed out. If the API is slow to answer, raise the limit.",
        ] {
            assert_eq!(class_without_answer(message), Class::Outage, "{message}");
        }
        for message in [
            "",
            "Model stream ended without a finish reason.",
            "Anthropic stream ended before message_stop",
            "stream disconnected before completion: stream closed before response.completed",
            "Loop detection halted the run",
            "the turn was terminated by a hook",
            "it connected to nothing",
        ] {
            assert_eq!(class_without_answer(message), Class::Transient { wait: None }, "{message}");
        }
    }

    #[test]
    fn prose_tells_of_an_outage_unless_a_status_in_it_tells_of_something_else() {
        for message in [
            r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "API Error: 500 Internal server error",
            "API Error: Repeated 529 Overloaded errors",
            "API Error: Connection error.",
            "API Error: Request timed out.",
            "API Error (Request timed out.)",
            "stream error: unexpected status 503 Service Unavailable: upstream; retrying 5/5 in 3s",
            "exceeded retry limit, last status: 502 Bad Gateway",
            "stream error: error sending request for url (https://api.example.com/v1/responses)",
            "We’re currently experiencing high demand, which may cause temporary errors.",
            "504 Gateway Timeout",
            "Service temporarily unavailable",
        ] {
            assert!(is_outage(message), "{message}");
        }
        for message in [
            "",
            "unexpected status 401 Unauthorized: invalid x-api-key",
            "exceeded retry limit, last status: 429 Too Many Requests",
            "API Error: 400 the service temporarily unavailable is no model",
            "API Error: 501 Not Implemented",
            "stream disconnected before completion: stream closed before response.completed",
            "Credit balance is too low",
        ] {
            assert!(!is_outage(message), "{message}");
        }
    }

    #[test]
    fn a_status_is_read_from_a_message() {
        let rows = [
            ("[API Error: 401 Incorrect API key]", Some(401)),
            (r#"529 {"type":"error"}"#, Some(529)),
            (r#"[API Error: {"error":{"code":400,"message":"Request contains an invalid argument."}}]"#, Some(400)),
            ("got status: 503 Service Unavailable", Some(503)),
            ("stream error: HTTP 502, the proxy says", Some(502)),
            ("the server said HTTP/1.1 503", Some(503)),
            ("last status=429", Some(429)),
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
