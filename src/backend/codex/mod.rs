//! Codex CLI: `codex exec --json`, and the file in which it records the session.
//!
//! `adapter` builds its arguments; `transcript` understands stream and session file together; `rollout` finds the file.

mod adapter;
mod rollout;
mod transcript;

pub use adapter::Codex;
