//! Adapters behind the Backend port: one agent program each (backend layer: Backend Interface).
//!
//! Level 5 of the house. An adapter builds arguments and environment, and a reader, pure, turns what the program writes
//! into events; `process` runs any program that is read line by line. None of them retries, waits or decides: that is the
//! runner's. `select` makes them from the configuration, and `wrapped` puts texts around
//! their prompts.
//!
//! | program | how its ends are told apart |
//! |---|---|
//! | `claude` | the `result` event of its stream: `is_error`, `terminal_reason`, `api_error_status` |
//! | `codex` | the `task_complete` line of its session file: `codex_error_info`; its stream has prose only |
//! | `opencode` | the last `step_finish` or `error` event of its stream: `reason`, `name`, `statusCode` |
//! | `gemini` | the `result` event of its stream, `error` events before it, and the exit code as a status |
//! | `qwen` | the `result` event of its stream, and the `status_code`s of its session file |
//! | `aider` | the log of its events: requests without an answer; why they failed, by the error type that it prints |
//! | `pi` | the `stopReason` of its last answer, the status in `errorMessage`, and compactions for `overflow` |
//! | `acp`, any agent of the Agent Client Protocol | the reply to its prompt, by rules: some agents answer `end_turn` to a failure |
//! | `command` | its exit code: it offers nothing else |
//!
//! None of `gemini`, `qwen` and `aider` tells a prompt that is too long from any other refused request. Only `claude`, `codex`
//! and `acp` tell a quota that is used up from an overload. How each refuses a session that it does not know stands in
//! `refusal`.
//!
//! `login` reads how long the login of a program lasts, from its own file.
//!
//! Each of them can be started in a container instead (`docker`, `container`): what an adapter reads beside the output, such
//! as the session file of Codex, has to lie at the same path there.

mod acp;
mod aider;
mod claude;
mod codex;
mod command;
mod container;
mod docker;
mod gemini;
mod login;
mod opencode;
mod overlay;
mod pi;
mod process;
mod qwen;
mod recorded;
mod refusal;
mod select;
mod status;
mod unheeded;
mod wrapped;

pub use acp::Acp;
pub use aider::Aider;
pub use claude::Claude;
pub use codex::Codex;
pub use command::Template;
pub use docker::Docker;
pub use gemini::Gemini;
pub use login::{Login, login, login_file, may_be_let_in_otherwise};
pub use opencode::OpenCode;
pub use pi::Pi;
pub use qwen::Qwen;
pub use select::{backends, every_backend, ready};
pub use unheeded::{bounds_turns, unheeded};
pub use wrapped::PromptError;
