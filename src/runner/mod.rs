//! The engine (Exit Code Handling; Checkpoint Operations; Context Signals; Escalation Protocol).
//!
//! Level 4 of the house. One [`Engine`] owns one execution in one workspace, under a lease. What happens it journals, and
//! what is known follows from the journal:
//!
//! - `session` begins or resumes an execution, of what `existing` finds; `engine` walks its phases; `phase` runs one with
//!   its retries; `attempt` runs its work and gate once, with a `log`; `context` watches what the stage signals meanwhile,
//!   `artifacts` what it does to the workspace's files; `projection` keeps the checkpoints on disk as the journal has them.
//! - `agent` is what is asked of an agent, and the one driver that has it done, in a phase or outside of a run.
//! - `decision` and the rules in `policy` decide, without effects; `conclude` and `escalate` journal and write.
//! - `operator`, `memory` and `notify` are what a session does at its beginning and at its end.
//! - `resolve`, `awaiting`, `halt` and `status` are what other processes do to an execution; `plan`, `selection` and `bounds` what it is given.
//!
//! Whoever watches is a [`Listener`] and reads events; nothing here prints.

mod agent;
mod artifacts;
mod attempt;
mod awaiting;
mod bounds;
mod conclude;
mod context;
mod decision;
mod engine;
mod error;
mod escalate;
mod existing;
mod halt;
mod listener;
mod log;
mod memory;
mod notify;
mod observations;
mod operator;
mod phase;
mod plan;
mod plan_file;
mod projection;
mod resolution_file;
mod resolve;
mod selection;
mod session;
mod stage_files;
mod status;
mod watch;

pub use agent::{
    AgentEnd, AgentEvent, Answer, AskError, AskListener, Backend, Backends, Capabilities, Container, Invocation,
    Question, Session, Surroundings, Task, Thread, ask,
};
pub use awaiting::{Awaited, await_resolution};
pub use bounds::Bounds;
pub use engine::{Ended, Engine};
pub use error::RunError;
pub use escalate::Call;
pub use existing::{Story, present, refuse_foreign, story};
pub use halt::{Halted, halt};
pub use listener::Listener;
pub use notify::{Notification, Notifier};
pub use plan::{AgentWork, Plan, PlanError, Stage, Work};
pub use plan_file::{PLAN, PlanDocument, PlannedPhase, read_plan};
pub use projection::Remedy;
pub use resolution_file::{RESOLUTION, ResolutionDocument};
pub use resolve::{Resolved, resolve};
pub use selection::Selection;
pub use session::{Mode, Request};
pub use status::{Pending, PhaseLine, Status, state, status};
