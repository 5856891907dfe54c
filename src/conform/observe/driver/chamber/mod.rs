//! A chamber: where the processes of a case run, shut off from the host as far as the machine allows.
//!
//! - `isolation`: what this machine can shut off, and the judge's own retreat into a network without a way out.
//! - `room`: a chamber seen from the judge: what is started in it, what lives in it, and its end, which is the end of all.
//! - `agent`: one agent in a chamber of its own: what it says, how it ends, what it leaves running.
//! - `keeper`: the first process inside. It starts what the judge orders, passes signals on, buries orphans, and takes
//!   everything with it when the judge is gone.
//! - `words`: what the two say to each other.
//!
//! Inside: processes and mounts of its own, `/tmp` of its own, and nothing that can be written but the case's folder; no
//! special powers, no terminal, every signal at its default.

mod agent;
mod isolation;
mod keeper;
mod room;
mod words;

pub use agent::{AgentRun, Happening, environment};
pub use isolation::Isolation;
pub(in crate::conform) use isolation::withdraw;
pub use keeper::{CHAMBER, keep};
pub use room::{Call, Chamber, ChamberError, Spec};
