//! `ledger`, `explain`, `list`, `lint`: what runtimes are judged by, for people.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::args::{Explain, Ledger, Shown};
use super::suite;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::conform::{AgentProfile, CaseDocument, Clause, Profile, ProfileName, RuntimeProfile, Suite, line_hash};
use crate::diag::closest;
use crate::system::files;

/// Longest text of a contract, in bytes.
const LONGEST: u64 = 16 << 20;

pub(super) fn ledger(wish: &Ledger) -> Result<ExitStatus, Failure> {
    match wish.shown.place.profile {
        ProfileName::Runtime => ledger_of::<RuntimeProfile>(wish),
        ProfileName::Agent => ledger_of::<AgentProfile>(wish),
    }
}

fn ledger_of<P: Profile>(wish: &Ledger) -> Result<ExitStatus, Failure> {
    let suite = suite::open::<P>(wish.shown.place.suite.as_deref())?;
    match &wish.against {
        Some(path) => compared(&suite, path, wish.shown.json),
        None if wish.shown.json => printed(&json!({ "clauses": suite.clauses, "cases": suite.cases.len() })),
        None => {
            for clause in &suite.clauses {
                let cases = suite.cases_of(&clause.id).count();
                let (id, level, column) = (&clause.id, clause.level, clause.column);
                let cases = if cases == 1 { "1 case ".to_owned() } else { format!("{cases} cases") };
                print(&format!("{id:9} {level:6} {column:15} {cases:>8}  {}\n", clause.text))?;
            }
            print(&format!("{} clauses, {} cases\n", suite.clauses.len(), suite.cases.len()))?;
            Ok(ExitStatus::Success)
        }
    }
}

/// Which clauses rest on lines that the contract's text no longer has.
fn compared<P: Profile>(suite: &Suite<P>, path: &Path, json: bool) -> Result<ExitStatus, Failure> {
    let bytes = files::read(path, LONGEST).map_err(|error| Failure::new(ExitStatus::NoInput, error))?;
    let lines: BTreeSet<String> = String::from_utf8_lossy(&bytes).lines().map(line_hash).collect();
    let resting: Vec<&Clause> = suite.clauses.iter().filter(|clause| !clause.lines.is_empty()).collect();
    let changed: Vec<&&Clause> =
        resting.iter().filter(|clause| clause.lines.iter().any(|line| !lines.contains(line))).collect();
    if json {
        let changed: Vec<&str> = changed.iter().map(|clause| clause.id.as_str()).collect();
        printed(&json!({ "compared": resting.len(), "changed": changed }))?;
    } else {
        for clause in &changed {
            print(&format!("{} rests on a line that is no longer there: {}\n", clause.id, clause.text))?;
        }
        let standing = resting.len() - changed.len();
        print(&format!("{standing} of {} clauses still stand as they were read\n", resting.len()))?;
    }
    Ok(match (resting.is_empty(), changed.is_empty()) {
        (true, _) => ExitStatus::Incomplete,
        (false, true) => ExitStatus::Success,
        (false, false) => ExitStatus::NotConforming,
    })
}

/// Prints one JSON document.
fn printed(document: &Value) -> Result<ExitStatus, Failure> {
    print(&format!("{document:#}\n"))?;
    Ok(ExitStatus::Success)
}

pub(super) fn explain(wish: &Explain) -> Result<ExitStatus, Failure> {
    match wish.shown.place.profile {
        ProfileName::Runtime => explain_of::<RuntimeProfile>(wish),
        ProfileName::Agent => explain_of::<AgentProfile>(wish),
    }
}

