//! `loa-conform readme`: the tables of the README are written by the program, from the committed report.

use camino::Utf8Path;
use similar::TextDiff;

use super::args::Readme;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::conform::{CONFORMANCE_REPORT, ConformanceReport, Finding};
use crate::diag::Budget;
use crate::report;
use crate::schema::Checker;
use crate::system::files::{self, Privacy};

/// Longest README or report, in bytes.
const LONGEST: u64 = 64 << 20;

pub(super) fn readme(wish: &Readme) -> Result<ExitStatus, Failure> {
    let missing = |error| Failure::new(ExitStatus::NoInput, error);
    let report = read(&files::read(&wish.report, LONGEST).map_err(missing)?, &wish.report.to_string_lossy())?;
    let suite = super::suite::open(wish.place.suite.as_deref())?;
    if let Some(why) = unfit(&report, &suite.hash) {
        let failure = Failure::new(ExitStatus::NotConforming, format!("{}: {why}", wish.report.display()));
        let measure = format!("run `loa-conform score`, and copy its report.json to {}", wish.report.display());
        return Err(failure.hint(measure));
    }
    let bytes = files::read(&wish.file, LONGEST).map_err(missing)?;
    let text = String::from_utf8(bytes).map_err(|error| Failure::new(ExitStatus::NoInput, error))?;
    let written = report::readme(&text, &report).map_err(|block| {
        let failure = Failure::new(ExitStatus::Config, format!("{} lacks a block", wish.file.display()));
        failure.hint(format!("put <!-- loa:{block} --> and <!-- /loa:{block} --> where the table belongs"))
    })?;
    match (written == text, wish.check) {
        (true, _) => Ok(ExitStatus::Success),
        (false, true) => {
            let difference = TextDiff::from_lines(&text, &written);
            let names = (wish.file.to_string_lossy(), wish.report.to_string_lossy());
            let mut shown = difference.unified_diff();
            print(&shown.context_radius(1).header(&names.0, &format!("as {} has it", names.1)).to_string())?;
            let message = format!("{} is stale: its tables differ from {}", wish.file.display(), wish.report.display());
            Err(Failure::new(ExitStatus::NotConforming, message)
                .hint("run `loa-conform readme` and commit what it writes"))
        }
        (false, false) => {
            let failed = |error| Failure::new(ExitStatus::WriteFailed, error);
            files::write_durably(&wish.file, written.as_bytes(), Privacy::Shared).map_err(failed)?;
            Ok(ExitStatus::Success)
        }
    }
}

/// Why a report must not stand in a README, if so.
fn unfit(report: &ConformanceReport, suite: &str) -> Option<String> {
    match &report.only {
        Some(only) => Some(format!("only cases that match {only} were run, which is no rating")),
        None if !report.complete => Some("the judge was interrupted".to_owned()),
        None if report.suite != suite => {
            Some(format!("it was measured by suite {:.12}, and the suite is {suite:.12} by now", report.suite))
        }
        None => None,
    }
}

fn read(bytes: &[u8], name: &str) -> Result<ConformanceReport, Failure> {
    let budget = Budget { bytes: LONGEST, nodes: LONGEST, ..Budget::default() };
    Checker::new(&CONFORMANCE_REPORT).read(bytes, Utf8Path::new(name), &budget).map_err(|findings| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let about = |diagnostic| Finding { file: name.into(), text: text.clone(), diagnostic };
        let findings: Vec<Finding> = findings.into_iter().map(about).collect();
        super::suite::wrong(&findings, "the report is not valid")
    })
}
