//! A length of time with its unit.

use std::borrow::Cow;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time, such as `90s`, `30m` or `2h`; `0` needs no unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(Duration);

/// What it looks like.
const PATTERN: &str = r"^(0|[0-9]{1,6}(\.[0-9]{1,3})?[smh])$";
const EXPECTED: &str = "a time such as `90s`, `30m` or `2h`, or 0";

impl Span {
    /// So many hours.
    #[must_use]
    pub const fn hours(hours: u64) -> Self {
        Self(Duration::from_hours(hours))
    }

    /// How long.
    #[must_use]
    pub fn time(self) -> Duration {
        self.0
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unit = match text.chars().last() {
            Some('0') if text == "0" => return Ok(Self(Duration::ZERO)),
            Some('s') => 1.0,
            Some('m') => 60.0,
            Some('h') => 3600.0,
            _ => return Err(format!("expected {EXPECTED}")),
        };
        let number = &text[..text.len() - 1];
        let is_plain = number.starts_with(|first: char| first.is_ascii_digit()) && !number.ends_with('.');
        let is_plain = is_plain && number.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
        let number = Some(number).filter(|_| is_plain).and_then(|number| number.parse::<f64>().ok());
        let time = number.and_then(|number| Duration::try_from_secs_f64(number * unit).ok());
        time.map(Self).ok_or_else(|| format!("expected {EXPECTED}"))
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (seconds, millis) = (self.0.as_secs(), self.0.subsec_millis());
        let text = match (seconds, millis) {
            (0, 0) => "0".to_owned(),
            (_, 0) if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
            (_, 0) if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
            (_, 0) => format!("{seconds}s"),
            _ => format!("{seconds}.{millis:03}s"),
        };
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Span;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Span, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Span, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "pattern": PATTERN,
            "examples": ["2h", "90m"],
            "minimum": 0,
            "maximum": 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_with_its_unit_and_written_as_it_is_read() {
        for (text, millis, written) in [
            ("0", 0, "0"),
            ("0s", 0, "0"),
            ("90s", 90_000, "90s"),
            ("0.25s", 250, "0.250s"),
            ("120s", 120_000, "2m"),
            ("1.5h", 5_400_000, "90m"),
            ("2h", 7_200_000, "2h"),
        ] {
            let span: Span = text.parse().expect("a time");
            assert_eq!(span.time().as_millis(), millis, "{text}");
            assert_eq!(serde_json::to_value(span).expect("plain data"), written, "{text}");
        }
        for text in ["", "2", "2 h", "h", "-1h", "+1h", "1e3s", "inf", "nanh", "2d", ".5h", "1.h"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        let read = |json: &str| serde_json::from_str::<Span>(json).map(Span::time).ok();
        assert_eq!((read("0"), read("\"2h\""), read("7")), (Some(Duration::ZERO), Some(Duration::from_hours(2)), None));
    }
}
