//! `loa-run`: executes the phases, and calls a human when it must.
//!
//! `args` is the shape of the command line; `commands` does what it says; `terminal` shows a run as it happens, on a `screen`; `show`
//! prints where it stands; `refusal` turns what went wrong into an exit code with hints.

mod args;
mod commands;
mod refusal;
mod screen;
mod show;
mod terminal;

pub use commands::run;
