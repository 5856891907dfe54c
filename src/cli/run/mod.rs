//! `loa-run`: executes the phases, and calls a human when it must.
//!
//! `args` is the shape of the command line; `commands` does what it says; `terminal` shows a run as it happens, on a
//! `screen`; `show` prints where it stands, `watch` once or as long as it works; `doctor` looks at what a run needs (`needs`)
//! and at what ends a night (`night`); `try_out` shows a whole run without a key; `report` what happened; `log` is what the
//! program says of itself; `service` has a service manager look after it, with a `unit`; `agent` asks one agent outside of a
//! run; `refusal` turns what went wrong into an exit code with hints.

mod agent;
mod agent_screen;
mod answer;
mod args;
mod backends;
mod backends_doctor;
mod check;
mod commands;
mod doctor;
mod explain;
mod given;
mod halt;
mod init;
mod journal;
mod locate;
mod log;
mod logs;
mod needs;
mod night;
mod notify;
mod pinned;
mod refusal;
mod report;
mod resumed;
mod runs;
mod screen;
mod service;
mod settings_doctor;
mod show;
mod terminal;
mod try_out;
mod unit;
mod usage;
mod watch;
mod workspace;

pub use commands::run;
