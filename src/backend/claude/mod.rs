//! Claude Code: `claude -p` with a stream of JSON lines.
//!
//! `adapter` builds its arguments and environment; `transcript` understands its stream.

mod adapter;
mod transcript;

pub use adapter::Claude;
