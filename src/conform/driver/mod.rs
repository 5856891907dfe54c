//! The part of the judge that waits: it drives a runtime's verbs and orders the probes about.
//!
//! - `trial`: one case, step by step, until nothing of it is left.
//! - `verb`: one process of the runtime, from its start to its end or its budget's.
//! - `stage`: the side of the probes' socket that gives the orders; `record`: what was seen there.
//! - `program`: where a manifest's program is, how it is called, and which one it is.

mod program;
mod record;
mod stage;
mod trial;
mod verb;

pub use program::Identity;
pub(super) use program::identify;
pub(super) use trial::trial;
