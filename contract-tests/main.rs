//! The integration tests: one binary, one module a subject.
#![expect(clippy::disallowed_methods, reason = "tests play the host: they write files and start programs")]

mod action;
mod adapter;
mod agents;
mod architecture;
mod chamber;
mod conform;
mod coverage;
mod false_greens;
mod hostile;
mod model;
mod page;
mod personas;
mod programs;
mod project;
mod refusals;
mod reports;
mod rig;
mod run;
mod validate;
mod variants;
