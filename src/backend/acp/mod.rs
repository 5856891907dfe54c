//! Any agent that speaks the Agent Client Protocol, version 1, on its standard input and output.
//!
//! - `wire`: lines and the messages in them. Decoded here, from plain JSON, and not by the protocol's own crate: its kinds of
//!   updates are a closed set, and agents send others; much of what an end is told apart by stands in `_meta`, which it leaves
//!   untyped; and the ten fields that are read are not worth its further crates.
//! - `dialogue`: who says what when, pure: messages in, messages and events out.
//! - `listener`: what the updates of a turn tell.
//! - `permission`: the answer to an agent that asks whether it may.
//! - `outcome`: the class of an end, by ordered rules. A reason to stop is not enough: with three of six agents `end_turn` also
//!   follows a provider's refusal.
//! - `adapter`: the process, and time.
//!
//! What an agent can do is known when it has answered, and a backend is asked before. So `adapter` claims what the agents that
//! were measured have in common: sessions that can be gone on with, and usage. An agent without the former begins anew with
//! its whole task; one without the latter reports none.

mod adapter;
mod dialogue;
mod listener;
mod outcome;
mod permission;
mod wire;

pub use adapter::Acp;
