//! Aider: `aider --message`, and the log in which it counts its requests.
//!
//! `adapter` builds its arguments; `transcript` understands the log, and asks the output for the kind of a failure alone.

mod adapter;
mod transcript;

pub use adapter::Aider;
