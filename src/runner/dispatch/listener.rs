//! Whoever watches a run.

use crate::events::{Envelope, Observation, State};

/// Somebody who watches a run. Must not wait for long: meanwhile the run watches nothing.
pub trait Listener {
    /// Something happened; `state` is what is known since then.
    fn event(&mut self, envelope: &Envelope, state: &State);

    /// Something was seen that is not journaled.
    fn observation(&mut self, observation: &Observation);
}

/// Nobody watches.
impl Listener for () {
    fn event(&mut self, _: &Envelope, _: &State) {}

    fn observation(&mut self, _: &Observation) {}
}
