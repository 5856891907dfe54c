//! The report for a terminal: claims beside measurement, the matrix, the checklist, a block for every red, and why the rest
//! was not judged.

use anstyle::{AnsiColor, Style};

use super::table::{self, put};
use crate::conform::judge::{Check, Outcome};
use crate::conform::score::{CaseReport, ConformanceReport, RuntimeReport};
use crate::conform::spec::{Claim, Clause, TimeMethod};
use crate::text::line as one_line;

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// Columns that a terminal has at least, and that lines of prose keep to.
const WIDTH: usize = 78;

/// When a box is ticked.
const CHECKLIST_LEGEND: &str = "a box is ticked when every clause behind it was seen to be kept";

/// The report. With `details`, every runtime follows with its checklist, its reds and what was not judged. Styled; whoever
/// prints it drops the colours where they are not wanted.
#[must_use]
pub fn terminal(report: &ConformanceReport, details: bool) -> String {
    let mut text = String::new();
    // Who asked for a runtime of his own does not want eight lines about others first.
    let concerns = |claim: &Claim| claim.measured.as_deref().is_some_and(|name| report.runtime(name).is_some());
    if !report.claims.is_empty() && (!details || report.claims.iter().any(concerns)) {
        section(&mut text, "Claimed and measured", &grid(&table::claims(report)), table::CLAIMS_LEGEND);
    }
    section(&mut text, "Matrix", &grid(&table::matrix(report)), &table::words_legend(report.profile));
    if details {
        text.extend(report.runtimes.iter().map(|runtime| one(report, runtime)));
    }
    text.extend(report.runtimes.iter().map(|runtime| line(report, runtime)));
    text.push_str(&footer(report));
    text
}

/// Everything about one runtime.
fn one(report: &ConformanceReport, runtime: &RuntimeReport) -> String {
    let mut text = String::new();
    if runtime.problem.is_some() {
        return text;
    }
    let name = &one_line(&runtime.runtime);
    let boxes = table::checklist(report, runtime);
    if !boxes.is_empty() {
        let checklist = format!("  {}\n", boxes.join("\n  "));
        section(&mut text, &format!("Implementation Checklist of {name}"), &checklist, CHECKLIST_LEGEND);
    }
    if !runtime.settings.is_empty() {
        let settings: Vec<String> = runtime.settings.iter().map(|it| one_line(&table::setting(it))).collect();
        let settings = format!("  {}\n", settings.join("\n  "));
        section(&mut text, &format!("What differs from the defaults of {name}'s makers, in every case"), &settings, "");
    }
    if !runtime.unseen.is_empty() {
        let unseen = format!("  {}\n", runtime.unseen.iter().map(|it| one_line(it)).collect::<Vec<_>>().join("\n  "));
        section(&mut text, "What the judge could not see here", &unseen, "");
    }
    for (clause, case) in runtime.cases().filter(|(_, case)| is_red(case)) {
        if let Some(clause) = report.clause(&clause.id) {
            text.push_str(&red(runtime, clause, case, report.seed));
            text.push('\n');
        }
    }
    let kept = runtime.cases().filter(|(_, case)| !is_red(case));
    let kept: String = kept
        .filter_map(|(_, case)| Some(format!("  {}: {}\n", one_line(&case.id), one_line(case.kept.as_ref()?))))
        .collect();
    if !kept.is_empty() {
        section(&mut text, "Kept folders of cases that are not red", &kept, "");
    }
    let unjudged = table::unjudged(runtime);
    if !unjudged.is_empty() {
        let rows =
            unjudged.iter().map(|(count, outcome, cause)| format!("  {count:3} {outcome}: {}\n", one_line(cause)));
        section(&mut text, &format!("Cases of {name} that judge nothing, and why"), &rows.collect::<String>(), "");
    }
    let alone: Vec<&str> = runtime.clauses.iter().filter(|it| it.carried_alone().is_some()).map(|it| &*it.id).collect();
    if !alone.is_empty() {
        section(&mut text, &format!("Clauses of {name} that one case alone carries"), "", &alone.join(" "));
    }
    text
}

fn is_red(case: &CaseReport) -> bool {
    matches!(case.outcome, Outcome::Fail | Outcome::Flaky | Outcome::HarnessError)
}

/// A title, a body that ends with a line feed, and what its reader must know.
fn section(text: &mut String, title: &str, body: &str, legend: &str) {
    put(text, format_args!("{BOLD}{title}{BOLD:#}\n{body}"));
    if !legend.is_empty() {
        let legend = textwrap(legend);
        put(text, format_args!("{DIM}{legend}{DIM:#}"));
    }
    text.push('\n');
}

