//! The report for a terminal: claims beside measurement, the matrix, the checklist, and a block for every red.

use anstyle::{AnsiColor, Style};

use super::table::{self, put};
use crate::conform::{CaseReport, Check, Clause, ConformanceReport, Outcome, RuntimeReport, TimeMethod};

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// The report. With `reds`, every red case follows in a block of its own. Styled; whoever prints it drops the colours
/// where they are not wanted.
#[must_use]
pub fn terminal(report: &ConformanceReport, reds: bool) -> String {
    let mut text = String::new();
    if reds {
        for runtime in &report.runtimes {
            for (clause, case) in runtime.cases().filter(|(_, case)| is_red(case)) {
                if let Some(clause) = report.clause(&clause.id) {
                    text.push_str(&red(runtime, clause, case, report.seed));
                    text.push('\n');
                }
            }
        }
    }
    section(&mut text, "Claimed by the contract, and measured", &grid(&table::claims(report)));
    section(&mut text, "Measured", &grid(&table::matrix(report)));
    for runtime in &report.runtimes {
        put(
            &mut text,
            format_args!(
                "{}
",
                line(runtime)
            ),
        );
    }
    if let [runtime] = report.runtimes.as_slice() {
        section(&mut text, "\nImplementation Checklist", &checklist(report, runtime));
    }
    text.push_str(&footer(report));
    text
}

fn is_red(case: &CaseReport) -> bool {
    matches!(case.outcome, Outcome::Fail | Outcome::Flaky | Outcome::HarnessError)
}

fn section(text: &mut String, title: &str, body: &str) {
    put(
        text,
        format_args!(
            "{BOLD}{title}{BOLD:#}
{body}
"
        ),
    );
}

/// What one runtime is, in one line.
fn line(runtime: &RuntimeReport) -> String {
    match &runtime.problem {
        Some(problem) => format!("{}: could not run: {problem}", runtime.runtime),
        None => format!("{} ({}): {}", runtime.runtime, table::version(runtime), table::tally(runtime)),
    }
}

fn checklist(report: &ConformanceReport, runtime: &RuntimeReport) -> String {
    let rows = report.checklist.iter().map(|item| {
        let tick = if runtime.ticks(item) { 'x' } else { ' ' };
        format!("  [{tick}] {}: {}\n", table::title(item.section), item.item)
    });
    rows.collect()
}

fn footer(report: &ConformanceReport) -> String {
    let mut text = format!(
        "{DIM}{}; levels and readings are ours. Suite {:.12}, seed {}, judge {}, {} {} with {} cores, {:.0}{DIM:#}\n",
        report.edition,
        report.suite,
        report.seed,
        report.judge,
        report.host.os,
        report.host.arch,
        report.host.cores,
        report.date,
    );
    if let Some(only) = &report.only {
        put(&mut text, format_args!("Only cases that match {only}, and what they presuppose: this is no rating.\n"));
    }
    if !report.complete {
        text.push_str("Interrupted: this report is incomplete.\n");
    }
    text
}

/// A red: the clause, its readings, expected and observed with place and time, and what to do next.
#[must_use]
pub fn red(runtime: &RuntimeReport, clause: &Clause, case: &CaseReport, seed: u64) -> String {
    let name = &runtime.runtime;
    let mut text = format!("{RED}{}{RED:#} {} {name}: {}\n", case.outcome, case.id, case.title);
    put(&mut text, format_args!("  {} {} ({})\n", clause.level, clause.id, clause.sections.join(", ")));
    put(&mut text, format_args!("  {}\n", clause.text));
    for reading in &clause.readings {
        let ours = if reading.ours { ", ours" } else { "" };
        put(&mut text, format_args!("  reading {}{ours}: {}\n", reading.id, reading.text));
    }
    for check in case.checks.iter().filter(|check| !check.outcome.is_green()) {
        text.push_str(&contradiction(check));
    }
    if case.time == TimeMethod::Scaled {
        text.push_str("    time was scaled by the manifest's knobs\n");
    }
    put(&mut text, format_args!("  next: loa-conform score {name} --only {} --seed {seed} --keep\n", case.id));
    text
}

fn contradiction(check: &Check) -> String {
    let mut text = format!("    expected: {}\n    observed: {}\n", check.expected, check.observed);
    let place = check.place.to_string();
    if !place.is_empty() {
        put(&mut text, format_args!("    where:    {place}\n"));
    }
    let why = match check.outcome {
        Outcome::Fail => "no legal reading allows what was observed",
        Outcome::Flaky => "the same seed gave another result a moment later",
        Outcome::HarnessError => "this is a fault of the judge",
        _ => "nothing was seen that would show it",
    };
    put(&mut text, format_args!("    why:      {} ({why})\n", check.reason));
    text
}

/// Rows as a grid whose columns are as wide as their widest cell.
fn grid(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        put(&mut text, format_args!("  {}\n", cells.join("  ").trim_end()));
    }
    text
}
