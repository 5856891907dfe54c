//! What an HTTP status of a provider means for the invocation that met it.

use serde_json::Value;

use crate::policy::Class;

/// The class of a failure that a provider answered with this status.
pub(super) fn class_of(status: u16) -> Class {
    match status {
        408 | 409 | 425 | 429 | 500.. => Class::Transient { wait: None },
        _ => Class::Permanent,
    }
}

/// The status that stands in an error's message, for a program that passes it on nowhere else.
pub(super) fn status_in(message: &str) -> Option<u16> {
    let words = message.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.len() == 3).find_map(|word| word.parse().ok().filter(|status| (400..600).contains(status)))
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
            ("Model stream ended without a finish reason.", None),
            ("took 400ms for 1400 tokens of 200", None),
        ];
        for (message, status) in rows {
            assert_eq!(status_in(message), status, "{message}");
        }
    }
}
