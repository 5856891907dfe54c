//! A running stage: a task that owns its process, its log and its context watch, and can only send.
//!
//! `attempt` runs the work and the gate once, `context` watches what the stage signals meanwhile, `agent` brings an agent
//! through it, `outage` is how either waits and tries again, `log` keeps what it writes, `limits` watches what it takes of
//! the host, `files` are those that it exchanges with us, `artifacts` what it did to the workspace. What it sees goes to the owner of the execution through an `Inbox`, and
//! the owner's order to end comes back by a channel.

mod agent;
mod agent_session;
pub(super) mod artifacts;
mod attempt;
pub(super) mod context;
pub(super) mod files;
mod inbox;
mod limits;
mod log;
mod outage;

pub(super) use attempt::{Order, StageTask};
pub use inbox::Fact;
pub(super) use inbox::{Inbox, Letter, Mail, Taken};
