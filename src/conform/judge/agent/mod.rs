//! The expectations of the agent profile, each judged from the observation alone.
//!
//! None passes by default. What is not told counts as untold only where the manifest names a place to look at; a sign that
//! a run without trouble shows, too, does not count; an agent that asked the model nothing is red, whatever is expected.

mod context;
mod ending;
mod judge;
mod requests;
mod sessions;
mod silence;
#[cfg(test)]
mod tests;
mod told;
mod tools;
mod unobservable;

pub(in crate::conform) use judge::judge;
pub(in crate::conform) use unobservable::unobservable;

use crate::conform::observe::AgentStepSeen;
use crate::conform::spec::AgentProfile;

/// What an agent's verdict is computed from.
type Evidence<'a> = super::Evidence<'a, AgentProfile>;

/// How much of a text is shown.
const SHOWN: usize = 240;

impl<'a> Evidence<'a> {
    /// A text of the case with the drawn values filled in.
    fn words(&self, template: &str) -> String {
        crate::conform::spec::names::text(&self.seen.drawn, template)
    }

    /// A step that came to pass.
    fn step(&self, step: usize) -> Option<&'a AgentStepSeen> {
        self.seen.steps.get(step)
    }
}

/// A text, cut where it becomes too long to read.
fn clip(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
