//! Rows of the tables that every format shows.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use crate::conform::judge::{Check, Outcome};
use crate::conform::observe::CommandReport;
use crate::conform::score::{CaseReport, ClauseReport, ConformanceReport, RuntimeReport};
use crate::conform::spec::{Claim, Clause, Column, Plot, ProfileName, Reason, SettingReport};
use crate::text::{Untrusted, line, shell_word};

/// Adds to a text.
pub(super) fn put(text: &mut String, arguments: fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string does not fail");
}

/// A column's title; the contract's own as the contract spells them.
pub(super) fn title(column: Column) -> &'static str {
    match column {
        Column::ExitCodes => "Exit Codes",
        Column::Checkpoints => "Checkpoints",
        Column::ContextSignals => "Context Signals",
        Column::Escalation => "Escalation",
        Column::Features => "Features",
        Column::ExitStatus => "Exit Status",
        Column::Sessions => "Sessions",
        Column::Context => "Context",
        Column::Control => "Control",
    }
}

/// What the cells of the claims table say.
pub(super) const CLAIMS_LEGEND: &str = "claimed by the contract / measured here; – means that nobody has measured it";

/// What the words of a cell mean; the definitions are ours.
pub(super) fn words_legend(profile: ProfileName) -> String {
    format!(
        "MUSTs kept, of those that bind the {profile}. Full: every one. Manual: none was broken, and people vouch for what \
         no machine could judge. None: not one. Partial: the rest"
    )
}

/// Claimed beside measured: header and rows.
pub(super) fn claims(report: &ConformanceReport) -> Vec<Vec<String>> {
    let mut rows = vec![heading(&["Runtime"], ProfileName::Runtime)];
    rows.extend(report.claims.iter().map(|claim| {
        let cells = Column::of(ProfileName::Runtime).map(|column| claimed(report, claim, column));
        std::iter::once(claim.runtime.clone()).chain(cells).collect()
    }));
    rows
}

fn claimed(report: &ConformanceReport, claim: &Claim, column: Column) -> String {
    let says = claim.cells.get(&column).map_or("–", |word| word.as_str());
    let runtime = claim.measured.as_deref().and_then(|name| report.runtime(name));
    match runtime.and_then(|runtime| runtime.cells.get(&column)) {
        Some(cell) => format!("{says} / {cell}"),
        None => format!("{says} / –"),
    }
}

/// The matrix: header and rows.
pub(super) fn matrix(report: &ConformanceReport) -> Vec<Vec<String>> {
    let first = match report.profile {
        ProfileName::Runtime => "Runtime",
        ProfileName::Agent => "Agent",
    };
    let rows = report
        .runtimes
        .iter()
        .map(|runtime| std::iter::once(runtime.runtime.clone()).chain(cells(report, runtime)).collect());
    std::iter::once(heading(&[first], report.profile)).chain(rows).collect()
}

/// The matrix of agents, each with what was measured and when: header and rows.
pub(super) fn agents(reports: &[ConformanceReport]) -> Vec<Vec<String>> {
    let mut rows = vec![heading(&["Agent", "Version", "Measured"], ProfileName::Agent)];
    for report in reports {
        let day = report.date.strftime("%Y-%m-%d").to_string();
        rows.extend(report.runtimes.iter().map(|agent| {
            let who = [agent.runtime.clone(), version(agent), day.clone()];
            who.into_iter().chain(cells(report, agent)).collect()
        }));
    }
    rows
}

/// The cells of a row. A part of the suite earns no word, only counts.
fn cells(report: &ConformanceReport, runtime: &RuntimeReport) -> impl Iterator<Item = String> {
    Column::of(report.profile).map(|column| match (&runtime.problem, runtime.cells.get(&column)) {
        (Some(_), _) | (None, None) => "could not run".to_owned(),
        (None, Some(cell)) if !report.rates(column) => cell.counts(),
        (None, Some(cell)) => cell.to_string(),
    })
}

fn heading(first: &[&'static str], profile: ProfileName) -> Vec<String> {
    first.iter().copied().chain(Column::of(profile).map(title)).map(str::to_owned).collect()
}

/// What differs from a makers' default, in one line.
pub(super) fn setting(it: &SettingReport) -> String {
    format!("{} (by default: {}): {}", it.what, it.default, it.why)
}

/// What was started, in the shell's words.
pub(super) fn command_line(it: &CommandReport) -> String {
    let set = it.env.iter().map(|(name, value)| format!("{name}={}", word(value)));
    set.chain(it.argv.iter().map(|argument| word(argument))).collect::<Vec<_>>().join(" ")
}

/// A word of a shell; what the judge named by a variable stays one.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%$".contains(c);
    let text = line(text);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    // A variable is filled in, and no command.
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('`', "\\`").replace("$(", "\\$(");
    format!("\"{escaped}\"")
}

