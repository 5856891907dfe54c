//! The report in Markdown, and the tables of it that stand in the README between markers.

use super::table::{self, put};
use crate::conform::score::{ConformanceReport, RuntimeReport};
use crate::conform::spec::ProfileName;
use crate::text::{fenced, line, markdown as markdown_of};

/// The names of the tables that a README holds, between `<!-- loa:NAME -->` and `<!-- /loa:NAME -->`; the last one only
/// where agents were measured.
pub const README_BLOCKS: [&str; 3] = ["claims", "matrix", "agents"];

/// The whole report.
#[must_use]
pub fn markdown(report: &ConformanceReport) -> String {
    let mut text = format!("# Conformance report\n\n{}\n", provenance(report));
    text.extend(table::warnings(report).iter().map(|warning| format!("\n**{}**\n", markdown_of(warning))));
    if !report.claims.is_empty() {
        let claims = rows(&table::claims(report));
        put(&mut text, format_args!("\n## Claimed and measured\n\n{claims}\n{}.\n", table::CLAIMS_LEGEND));
    }
    put(&mut text, format_args!("\n## Matrix\n\n{}", rows(&table::matrix(report))));
    text.push_str(&definitions(report));
    for runtime in &report.runtimes {
        text.push_str(&one(report, runtime));
    }
    text
}

/// One of the tables of a README; `None` for a name that is none of [`README_BLOCKS`].
#[must_use]
pub fn readme_block(report: &ConformanceReport, agents: &[ConformanceReport], name: &str) -> Option<String> {
    let words = |profile| table::words_legend(profile);
    let (table, legend) = match name {
        "claims" => (rows(&table::claims(report)), table::CLAIMS_LEGEND.to_owned()),
        "matrix" => (rows(&table::matrix(report)), words(report.profile)),
        "agents" => (rows(&table::agents(agents)), words(ProfileName::Agent)),
        _ => return None,
    };
    let reports = if name == "agents" { agents } else { std::slice::from_ref(report) };
    let mut sources: Vec<String> = reports.iter().map(provenance).collect();
    sources.dedup();
    Some(format!("{table}\n{}{legend}.\n\n{}\n", problems(reports), sources.join("\n\n")))
}

/// Why rows could not run, an item each.
fn problems(reports: &[ConformanceReport]) -> String {
    let rows = reports.iter().flat_map(|report| &report.runtimes);
    let items = rows.filter_map(|row| {
        Some(format!("- {} could not run: {}\n", markdown_of(&row.runtime), row.problem.as_ref()?.markdown()))
    });
    let items: String = items.collect();
    if items.is_empty() { items } else { items + "\n" }
}

/// A README with every block written anew; that of the agents only where agents were measured. Text outside of the markers
/// stays as it is.
///
/// # Errors
/// The name of a block whose markers are missing or turned round.
///
/// # Panics
/// Never: every name of the list has a table.
pub fn readme(text: &str, report: &ConformanceReport, agents: &[ConformanceReport]) -> Result<String, &'static str> {
    let mut text = text.to_owned();
    for name in README_BLOCKS.into_iter().filter(|name| *name != "agents" || !agents.is_empty()) {
        let (open, close) = (format!("<!-- loa:{name} -->"), format!("<!-- /loa:{name} -->"));
        let start = text.find(&open).map(|at| at + open.len()).ok_or(name)?;
        let end = text[start..].find(&close).map(|at| at + start).ok_or(name)?;
        let block = readme_block(report, agents, name).expect("every name of the list has a table");
        text.replace_range(start..end, &format!("\n{block}"));
    }
    Ok(text)
}

pub(super) fn provenance(report: &ConformanceReport) -> String {
    format!(
        "{}; levels and readings are ours. Suite {}, seed {}, judge {}, {}, {}.",
        markdown_of(&report.edition),
        code(&report.suite),
        report.seed,
        markdown_of(&report.judge),
        markdown_of(&report.host.to_string()),
        report.date.strftime("%Y-%m-%d"),
    )
}

fn definitions(report: &ConformanceReport) -> String {
    let rule = "What was not observed, could not run or has no case is never counted as kept.";
    format!("\n{}. {rule}\n", table::words_legend(report.profile))
}

fn one(report: &ConformanceReport, runtime: &RuntimeReport) -> String {
    let mut text = format!("\n## {}\n\n", markdown_of(&runtime.runtime));
    if let Some(problem) = &runtime.problem {
        put(&mut text, format_args!("Could not run: {}\n", problem.markdown()));
        return text;
    }
    let program = runtime.program.as_deref().unwrap_or("unknown");
    put(
        &mut text,
        format_args!(
            "{}; program {}, manifest {}.\n",
            markdown_of(&table::version(runtime)),
            code(program),
            code(&runtime.manifest)
        ),
    );
    put(&mut text, format_args!("Cases: {}.\n\n", table::tally(runtime)));
    for it in table::attested(runtime) {
        put(&mut text, format_args!("Attested, not measured: {}.\n\n", markdown_of(&it)));
    }
    for it in table::checklist(report, runtime) {
        let (tick, words) = it.split_at("[x] ".len());
        put(&mut text, format_args!("- {tick}{}\n", markdown_of(words)));
    }
    text.push_str(&settings(runtime));
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
            check.map(|check| check.observed.clone()).or_else(|| table::alone(clause)).unwrap_or_default(),
        ]);
    }
    put(&mut text, format_args!("\n{}", rows(&clauses)));
    for (_, case) in runtime.cases().filter(|(_, case)| !case.commands.is_empty() && !case.outcome.is_green()) {
        put(&mut text, format_args!("\n### {} {}, by hand\n\n", case.outcome, markdown_of(&case.id)));
        text.extend(case.settings.iter().map(|it| format!("- turned: {}\n", markdown_of(&table::setting(it)))));
        let mut lines = String::new();
        for it in &case.commands {
            put(&mut lines, format_args!("{}\n  {}\n", table::command_line(it), line(&table::ending(it))));
            lines.extend(it.requests.iter().map(|request| format!("  the model, {}\n", line(request))));
        }
        put(&mut text, format_args!("\n{}\n", fenced(&lines)));
    }
    text
}

/// What of a candidate differs from its makers' defaults, and what could not be seen of it.
fn settings(runtime: &RuntimeReport) -> String {
    let list = |title: &str, items: &[String]| {
        let items = items.iter().fold(String::new(), |text, it| text + "- " + &markdown_of(it) + "\n");
        if items.is_empty() { items } else { format!("{title}:\n\n{items}\n") }
    };
    let settings: Vec<String> = runtime.settings.iter().map(table::setting).collect();
    let differing = list("What differs from its makers' defaults in every case", &settings);
    differing + &list("What the judge could not see here", &runtime.unseen)
}

/// Rows as a table; the first is its head.
pub(super) fn rows(rows: &[Vec<String>]) -> String {
    let written = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().map(|cell| markdown_of(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text: String = rows.iter().take(1).map(written).collect();
    let rule = rows.first().map(|row| format!("|{}\n", "---|".repeat(row.len())));
    text.push_str(&rule.unwrap_or_default());
    text.extend(rows.iter().skip(1).map(written));
    text
}

/// The beginning of a digest, as code.
fn code(digest: &str) -> String {
    let plain: String = digest.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    format!("`{plain}`")
}
