//! `loa-run`: executes the phases, and calls a human when it must.
//!
//! `args` is the shape of the command line; `commands` does what it says; `terminal` shows a run as it happens; `show`
//! prints where it stands; `refusal` turns what went wrong into an exit code with hints.

mod args;
mod commands;
mod refusal;
mod show;
mod terminal;

pub use commands::run;
