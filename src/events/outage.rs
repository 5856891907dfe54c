//! A provider that is waited for.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Waiting;
use crate::contract::Phase;
use crate::text::Untrusted;

/// A provider that cannot be reached or is out of order, as it was found last: the pause before the next probe. A probe is
/// an invocation of the agent, which goes on with its work when it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// The phase that waits for it.
    pub phase: Phase,
    /// How it showed, in one line.
    pub reason: Untrusted,
    /// When it was found first.
    pub since: Timestamp,
    /// The probe that follows, from 1.
    pub probe: u32,
    /// When it follows.
    pub pause: Waiting,
    /// How long it was waited for when this pause is over, in milliseconds. The time in which no process waited is none of it.
    pub waited_ms: u64,
    /// When patience ends, if nobody stands still meanwhile.
    pub until: Timestamp,
    /// When the provider answered again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Timestamp>,
}

impl Outage {
    /// How long it was waited for when its pause is over.
    #[must_use]
    pub fn waited(&self) -> Duration {
        Duration::from_millis(self.waited_ms)
    }
}
