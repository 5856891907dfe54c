//! The committed reports: found, checked, and held against the suite of today.

use std::path::{Path, PathBuf};

use super::args::Measured;
use super::stored;
use crate::cli::{ExitStatus, Failure};
use crate::conform::score::ConformanceReport;
use crate::conform::spec::{AgentProfile, RuntimeProfile};
use crate::system::files;

/// What was measured, and is still true of the suite.
pub(super) struct Reports {
    /// The bundled runtimes.
    pub(super) bundled: ConformanceReport,
    /// Runtimes in which a real agent does every phase, under the same seed.
    pub(super) driven: Vec<ConformanceReport>,
    /// Agents.
    pub(super) agents: Vec<ConformanceReport>,
}

impl Reports {
    pub(super) fn gather(wish: &Measured) -> Result<Self, Failure> {
        let suite = super::suite::open::<RuntimeProfile>(wish.place.suite.as_deref())?;
        let bundled = fit(&wish.report, &suite.hash, "loa-conform score")?;
        let driven = reports_in(&wish.driven, || Ok(suite.hash.clone()), "fixtures/drivers/score NAME -- --seed N")?;
        let hash = || Ok(super::suite::open::<AgentProfile>(None)?.hash);
        let agents = reports_in(&wish.agents, hash, "loa-conform score --profile agent NAME")?;
        Ok(Self { bundled, driven, agents })
    }

    /// Every runtime in one report, as if all had been measured at once.
    pub(super) fn joined(&self) -> Result<ConformanceReport, Failure> {
        let mut report = self.bundled.clone();
        join(&mut report, &self.driven).map_err(|message| Failure::new(ExitStatus::NotConforming, message))?;
        Ok(report)
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
fn join(report: &mut ConformanceReport, others: &[ConformanceReport]) -> Result<(), String> {
    for other in others {
        let names = other.runtimes.iter().map(|row| row.runtime.as_str()).collect::<Vec<_>>().join(", ");
        if other.seed != report.seed {
            return Err(format!(
                "{names}: measured under seed {}, and the rest under seed {}",
                other.seed, report.seed
            ));
        }
        report.runtimes.extend(other.runtimes.iter().cloned());
    }
    report.runtimes.sort_by(|a, b| a.runtime.cmp(&b.runtime));
    Ok(())
}

/// A report that may stand in a README.
fn fit(path: &Path, suite: &str, measure: &str) -> Result<ConformanceReport, Failure> {
    let report = stored::report(path)?;
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
    match report.selection().told().first() {
        Some(part) => Some(format!("{}{} were run, which is no rating", part[..1].to_lowercase(), &part[1..])),
        None if !report.complete => Some("the judge was interrupted".to_owned()),
        None if report.suite != suite => {
            Some(format!("it was measured by suite {:.12}, and the suite is {suite:.12} by now", report.suite))
        }
        None => None,
    }
}
