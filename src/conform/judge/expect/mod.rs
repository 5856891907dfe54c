//! The expectations: each is judged from the observation alone, so that a verdict can be computed again from the evidence.
//!
//! No expectation has a default that passes. What is not there counts only beside a sighting of what is; a clause that the
//! runtime gives no way to see is not observed; a case in which the runtime started nothing is red, whatever it expects.

mod breakdown;
mod checkpoint;
mod checkpoint_times;
mod context;
mod control;
mod document;
mod ending;
mod everywhere;
mod evidence;
mod features;
mod judge;
mod laid;
mod lawful;
mod matcher;
mod phases;
mod report;
mod says;
#[cfg(test)]
mod tests;
mod timing;
mod unobservable;
mod usages;
mod warning;

pub use everywhere::everywhere;
pub use evidence::Evidence;
pub use judge::judge;
pub use unobservable::unobservable;
