//! Rows of the tables that every format shows.

use std::fmt::{self, Write};

use crate::conform::{Claim, Column, ConformanceReport, Outcome, RuntimeReport};

/// Adds to a text.
pub(super) fn put(text: &mut String, arguments: fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string does not fail");
}

/// The columns of the contract's matrix.
pub(super) fn columns() -> impl Iterator<Item = Column> {
    Column::ALL.iter().copied().filter(|column| *column != Column::Features)
}

/// A column's title, as the contract spells it.
pub(super) fn title(column: Column) -> &'static str {
    match column {
        Column::ExitCodes => "Exit Codes",
        Column::Checkpoints => "Checkpoints",
        Column::ContextSignals => "Context Signals",
        Column::Escalation => "Escalation",
        Column::Features => "Features",
    }
}

/// Claimed beside measured: header and rows.
pub(super) fn claims(report: &ConformanceReport) -> Vec<Vec<String>> {
    let mut rows = vec![heading("Runtime, as the contract claims it")];
    rows.extend(report.claims.iter().map(|claim| {
        let cells = columns().map(|column| claimed(report, claim, column));
        std::iter::once(claim.runtime.clone()).chain(cells).collect()
    }));
    rows
}

fn claimed(report: &ConformanceReport, claim: &Claim, column: Column) -> String {
    let says = claim.cells.get(&column).map_or("nothing", |word| word.as_str());
    let runtime = claim.measured.as_deref().and_then(|name| report.runtime(name));
    match runtime.and_then(|runtime| runtime.cells.get(&column)) {
        Some(cell) => format!("claimed {says}, measured {cell}"),
        None => format!("claimed {says}, not measured"),
    }
}

/// The matrix: header and rows.
pub(super) fn matrix(report: &ConformanceReport) -> Vec<Vec<String>> {
    let mut rows = vec![heading("Runtime")];
    rows.extend(report.runtimes.iter().map(|runtime| {
        let cells = columns().map(|column| match (&runtime.problem, runtime.cells.get(&column)) {
            (Some(_), _) | (None, None) => "could not run".to_owned(),
            (None, Some(cell)) => cell.to_string(),
        });
        std::iter::once(runtime.runtime.clone()).chain(cells).collect()
    }));
    rows
}

fn heading(first: &str) -> Vec<String> {
    std::iter::once(first.to_owned()).chain(columns().map(|column| title(column).to_owned())).collect()
}

/// How many cases of a runtime came out how, in the order of the outcomes, zeros left out.
pub(super) fn tally(runtime: &RuntimeReport) -> String {
    let counts = Outcome::ALL.iter().filter_map(|outcome| {
        let count = runtime.cases().filter(|(_, case)| case.outcome == *outcome).count();
        (count > 0).then(|| format!("{count} {outcome}"))
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// A program that cannot be named by its version is named so.
pub(super) fn version(runtime: &RuntimeReport) -> &str {
    runtime.version.as_deref().unwrap_or("version unknown")
}
