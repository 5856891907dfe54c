//! The command line of `loa-conform`: its shape, and nothing that is done about it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::baseline::WriteBaseline;
use super::bundle::Verify;
use super::compare::{Diff, Merge};
use super::doctor::Doctor;
use super::explore::Explore;
use super::repro::Repro;
use super::skeleton::NewRuntime;
use super::stability::Stability;
use crate::cli::exit::SHARED_CODES;
use crate::conform::spec::{Column, Level, ProfileName};
use crate::conform::suite::Selection;
use crate::contract::UnknownWord;

/// Drives any runtime as a black box and scores it against Loa's runtime contract, clause by clause
#[derive(Debug, Parser)]
#[command(name = "loa-conform", version, arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = format!("{EXAMPLES}\n\nExit codes:\n{OWN_CODES}\n{SHARED_CODES}"))]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) verb: Verb,
}

/// How many stories a score tells unless somebody says otherwise.
pub(super) const STORIES: usize = 60;

/// The most that it tells: every one is kept until the report is written.
const MOST_STORIES: usize = 10_000;

const EXAMPLES: &str = "\
Examples:
  loa-conform score                         every bundled runtime: is it as known?
  loa-conform score loa-run                 one of them, against the contract
  loa-conform score ./my/manifest.yaml      a runtime of yours
  loa-conform score loa-run --only EXIT-003 --keep
  loa-conform score --profile agent         every bundled coding agent that is installed
  loa-conform score loa-run --bundle evidence && loa-conform verify evidence
  loa-conform new-runtime --lang python mine && loa-conform doctor mine/manifest.yaml
  loa-conform explain EXIT-003
  loa-conform variants                      is the judge awake?
  loa-conform model --script fixtures/models/tool.yaml";

const OWN_CODES: &str = "  0    conforms; in a survey, or as a manifest of yours expects: earned what it should
  1    does not conform, or differs, or a required runtime could not run
  3    incomplete: too little was measured to say
  4    the judge itself failed
  5    claims differ from the measurement (--strict-claims)";

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Scores runtimes or agents; without a name, surveys every bundled one
    Score(Score),
    /// Computes every verdict of an evidence bundle again, offline
    Verify(Verify),
    /// Writes the list of the reds that are known
    Baseline(WriteBaseline),
    /// Runs the suite several times, under other seeds and in another order
    Stability(Stability),
    /// Tells drawn stories until the time is over, guided by what was not seen yet
    Explore(Explore),
    /// Writes a shell script that shows a red without this program
    Repro(Repro),
    /// Tries a manifest before it is scored, and says what is wrong with it
    Doctor(Doctor),
    /// Writes a runtime to begin with: a manifest and a program
    NewRuntime(NewRuntime),
    /// Compares two reports, by runtime and clause
    Diff(Diff),
    /// Makes one report of several that were measured alike
    Merge(Merge),
    /// Prints the clauses, or compares them with the contract's text
    Ledger(Ledger),
    /// Explains a clause: level, source, readings, how it is tested, what dies of it, what that leaves open
    Explain(Explain),
    /// Lists runtimes or agents, and cases
    List(Shown),
    /// Checks ledger, claims, cases, manifests and variants
    #[command(after_help = LINT_EXAMPLES)]
    Lint(Shown),
    /// Scaffolds a case, a faulty variant that it kills, and for a new clause a row of the ledger
    New(New),
    /// Has the judge judged: every faulty variant must die, every lawful one live
    Variants(Variants),
    /// Has the judge judged by runtimes that do one thing wrong, drawn from its own model
    Mutants(super::mutants::Mutants),
    /// Renders a report that is there: as a page, for CI servers, as annotations, as badges
    Report(super::report::Report),
    /// Writes the tables of the README from the committed report
    Readme(Readme),
    /// Writes reports/index.html and reports/contract-defects.md from what is committed
    Pages(Pages),
    /// Serves a scripted model on loopback, so that an agent runs without network or key
    Model(Serve),
}

#[derive(Debug, Args)]
pub(super) struct InSuite {
    /// What is judged: anything that executes phases, or a coding agent's command line
    #[arg(long, value_name = "runtime|agent", default_value = "runtime")]
    pub(super) profile: ProfileName,
    /// Read ledger, claims, cases and candidates from this folder instead of the program itself
    #[arg(long, value_name = "DIR")]
    pub(super) suite: Option<PathBuf>,
}

/// Where agents are found.
#[derive(Debug, Args)]
pub(super) struct Installed {
    /// Where agents are installed; looked into before PATH
    #[arg(long, value_name = "DIR", default_value = ".agents/bin")]
    pub(super) programs: PathBuf,
}

