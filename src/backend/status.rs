//! What an HTTP status of a provider means for the invocation that met it.

use crate::policy::Class;

/// The class of a failure that a provider answered with this status.
pub(super) fn class_of(status: u16) -> Class {
    match status {
        408 | 409 | 425 | 429 | 500.. => Class::Transient { wait: None },
        _ => Class::Permanent,
    }
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
}
