//! What kept the stages of a session from the state of the run.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::contract::Phase;

/// Whether stages ran behind a boundary, where the state of the run is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundaryDrawn {
    /// Why there was none, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// Phases that run outside of it: as the configuration wants it, or in a container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<Phase>,
    /// Phases that have another network than the host's, and which.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub networks: BTreeMap<Phase, String>,
    /// Phases whose limits nobody holds: in a container, or on a host that does not show what processes take.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlimited: Vec<Phase>,
}

impl BoundaryDrawn {
    /// Whether every phase runs behind it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.why_not.is_none() && self.outside.is_empty()
    }

    /// What networks phases have that have another one than the host's, in one line; `None` where none has.
    #[must_use]
    pub fn networks(&self) -> Option<String> {
        let each = self.networks.iter().map(|(phase, network)| format!("{network} for {phase}"));
        (!self.networks.is_empty()).then(|| each.collect::<Vec<_>>().join(", "))
    }

    /// Whose limits nobody holds, in one line; `None` where all are held.
    #[must_use]
    pub fn unlimited(&self) -> Option<String> {
        let phases: Vec<&str> = self.unlimited.iter().map(|phase| phase.as_str()).collect();
        (!phases.is_empty()).then(|| format!("not held for {}, whose processes cannot be seen", phases.join(", ")))
    }

    /// Whether a phase runs behind it.
    #[must_use]
    pub fn holds(&self, phase: Phase) -> bool {
        self.why_not.is_none() && !self.outside.contains(&phase)
    }
}

impl fmt::Display for BoundaryDrawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why_not {
            Some(why) => write!(f, "none, so phases can reach the state of the run: {why}"),
            None if self.outside.is_empty() => f.write_str("phases do not reach the state of the run"),
            None => {
                let outside: Vec<&str> = self.outside.iter().map(|phase| phase.as_str()).collect();
                write!(f, "phases do not reach the state of the run, but for {}", outside.join(", "))
            }
        }
    }
}
