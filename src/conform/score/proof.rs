//! The proof of the judge: what the whole suite said about each variant, held against what the variant declares.
//!
//! A kill counts only by the declared case for the declared reason: a variant that dies of something else shows that the
//! suite noticed trouble, not that it noticed this. Pure; the runs are the survey's business.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::RuntimeReport;
use crate::conform::judge::Outcome;
use crate::conform::spec::Reason;
use crate::conform::suite::Variant;

/// What the whole suite said about one runtime.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Every clause of the ledger and how it came out.
    pub clauses: BTreeMap<String, Outcome>,
    /// Every red case.
    pub red: BTreeMap<String, RedCase>,
}

/// A red case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RedCase {
    /// The clause that it judges.
    pub clause: String,
    /// The reasons of its failed checks.
    pub reasons: BTreeSet<Reason>,
}

impl Row {
    /// The row of a report.
    #[must_use]
    pub fn of(report: &RuntimeReport) -> Self {
        let clauses = report.clauses.iter().map(|clause| (clause.id.clone(), clause.outcome)).collect();
        let cases = report.clauses.iter().flat_map(|clause| clause.cases.iter().map(move |case| (clause, case)));
        let red = cases.filter(|(_, case)| case.outcome.is_red()).map(|(clause, case)| {
            let failed = case.checks.iter().filter(|check| check.outcome.is_red()).map(|check| check.reason);
            (case.id.clone(), RedCase { clause: clause.id.clone(), reasons: failed.collect() })
        });
        Self { clauses, red: red.collect() }
    }

    fn reds(&self) -> BTreeSet<&str> {
        self.clauses.iter().filter(|(_, outcome)| outcome.is_red()).map(|(clause, _)| clause.as_str()).collect()
    }
}

/// Everything that makes a base void: where it does not earn the cells that it is known to earn, nothing that its variants do
/// proves anything.
#[must_use]
pub fn shortcomings(base: &RuntimeReport) -> Vec<String> {
    let void = |what: String| format!("void: {} {what}", base.runtime);
    if let Some(problem) = &base.problem {
        return vec![void(format!("cannot be started: {}", problem.line()))];
    }
    if base.expect.is_empty() {
        return vec![void("says nothing of the cells that it is known to earn".to_owned())];
    }
    let missing = base.expect.iter().filter(|(column, _)| !base.cells.contains_key(column));
    let missing = missing.map(|(column, word)| void(format!("earned nothing in {column}, not {word}")));
    let differ = base.surprises().into_iter();
    let differ = differ.map(|(column, word, earned)| void(format!("earned {earned} in {column}, not {word}")));
    missing.chain(differ).collect()
}

/// Everything in which a variant's row differs from what the variant declares; empty when it is as declared.
#[must_use]
pub fn differences(variant: &Variant, base: &Row, row: &Row) -> Vec<String> {
    let mut found = unsound(row);
    let before = base.reds();
    let new: BTreeSet<&str> = row.reds().difference(&before).copied().collect();
    let mut declared: BTreeSet<&str> = variant.also.iter().map(String::as_str).collect();
    if let Some(kill) = &variant.kills {
        if base.red.contains_key(&kill.case) {
            found.push(format!("void: {} is red for the base, too", kill.case));
        }
        match row.red.get(&kill.case) {
            None => found.push(format!("survived: {} is not red", kill.case)),
            Some(case) if !case.reasons.contains(&kill.reason) => {
                found.push(format!("{} is red for {}, not for {}", kill.case, words(&case.reasons), kill.reason));
            }
            Some(case) => {
                declared.insert(&case.clause);
            }
        }
    } else {
        found.extend(lost(base, row));
    }
    found.extend(new.difference(&declared).map(|clause| format!("{clause} turned red, undeclared")));
    found.extend(declared.difference(&new).map(|clause| format!("{clause} is declared red and is not")));
    found
}

/// Outcomes that say nothing about the runtime.
fn unsound(row: &Row) -> Vec<String> {
    let unsound = row.clauses.iter().filter(|(_, outcome)| matches!(outcome, Outcome::HarnessError | Outcome::Flaky));
    unsound.map(|(clause, outcome)| format!("{clause}: {outcome}")).collect()
}

