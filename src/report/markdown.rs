//! The report in Markdown, and the tables of it that stand in the README between markers.

use super::table::{self, put};
use crate::conform::{ConformanceReport, RuntimeReport};

/// The names of the tables that a README may hold, between `<!-- loa:NAME -->` and `<!-- /loa:NAME -->`.
pub const README_BLOCKS: [&str; 2] = ["claims", "matrix"];

/// The whole report.
#[must_use]
pub fn markdown(report: &ConformanceReport) -> String {
    let mut text = format!("# Conformance report\n\n{}\n", provenance(report));
    if let Some(only) = &report.only {
        put(
            &mut text,
            format_args!("\nOnly cases that match `{only}`, and what they presuppose: **this is no rating.**\n"),
        );
    }
    if !report.complete {
        text.push_str("\n**Interrupted: this report is incomplete.**\n");
    }
    put(
        &mut text,
        format_args!("\n## Claimed and measured\n\n{}\n{}.\n", rows(&table::claims(report)), table::CLAIMS_LEGEND),
    );
    put(&mut text, format_args!("\n## Matrix\n\n{}", rows(&table::matrix(report))));
    text.push_str(&definitions());
    for runtime in &report.runtimes {
        text.push_str(&one(report, runtime));
    }
    text
}

/// One of the tables of a README; `None` for a name that is none of [`README_BLOCKS`].
#[must_use]
pub fn readme_block(report: &ConformanceReport, name: &str) -> Option<String> {
    let table = match name {
        "claims" => rows(&table::claims(report)),
        "matrix" => rows(&table::matrix(report)),
        _ => return None,
    };
    let legend = if name == "claims" { table::CLAIMS_LEGEND } else { table::WORDS_LEGEND };
    Some(format!("{table}\n{legend}.\n\n{}\n", provenance(report)))
}

/// A README with every block written anew. Text outside of the markers stays as it is.
///
/// # Errors
/// The name of a block whose markers are missing or turned round.
///
/// # Panics
/// Never: every name of the list has a table.
pub fn readme(text: &str, report: &ConformanceReport) -> Result<String, &'static str> {
    let mut text = text.to_owned();
    for name in README_BLOCKS {
        let (open, close) = (format!("<!-- loa:{name} -->"), format!("<!-- /loa:{name} -->"));
        let start = text.find(&open).map(|at| at + open.len()).ok_or(name)?;
        let end = text[start..].find(&close).map(|at| at + start).ok_or(name)?;
        let block = readme_block(report, name).expect("every name of the list has a table");
        text.replace_range(start..end, &format!("\n{block}"));
    }
    Ok(text)
}

fn provenance(report: &ConformanceReport) -> String {
    format!(
        "{}; levels and readings are ours. Suite `{:.12}`, seed {}, judge {}, {} {}, {}.",
        report.edition,
        report.suite,
        report.seed,
        report.judge,
        report.host.os,
        report.host.arch,
        report.date.strftime("%Y-%m-%d"),
    )
}

fn definitions() -> String {
    let rule = "What was not observed, could not run or has no case is never counted as kept.";
    format!("\n{}. {rule}\n", table::WORDS_LEGEND)
}

fn one(report: &ConformanceReport, runtime: &RuntimeReport) -> String {
    let mut text = format!("\n## {}\n\n", runtime.runtime);
    if let Some(problem) = &runtime.problem {
        put(&mut text, format_args!("Could not run: {}\n", escaped(problem)));
        return text;
    }
    let program = runtime.program.as_deref().unwrap_or("unknown");
    put(
        &mut text,
        format_args!("{}; program `{program:.12}`, manifest `{:.12}`.\n", table::version(runtime), runtime.manifest),
    );
    put(&mut text, format_args!("Cases: {}.\n\n", table::tally(runtime)));
    for it in table::attested(runtime) {
        put(&mut text, format_args!("Attested, not measured: {}.\n\n", escaped(&it)));
    }
    for it in table::checklist(report, runtime) {
        put(&mut text, format_args!("- {it}\n"));
    }
    let mut clauses = vec![["Clause", "Level", "Outcome", "Case", "Expected", "Observed"].map(str::to_owned).to_vec()];
    for clause in &runtime.clauses {
        let telling = clause.cases.iter().find(|case| case.outcome == clause.outcome);
        let check = telling.and_then(|case| case.checks.iter().find(|check| check.outcome == clause.outcome));
        let check = check.filter(|check| !check.outcome.is_green());
        clauses.push(vec![
            clause.id.clone(),
            clause.level.to_string(),
            clause.outcome.to_string(),
            telling.map(|case| case.id.clone()).unwrap_or_default(),
            check.map(|check| check.expected.clone()).unwrap_or_default(),
            check.map(|check| check.observed.clone()).unwrap_or_default(),
        ]);
    }
    put(&mut text, format_args!("\n{}", rows(&clauses)));
    text
}

/// Rows as a table; the first is its head.
fn rows(rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text: String = rows.iter().take(1).map(line).collect();
    let rule = rows.first().map(|row| format!("|{}\n", "---|".repeat(row.len())));
    text.push_str(&rule.unwrap_or_default());
    text.extend(rows.iter().skip(1).map(line));
    text
}

/// A text that stays within its cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}
