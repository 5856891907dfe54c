//! Known reds: `score --baseline` holds a measurement against a list of them, `loa-conform baseline` writes one.

use std::path::{Path, PathBuf};

use camino::Utf8Path;
use clap::Args;
use jiff::ToSpan;
use jiff::civil::Date;

use super::stored;
use super::suite::wrong;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::conform::score::{BASELINE, Baseline, Complaint, ConformanceReport};
use crate::conform::suite::Finding;
use crate::diag::{Budget, Diagnostic, Document, Format};
use crate::schema::Checker;
use crate::system::clock;
use crate::system::files::{self, Privacy};

/// Longest baseline, in bytes.
const LONGEST: u64 = 4 << 20;
/// How long a red is excused when nobody says it, in days.
const USUAL_DAYS: i32 = 90;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct WriteBaseline {
    /// The report whose reds are known from now on
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// Where the reds are being dealt with: an address or a number
    #[arg(long, value_name = "ISSUE")]
    issue: String,
    /// The last day on which they are excused; 90 days from now when not given
    #[arg(long, value_name = "DATE")]
    expires: Option<Date>,
    /// The baseline: entries that still fit stay, the others go, new reds come. Printed when not given
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Print one JSON document, for machines
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  loa-conform score my-runtime.yaml --out now
  loa-conform baseline now/report.json --issue '#12' --write baseline.yaml
  loa-conform score my-runtime.yaml --baseline baseline.yaml

A known red is `expected-fail`: it no longer fails the run, and counts as failed
in every cell. An entry that is stale, expired, unmatched, a duplicate, or red
for another reason fails the run. `loa-validate baseline FILE` checks one.";

pub(super) fn baseline(wish: &WriteBaseline) -> Result<ExitStatus, Failure> {
    let report = stored::report(&wish.report)?;
    let today = today();
    let expires = wish.expires.unwrap_or_else(|| today.saturating_add(USUAL_DAYS.days()));
    if expires < today {
        let failure = Failure::new(ExitStatus::Usage, format!("--expires {expires}: that day is over"));
        return Err(failure.hint(format!("today is {today}")));
    }
    let old = match &wish.write {
        Some(file) if file.exists() => read(file)?.0,
        _ => Baseline { version: 1, known: Vec::new() },
    };
    let new = old.renewed(&report, &wish.issue, expires, today);
    let count = new.known.len();
    let text = if wish.json {
        serde_json::to_string_pretty(&new).map_err(|error| Failure::new(ExitStatus::Internal, error))? + "\n"
    } else {
        serde_yaml::to_string(&new).map_err(|error| Failure::new(ExitStatus::Internal, error))?
    };
    match &wish.write {
        Some(file) => {
            files::write_durably(file, text.as_bytes(), Privacy::Shared)
                .map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
            print(&format!("{}: {count} known reds\n", file.display()))?;
        }
        None => print(&text)?,
    }
    Ok(ExitStatus::Success)
}

/// A baseline and its text.
fn read(file: &Path) -> Result<(Baseline, String), Failure> {
    let bytes = files::read(file, LONGEST).map_err(|error| {
        Failure::new(ExitStatus::NoInput, error).hint("`loa-conform baseline REPORT --issue … --write FILE` writes one")
    })?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let name = file.to_string_lossy();
    let read = Checker::new(&BASELINE).read(&bytes, Utf8Path::new(&*name), &Budget::default());
    let baseline = read.map_err(|findings| {
        let about = |diagnostic| Finding { file: (&*name).into(), text: text.clone(), diagnostic };
        let findings: Vec<Finding> = findings.into_iter().map(about).collect();
        wrong(&findings, "the baseline is not valid")
    })?;
    Ok((baseline, text))
}

/// A baseline that a measurement is going to be held against.
pub(super) struct Known {
    baseline: Baseline,
    file: PathBuf,
    text: String,
}

impl Known {
    /// Reads it, before anything is measured.
    pub(super) fn open(file: &Path) -> Result<Self, Failure> {
        let (baseline, text) = read(file)?;
        Ok(Self { baseline, file: file.to_path_buf(), text })
    }

    /// Excuses the reds that it knows. Prints the entries that no longer fit, and yields whether there are any.
    pub(super) fn apply(&self, report: &mut ConformanceReport) -> bool {
        let complaints = self.baseline.apply(report, today());
        let document = Document::read(self.text.as_bytes(), Format::Yaml, &Budget::default()).ok();
        let findings: Vec<Finding> = complaints.iter().map(|it| self.finding(it, document.as_ref())).collect();
        if !findings.is_empty() {
            // The failure would say that the document is wrong; it is the measurement that differs from it.
            let _ = wrong(&findings, "the baseline no longer fits");
        }
        !findings.is_empty()
    }

    fn finding(&self, complaint: &Complaint, document: Option<&Document>) -> Finding {
        let pointer = format!("/known/{}", complaint.entry);
        let mut diagnostic = Diagnostic::error(complaint.staleness.as_str(), complaint.message.clone());
        diagnostic.span = document.and_then(|document| document.span_of(&pointer));
        let again = "remove it, or let `loa-conform baseline … --write` do so";
        let diagnostic = diagnostic.of(pointer).help(again);
        Finding { file: self.file.to_string_lossy().into_owned().into(), text: self.text.clone(), diagnostic }
    }
}

fn today() -> Date {
    clock::now().wall().to_zoned(jiff::tz::TimeZone::UTC).date()
}