/// What a lawful variant took from the base: a clause that was green and is no longer.
fn lost(base: &Row, row: &Row) -> Vec<String> {
    let outcome = |clause: &str| row.clauses.get(clause).copied().unwrap_or(Outcome::Untested);
    let green = base.clauses.iter().filter(|(_, outcome)| outcome.is_green()).map(|(clause, _)| clause);
    let lost = green.filter(|clause| !outcome(clause).is_green() && !outcome(clause).is_red());
    lost.map(|clause| format!("{clause} was green and is {}", outcome(clause))).collect()
}

fn words(reasons: &BTreeSet<Reason>) -> String {
    reasons.iter().map(|reason| reason.as_str()).collect::<Vec<_>>().join(", ")
}

/// The whole table: a line a clause, a column a runtime, a character an outcome.
#[must_use]
pub fn table(rows: &[(&str, &Row)]) -> String {
    let mut text = String::from(
        ". pass, w warn, X fail, - not observed, / could not run, n not applicable, u untested, ! harness error, ~ flaky, \
         x expected fail\n\n",
    );
    for (number, (name, _)) in rows.iter().enumerate() {
        let _ = writeln!(text, "{number:>2} {name}");
    }
    let numbers = |digit: fn(usize) -> usize| -> String {
        (0..rows.len()).filter_map(|number| char::from_digit(u32::try_from(digit(number)).ok()?, 10)).collect()
    };
    let clauses: BTreeSet<&String> = rows.iter().flat_map(|(_, row)| row.clauses.keys()).collect();
    let width = clauses.iter().map(|clause| clause.len()).max().unwrap_or_default() + 2;
    let (tens, ones) = (numbers(|number| number / 10 % 10), numbers(|number| number % 10));
    let _ = write!(text, "\n{:width$}{tens}\n{:width$}{ones}\n", "", "");
    for clause in clauses {
        let cells: String = rows.iter().map(|(_, row)| row.clauses.get(clause).copied().map_or(' ', letter)).collect();
        let _ = writeln!(text, "{clause:width$}{cells}");
    }
    text
}

