//! pi: `pi --mode json -p`.
//!
//! `adapter` builds its arguments; `transcript` understands its stream.

mod adapter;
mod transcript;

pub use adapter::Pi;
