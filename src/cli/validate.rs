//! `loa-validate`: checks documents and says file, line, column, reason and remedy.

use std::fs::File;
use std::io::{self, Read};

use camino::{Utf8Path, Utf8PathBuf};
use clap::{Arg, ArgAction, ArgMatches, Args, Command as CommandLine, FromArgMatches, value_parser};
use serde_json::{Value, json};

use super::console::{print, say};
use super::defect::guarded;
use super::{ExitStatus, Failure, exit, finish, kinds, matches};
use crate::diag::render::{self, Source};
use crate::diag::{Budget, Diagnostic, Limit, Severity};
use crate::schema::{Checker, Kind};

/// Runs `loa-validate` on the process's own arguments.
#[must_use]
pub fn validate() -> ExitStatus {
    guarded(|| {
        let kinds = kinds();
        match matches(command(&kinds)) {
            Ok(matches) => finish(run(&kinds, &matches)),
            Err(status) => status,
        }
    })
}

#[derive(Debug, Args)]
struct Flags {
    /// Print one JSON document with all findings, for machines
    #[arg(long, global = true)]
    json: bool,
    /// Change a limit under which documents are read: depth, nodes, bytes or aliases
    #[arg(long = "limit", global = true, value_name = "NAME=N", value_parser = limit)]
    limits: Vec<(Limit, u64)>,
}

fn command(kinds: &[Kind]) -> CommandLine {
    let base = CommandLine::new("loa-validate")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Checks the documents of Loa's runtime contract: file, line, column, reason, remedy")
        .override_usage(
            "loa-validate [OPTIONS] <KIND> <FILE>...\n       loa-validate list\n       loa-validate schema <KIND>",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand_help_heading("Kinds and commands")
        .after_help(format!("{EXAMPLES}\n\nExit codes:\n{OWN_CODES}\n{}", exit::SHARED_CODES));
    let names: Vec<&'static str> = kinds.iter().map(Kind::name).collect();
    let schema = Arg::new("kind").required(true).value_name("KIND").value_parser(names).help("A kind of document");
    let base = Flags::augment_args(base)
        .subcommand(CommandLine::new("list").about("Lists the kinds of documents"))
        .subcommand(CommandLine::new("schema").about("Prints the JSON Schema of a kind").arg(schema));
    kinds.iter().fold(base, |command, kind| command.subcommand(check_command(kind)))
}

fn check_command(kind: &Kind) -> CommandLine {
    let files = Arg::new("files")
        .required(true)
        .action(ArgAction::Append)
        .num_args(1..)
        .value_name("FILE")
        .value_parser(value_parser!(Utf8PathBuf))
        .help("Files to check; - is standard input");
    CommandLine::new(kind.name()).about(kind.where_found()).arg(files)
}

const EXAMPLES: &str = "\
Examples:
  loa-validate checkpoint .loa-checkpoint/design.yaml
  loa-validate checkpoint .loa-checkpoint/{preflight,discovery,design}.yaml --json
  some-command | loa-validate signal -
  loa-validate schema checkpoint > checkpoint.schema.json";

const OWN_CODES: &str = "  0    every document is valid
  1    at least one finding; a file that opens and cannot be parsed is one";

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

fn run(kinds: &[Kind], matches: &ArgMatches) -> Result<ExitStatus, Failure> {
    let flags = Flags::from_arg_matches(matches).map_err(|error| Failure::new(ExitStatus::Usage, error))?;
    let find = |name: &str| kinds.iter().find(|kind| kind.name() == name).expect("clap admits only kinds");
    match matches.subcommand().expect("clap requires a subcommand") {
        ("list", _) => print(&list(kinds)).map(|()| ExitStatus::Success),
        ("schema", matches) => {
            let name = matches.get_one::<String>("kind").expect("clap requires a kind");
            print(&find(name).schema_file()).map(|()| ExitStatus::Success)
        }
        (name, matches) => {
            let files: Vec<&Utf8PathBuf> = matches.get_many("files").expect("clap requires a file").collect();
            check(find(name), &files, &flags)
        }
    }
}

fn list(kinds: &[Kind]) -> String {
    let lines = kinds.iter().map(|kind| {
        let schema = kind.schema();
        format!("{:<20} {:<20} {}\n", kind.name(), schema["title"].as_str().unwrap_or_default(), kind.where_found())
    });
    lines.collect()
}

/// A file that could not be read at all, which is no finding about a document.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("`{path}` is a folder")]
    Folder { path: Utf8PathBuf },
    #[error("failed to read `{path}`")]
    Failed { path: Utf8PathBuf, source: io::Error },
}

