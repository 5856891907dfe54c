//! Agents: what is asked of one, and the one driver that has it done.
//!
//! `port` is what the runner asks of an agent, whichever it is. `driver` listens to one invocation until it ends or is cut
//! short, and leaves nothing of it behind; whoever drives is its `Host`: an attempt of a phase, or `ask`, which asks an
//! agent outside of a run. `unreached` recognises one that does nothing but try to reach its provider.

mod ask;
mod driver;
mod port;
mod prompt;
mod unreached;

pub use ask::{Answer, AskError, AskListener, Question, Thread, ask};
pub(super) use driver::{Driven, Host, TICK, activity, drive, ended, left};
pub use port::{
    AgentEnd, AgentEvent, Backend, Backends, Capabilities, Container, Invocation, Session, Surroundings, Task,
};
pub(super) use prompt::prompt;
pub(super) use unreached::{EVIDENCE, Sign, Unreached};
