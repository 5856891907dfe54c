//! Gemini CLI: `gemini -o stream-json`, and the file in which it records the session.
//!
//! `adapter` builds its arguments; `transcript` understands stream and session file together.

mod adapter;
mod transcript;

pub use adapter::Gemini;
