//! `ledger`, `list`, `lint`: what runtimes are judged by, for people.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::args::{Ledger, Shown};
use super::suite;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::conform::judge::Judged;
use crate::conform::spec::{AgentProfile, CaseDocument, Clause, ProfileName, RuntimeProfile};
use crate::conform::suite::{Finding, Suite, line_hash};
use crate::diag::Severity;
use crate::diag::render::{Source, full};
use crate::system::files;

/// Longest text of a contract, in bytes.
const LONGEST: u64 = 16 << 20;

pub(super) fn ledger(wish: &Ledger) -> Result<ExitStatus, Failure> {
    match wish.shown.place.profile {
        ProfileName::Runtime => ledger_of::<RuntimeProfile>(wish),
        ProfileName::Agent => ledger_of::<AgentProfile>(wish),
    }
}

fn ledger_of<P: Judged>(wish: &Ledger) -> Result<ExitStatus, Failure> {
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
fn compared<P: Judged>(suite: &Suite<P>, path: &Path, json: bool) -> Result<ExitStatus, Failure> {
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
pub(super) fn printed(document: &Value) -> Result<ExitStatus, Failure> {
    print(&format!("{document:#}\n"))?;
    Ok(ExitStatus::Success)
}

pub(super) fn list(wish: &Shown) -> Result<ExitStatus, Failure> {
    match wish.place.profile {
        ProfileName::Runtime => list_of::<RuntimeProfile>(wish),
        ProfileName::Agent => list_of::<AgentProfile>(wish),
    }
}

fn list_of<P: Judged>(wish: &Shown) -> Result<ExitStatus, Failure> {
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

fn lint_of<P: Judged>(wish: &Shown) -> Result<ExitStatus, Failure> {
    let beside = suite::being_written(P::NAME).filter(|_| wish.place.suite.is_none());
    if let Some(folder) = &beside {
        say(format_args!("{}: the suite that is written here; `--suite` names another", folder.display()));
    }
    let suite = suite::open::<P>(wish.place.suite.as_deref().or(beside.as_deref()))?;
    let (clauses, cases, bundled) = (suite.clauses.len(), suite.cases.len(), suite.bundled().count());
    let candidates = format!("{}s", P::NAME);
    let advice = suite.advice();
    let errors = advice.iter().filter(|it| it.diagnostic.severity == Severity::Error).count();
    if wish.json {
        let told = advice.iter().map(|Finding { file, diagnostic, .. }| {
            let help = &diagnostic.help;
            json!({ "file": file, "rule": diagnostic.code, "message": diagnostic.message, "help": help,
                "severity": if diagnostic.severity == Severity::Error { "error" } else { "warning" } })
        });
        printed(&json!({ "clauses": clauses, "cases": cases, candidates: bundled, "suite": suite.hash,
            "findings": told.collect::<Vec<_>>() }))?;
    } else {
        for Finding { file, text, diagnostic } in &advice {
            say(format_args!("{}\n", full(&Source::new(file.as_str(), text), diagnostic)));
        }
        let warnings = advice.len() - errors;
        let wrong = match (errors, warnings) {
            (0, 0) => "nothing wrong".to_owned(),
            (errors, warnings) => format!("{errors} errors, {warnings} warnings"),
        };
        print(&format!("{clauses} clauses, {cases} cases, {bundled} {candidates}: {wrong}\n"))?;
    }
    Ok(if errors == 0 { ExitStatus::Success } else { ExitStatus::Config })
}
