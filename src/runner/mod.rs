//! The engine (Exit Code Handling; Checkpoint Operations; Context Signals; Escalation Protocol).
//!
//! Level 3 of the house. One [`Engine`] owns the state of one execution in one workspace, under a lock:
//!
//! - `session` begins or resumes an execution; `engine` walks its phases; `phase` runs one with its retries; `attempt` runs
//!   its work and gate once, with a `log`; `context` watches what the stage signals meanwhile, `artifacts` what it does to the workspace's files.
//! - `port` is what is asked of an agent; `agent` brings one through an attempt, invocation by invocation; `talk` listens
//!   to one invocation.
//! - `ask` asks one agent outside of a run, over the same port.
//! - `decision` and the rules in `policy` decide, without effects; `conclude` and `escalate` make it durable.
//! - `operator`, `memory` and `notify` are what a session does at its beginning and at its end.
//! - `resolve`, `awaiting`, `halt` and `status` are what other processes do to an execution, and `plan` and `bounds` what it is given.
//!
//! Whoever watches is a [`Listener`], [`Recorder`] among them, which keeps the history on disk; nothing here prints.

mod agent;
mod artifacts;
mod ask;
mod attempt;
mod awaiting;
mod bounds;
mod conclude;
mod context;
mod decision;
mod engine;
mod error;
mod escalate;
mod halt;
mod log;
mod memory;
mod notify;
mod operator;
mod phase;
mod plan;
mod plan_file;
mod port;
mod progress;
mod recorder;
mod resolution_file;
mod resolve;
mod session;
mod stage_files;
mod standing;
mod status;
mod talk;
mod watch;

pub use ask::{AGENT_EVENT, Answer, AskError, AskEvent, AskListener, Begins, Question, Thread, ask};
pub use awaiting::{Awaited, await_resolution};
pub use bounds::Bounds;
pub use engine::{Call, End, Engine, Pause};
pub use error::RunError;
pub use halt::{Halted, halt};
pub use notify::{Herald, Notification};
pub use plan::{AgentWork, Plan, PlanError, Selection, Stage, Work};
pub use plan_file::{PLAN, PlanDocument, PlannedPhase, read_plan};
pub use port::{
    AgentEnd, AgentEvent, Backend, Backends, Capabilities, Container, Invocation, Session, Surroundings, Task,
};
pub use progress::{CompactionMeans, Listener, Progress};
pub use recorder::Recorder;
pub use resolution_file::{RESOLUTION, ResolutionDocument};
pub use resolve::{Resolved, resolve};
pub use session::{Mode, Request};
pub use status::{Pending, PhaseLine, Status, state, status};
