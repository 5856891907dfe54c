//! What the program does with its arguments.

use clap::{ArgMatches, FromArgMatches};

use super::args::{Flags, command, kind_name};
use super::work::check;
use super::{forms, show};
use crate::cli::defect::guarded;
use crate::cli::{ExitStatus, Failure, finish, kinds, matches};
use crate::schema::Kind;

/// Runs `loa-validate` on the process's own arguments.
#[must_use]
pub fn validate() -> ExitStatus {
    guarded(|| {
        let kinds = kinds();
        let command = command(&kinds);
        let arguments = forms::with_command(std::env::args_os().collect(), &command, &kinds);
        match matches(command, arguments) {
            Ok(matches) => finish(run(&kinds, &matches)),
            Err(status) => status,
        }
    })
}

fn run(kinds: &[Kind], matches: &ArgMatches) -> Result<ExitStatus, Failure> {
    let flags = Flags::from_arg_matches(matches).map_err(|error| Failure::new(ExitStatus::Usage, error))?;
    match matches.subcommand().expect("clap requires a subcommand") {
        ("list", _) => show::list(kinds, flags.output.is_json()),
        ("schema", matches) => show::schema(kinds, matches),
        ("rules", _) => show::rules(kinds, flags.output.is_json()),
        ("explain", matches) => show::explain(kinds, matches),
        ("completions", matches) => show::completions(command(kinds), matches),
        ("auto", matches) => check(kinds, None, &files(matches), &flags),
        ("validate", matches) => {
            let schema = matches.get_one::<String>("schema").and_then(|word| kind_name(kinds, word));
            check(kinds, schema, &files(matches), &flags)
        }
        (name, matches) => check(kinds, Some(name), &files(matches), &flags),
    }
}

fn files(matches: &ArgMatches) -> Vec<String> {
    matches.get_many("files").expect("clap requires a file").cloned().collect()
}
