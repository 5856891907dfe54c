//! The agent profile: a coding agent's command line, judged at its own boundary, with a scripted model behind it.
//!
//! Scheduling, presuppositions, the second try of a red, cells and reports are the same as for runtimes; here is what is
//! not: what a case does to an agent ([`AgentCase`]), how an agent is plugged in ([`AgentManifest`]), what was seen of it
//! ([`AgentObservation`]), and what that proves.

mod case;
mod expect;
mod knob;
mod manifest;
mod observation;
mod profile;
mod repeat;
mod stream;

pub use case::{AgentCase, AgentExpectation, AgentKnob, AgentStep, Disturbance, Errand, Occasion, WhichSession};
pub(in crate::conform) use knob::{Turned, merge};
pub use manifest::{
    AgentKnobWay, AgentManifest, FailureClass, FailureSign, Setting, SideRequest, Sign, StreamSigns, UsageScope,
    UsageSign,
};
pub use observation::{AgentEnd, AgentObservation, AgentStepSeen, SignalSent};
pub use profile::AgentProfile;
pub(in crate::conform) use stream::session;
