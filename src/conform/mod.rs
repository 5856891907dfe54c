//! The judge: drives any runtime as a black box and scores it, clause by clause.
//!
//! Level 5 of the house, but it may name only `contract`, `diag`, `draw`, `schema` and `system`: it shares the contract's
//! words with the runner, never its rules, its configuration, its store or its code.

mod case;
mod census;
mod clause;
mod draw;
mod driver;
mod journal;
mod manifest;
pub mod names;
mod observation;
mod probe;
mod rig;
mod sighting;
mod transcript;
mod workspace;

pub use case::{
    AcceptedCount, AcceptedValue, Act, Case, Draw, Drive, Expectation, Knob, Matcher, Moment, Step, TimeMethod,
    ValueType, WayIn,
};
pub use clause::{Clause, Column, Condition, Level, Reading, Source};
pub use draw::{DrawError, draw};
pub use driver::Identity;
pub use manifest::{Argv, Attestation, CellWord, KnobWay, Manifest, Sight, UsageWay};
pub use observation::{
    AttemptSeen, EventSeen, FileSeen, Millis, Observation, OutputLine, ProcessEnd, ProcessSeen, ReportSeen, StepSeen,
    UsageSeen,
};
pub use probe::probe;
pub use rig::{RigOptions, identify, observe};
