//! The part of the judge that waits: it drives a runtime's verbs and orders the probes about.
//!
//! - `trial`: one case, step by step, until nothing of it is left.
//! - `verb`: one verb of the runtime, from its start to its end or its budget's; `work`: what does it, a process or an ask.
//! - `adapter`: the process that is asked, where a verb is no command.
//! - `stage`: the side of the probes' socket that gives the orders; `record`: what was seen there.
//! - `errand`: one case of an agent, step by step; `bench`: the place where that happens, and its model.
//! - `chamber`: where the processes of a case run, shut off from the host.
//! - `program`: where a manifest's program is, how it is called, and which one it is; `fast_clock`: what its hours are.

mod adapter;
mod bench;
mod chamber;
mod errand;
mod fast_clock;
mod interruption;
mod options;
mod program;
mod record;
mod stage;
mod trial;
mod verb;
mod work;

pub(super) use chamber::withdraw;
pub use chamber::{AgentRun, CHAMBER, Call, Chamber, ChamberError, Happening, Isolation, Spec, environment, keep};
pub(super) use errand::errands;
pub use interruption::Interruption;
pub use options::RigOptions;
pub use program::Identity;
pub(in crate::conform) use program::{given, identify, identify_agent, knob_keys};
pub(super) use trial::trial;
