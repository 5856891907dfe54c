//! The report for the summary page of a CI job: short, with every red, in Markdown. GitHub refuses one of more than a megabyte.

use super::markdown::{provenance, rows};
use super::table::{self, put};
use super::terminal::red;
use crate::conform::judge::Outcome;
use crate::conform::score::{ConformanceReport, RuntimeReport};
use crate::text::{fenced, line, markdown, plain, xml};

/// How many reds of a runtime are told in full.
const TOLD: usize = 20;

/// The summary.
#[must_use]
pub fn summary(report: &ConformanceReport) -> String {
    let mut text = format!("## Conformance, {} profile\n\n{}\n", report.profile, rows(&table::matrix(report)));
    for warning in table::warnings(report) {
        put(&mut text, format_args!("**{}**\n\n", markdown(&warning)));
    }
    for runtime in &report.runtimes {
        text.push_str(&one(report, runtime));
    }
    put(&mut text, format_args!("{}. {}\n", table::words_legend(report.profile), provenance(report)));
    text
}

fn one(report: &ConformanceReport, runtime: &RuntimeReport) -> String {
    let name = markdown(&runtime.runtime);
    if let Some(problem) = &runtime.problem {
        return format!("**{name}** could not run: {}\n\n", problem.markdown());
    }
    let boxes = table::boxes(report, runtime).map(|boxes| format!("; {boxes}")).unwrap_or_default();
    let mut text = format!("**{name}**: {}{boxes}.\n\n", table::tally(runtime));
    let told = |outcome: Outcome| matches!(outcome, Outcome::Fail | Outcome::Flaky | Outcome::HarnessError);
    let reds: Vec<_> = runtime.cases().filter(|(_, case)| told(case.outcome)).collect();
    for (clause, case) in reds.iter().take(TOLD) {
        let title = format!("{} {}: {}", case.outcome, clause.id, case.title);
        let clause = report.clause(&clause.id);
        let block = clause.map(|clause| plain(&red(runtime, clause, case, report.seed))).unwrap_or_default();
        let (title, block) = (xml(&line(&title)), fenced(&block));
        put(&mut text, format_args!("<details><summary>{title}</summary>\n\n{block}\n\n</details>\n\n"));
    }
    if reds.len() > TOLD {
        put(&mut text, format_args!("… and {} more, in the report.\n\n", reds.len() - TOLD));
    }
    text
}
