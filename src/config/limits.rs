//! Section `runtime.limits`, and `limits` of a phase: what the processes of a stage may take together.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::policy::Limits;

/// Section `runtime.limits`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsSection {
    /// Most processes that a stage has at a time.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Most memory that its processes hold together, such as `512M` or `8G`. What several of them share counts for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// By how much the disk of the workspace may become fuller in one attempt, such as `20G`, whoever writes there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<Size>,
    /// Most files, sockets and pipes that its processes have open together.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handles: Option<u64>,
}

impl LimitsSection {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The limits, with those of `general` where this says nothing.
    #[must_use]
    pub fn over(self, general: Self) -> Limits {
        let bytes = |own: Option<Size>, general: Option<Size>| own.or(general).map(|size| size.0);
        Limits {
            processes: self.processes.or(general.processes),
            memory: bytes(self.memory, general.memory),
            disk: bytes(self.disk, general.disk),
            handles: self.handles.or(general.handles),
        }
    }
}

/// A number of bytes with its unit: `K`, `M`, `G` or `T`, by 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(u64);

/// What it looks like.
const PATTERN: &str = "^[1-9][0-9]{0,6}[KMGT]$";
const EXPECTED: &str = "a size such as `512M` or `8G`";
const UNITS: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = || {
            let (_, power) = UNITS.into_iter().find(|(unit, _)| text.ends_with(*unit))?;
            let number = &text[..text.len() - 1];
            let is_plain = number.len() <= 7 && number.chars().all(|digit| digit.is_ascii_digit());
            let number = number.parse::<u64>().ok().filter(|number| is_plain && *number > 0)?;
            Some(Self(number << power))
        };
        size().ok_or_else(|| format!("expected {EXPECTED}"))
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = UNITS.into_iter().find(|(_, power)| self.0.is_multiple_of(1 << power));
        let (unit, power) = whole.unwrap_or(('K', 10));
        serializer.serialize_str(&format!("{}{unit}", self.0 >> power))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": PATTERN, "examples": ["512M", "8G"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_read_with_its_unit_and_written_as_it_is_read() {
        for (text, bytes, written) in
            [("1K", 1024, "1K"), ("512M", 512 << 20, "512M"), ("1024M", 1 << 30, "1G"), ("3T", 3 << 40, "3T")]
        {
            let size: Size = text.parse().expect("a size");
            assert_eq!(size.0, bytes, "{text}");
            assert_eq!(serde_json::to_value(size).expect("plain data"), written, "{text}");
        }
        for text in ["", "G", "0M", "1", "1.5G", "-1G", "+1G", "1 G", "1g", "12345678K", "1GB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_phase_has_its_own_limits_and_the_general_ones_besides() {
        let general = LimitsSection { processes: Some(9), memory: "1G".parse().ok(), ..LimitsSection::default() };
        let own = LimitsSection { memory: "2G".parse().ok(), handles: Some(7), ..LimitsSection::default() };
        let expected = Limits { processes: Some(9), memory: Some(2 << 30), disk: None, handles: Some(7) };
        assert_eq!(own.over(general), expected);
    }
}
