//! What was seen of a coding agent.

mod observation;
pub(in crate::conform) mod repeat;
pub(in crate::conform) mod stream;

pub use observation::{AgentEnd, AgentObservation, AgentStepSeen, SignalSent};
pub(in crate::conform) use stream::session;
