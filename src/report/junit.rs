//! The report as `JUnit`'s XML: a suite for each column of each runtime, a test case a case.
//!
//! What breaks a clause is a failure. What says nothing about the runtime because the judge, the machine or the program's start
//! failed is an error. What could not be asked, or does not bind, is skipped with its reason; a skip is not a pass.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::table;
use super::terminal::red;
use crate::conform::judge::{Check, Outcome};
use crate::conform::score::{CaseReport, ClauseReport, ConformanceReport, RuntimeReport};
use crate::conform::spec::{Column, Reason};
use crate::text::plain;

/// The XML.
///
/// # Panics
/// Never: it is written into memory.
#[must_use]
pub fn junit(report: &ConformanceReport) -> String {
    let mut all = Report::new("loa-conform");
    for runtime in &report.runtimes {
        if let Some(problem) = &runtime.problem {
            all.add_test_suite(not_started(runtime, &problem.line()));
        }
        for column in Column::ALL {
            let clauses: Vec<&ClauseReport> = runtime.clauses.iter().filter(|it| it.column == *column).collect();
            if !clauses.is_empty() && runtime.problem.is_none() {
                all.add_test_suite(suite(report, runtime, *column, &clauses));
            }
        }
    }
    all.to_string().expect("XML is written into memory")
}

fn suite(report: &ConformanceReport, runtime: &RuntimeReport, column: Column, clauses: &[&ClauseReport]) -> TestSuite {
    let mut suite = TestSuite::new(format!("{}: {}", runtime.runtime, table::title(column)));
    suite.add_property(("edition", report.edition.as_str()));
    suite.add_property(("suite", report.suite.as_str()));
    suite.add_property(("seed", report.seed.to_string().as_str()));
    if let Some(cell) = runtime.cells.get(&column) {
        suite.add_property(("cell", cell.to_string().as_str()));
    }
    for clause in clauses {
        if clause.cases.is_empty() {
            let mut status = TestCaseStatus::skipped();
            status.set_message("no case tests this clause").set_type(Outcome::Untested.as_str());
            suite.add_test_case(named(&clause.id, clause, status));
        }
        suite.add_test_cases(clause.cases.iter().map(|case| {
            let mut it = named(&case.id, clause, status(report, runtime, clause, case));
            it.set_time(Duration::from_millis(case.elapsed_ms)).set_assertions(case.checks.len());
            it
        }));
    }
    suite
}

fn named(name: &str, clause: &ClauseReport, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(&*clause.id).add_property(("level", clause.level.as_str()));
    case
}

fn not_started(runtime: &RuntimeReport, problem: &str) -> TestSuite {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(problem).set_type(Reason::NotStarted.as_str());
    let mut suite = TestSuite::new(&*runtime.runtime);
    suite.add_test_case(TestCase::new("starts", status));
    suite
}

fn status(
    report: &ConformanceReport,
    runtime: &RuntimeReport,
    clause: &ClauseReport,
    case: &CaseReport,
) -> TestCaseStatus {
    let telling = case.checks.iter().find(|check| check.outcome == case.outcome);
    let message = telling.map(|check| format!("expected {}; observed: {}", check.expected, check.observed));
    let mut status = match meaning(case.outcome, telling) {
        Meaning::Success => return TestCaseStatus::success(),
        Meaning::Skipped => TestCaseStatus::skipped(),
        Meaning::Failed(kind) => TestCaseStatus::non_success(kind),
    };
    status.set_message(message.unwrap_or_default());
    status.set_type(telling.map_or(case.outcome.as_str(), |check| check.reason.as_str()));
    if let Some(clause) = report.clause(&clause.id).filter(|_| !case.outcome.is_green()) {
        let block = red(runtime, clause, case, report.seed);
        status.set_description(plain(&block));
    }
    status
}

enum Meaning {
    Success,
    Skipped,
    Failed(NonSuccessKind),
}

/// What an outcome is in a world that knows success, failure, error and skip.
fn meaning(outcome: Outcome, telling: Option<&Check>) -> Meaning {
    match outcome {
        Outcome::Pass | Outcome::Warn => Meaning::Success,
        Outcome::Fail | Outcome::Flaky => Meaning::Failed(NonSuccessKind::Failure),
        Outcome::HarnessError => Meaning::Failed(NonSuccessKind::Error),
        // What it presupposes is told where it failed itself; what never came to run was lost.
        Outcome::CouldNotRun => match telling.map(|check| check.reason) {
            Some(Reason::NeedsRed) => Meaning::Skipped,
            _ => Meaning::Failed(NonSuccessKind::Error),
        },
        Outcome::NotApplicable | Outcome::NotObserved | Outcome::Untested | Outcome::ExpectedFail => Meaning::Skipped,
    }
}
