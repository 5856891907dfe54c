//! Qwen Code: `qwen -o stream-json`, and the file in which it records the session.
//!
//! `adapter` builds its arguments and settings; `transcript` understands stream and session file together.

mod adapter;
mod transcript;

pub use adapter::Qwen;
