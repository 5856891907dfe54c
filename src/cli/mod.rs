//! The command lines: the only place that prints, knows `clap`, and chooses an exit code.
//!
//! Each program parses its arguments into a plain struct, resolves them, calls the library, and prints what came back.

mod conform;
mod console;
mod defect;
mod exit;
mod failure;
mod kinds;
mod run;
mod validate;

pub use conform::judge;
pub use exit::ExitStatus;
pub use kinds::kinds;
pub use run::run;
pub use validate::validate;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, Parser};
use failure::{Failure, asks_for_json, print_error};

/// Parses the command line into a struct.
fn parse<P: Parser>() -> Result<P, ExitStatus> {
    P::try_parse().map_err(|error| not_parsed(&error))
}

/// Parses arguments, the program's name first, by a command that is made at run time.
fn matches(command: Command, arguments: Vec<OsString>) -> Result<ArgMatches, ExitStatus> {
    command.try_get_matches_from(arguments).map_err(|error| not_parsed(&error))
}

/// Prints what `clap` has to say; its own exit code for a wrong command line is 2, which would read as BLOCKED.
fn not_parsed(error: &clap::Error) -> ExitStatus {
    let printed = console::is_read(error.print());
    match printed {
        _ if error.use_stderr() => {
            if asks_for_json(std::env::args_os()) {
                let (message, hints) = in_words(error);
                print_error(ExitStatus::Usage, &message, &hints);
            }
            ExitStatus::Usage
        }
        Ok(_) => ExitStatus::Success,
        Err(failure) => failure.status,
    }
}

/// What `clap` has to say, for machines: what is wrong, and what would be right.
fn in_words(error: &clap::Error) -> (String, Vec<String>) {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return ("no command was given".to_owned(), vec!["try `--help`".to_owned()]);
    }
    let text = error.render().to_string();
    let (wrong, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let hints = rest.lines().map(|line| words(line.trim_start().trim_start_matches("tip: ")));
    (words(wrong.trim_start_matches("error: ")), hints.filter(|hint| !hint.is_empty()).collect())
}

/// Ends a program: prints the failure, if there is one, and yields the status. Who asked for JSON gets it on standard output,
/// beside the words for people on standard error.
fn finish(result: Result<ExitStatus, Failure>) -> ExitStatus {
    result.unwrap_or_else(|failure| {
        failure.print();
        if asks_for_json(std::env::args_os()) {
            failure.print_json();
        }
        failure.status
    })
}
