//! Durations and moments in words.

use jiff::{Timestamp, Unit};

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// A duration in milliseconds for people: two units at most, such as `2 h 5 min`.
#[must_use]
pub fn span(millis: u64) -> String {
    let part = |whole: u64, rest: u64, unit: &str, smaller: &str| {
        if rest == 0 { format!("{whole} {unit}") } else { format!("{whole} {unit} {rest} {smaller}") }
    };
    match millis {
        0 => "0".to_owned(),
        1..SECOND => format!("{millis} ms"),
        SECOND..MINUTE if millis.is_multiple_of(SECOND) => format!("{} s", millis / SECOND),
        // Cut off, not rounded: 59.97 s is not 60.0 s yet.
        SECOND..MINUTE => format!("{}.{} s", millis / SECOND, millis % SECOND / 100),
        MINUTE..HOUR => part(millis / MINUTE, millis % MINUTE / SECOND, "min", "s"),
        _ => part(millis / HOUR, millis % HOUR / MINUTE, "h", "min"),
    }
}

/// A moment for people: to the second, such as `2026-01-31T10:00:00Z`. Nobody is told when it is not there yet, so it is cut
/// off where a second is begun, and not rounded.
#[must_use]
pub fn moment(at: Timestamp) -> String {
    let whole = jiff::TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Floor);
    at.round(whole).unwrap_or(at).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_whole_seconds() {
        for (at, text) in [
            ("2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z"),
            ("2026-01-31T10:00:00.000000001Z", "2026-01-31T10:00:00Z"),
            ("2026-01-31T10:00:59.999999999Z", "2026-01-31T10:00:59Z"),
        ] {
            assert_eq!(moment(at.parse().expect("a time")), text);
        }
        assert_eq!(moment(Timestamp::MAX), "9999-12-30T22:00:00Z");
    }

    #[test]
    fn durations_read_well() {
        for (millis, text) in [
            (0, "0"),
            (50, "50 ms"),
            (1500, "1.5 s"),
            (59_970, "59.9 s"),
            (60_000, "1 min"),
            (61_000, "1 min 1 s"),
            (7_260_000, "2 h 1 min"),
        ] {
            assert_eq!(span(millis), text);
        }
    }
}
