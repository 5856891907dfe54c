//! Claude Code: `claude -p` with a stream of JSON lines.
//!
//! `adapter` builds its arguments and environment; `transcript` understands its stream; `usage` counts what its logs
//! say that a subscription was used for.

mod adapter;
mod transcript;
mod usage;

pub use adapter::Claude;
