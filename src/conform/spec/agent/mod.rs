//! The agent profile: what a case does to a coding agent ([`AgentCase`]), and how an agent is plugged in ([`AgentManifest`]).

mod case;
mod expectation;
mod knob;
mod manifest;
mod profile;

pub use case::{
    AgentCase, AgentKnob, AgentStep, Disturbance, Errand, KnobValue, Occasion, Spoilt, WhichFolder, WhichSession,
};
pub use expectation::{AgentExpectation, EndLike, Trouble};
pub(in crate::conform) use knob::{Turned, environment as knob_environment, merge, turned};
pub use manifest::{
    AgentKnobWay, AgentManifest, EndSign, FailureClass, FailureSign, QuotaLogin, Setting, SideRequest, Sign, SizeSign,
    StreamSigns, UsageScope, UsageSign,
};
pub use profile::AgentProfile;
