//! The engine (Exit Code Handling; Checkpoint Operations; Context Signals; Escalation Protocol).
//!
//! Level 5 of the house, in rooms that name only those before them:
//!
//! - `session` is a name for each lifetime of a process, `operator` who operates; `plan`, `selection` and `bounds` are what
//!   an execution is given, `weaker` is what a changed one asks less of it, `error` is why it cannot go on; `scripts` are what
//!   argument vectors name, `programs` what gates look for by `PATH`, `recorded_files` what is recorded of the workspace, and
//!   `changed_files` what became of that;
//! - `decide` chooses what is done next. It is pure: no clock, no file, no chance, and nothing waits there;
//! - `agent` is what is asked of an agent, and the one driver that has it done, in a phase or outside of a run;
//! - `stage` is a running stage, a task that owns its process, its log and its context watch, and can only send;
//! - `notify` tells people that they are needed;
//! - `dispatch` owns the execution: it takes in one fact after the other, journals what follows, and has it done;
//! - `human` is what other processes do to an execution: they answer, halt it, and ask how it stands.
//!
//! An exit code goes one way: from the process in `stage/attempt` to the outcome in `policy/exit`, through the inbox to
//! `dispatch`, where `decide/after` turns it into events and `decide` into the next step; the store journals them, and
//! terminal, status and report read them.
//!
//! Whoever watches is a [`Listener`] and reads events; nothing here prints.

mod agent;
mod bounds;
mod changed_files;
pub mod decide;
mod dispatch;
mod error;
mod human;
mod notify;
mod operator;
mod plan;
mod plan_error;
mod plan_file;
mod programs;
mod receivers;
mod recorded_files;
mod scripts;
mod selection;
mod session;
mod shell_line;
mod stage;
mod weaker;

pub use agent::{
    AgentEnd, AgentEvent, Answer, AskError, AskListener, Backend, Backends, Capabilities, Container, Invocation,
    Question, Session, Surroundings, Task, Thread, ask,
};
pub use bounds::Bounds;
pub use changed_files::{Differences, differences, read_now};
pub use dispatch::{
    After, Dispatcher, Ended, Engine, Listener, Mode, Opening, Ports, Remedy, Request, Start, Story, THINKING,
    Thinking, Waits, boundary_as_required, network_to_have, present, refuse_foreign, story,
};
pub use error::RunError;
pub use human::{
    AnswerLine, Awaited, Doing, Halted, LastFailure, LastOutput, Pending, PhaseLine, RESOLUTION, ResolutionDocument,
    Resolved, Standing, Status, Vantage, WorkAtHand, ask_about_weaker, await_resolution_telling, halt, notice_death,
    resolve, state, status, stay_until_told,
};
pub use notify::{
    Answering, Call, Delivered, Deliverer, Difference, Morning, Outcome, Undelivered, carried, due, next_try, tried,
    undelivered,
};
pub use plan::{AgentWork, Plan, Stage, Work};
pub use plan_error::PlanError;
pub use plan_file::{PLAN, PlanDocument, PlannedPhase, read_plan};
pub use receivers::{Means, Notification, Receiver};
pub use recorded_files::{NotRecorded, PinnedText, notify_files, prompt_files, recorded_files};
pub use scripts::starts_unknown_files;
pub use selection::Selection;
pub use shell_line::{Join, SHELLS, Simple, Word, commands, folder_of_cd};
pub use stage::Fact;
pub use weaker::{Asked, weaker};
