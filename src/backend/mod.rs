//! Adapters behind the Backend port: one agent program each (backend layer: Backend Interface).
//!
//! Level 4 of the house. An adapter builds arguments and environment, and a reader, pure, turns what the program writes
//! into events; `process` runs any program that is read line by line. None of them retries, waits or decides: that is the
//! runner's. `select` makes them from the configuration.
//!
//! | program | how its ends are told apart |
//! |---|---|
//! | `claude` | the `result` event of its stream: `is_error`, `terminal_reason`, `api_error_status` |
//! | `codex` | the `task_complete` line of its session file: `codex_error_info`; its stream has prose only |
//! | `acp`, any agent of the Agent Client Protocol | the reply to its prompt, by rules: some agents answer `end_turn` to a failure |
//! | `command` | its exit code: it offers nothing else |
//!
//! Each of them can be started in a container instead (`docker`, `container`): what an adapter reads beside the output, such
//! as the session file of Codex, has to lie at the same path there.

mod acp;
mod claude;
mod codex;
mod command;
mod container;
mod docker;
mod process;
mod select;
mod status;

pub use acp::Acp;
pub use claude::Claude;
pub use codex::Codex;
pub use command::Template;
pub use docker::Docker;
pub use select::{backends, every_backend};
