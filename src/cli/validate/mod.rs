//! `loa-validate`: checks documents and says file, line, column, reason and remedy.
//!
//! `forms` and `args` parse, `expand` finds the files and `input` reads them, `checkers` and `check` find what is wrong,
//! `mend` repairs it, `output` prints; `show` prints what needs no file. `batch` and `pool` share the files out, `tell` takes
//! what comes back; `work` puts the check together, `main` the program.

mod args;
mod batch;
mod check;
mod checkers;
mod expand;
mod forms;
mod input;
mod main;
mod mend;
mod output;
mod pool;
mod show;
mod tell;
mod work;
mod write;

pub use main::validate;
