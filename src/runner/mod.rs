//! The engine (Exit Code Handling; Checkpoint Operations; Context Signals; Escalation Protocol).
//!
//! Level 3 of the house. One [`Engine`] owns the state of one execution in one workspace, under a lock:
//!
//! - `session` begins or resumes an execution; `engine` walks its phases; `phase` runs one with its retries; `attempt` runs
//!   its command and gate once; `context` watches what the stage signals meanwhile.
//! - `decision` and the rules in `policy` decide, without effects; `conclude` and `escalate` make it durable.
//! - `resolve`, `halt` and `status` are what other processes do to an execution, and `plan` and `bounds` what it is given.
//!
//! Whoever watches is a [`Listener`]; nothing here prints.

mod attempt;
mod bounds;
mod conclude;
mod context;
mod decision;
mod engine;
mod error;
mod escalate;
mod halt;
mod phase;
mod plan;
mod progress;
mod resolve;
mod session;
mod stage_files;
mod standing;
mod status;
mod watch;

pub use bounds::Bounds;
pub use engine::{Call, End, Engine};
pub use error::RunError;
pub use halt::{Halted, halt};
pub use plan::{PLAN, Plan, PlanDocument, PlanError, PlannedPhase, Selection, Stage, read_plan};
pub use progress::{Listener, Progress};
pub use resolve::{Resolved, resolve};
pub use session::{Mode, Request};
pub use status::{Pending, PhaseLine, Status, state, status};