/// What is shown of a suite.
#[derive(Debug, Args)]
pub(super) struct Shown {
    /// Print one JSON document, for machines
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) place: InSuite,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(super) struct Score {
    /// Names of bundled runtimes or agents, or manifests of yours
    #[arg(value_name = "NAME|MANIFEST")]
    pub(super) runtimes: Vec<String>,
    /// Run only the quick subset, for a runtime some ten seconds: a part, and so no rating
    #[arg(long)]
    pub(super) quick: bool,
    #[command(flatten)]
    pub(super) installed: Installed,
    /// Run only cases whose id, or whose clause, begins so; * stands for anything
    #[arg(long, value_name = "PATTERN")]
    pub(super) only: Option<String>,
    /// Never run cases whose id, or whose clause, begins so; the result is incomplete
    #[arg(long, value_name = "PATTERN")]
    pub(super) skip: Option<String>,
    /// Run only the cases of this column, and what they presuppose; it alone is rated
    #[arg(long, value_name = "NAME")]
    pub(super) column: Option<Column>,
    /// Judge only clauses that bind so much or more
    #[arg(long, value_name = "must|should|may|ext", value_parser = level)]
    pub(super) level: Option<Level>,
    /// Draw every value under this seed
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Tell so many drawn stories, and hold what was seen against the judge's model of the contract; runtimes only
    #[arg(long, value_name = "N", default_value_t = STORIES, value_parser = stories)]
    pub(super) stories: usize,
    /// How many scenarios at once; when not given, twice the cores
    #[arg(long, value_name = "N")]
    pub(super) jobs: Option<std::num::NonZeroUsize>,
    /// Print the report as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Where the report is written
    #[arg(long, value_name = "DIR", default_value = "reports/local")]
    pub(super) out: PathBuf,
    /// Write it in these formats, too; report.json, report.md and report.html are always written
    #[arg(long, value_enum, value_name = "FORMAT", value_delimiter = ',')]
    pub(super) format: Vec<super::report::Format>,
    /// Fail when this runtime cannot be run
    #[arg(long, value_name = "NAME")]
    pub(super) require: Vec<String>,
    /// Fail when a claim differs from what was measured
    #[arg(long)]
    pub(super) strict_claims: bool,
    /// Shut off every network but loopback, or refuse to measure; agents are shut off without being asked, where that works
    #[arg(long)]
    pub(super) hermetic: bool,
    /// Keep the folder of every case, and say where
    #[arg(long)]
    pub(super) keep: bool,
    /// Say on stderr what happened in every case, step by step
    #[arg(long)]
    pub(super) trace: bool,
    /// Store everything that was seen in this folder, so that `verify` can judge it again
    #[arg(long, value_name = "DIR")]
    pub(super) bundle: Option<PathBuf>,
    /// Excuse the reds of this file, and fail when an entry of it no longer fits
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Fail when a clause came out better in this older report
    #[arg(long, value_name = "REPORT")]
    pub(super) against: Option<PathBuf>,
    #[command(flatten)]
    pub(super) place: InSuite,
}

impl Score {
    /// Which cases are asked for.
    pub(super) fn selection(&self) -> Selection {
        let Self { only, skip, column, level, quick, .. } = self;
        Selection { only: only.clone(), skip: skip.clone(), column: *column, level: *level, quick: *quick }
    }
}

/// A number of stories that can be held at once.
fn stories(word: &str) -> Result<usize, String> {
    let count = word.parse().map_err(|error| format!("{error}"))?;
    if count > MOST_STORIES {
        return Err(format!("{MOST_STORIES} are the most; `explore` tells them without end"));
    }
    Ok(count)
}

/// A level in any case of letters.
fn level(word: &str) -> Result<Level, UnknownWord> {
    word.to_uppercase().parse()
}

#[derive(Debug, Args)]
pub(super) struct Ledger {
    /// The contract's text: says which sentences have changed since the ledger was written
    #[arg(long, value_name = "FILE")]
    pub(super) against: Option<PathBuf>,
    #[command(flatten)]
    pub(super) shown: Shown,
}

const LINT_EXAMPLES: &str = "\
Examples:
  loa-conform lint                          the bundled suite
  loa-conform lint --suite contract-tests   the one that is being worked on
  loa-conform lint --profile agent --json | jq .findings

Errors end with 78; warnings say what the suite does not prove, and end with 0.";

const NEW_EXAMPLES: &str = "\
Examples:
  loa-conform new EXIT-003 --name retry-at-night
  loa-conform new ESC-027 --name pages-twice --suite contract-tests
  loa-conform new CTX-005 --name counts-twice --base loa-run --json

Nothing is overwritten. What only you know reads FILL IN, and `lint` finds it.";

