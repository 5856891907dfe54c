//! What a phase's exit code means (Exit Code Specification).

use serde::{Deserialize, Serialize};

use super::word::vocabulary;

/// The three exit codes that the contract defines. On the wire: the integer 0, 1 or 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum PhaseExit {
    /// 0, SUCCESS: the phase completed; proceed.
    Success,
    /// 1, RETRY: a temporary failure.
    Retry,
    /// 2, BLOCKED: a permanent failure that needs a person.
    Blocked,
}

/// An integer that is none of the contract's three exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not one of the contract's exit codes 0, 1 and 2")]
pub struct UnknownExit(pub i64);

impl PhaseExit {
    /// The code as a process returns it.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Retry => 1,
            Self::Blocked => 2,
        }
    }
}

impl From<PhaseExit> for u8 {
    fn from(exit: PhaseExit) -> Self {
        exit.code()
    }
}

impl TryFrom<u8> for PhaseExit {
    type Error = UnknownExit;

    fn try_from(code: u8) -> Result<Self, UnknownExit> {
        match code {
            0 => Ok(Self::Success),
            1 => Ok(Self::Retry),
            2 => Ok(Self::Blocked),
            other => Err(UnknownExit(other.into())),
        }
    }
}

impl schemars::JsonSchema for PhaseExit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PhaseExit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "integer",
            "enum": [0, 1, 2],
            "description": "0 SUCCESS, 1 RETRY, 2 BLOCKED"
        })
    }
}

vocabulary! {
    /// What a runtime does about an exit (Exit Code Handling: `Action`).
    pub enum Action ("action") {
        /// Go on to the next phase.
        Proceed = "PROCEED",
        /// Run the same phase again, after a backoff.
        Retry = "RETRY",
        /// Write the report, surface it, stop.
        Escalate = "ESCALATE",
        /// Write the report, surface it, stop.
        Halt = "HALT",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_form_is_the_integer() {
        for (exit, code) in [(PhaseExit::Success, 0), (PhaseExit::Retry, 1), (PhaseExit::Blocked, 2)] {
            assert_eq!(serde_json::to_value(exit).expect("plain data"), serde_json::json!(code));
            assert_eq!(PhaseExit::try_from(code), Ok(exit));
        }
        for wrong in ["3", "\"0\"", "1.5", "true", "-1", "null"] {
            assert!(serde_json::from_str::<PhaseExit>(wrong).is_err(), "{wrong}");
        }
    }
}
