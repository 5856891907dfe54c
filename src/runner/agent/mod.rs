//! Agents: what is asked of one, and the one driver that has it done.
//!
//! `port` is what the runner asks of an agent, whichever it is. `driver` listens to one invocation until it ends or is cut
//! short, and leaves nothing of it behind; whoever drives is its `Host`. `in_phase` brings an agent through an attempt of a
//! phase, `ask` asks one outside of a run.

mod ask;
mod driver;
mod in_phase;
mod port;
mod session;

pub use ask::{Answer, AskError, AskListener, Question, Thread, ask};
pub(super) use in_phase::compactor;
pub use port::{
    AgentEnd, AgentEvent, Backend, Backends, Capabilities, Container, Invocation, Session, Surroundings, Task,
};