const VARIANTS_EXAMPLES: &str = "\
Examples:
  loa-conform variants                      each against its own column
  loa-conform variants --full               each against everything, and the table
  loa-conform variants no-backoff silent --suite contract-tests
  loa-conform variants --profile agent --json | jq .score

  0    every variant died, or lived, as it says
  1    one did not, a base is not what it is known to be, or nothing passed something
  3    nothing was tried";

#[derive(Debug, Args)]
#[command(after_help = NEW_EXAMPLES)]
pub(super) struct New {
    /// A clause of the ledger, or the next free number of a family
    #[arg(value_name = "CLAUSE")]
    pub(super) clause: String,
    /// What the case is called after its clause, and the variant: words with dashes
    #[arg(long, value_name = "WORDS", default_value = "new")]
    pub(super) name: String,
    /// The bundled runtime that the variant breaks
    #[arg(long, value_name = "NAME", default_value = "sh")]
    pub(super) base: String,
    /// The folder of the suite that is added to
    #[arg(long, value_name = "DIR", default_value = "contract-tests")]
    pub(super) suite: PathBuf,
    /// What is judged
    #[arg(long, value_name = "runtime|agent", default_value = "runtime")]
    pub(super) profile: ProfileName,
    /// Print one JSON document, for machines
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = VARIANTS_EXAMPLES)]
pub(super) struct Variants {
    /// Names of variants; all, and the programs that do nothing, when none is given
    #[arg(value_name = "NAME")]
    pub(super) names: Vec<String>,
    /// Try each against every case, and print the table
    #[arg(long)]
    pub(super) full: bool,
    /// Draw every value under this seed
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// How many scenarios at once; when not given, four times the cores
    #[arg(long, value_name = "N")]
    pub(super) jobs: Option<std::num::NonZeroUsize>,
    #[command(flatten)]
    pub(super) installed: Installed,
    /// Print one JSON document, for machines
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) place: InSuite,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  loa-conform explain EXIT-003
  loa-conform explain exit-004-three-retries
  loa-conform explain STATUS-004 --profile agent
  loa-conform explain ESC-026 --json | jq .limits";

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(super) struct Explain {
    /// A clause, such as EXIT-003, or a case
    #[arg(value_name = "CLAUSE")]
    pub(super) clause: String,
    #[command(flatten)]
    pub(super) shown: Shown,
}

/// Where the committed reports are.
#[derive(Debug, Args)]
pub(super) struct Measured {
    /// The report of the bundled runtimes
    #[arg(long, value_name = "FILE", default_value = "reports/measured.json")]
    pub(super) report: PathBuf,
    /// The folder with the reports of runtimes in which a real agent does every phase
    #[arg(long, value_name = "DIR", default_value = "reports/driven")]
    pub(super) driven: PathBuf,
    /// The folder with the reports of the agents that were measured
    #[arg(long, value_name = "DIR", default_value = "reports/agents")]
    pub(super) agents: PathBuf,
    #[command(flatten)]
    pub(super) place: InSuite,
}

#[derive(Debug, Args)]
pub(super) struct Readme {
    /// Change nothing; fail when the README differs
    #[arg(long)]
    pub(super) check: bool,
    /// The README
    #[arg(long = "readme", value_name = "FILE", default_value = "README.md")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) measured: Measured,
}

#[derive(Debug, Args)]
pub(super) struct Pages {
    /// Change nothing; fail when a page differs
    #[arg(long)]
    pub(super) check: bool,
    /// The folder that the pages are written into
    #[arg(long, value_name = "DIR", default_value = "reports")]
    pub(super) into: PathBuf,
    /// Where the contract contradicts itself
    #[arg(long, value_name = "FILE", default_value = "contract-tests/defects.yaml")]
    pub(super) defects: PathBuf,
    #[command(flatten)]
    pub(super) measured: Measured,
}

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(super) struct Serve {
    /// What the model answers, as YAML or JSON
    #[arg(long, value_name = "FILE")]
    pub(super) script: PathBuf,
    /// The port on 127.0.0.1; any free one when not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) port: Option<u16>,
    /// Append every request to this file, one JSON object a line; keys are never in it, prompts are
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
    /// Make the ids of answers from this seed
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Print JSON objects, one a line: `listening`, then `request` and `ended` for each request
    #[arg(long)]
    pub(super) json: bool,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  loa-conform model --script fixtures/models/tool.yaml --port 8787
  loa-conform model --script fixtures/models/errors.yaml --log requests.jsonl
  loa-conform model --script mine.yaml --json | jq .request.answer

A script:
  steps:
    - error: {status: 529}
    - shell: printf hello > greeting.txt
    - text: All done.

It speaks Anthropic Messages and OpenAI Responses, and prints what to set so
that Claude Code and Codex ask there, until it is interrupted: 130 or 143.
`loa-validate schema model-script` prints the format of a script.";
