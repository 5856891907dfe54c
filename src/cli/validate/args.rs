//! The command line as `clap` sees it.

use clap::{Arg, ArgAction, Args, Command as CommandLine, ValueEnum, value_parser};
use clap_complete::Shell;

use super::output::OutputFlags;
use super::show::catalogue;
use crate::cli::exit;
use crate::diag::{Budget, Limit};
use crate::schema::Kind;

/// What every command takes.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct Flags {
    #[command(flatten)]
    pub(super) output: OutputFlags,
    /// What an error means for the exit code
    #[arg(long, global = true, value_enum, default_value_t = Mode::Strict)]
    pub(super) mode: Mode,
    /// Also warn of keys that nothing reads in documents that may have any
    #[arg(long, global = true)]
    pub(super) strict: bool,
    /// Take every warning for an error
    #[arg(long, global = true)]
    pub(super) deny_warnings: bool,
    /// Take what others write for the contract's words, with a warning: Loa's other names of phases, capitals, no zone
    #[arg(long, global = true)]
    pub(super) lenient: bool,
    /// Show what is safe to mend as a diff, and mend it
    #[arg(long, global = true)]
    pub(super) fix: bool,
    /// Show what --fix would do, and do nothing
    #[arg(long, global = true)]
    pub(super) diff: bool,
    /// Also read links that lead out of the working folder, or out of the folder that was named
    #[arg(long, global = true)]
    pub(super) follow: bool,
    /// Change a limit under which documents are read: depth, nodes, bytes or aliases
    #[arg(long = "limit", global = true, value_name = "NAME=N", value_parser = limit)]
    pub(super) limits: Vec<(Limit, u64)>,
    /// How many files to check at a time; all processors when it is left out
    #[arg(long, global = true, value_name = "N", value_parser = value_parser!(u16).range(1..=256))]
    pub(super) jobs: Option<u16>,
    /// What to call standard input: its name tells format, kind and rules as a path does
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) stdin_name: Option<String>,
}

/// What an error means for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// An error ends with 1
    Strict,
    /// Errors are shown, and the program ends with 0
    Warn,
    /// Nothing is checked, and that is said
    Disabled,
}

/// Names under which Loa knows one of the kinds.
const OTHER_NAMES: [(&str, &str); 3] =
    [("trajectory-entry", "trajectory"), ("escalation", "escalation-report"), ("message", "messages")];

/// The name of a kind by that or another name.
pub(super) fn kind_name<'k>(kinds: &'k [Kind], word: &str) -> Option<&'k str> {
    let word = OTHER_NAMES.iter().find(|(other, _)| *other == word).map_or(word, |(_, name)| *name);
    kinds.iter().map(Kind::name).find(|name| *name == word)
}

pub(super) fn command(kinds: &[Kind]) -> CommandLine {
    let base = CommandLine::new("loa-validate")
        .version(env!("CARGO_PKG_VERSION"))
        .override_usage(USAGE)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand_help_heading("Kinds and commands")
        .after_help(format!("{EXAMPLES}\n\nExit codes:\n{OWN_CODES}\n{}", exit::SHARED_CODES));
    // The flags' own description would become the program's, so the program's comes after it.
    let base = Flags::augment_args(base)
        .about("Checks the documents of Loa's runtime contract: file, line, column, reason, remedy")
        .subcommand(auto_command())
        .subcommand(validate_command(kinds))
        .subcommand(CommandLine::new("list").about("Lists the kinds of documents"))
        .subcommand(schema_command(kinds))
        .subcommand(CommandLine::new("rules").about("Lists every rule"))
        .subcommand(explain_command(kinds))
        .subcommand(
            CommandLine::new("completions")
                .about("Prints a completion script")
                .arg(Arg::new("shell").required(true).value_parser(value_parser!(Shell))),
        );
    kinds.iter().fold(base, |command, kind| {
        command.subcommand(CommandLine::new(kind.name()).about(kind.where_found()).arg(files()))
    })
}

