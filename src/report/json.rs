//! The report as JSON, as `schemas/conformance-report.schema.json` describes it.

use crate::conform::ConformanceReport;

/// The report, pretty, with a line end.
///
/// # Panics
/// Never: a report is plain data.
#[must_use]
pub fn json(report: &ConformanceReport) -> String {
    let text = serde_json::to_string_pretty(report).expect("a report is plain data");
    format!("{text}\n")
}