fn letter(outcome: Outcome) -> char {
    match outcome {
        Outcome::Pass => '.',
        Outcome::Warn => 'w',
        Outcome::Fail => 'X',
        Outcome::NotApplicable => 'n',
        Outcome::NotObserved => '-',
        Outcome::CouldNotRun => '/',
        Outcome::Untested => 'u',
        Outcome::HarnessError => '!',
        Outcome::Flaky => '~',
        Outcome::ExpectedFail => 'x',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::score::Cell;
    use crate::conform::spec::Column;

    fn row(clauses: &[(&str, Outcome)], red: &[(&str, &str, Reason)]) -> Row {
        let red = red.iter().map(|(case, clause, reason)| {
            ((*case).to_owned(), RedCase { clause: (*clause).to_owned(), reasons: BTreeSet::from([*reason]) })
        });
        Row { clauses: clauses.iter().map(|(id, outcome)| ((*id).to_owned(), *outcome)).collect(), red: red.collect() }
    }

    fn faulty(also: &str) -> Variant {
        let kills = "kills: {case: exit-004-x, reason: started-too-often}";
        serde_yaml::from_str(&format!("{{variant: v, base: sh, about: V., {kills}, also: [{also}]}}"))
            .expect("a variant")
    }

    #[test]
    fn only_the_declared_case_kills_and_only_for_the_declared_reason() {
        use Outcome::{Fail, Pass};
        let base = row(&[("EXIT-004", Pass), ("EXIT-008", Pass)], &[]);
        let often = ("exit-004-x", "EXIT-004", Reason::StartedTooOften);
        for (also, clauses, red, problem) in [
            ("", [("EXIT-004", Fail), ("EXIT-008", Pass)], vec![often], None),
            ("EXIT-008", [("EXIT-004", Fail), ("EXIT-008", Fail)], vec![often], None),
            ("", [("EXIT-004", Pass), ("EXIT-008", Pass)], vec![], Some("survived")),
            ("", [("EXIT-004", Fail), ("EXIT-008", Fail)], vec![often], Some("EXIT-008 turned red, undeclared")),
            ("EXIT-008", [("EXIT-004", Fail), ("EXIT-008", Pass)], vec![often], Some("EXIT-008 is declared red")),
            (
                "",
                [("EXIT-004", Fail), ("EXIT-008", Pass)],
                vec![("exit-004-x", "EXIT-004", Reason::NoReport)],
                Some("is red for no-report, not for started-too-often"),
            ),
            (
                "",
                [("EXIT-004", Pass), ("EXIT-008", Fail)],
                vec![("exit-008-y", "EXIT-008", Reason::StartedTooOften)],
                Some("survived"),
            ),
        ] {
            let found = differences(&faulty(also), &base, &row(&clauses, &red)).join("\n");
            assert!(problem.map_or(found.is_empty(), |problem| found.contains(problem)), "{problem:?}: {found}");
        }
    }

    #[test]
    fn a_base_that_is_red_itself_makes_the_kill_void_and_an_unsound_row_is_never_as_declared() {
        let often = ("exit-004-x", "EXIT-004", Reason::StartedTooOften);
        let red = row(&[("EXIT-004", Outcome::Fail)], &[often]);
        assert!(differences(&faulty(""), &red, &red).join("\n").contains("void"));
        let broken = row(&[("EXIT-004", Outcome::HarnessError)], &[]);
        assert!(differences(&faulty(""), &row(&[], &[]), &broken).join("\n").contains("EXIT-004: harness-error"));
    }

    #[test]
    fn a_base_that_does_not_earn_its_cells_is_void() {
        let report = |expect: &str, problem: Option<&str>| RuntimeReport {
            runtime: "sh".to_owned(),
            path: None,
            version: None,
            program: None,
            manifest: String::new(),
            problem: problem.map(Into::into),
            settings: Vec::new(),
            unseen: Vec::new(),
            reds: BTreeMap::new(),
            cells: BTreeMap::from([(
                Column::ExitCodes,
                Cell::of(&[("EXIT-001", Outcome::Pass)], &[], jiff::civil::Date::MIN),
            )]),
            expect: serde_yaml::from_str(expect).expect("cells"),
            claims: BTreeMap::new(),
            clauses: Vec::new(),
            elapsed_ms: 0,
        };
        assert!(shortcomings(&report("{exit-codes: Full}", None)).is_empty());
        for (expect, problem, said) in [
            ("{exit-codes: Partial}", None, "earned Full in exit-codes, not Partial"),
            ("{escalation: None}", None, "earned nothing in escalation, not None"),
            ("{}", None, "says nothing"),
            ("{exit-codes: Full}", Some("no such program"), "cannot be started: no such program"),
        ] {
            let found = shortcomings(&report(expect, problem)).join("\n");
            assert!(found.starts_with("void: sh") && found.contains(said), "{found}");
        }
    }

    #[test]
    fn a_lawful_variant_turns_nothing_red_and_loses_nothing_green() {
        use Outcome::{Fail, NotObserved, Pass, Warn};
        let lawful: Variant =
            serde_yaml::from_str("{variant: v, base: sh, about: V., reading: C-01b}").expect("a variant");
        let base = row(&[("EXIT-004", Pass)], &[]);
        for (outcome, count) in [(Pass, 0), (Warn, 0), (Fail, 1), (NotObserved, 1)] {
            let found = differences(&lawful, &base, &row(&[("EXIT-004", outcome)], &[]));
            assert_eq!(found.len(), count, "{outcome}: {found:?}");
        }
    }

    #[test]
    fn the_table_has_a_line_a_clause_and_a_character_an_outcome() {
        let base = row(&[("EXIT-001", Outcome::Pass)], &[]);
        let variant = row(&[("EXIT-001", Outcome::Fail), ("EXIT-002", Outcome::Warn)], &[]);
        let text = table(&[("sh", &base), ("sh+v", &variant)]);
        assert!(text.ends_with("          00\n          01\nEXIT-001  .X\nEXIT-002   w\n"), "{text}");
    }
}