fn files() -> Arg {
    Arg::new("files").required(true).action(ArgAction::Append).num_args(1..).value_name("FILE").help(
        "Files to check; - is standard input, @LIST a file that lists them, quoted patterns such as '**/*.yaml' work",
    )
}

fn auto_command() -> CommandLine {
    CommandLine::new("auto")
        .about("Finds the kind of each file by its path and its keys; walks through folders")
        .arg(files().value_name("FILE|FOLDER"))
}

/// The command line of the script that Loa's documents name.
fn validate_command(kinds: &[Kind]) -> CommandLine {
    let names = kinds.iter().map(Kind::name).chain(OTHER_NAMES.map(|(other, _)| other));
    let schema = Arg::new("schema").long("schema").value_name("KIND").value_parser(names.collect::<Vec<_>>());
    CommandLine::new("validate")
        .visible_alias("assert")
        .about("The form of Loa's documents: validate FILE --schema checkpoint")
        .arg(files())
        .arg(schema.help("The kind; found by path and keys when it is left out"))
}

fn schema_command(kinds: &[Kind]) -> CommandLine {
    let names: Vec<&'static str> = kinds.iter().map(Kind::name).collect();
    let kind = Arg::new("kind").value_name("KIND").value_parser(names).help("A kind of document; all when left out");
    let write = Arg::new("write").long("write").value_name("FOLDER").help("Write a file for each into this folder");
    CommandLine::new("schema").about("Prints the JSON Schema of a kind, or of all").arg(kind).arg(write)
}

fn explain_command(kinds: &[Kind]) -> CommandLine {
    let names: Vec<&'static str> = catalogue(kinds).iter().map(|rule| rule.id).collect();
    let rule = Arg::new("rule").required(true).value_name("RULE").value_parser(names).hide_possible_values(true);
    CommandLine::new("explain")
        .about("Tells why a rule is there and how to mend what breaks it")
        .arg(rule.help("The name of a rule, as it stands in brackets in a finding"))
}

const USAGE: &str = "loa-validate [OPTIONS] <KIND> <FILE>...
       loa-validate [OPTIONS] <FILE|FOLDER>...
       loa-validate [OPTIONS] <FILE> <KIND>
       loa-validate validate <FILE> --schema <KIND>
       loa-validate <COMMAND>";

const EXAMPLES: &str = "\
Examples:
  loa-validate .loa-checkpoint/                    # everything in it, and what its files say of each other
  loa-validate checkpoint .loa-checkpoint/design.yaml
  loa-validate checkpoint '.loa-checkpoint/*.yaml' --json
  loa-validate .loa-checkpoint/design.yaml checkpoint
  loa-validate validate .loa-checkpoint/design.yaml --schema checkpoint --mode warn
  loa-validate config .loa.config.yaml --strict
  loa-validate checkpoint design.yaml --diff       # then --fix
  git diff --name-only | grep yaml$ | loa-validate auto @-
  some-command | loa-validate signal -
  loa-validate explain stem-equals-phase
  loa-validate schema --write schemas/";

const OWN_CODES: &str = "  0    every document is valid; or --mode warn, or --mode disabled
  1    at least one error; a file that opens and cannot be parsed is one";

/// Reads `depth=128`.
fn limit(text: &str) -> Result<(Limit, u64), String> {
    let (name, number) = text.split_once('=').ok_or("expected NAME=N, such as depth=128")?;
    let names = || Limit::ALL.map(Limit::name).join(", ");
    let limit = Limit::ALL
        .into_iter()
        .find(|limit| limit.name() == name)
        .ok_or_else(|| format!("no such limit; there are {}", names()))?;
    let number = number.parse().map_err(|_| format!("`{number}` is not a whole number"))?;
    if matches!(limit, Limit::Depth) && number > Budget::DEEPEST {
        return Err(format!("a depth above {} is not safe", Budget::DEEPEST));
    }
    Ok((limit, number))
}
