//! Fresh identifiers, as text: which of them is an execution and which a session is for the contract's types to say.
#![expect(clippy::disallowed_methods, reason = "this is where randomness is read")]

use jiff::Timestamp;
use uuid::Uuid;

/// `exec-YYYYMMDD-<12 hex digits>`: the form of the contract's examples, with the date in UTC.
#[must_use]
pub fn execution(now: Timestamp) -> String {
    let random = Uuid::new_v4().simple().to_string();
    format!("exec-{}-{}", now.strftime("%Y%m%d"), &random[..12])
}

/// `session-<32 hex digits>`: unlike any other on any machine, because processes are recognised by it.
#[must_use]
pub fn session() -> String {
    format!("session-{}", Uuid::new_v4().simple())
}

/// A random UUID.
#[must_use]
pub fn uuid() -> String {
    Uuid::new_v4().to_string()
}

/// A seed for whatever is to be drawn, to be printed so that it can be drawn again. Short enough to be typed.
#[must_use]
pub fn seed() -> u64 {
    u64::from(Uuid::new_v4().as_fields().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_carries_its_date_and_differs_from_the_next() {
        let now: Timestamp = "2026-01-31T23:30:00Z".parse().expect("a timestamp");
        let (one, two) = (execution(now), execution(now));
        assert!(one.starts_with("exec-20260131-") && one.len() == 26, "{one}");
        assert_ne!(one, two);
        assert_ne!(session(), session());
    }
}
