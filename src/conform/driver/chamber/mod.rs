//! A chamber: where one agent process runs, shut off from the host as far as the machine allows.
//!
//! - `isolation`: what this machine can shut off, and the judge's own retreat into a network without a way out.
//! - `agent`: one process in its chamber, seen from the judge: what it says, how it ends, what it leaves running.
//! - `keeper`: the first process inside. It starts the agent, passes signals on, buries orphans, counts what is left, and
//!   takes everything with it when the judge is gone.
//! - `words`: what the two say to each other.
//!
//! Inside: the judge's network (which has no way out), processes and mounts of its own, `/tmp` of its own, a home of its
//! own, an environment by allow-list, no standard input, no terminal, every signal at its default.

mod agent;
mod isolation;
mod keeper;
mod words;

pub use agent::{Chamber, ChamberError, Happening, Spec, environment};
pub use isolation::Isolation;
pub(in crate::conform) use isolation::withdraw;
pub use keeper::{CHAMBER, keep};
