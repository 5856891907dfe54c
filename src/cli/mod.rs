//! The command lines: the only place that prints, knows `clap`, and chooses an exit code.
//!
//! Each program parses its arguments into a plain struct, resolves them, calls the library, and prints what came back.

mod console;
mod exit;
mod failure;

pub use exit::ExitStatus;

use clap::Parser;
use failure::Failure;

/// Parses the command line; `clap`'s own exit code for a wrong one is 2, which would read as BLOCKED.
fn parse<P: Parser>() -> Result<P, ExitStatus> {
    P::try_parse().map_err(|error| {
        let asked_for = !error.use_stderr();
        let printed = error.print().is_ok();
        match (asked_for, printed) {
            (true, true) => ExitStatus::Success,
            (true, false) => ExitStatus::WriteFailed,
            (false, _) => ExitStatus::Usage,
        }
    })
}

/// Ends a program: prints the failure, if there is one, and yields the status.
fn finish(result: Result<ExitStatus, Failure>) -> ExitStatus {
    result.unwrap_or_else(|failure| {
        failure.print();
        failure.status
    })
}
