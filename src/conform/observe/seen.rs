//! What every observation has, whatever was observed.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Observation, TimelineMark, timeline};

/// An observation, as far as everything but its verdict needs to know it.
pub trait Seen: Debug + Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// That of a rig that failed.
    fn broken(why: &str) -> Self;

    /// Where the case's folder was kept.
    fn kept(&self) -> Option<&str>;

    /// The values that were drawn, by name.
    fn drawn(&self) -> &BTreeMap<String, Value>;

    /// Why the rig itself failed, if it did.
    fn rig_error(&self) -> Option<&str>;

    /// What happened, as marks on a line of time.
    fn timeline(&self) -> Vec<TimelineMark>;

    /// What the machine did not let the judge see.
    fn unseen(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Seen for Observation {
    fn broken(why: &str) -> Self {
        Self { rig_error: Some(why.to_owned()), ..Self::default() }
    }

    fn unseen(&self) -> Vec<String> {
        self.unseen.iter().chain(&self.shared).cloned().collect()
    }

    fn kept(&self) -> Option<&str> {
        self.kept.as_deref()
    }

    fn drawn(&self) -> &BTreeMap<String, Value> {
        &self.drawn
    }

    fn rig_error(&self) -> Option<&str> {
        self.rig_error.as_deref()
    }

    fn timeline(&self) -> Vec<TimelineMark> {
        timeline::timeline(self)
    }
}