/// How it ended, and what was done to it before.
pub(super) fn ending(it: &CommandReport) -> String {
    let meanwhile = it.meanwhile.as_ref().map(|meanwhile| format!("; sent to it: {meanwhile}"));
    format!("{}{}", it.end, meanwhile.unwrap_or_default())
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
pub(super) fn version(runtime: &RuntimeReport) -> String {
    runtime.version.as_ref().map_or_else(|| "version unknown".to_owned(), Untrusted::line)
}

/// The checklist, a box a line.
pub(super) fn checklist(report: &ConformanceReport, runtime: &RuntimeReport) -> Vec<String> {
    let boxes = report.checklist.iter().map(|item| {
        let tick = if runtime.ticks(item) { 'x' } else { ' ' };
        format!("[{tick}] {}: {}", title(item.section), item.item)
    });
    boxes.collect()
}

/// How many boxes of the checklist a runtime ticks, where there is one.
pub(super) fn boxes(report: &ConformanceReport, runtime: &RuntimeReport) -> Option<String> {
    let ticked = report.checklist.iter().filter(|item| runtime.ticks(item)).count();
    let all = report.checklist.len();
    (all > 0).then(|| format!("{ticked} of {all} boxes of the checklist"))
}

/// Who vouches for what, in whichever column it counts.
pub(super) fn attested(runtime: &RuntimeReport) -> Vec<String> {
    let all = runtime.cells.values().flat_map(|cell| &cell.attested);
    all.map(|it| format!("{}: {} vouches since {}, until {}: {}", it.clause, it.by, it.on, it.expires, it.evidence))
        .collect()
}

/// That one case alone carries the verdict of a clause, where it does.
pub(super) fn alone(clause: &ClauseReport) -> Option<String> {
    clause.carried_alone().map(|case| format!("carried by {case} alone"))
}

/// Why cases were neither kept nor broken, the most frequent cause first. What waits for a clause that waits itself is not
/// told twice.
pub(super) fn unjudged(runtime: &RuntimeReport) -> Vec<(usize, Outcome, String)> {
    let mut causes: BTreeMap<(&str, String), (usize, Outcome)> = BTreeMap::new();
    for (_, case) in runtime.cases().filter(|(_, case)| !case.outcome.is_green() && !case.outcome.is_red()) {
        let check = case.checks.iter().find(|check| check.outcome == case.outcome);
        let Some(check) = check.filter(|_| !matches!(case.outcome, Outcome::Flaky | Outcome::HarnessError)) else {
            continue;
        };
        let cause = match check.reason {
            Reason::NeedsRed => format!("presupposes {}", root(runtime, &check.observed)),
            _ => format!("{}: {}", check.expected, check.observed),
        };
        causes.entry((case.outcome.as_str(), cause)).or_insert((0, case.outcome)).0 += 1;
    }
    let mut causes: Vec<_> = causes.into_iter().map(|((_, cause), (count, outcome))| (count, outcome, cause)).collect();
    causes.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    causes
}

/// The first of the clauses that a case waits for in the end: one that waits itself is followed to what it waits for.
fn root<'a>(runtime: &'a RuntimeReport, needs: &'a str) -> &'a str {
    let waiting = format!(" ({})", Outcome::CouldNotRun);
    let mut needs = needs;
    // A circle is refused by the lint; a report from elsewhere may hold one, so the way is no longer than the ledger.
    for _ in &runtime.clauses {
        let Some(clause) = needs.split(", ").map(|need| need.strip_suffix(&waiting)).next().flatten() else { break };
        let waits = runtime.cases().filter(|(it, _)| it.id == clause).flat_map(|(_, case)| &case.checks);
        let Some(deeper) = waits.into_iter().find(|check| check.reason == Reason::NeedsRed) else { break };
        needs = &deeper.observed;
    }
    needs.split(", ").next().unwrap_or(needs)
}

/// Why a report is no rating, or not all of one.
pub(super) fn warnings(report: &ConformanceReport) -> Vec<String> {
    let rating = match report.column {
        Some(column) if report.rates(column) => "it alone is rated",
        _ => "this is no rating",
    };
    let parts = report.selection().told().into_iter().map(|part| format!("{part}: {rating}."));
    parts.chain((!report.complete).then(|| "Interrupted: this report is incomplete.".to_owned())).collect()
}

/// A name as part of a file's name or of an anchor.
pub(super) fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().map(plain).collect()
}

/// Why a check came out as it did, and what follows from it for the clause.
pub(super) fn why(check: &Check) -> String {
    let follows = match check.outcome {
        Outcome::Fail => "no legal reading allows what was observed",
        Outcome::Flaky => "the same seed gave another result a moment later",
        Outcome::HarnessError => "this is a fault of the judge",
        Outcome::ExpectedFail => "no legal reading allows what was observed, and it is known",
        _ => "nothing was seen that would show it",
    };
    let meaning = check.reason.meaning();
    format!("{} ({}): {follows}", meaning.trim_end_matches('.'), check.reason)
}

/// What to type to see a red again. A story is told alone.
pub(super) fn next(runtime: &RuntimeReport, column: Column, case: &CaseReport, seed: u64) -> String {
    let asked = shell_word(&line(runtime.path.as_ref().unwrap_or(&runtime.runtime)));
    let mut red = case.checks.iter().filter(|check| !check.outcome.is_green());
    match red.find_map(|check| Plot::number(check.place.case.as_deref()?)) {
        Some(story) => format!("loa-conform explore {asked} --seed {seed} --story {story}"),
        None => format!("loa-conform score {}{asked} --only {} --seed {seed} --keep", profile(column), case.id),
    }
}

/// What to type to learn what a clause asks for.
pub(super) fn more(clause: &Clause) -> String {
    format!("loa-conform explain {}{}", profile(clause.column), clause.id)
}

/// How a profile is asked for that is not the usual one.
fn profile(column: Column) -> &'static str {
    match column.profile() {
        ProfileName::Runtime => "",
        ProfileName::Agent => "--profile agent ",
    }
}
