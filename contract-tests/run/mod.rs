//! `loa-run`, the real program, with phases that are lines of sh.
//!
//! A test makes a [`Workspace`], says what each phase does, runs the program and looks at the disk. Retries wait a
//! millisecond; nothing here sleeps to let time pass: tests wait for a file to appear or a process to go.

mod agents;
mod answers;
mod approval;
mod artifacts;
mod bad_input;
mod calls;
mod configuration;
mod container;
mod context;
mod core;
mod crash;
mod disturbed;
mod doctor;
mod exits;
mod features;
mod formats;
mod gates;
pub(crate) mod host;
mod journal;
mod log;
mod model;
mod notify;
mod old_names;
mod people;
mod pinned;
mod readme;
mod remediation;
mod secrets;
mod service;
mod status;
mod subfolder;
mod sweep;
mod terminal;
mod try_out;
pub(crate) mod workspace;

use workspace::{Workspace, until};