/// A sentence in lines of at most [`WIDTH`] columns, indented.
fn textwrap(sentence: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in sentence.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            text.push('\n');
            column = 0;
        }
        let lead = if column == 0 { "  " } else { " " };
        put(&mut text, format_args!("{lead}{word}"));
        column += lead.len() + length;
    }
    text + "\n"
}

/// What one runtime is, in a few lines.
fn line(report: &ConformanceReport, runtime: &RuntimeReport) -> String {
    let name = one_line(&runtime.runtime);
    let mut text = if let Some(problem) = &runtime.problem {
        format!("{BOLD}{name}{BOLD:#}: could not run: {}\n", problem.line())
    } else {
        let (version, tally) = (table::version(runtime), table::tally(runtime));
        let boxes = table::boxes(report, runtime).map(|boxes| format!("{boxes}; ")).unwrap_or_default();
        format!("{BOLD}{name}{BOLD:#} ({version}): {boxes}cases: {tally}\n")
    };
    for it in table::attested(runtime) {
        put(&mut text, format_args!("  attested, not measured: {}\n", one_line(&it)));
    }
    text
}

fn footer(report: &ConformanceReport) -> String {
    let mut text = format!(
        "{DIM}{}; levels and readings are ours. Suite {:.12}, seed {}, judge {}, {} with {} cores, {:.0}{DIM:#}\n",
        one_line(&report.edition),
        one_line(&report.suite),
        report.seed,
        one_line(&report.judge),
        one_line(&report.host.to_string()),
        report.host.cores,
        report.date,
    );
    if let Some(load) = &report.load {
        put(&mut text, format_args!("{DIM}the machine meanwhile: {load}{DIM:#}\n"));
    }
    text.extend(table::warnings(report).iter().map(|warning| one_line(warning) + "\n"));
    text
}

/// A red: the clause, its readings, expected and observed with place and time, and what to do next.
#[must_use]
pub fn red(runtime: &RuntimeReport, clause: &Clause, case: &CaseReport, seed: u64) -> String {
    let [name, id, title] = [&runtime.runtime, &case.id, &case.title].map(|it| one_line(it));
    let mut text = format!("{RED}{}{RED:#} {id} {name}: {title}\n", case.outcome);
    put(&mut text, format_args!("  {} {} ({})\n", clause.level, clause.id, clause.sections.join(", ")));
    put(&mut text, format_args!("  {}\n", clause.text));
    for reading in &clause.readings {
        let ours = if reading.ours { ", ours" } else { "" };
        put(&mut text, format_args!("  {DIM}reading {}{ours}: {}{DIM:#}\n", reading.id, reading.text));
    }
    for check in case.checks.iter().filter(|check| !check.outcome.is_green()) {
        text.push_str(&contradiction(check));
    }
    if case.time == TimeMethod::Scaled {
        text.push_str("    time was scaled by the manifest's knobs\n");
    }
    for it in &case.settings {
        put(&mut text, format_args!("  turned: {}\n", one_line(&table::setting(it))));
    }
    for it in &case.commands {
        put(&mut text, format_args!("  done: {}\n", table::command_line(it)));
        put(&mut text, format_args!("    {}\n", one_line(&table::ending(it))));
        text.extend(it.requests.iter().map(|request| format!("    the model, {}\n", one_line(request))));
    }
    if let Some(kept) = &case.kept {
        put(&mut text, format_args!("  kept: {}\n", one_line(kept)));
    }
    put(&mut text, format_args!("  next: {}\n", table::next(runtime, clause.column, case, seed)));
    if !case.commands.is_empty() {
        text.push_str(
            "        the folder that this keeps has model.yaml, the model's script, and by-hand.sh, what to start\n",
        );
    }
    put(&mut text, format_args!("  more: {}\n", table::more(clause)));
    text
}

fn contradiction(check: &Check) -> String {
    let mut text =
        format!("    expected: {}\n    observed: {}\n", one_line(&check.expected), one_line(&check.observed));
    let place = one_line(&check.place.to_string());
    if !place.is_empty() {
        put(&mut text, format_args!("    where:    {place}\n"));
    }
    put(&mut text, format_args!("    why:      {}\n", table::why(check)));
    text
}

/// Rows as a grid whose columns are as wide as their widest line; the parts of a cell stand one below the other.
fn grid(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let parts: Vec<Vec<Vec<&str>>> =
        rows.iter().map(|row| row.iter().map(|cell| cell.split(", ").collect()).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = parts.iter().filter_map(|row| row.get(column)).flatten();
        cells.map(|part| part.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &parts {
        for height in 0..row.iter().map(Vec::len).max().unwrap_or_default() {
            let part = |cell: &Vec<&str>| cell.get(height).copied().unwrap_or_default().to_owned();
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{:width$}", part(cell))).collect();
            put(&mut text, format_args!("  {}\n", cells.join("  ").trim_end()));
        }
    }
    text
}
