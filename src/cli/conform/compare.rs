//! Reports beside one another: `diff`, `merge`, and `score --against`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::stored;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::conform::judge::Outcome;
use crate::conform::score::{Comparison, ConformanceReport, UnionError};
use crate::report;
use crate::text::line;

#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub(super) struct Diff {
    /// The older report
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The newer report
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Print one JSON document, for machines
    #[arg(long)]
    json: bool,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  loa-conform diff last-week/report.json now/report.json
  loa-conform diff a.json b.json --json | jq '.clauses[] | select(.direction == \"down\")'

0: nothing differs. 1: something does. 3: they have nothing in common.";

#[derive(Debug, Args)]
#[command(after_help = MERGE_EXAMPLES)]
pub(super) struct Merge {
    /// The reports, measured alike: profile, edition, suite, judge, seed, selection, machine
    #[arg(value_name = "REPORT", required = true, num_args = 2..)]
    reports: Vec<PathBuf>,
    /// Write report.json and report.md into this folder; when not given, print the JSON
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the report as JSON, also when it is written
    #[arg(long)]
    json: bool,
}

const MERGE_EXAMPLES: &str = "\
Examples:
  loa-conform merge mine/report.json theirs/report.json --out both
  loa-conform merge one.json two.json three.json > all.json

1: they cannot stand in one table, and why.";

pub(super) fn diff(wish: &Diff) -> Result<ExitStatus, Failure> {
    let compared = Comparison::of(&stored::report(&wish.old)?, &stored::report(&wish.new)?);
    let status = match (compared.is_same(), compared.compared) {
        (_, 0) => ExitStatus::Incomplete,
        (true, _) => ExitStatus::Success,
        (false, _) => ExitStatus::NotConforming,
    };
    if wish.json {
        let text =
            serde_json::to_string_pretty(&compared).map_err(|error| Failure::new(ExitStatus::Internal, error))?;
        print(&format!("{text}\n"))?;
    } else {
        print(&told(&compared))?;
    }
    Ok(status)
}

/// A comparison for people.
fn told(compared: &Comparison) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for unlike in &compared.unlike {
        let _ = writeln!(text, "not measured alike: {}", line(unlike));
    }
    for change in &compared.clauses {
        let word = |outcome: Option<Outcome>| outcome.map_or("–", Outcome::as_str);
        let (old, new) = (word(change.old), word(change.new));
        let _ =
            writeln!(text, "{:7} {} {}: {old} -> {new}", change.direction, line(&change.runtime), line(&change.clause));
    }
    for change in &compared.cells {
        let _ = writeln!(text, "cell    {} {}: {} -> {}", line(&change.runtime), change.column, change.old, change.new);
    }
    for (what, names) in [
        ("only in the older", &compared.removed),
        ("only in the newer", &compared.added),
        ("could be started, and cannot any more", &compared.lost),
    ] {
        if !names.is_empty() {
            let _ = writeln!(text, "{what}: {}", line(&names.join(", ")));
        }
    }
    let _ = writeln!(text, "{} clauses compared, {} differ", compared.compared, compared.clauses.len());
    text
}

pub(super) fn merge(wish: &Merge) -> Result<ExitStatus, Failure> {
    let reports: Vec<ConformanceReport> =
        wish.reports.iter().map(|path| stored::report(path)).collect::<Result<_, _>>()?;
    let (first, others) = reports.split_first().expect("the command line asks for at least two");
    let joined = first.clone().joined(others).map_err(unfit)?;
    if let Some(folder) = &wish.out {
        let place = super::score::write(&joined, folder, &[])?;
        print(&format!("{} rows: {}\n", joined.runtimes.len(), place.display()))?;
    }
    if wish.json || wish.out.is_none() {
        print(&report::json(&joined))?;
    }
    Ok(ExitStatus::Success)
}

fn unfit(error: UnionError) -> Failure {
    let hint = match &error {
        UnionError::Unlike(_) => "measure them again with one suite, one judge and one --seed",
        UnionError::Interrupted(_) => "measure it again to its end",
        UnionError::Host(_) => "measure them on one machine",
        UnionError::Twice(_) => "leave one of the two rows out; `loa-conform diff` shows how they differ",
    };
    Failure::new(ExitStatus::NotConforming, error).hint(hint)
}

/// An older report that a measurement is going to be held against.
pub(super) struct Ratchet {
    old: ConformanceReport,
    file: PathBuf,
}

impl Ratchet {
    /// Reads it, before anything is measured.
    pub(super) fn open(file: &Path) -> Result<Self, Failure> {
        Ok(Self { old: stored::report(file)?, file: file.to_path_buf() })
    }

    /// Says on stderr what went down, and yields whether something did; `None` when nothing could be compared.
    pub(super) fn went_down(&self, new: &ConformanceReport) -> Option<bool> {
        let compared = Comparison::of(&self.old, new);
        let file = self.file.display();
        for unlike in &compared.unlike {
            say(format_args!("{file}: not measured alike: {unlike}"));
        }
        for change in compared.downs() {
            let word = |outcome: Option<Outcome>| outcome.map_or("–", Outcome::as_str);
            let (old, new) = (word(change.old), word(change.new));
            say(format_args!("{file}: {} {} went down: {old} -> {new}", change.runtime, change.clause));
        }
        for lost in &compared.lost {
            say(format_args!("{file}: {lost} could be started, and cannot any more"));
        }
        let nothing = compared.compared == 0 && compared.lost.is_empty();
        if nothing {
            say(format_args!("{file}: it has no clause of what was measured now, so nothing can be compared"));
        }
        (!nothing).then(|| compared.is_worse())
    }
}
