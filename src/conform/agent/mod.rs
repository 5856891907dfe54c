//! The agent profile: a coding agent's command line, judged at its own boundary, with a scripted model behind it.
//!
//! Scheduling, presuppositions, the second try of a red, cells and reports are the same as for runtimes; here is what is
//! not: what a case does to an agent ([`AgentCase`]), how an agent is plugged in ([`AgentManifest`]), what was seen of it
//! ([`AgentObservation`]), and what that proves.

mod case;
pub(in crate::conform) mod expect;
mod expectation;
mod knob;
mod manifest;
mod observation;
mod profile;
pub(in crate::conform) mod repeat;
mod stream;

pub use case::{
    AgentCase, AgentKnob, AgentStep, Disturbance, Errand, KnobValue, Occasion, Spoilt, WhichFolder, WhichSession,
};
pub use expectation::{AgentExpectation, EndLike, Trouble};
pub(in crate::conform) use knob::{Turned, environment as knob_environment, merge, turned};
pub use manifest::{
    AgentKnobWay, AgentManifest, EndSign, FailureClass, FailureSign, QuotaLogin, Setting, SideRequest, Sign, SizeSign,
    StreamSigns, UsageScope, UsageSign,
};
pub use observation::{AgentEnd, AgentObservation, AgentStepSeen, SignalSent};
pub use profile::AgentProfile;
pub(in crate::conform) use stream::session;
