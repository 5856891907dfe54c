//! Adapters behind the Backend port: one agent program each (backend layer: Backend Interface).
//!
//! Level 4 of the house. An adapter builds arguments and environment, and a reader, pure, turns what the program writes
//! into events; `process` runs any program that is read line by line. None of them retries, waits or decides: that is the
//! runner's. `select` makes them from the configuration, and `wrapped` puts texts around
//! their prompts.
//!
//! | program | how its ends are told apart |
//! |---|---|
//! | `claude` | the `result` event of its stream: `is_error`, `terminal_reason`, `api_error_status` |
//! | `codex` | the `task_complete` line of its session file: `codex_error_info`; its stream has prose only |
//! | `command` | its exit code: it offers nothing else |

mod claude;
mod codex;
mod command;
mod process;
mod select;
mod status;
mod unheeded;
mod wrapped;

pub use claude::Claude;
pub use codex::Codex;
pub use command::Template;
pub use select::{backends, every_backend, ready};
pub use unheeded::unheeded;
pub use wrapped::PromptError;
