//! `loa-conform readme`: the tables of the README are written by the program, from the committed report.

use std::path::{Path, PathBuf};

use camino::Utf8Path;
use similar::TextDiff;

use super::args::Readme;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::conform::{AgentProfile, CONFORMANCE_REPORT, ConformanceReport, Finding, RuntimeProfile};
use crate::diag::Budget;
use crate::report;
use crate::schema::Checker;
use crate::system::files::{self, Privacy};

/// Longest README or report, in bytes.
const LONGEST: u64 = 64 << 20;

pub(super) fn readme(wish: &Readme) -> Result<ExitStatus, Failure> {
    let missing = |error| Failure::new(ExitStatus::NoInput, error);
    let suite = super::suite::open::<RuntimeProfile>(wish.place.suite.as_deref())?;
    let mut report = fit(&wish.report, &suite.hash, "loa-conform score")?;
    let driven = reports_in(&wish.driven, || Ok(suite.hash.clone()), "fixtures/drivers/score NAME -- --seed N")?;
    join(&mut report, driven).map_err(|message| Failure::new(ExitStatus::NotConforming, message))?;
    let hash = || Ok(super::suite::open::<AgentProfile>(None)?.hash);
    let agents = reports_in(&wish.agents, hash, "loa-conform score --profile agent NAME")?;
    let bytes = files::read(&wish.file, LONGEST).map_err(missing)?;
    let text = String::from_utf8(bytes).map_err(|error| Failure::new(ExitStatus::NoInput, error))?;
    let written = report::readme(&text, &report, &agents).map_err(|block| {
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

/// The reports of a folder, by the names of their files; none where there is no such folder.
fn reports_in(
    folder: &Path,
    suite: impl FnOnce() -> Result<String, Failure>,
    measure: &str,
) -> Result<Vec<ConformanceReport>, Failure> {
    let json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let found = match files::list(folder) {
        Ok(found) => found,
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => return Err(Failure::new(ExitStatus::NoInput, error)),
    };
    if !found.iter().any(json) {
        return Ok(Vec::new());
    }
    let suite = suite()?;
    found.iter().filter(|path| json(path)).map(|path| fit(path, &suite, measure)).collect()
}

/// Sets the rows of further reports beside those of the first, as if all had been measured at once: under one seed.
fn join(report: &mut ConformanceReport, others: Vec<ConformanceReport>) -> Result<(), String> {
    for other in others {
        let names = other.runtimes.iter().map(|row| row.runtime.as_str()).collect::<Vec<_>>().join(", ");
        if other.seed != report.seed {
            return Err(format!(
                "{names}: measured under seed {}, and the rest under seed {}",
                other.seed, report.seed
            ));
        }
        report.runtimes.extend(other.runtimes);
    }
    report.runtimes.sort_by(|a, b| a.runtime.cmp(&b.runtime));
    Ok(())
}

/// A report that may stand in a README.
fn fit(path: &Path, suite: &str, measure: &str) -> Result<ConformanceReport, Failure> {
    let report = load(path)?;
    match unfit(&report, suite) {
        None => Ok(report),
        Some(why) => {
            let failure = Failure::new(ExitStatus::NotConforming, format!("{}: {why}", path.display()));
            Err(failure.hint(format!("run `{measure}`, and copy its report.json to {}", path.display())))
        }
    }
}

/// Why a report must not stand in a README, if so.
fn unfit(report: &ConformanceReport, suite: &str) -> Option<String> {
    match &report.only {
        Some(only) => Some(format!("only cases that match {only} were run, which is no rating")),
        None if report.quick => Some("only the quick subset was run, which is no rating".to_owned()),
        None if !report.complete => Some("the judge was interrupted".to_owned()),
        None if report.suite != suite => {
            Some(format!("it was measured by suite {:.12}, and the suite is {suite:.12} by now", report.suite))
        }
        None => None,
    }
}

/// A report that is there.
pub(super) fn load(path: &Path) -> Result<ConformanceReport, Failure> {
    let bytes = files::read(path, LONGEST).map_err(|error| Failure::new(ExitStatus::NoInput, error))?;
    read(&bytes, &path.to_string_lossy())
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