fn explain_of<P: Profile>(wish: &Explain) -> Result<ExitStatus, Failure> {
    let suite = suite::open::<P>(wish.shown.place.suite.as_deref())?;
    let asked = wish.clause.to_uppercase();
    let heads = || suite.cases.iter().map(CaseDocument::head);
    let of_case = || heads().find(|head| head.id == wish.clause).map(|head| head.clause);
    let clause = suite.clause(&asked).or_else(|| suite.clause(of_case()?));
    let Some(clause) = clause else {
        let failure = Failure::new(ExitStatus::NoInput, format!("the ledger has no clause {}", wish.clause));
        let similar = closest(&asked, suite.clauses.iter().map(|clause| clause.id.as_str()));
        return Err(match similar {
            Some(similar) => failure.hint(format!("did you mean {similar}?")),
            None => failure.hint("`loa-conform ledger` prints every clause"),
        });
    };
    if wish.shown.json {
        let cases: Vec<_> = suite.cases_of(&clause.id).collect();
        return printed(&json!({ "clause": clause, "cases": cases }));
    }
    print(&explained(&suite, clause))?;
    Ok(ExitStatus::Success)
}

fn explained<P: Profile>(suite: &Suite<P>, clause: &Clause) -> String {
    let sources: Vec<&str> = clause.source.iter().map(|source| source.as_str()).collect();
    let mut lines = vec![
        format!("{} ({}, {}, binds {})", clause.id, clause.level, clause.column, clause.when),
        format!("  {}", clause.text),
        format!("  source: {} in {}", sources.join(", "), clause.sections.join("; ")),
    ];
    lines.extend(clause.readings.iter().map(|reading| {
        let ours = if reading.ours { ", as loa-run reads it" } else { "" };
        let warns = if reading.warns { ", with a warning" } else { "" };
        format!("  reading {}{ours}{warns}: {}", reading.id, reading.text)
    }));
    if !clause.presupposes.is_empty() {
        lines.push(format!("  presupposes: {}", clause.presupposes.join(", ")));
    }
    lines.extend(clause.how.iter().map(|how| format!("  tested: {how}")));
    lines.extend(clause.untested.iter().map(|why| format!("  not tested: {why}")));
    lines
        .extend(suite.cases_of(&clause.id).map(CaseDocument::head).map(|it| format!("  case {}: {}", it.id, it.title)));
    lines.join("\n") + "\n"
}

pub(super) fn list(wish: &Shown) -> Result<ExitStatus, Failure> {
    match wish.place.profile {
        ProfileName::Runtime => list_of::<RuntimeProfile>(wish),
        ProfileName::Agent => list_of::<AgentProfile>(wish),
    }
}

fn list_of<P: Profile>(wish: &Shown) -> Result<ExitStatus, Failure> {
    let suite = suite::open::<P>(wish.place.suite.as_deref())?;
    let heads = || suite.cases.iter().map(CaseDocument::head);
    if wish.json {
        let bundled: Vec<&str> = suite.bundled().collect();
        let cases = heads().map(|head| json!({ "id": head.id, "clause": head.clause, "title": head.title }));
        return printed(&json!({ format!("{}s", P::NAME): bundled, "cases": cases.collect::<Vec<_>>() }));
    }
    for name in suite.bundled() {
        print(&format!("{} {name}\n", P::NAME))?;
    }
    for head in heads() {
        print(&format!("case {}: {}\n", head.id, head.title))?;
    }
    Ok(ExitStatus::Success)
}

pub(super) fn lint(wish: &Shown) -> Result<ExitStatus, Failure> {
    match wish.place.profile {
        ProfileName::Runtime => lint_of::<RuntimeProfile>(wish),
        ProfileName::Agent => lint_of::<AgentProfile>(wish),
    }
}

fn lint_of<P: Profile>(wish: &Shown) -> Result<ExitStatus, Failure> {
    let suite = suite::open::<P>(wish.place.suite.as_deref())?;
    let (clauses, cases, bundled) = (suite.clauses.len(), suite.cases.len(), suite.bundled().count());
    let candidates = format!("{}s", P::NAME);
    if wish.json {
        let hash = &suite.hash;
        return printed(&json!({ "clauses": clauses, "cases": cases, candidates: bundled, "suite": hash }));
    }
    print(&format!("{clauses} clauses, {cases} cases, {bundled} {candidates}: nothing wrong\n"))?;
    Ok(ExitStatus::Success)
}
