//! What happens in a case and what is seen of it: the rig drives a runtime or an agent in its chamber and leaves an
//! observation. It judges nothing. Names the model, the spec and the suite.

pub(super) mod agent;
mod census;
mod checkup;
mod command;
pub(super) mod driver;
mod edit;
mod journal;
mod observation;
mod probe;
mod rig;
mod seen;
mod sighting;
mod speaker;
pub(super) mod timeline;
mod transcript;
pub(super) mod workspace;

pub use agent::{AgentEnd, AgentObservation, AgentStepSeen, SignalSent};
pub use checkup::{Health, Symptom, checkup, trials};
pub use command::CommandReport;
pub use driver::{
    AgentRun, CHAMBER, Call, Chamber, ChamberError, Happening, Identity, Interruption, Isolation, RigOptions, Spec,
    environment, keep,
};
pub use observation::{
    AttemptSeen, CompactorSeen, EditSeen, EventSeen, FileSeen, Observation, OutputLine, ProcessEnd, ProcessSeen,
    ReportSeen, StepSeen, UsageSeen,
};
pub use probe::{PHASE, probe};
pub use rig::{AgentRig, identify, observe, withdraw};
pub use seen::Seen;
pub use timeline::{MarkKind, TimelineMark};
