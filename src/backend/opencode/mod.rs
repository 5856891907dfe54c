//! `OpenCode`: `opencode run --format json`.
//!
//! `adapter` builds its arguments and settings; `transcript` understands its stream.

mod adapter;
mod transcript;

pub use adapter::OpenCode;
