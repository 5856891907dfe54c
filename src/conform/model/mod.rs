//! The scripted model: a server on loopback that speaks the vendors' APIs and answers from a script, so that real agents run
//! without network or key, and everything that they ask is seen.
//!
//! It knows the wire and nothing of agents or clauses; what a request means for a verdict is the judge's affair. Used
//! inside the judge, and alone by `loa-conform model`.
//!
//! - `script`: the format; `fault`: what is wrong with a script; `kind`: its schema.
//! - `answer`: what a step comes to; `playbook`: which request gets which. Pure.
//! - `dialect`: one file a vendor's API: reading a request, writing an answer or an error. Pure.
//! - `shell`: the shell tool of a request, and its arguments. Pure.
//! - `exchange`: from a request to the bytes of its answer. Pure.
//! - `seen`, `record`: what was asked.
//! - `server`, `connection`, `body`: the part that waits.

mod answer;
mod body;
mod connection;
mod dialect;
mod exchange;
mod fault;
mod kind;
mod playbook;
mod record;
mod script;
mod seen;
mod server;
mod shell;

pub use dialect::Dialect;
pub use fault::Fault;
pub use kind::MODEL_SCRIPT;
pub use script::{ErrorKind, ErrorReply, Point, Route, Script, Step, Stop, Then, Usage};
pub use seen::{Answered, By, Effort, Prompt, RequestSeen, Said, ToolResult};
pub use server::{Model, ModelError, Options};
pub(in crate::conform) use shell::is_named_so as is_shell;
