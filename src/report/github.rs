//! The report as GitHub's workflow commands: an annotation on the manifest of whatever broke a clause.
//!
//! GitHub shows ten errors and ten warnings of a step; the others stand in its log.

use super::terminal::red;
use crate::conform::judge::Outcome;
use crate::conform::score::{CaseReport, ConformanceReport, RuntimeReport};
use crate::conform::spec::ProfileName;
use crate::diag::render::annotation;
use crate::text::plain;

/// One command a line; nothing where everything was kept.
#[must_use]
pub fn github(report: &ConformanceReport) -> String {
    report.runtimes.iter().map(|runtime| of(report, runtime)).collect()
}

fn of(report: &ConformanceReport, runtime: &RuntimeReport) -> String {
    let file = manifest(report.profile, runtime);
    if let Some(problem) = &runtime.problem {
        return annotation("error", &file, &format!("{} could not run", runtime.runtime), &problem.line());
    }
    runtime.cases().map(|(clause, case)| one(report, runtime, &clause.id, case, &file)).collect()
}

fn one(report: &ConformanceReport, runtime: &RuntimeReport, clause: &str, case: &CaseReport, file: &str) -> String {
    let severity = match case.outcome {
        Outcome::Fail | Outcome::HarnessError => "error",
        Outcome::Flaky | Outcome::ExpectedFail => "warning",
        _ => return String::new(),
    };
    let title = format!("{clause} {}: {} ({})", case.outcome, case.title, runtime.runtime);
    let message = match report.clause(clause) {
        Some(clause) => plain(&red(runtime, clause, case, report.seed)),
        None => case.title.clone(),
    };
    annotation(severity, file, &title, message.trim_end())
}

/// The manifest: that which was named, or the bundled one where it lies in this repository.
fn manifest(profile: ProfileName, runtime: &RuntimeReport) -> String {
    let folder = match profile {
        ProfileName::Runtime => "runtimes",
        ProfileName::Agent => "agents",
    };
    runtime.path.clone().unwrap_or_else(|| format!("fixtures/{folder}/{}/manifest.yaml", runtime.runtime))
}
