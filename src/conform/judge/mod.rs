//! From an observation to verdicts: the expectations, the model that stories are held against, and what is true of every
//! case. Pure: it starts nothing and reads nothing. Names every room but the last.

mod agent;
mod expect;
mod judged;
mod occurrence;
mod story;
mod verdict;

pub use expect::{Evidence, everywhere, judge, unobservable};
pub use judged::Judged;
pub use story::{Broken, Caught, Cause, Deed, Fate, Field, Guide, Jury, Mutant, Story, Which, shrunk};
pub use verdict::{Check, Outcome, Place};