impl Unreadable {
    fn path(&self) -> &Utf8Path {
        match self {
            Self::Folder { path } | Self::Failed { path, .. } => path,
        }
    }
}

/// What was found in all files.
#[derive(Default)]
struct Tally {
    files: usize,
    invalid: usize,
    count: usize,
    /// For machines; empty when people read.
    findings: Vec<Value>,
    unreadable: Vec<Unreadable>,
}

fn check(kind: &Kind, files: &[&Utf8PathBuf], flags: &Flags) -> Result<ExitStatus, Failure> {
    let mut budget = Budget::default();
    for (limit, value) in &flags.limits {
        budget.set(*limit, *value);
    }
    let checker = Checker::new(kind);
    let mut tally = Tally::default();
    for path in files {
        match read(path, &budget) {
            Err(error) => tally.unreadable.push(error),
            Ok(bytes) => {
                let findings = checker.check(&bytes, path, &budget);
                let name = if *path == "-" { "<stdin>" } else { path.as_str() };
                tally.add(name, &findings, flags.json);
                if !flags.json && !findings.is_empty() {
                    print(&for_people(name, &bytes, &findings))?;
                }
            }
        }
    }
    if flags.json {
        print(&format!("{:#}\n", tally.to_json(kind)))?;
    }
    Ok(tally.conclude(flags.json))
}

/// Reads a file, or standard input, up to one byte more than a document may have.
fn read(path: &Utf8Path, budget: &Budget) -> Result<Vec<u8>, Unreadable> {
    let failed = |source| Unreadable::Failed { path: path.to_owned(), source };
    let most = budget.bytes.saturating_add(1);
    let mut bytes = Vec::new();
    if path == "-" {
        io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(failed)?;
        return Ok(bytes);
    }
    if path.is_dir() {
        return Err(Unreadable::Folder { path: path.to_owned() });
    }
    File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

/// Each finding with its line. A file that is wrong all over is cut short: nobody reads on, and machines have `--json`.
fn for_people(name: &str, bytes: &[u8], findings: &[Diagnostic]) -> String {
    const MOST: usize = 50;
    let text = String::from_utf8_lossy(bytes);
    let source = Source::new(name, &text);
    let mut output = String::new();
    for finding in findings.iter().take(MOST) {
        output.push_str(&render::full(&source, finding));
        output.push_str("\n\n");
    }
    if let more @ 1.. = findings.len().saturating_sub(MOST) {
        output.extend([name, ": ", &more.to_string(), " more findings; --json lists all\n\n"]);
    }
    output
}

impl Tally {
    fn add(&mut self, name: &str, findings: &[Diagnostic], keep: bool) {
        self.files += 1;
        self.invalid += usize::from(findings.iter().any(|finding| finding.severity == Severity::Error));
        self.count += findings.len();
        if keep {
            self.findings.extend(findings.iter().map(|finding| render::json(name, finding)));
        }
    }

    fn to_json(&self, kind: &Kind) -> Value {
        let unreadable = |error: &Unreadable| json!({"file": error.path(), "message": chain(error)});
        let unreadable: Vec<Value> = self.unreadable.iter().map(unreadable).collect();
        json!({
            "version": 1,
            "kind": kind.name(),
            "files": self.files,
            "invalid": self.invalid,
            "findings": self.findings,
            "unreadable": unreadable,
        })
    }

    /// Says what could not be read, sums up, and chooses the status: unread input weighs more than a finding, because
    /// nobody knows what would have been found in it.
    fn conclude(self, json: bool) -> ExitStatus {
        if !json {
            say(self.summary());
        }
        let status = match (self.unreadable.is_empty(), self.invalid) {
            (false, _) => ExitStatus::NoInput,
            (true, 0) => ExitStatus::Success,
            (true, _) => ExitStatus::Findings,
        };
        for error in self.unreadable {
            let hint = match &error {
                Unreadable::Folder { path } => Some(format!("name the files in it, such as {}", path.join("*.yaml"))),
                Unreadable::Failed { .. } => None,
            };
            let failure = Failure::new(status, error);
            hint.into_iter().fold(failure, Failure::hint).print();
        }
        status
    }

    fn summary(&self) -> String {
        let count = |number: usize, unit: &str| format!("{number} {unit}{}", if number == 1 { "" } else { "s" });
        let findings = match self.count {
            0 => "no findings".to_owned(),
            number => count(number, "finding"),
        };
        format!("{}, {findings}", count(self.files, "file"))
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
