//! Two measurements side by side: what went up, what went down.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{ClauseReport, ConformanceReport, HostLoad, RuntimeReport};
use crate::conform::judge::Outcome;
use crate::conform::spec::Column;
use crate::contract::vocabulary;

vocabulary! {
    /// Which way an outcome went.
    pub enum Direction ("direction") {
        /// It is better than before.
        Up = "up",
        /// It is worse.
        Down = "down",
        /// It is another, and neither better nor worse.
        Aside = "aside",
        /// It was not judged before.
        Added = "added",
        /// It is not judged any more.
        Removed = "removed",
    }
}

/// A clause that came out otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClauseChange {
    /// The runtime or agent.
    pub runtime: String,
    /// The clause.
    pub clause: String,
    /// Which way.
    pub direction: Direction,
    /// What it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Outcome>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Outcome>,
}

/// A cell that came out otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CellChange {
    /// The runtime or agent.
    pub runtime: String,
    /// The column.
    pub column: Column,
    /// What it was.
    pub old: String,
    /// What it is.
    pub new: String,
}

/// What differs between two reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Clauses that were judged in both.
    pub compared: usize,
    /// Clauses that came out otherwise.
    pub clauses: Vec<ClauseChange>,
    /// Cells that came out otherwise.
    pub cells: Vec<CellChange>,
    /// Runtimes and agents that the first has alone.
    pub removed: Vec<String>,
    /// Runtimes and agents that the second has alone.
    pub added: Vec<String>,
    /// Runtimes and agents that could be started in the first and cannot in the second.
    pub lost: Vec<String>,
    /// What the two were not measured alike by.
    pub unlike: Vec<String>,
}

impl Comparison {
    /// Compares an older report with a newer one.
    #[must_use]
    pub fn of(old: &ConformanceReport, new: &ConformanceReport) -> Self {
        let mut all = Self { unlike: unlike(old, new), ..Self::default() };
        for before in &old.runtimes {
            match new.runtime(&before.runtime) {
                None => all.removed.push(before.runtime.clone()),
                Some(after) if before.problem.is_none() && after.problem.is_some() => {
                    all.lost.push(after.runtime.clone());
                }
                Some(after) => all.add(before, after),
            }
        }
        let strangers = new.runtimes.iter().filter(|after| old.runtime(&after.runtime).is_none());
        all.added = strangers.map(|after| after.runtime.clone()).collect();
        all
    }

    fn add(&mut self, before: &RuntimeReport, after: &RuntimeReport) {
        let ids: BTreeSet<&str> = judged(before).chain(judged(after)).map(|clause| clause.id.as_str()).collect();
        for id in ids {
            let outcome = |report| judged(report).find(|clause| clause.id == id).map(|clause| clause.outcome);
            let (old, new) = (outcome(before), outcome(after));
            self.compared += usize::from(old.is_some() && new.is_some());
            if let Some(direction) = direction(old, new) {
                let (runtime, clause) = (after.runtime.clone(), id.to_owned());
                self.clauses.push(ClauseChange { runtime, clause, direction, old, new });
            }
        }
        let cells = before.cells.iter().filter_map(|(column, old)| Some((*column, old, after.cells.get(column)?)));
        self.cells.extend(cells.filter(|(_, old, new)| old != new).map(|(column, old, new)| CellChange {
            runtime: after.runtime.clone(),
            column,
            old: old.to_string(),
            new: new.to_string(),
        }));
    }

    /// The clauses that went down.
    pub fn downs(&self) -> impl Iterator<Item = &ClauseChange> {
        self.clauses.iter().filter(|change| change.direction == Direction::Down)
    }

    /// Whether something was kept and is not any more.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.downs().next().is_some() || !self.lost.is_empty()
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        let none = self.removed.is_empty() && self.added.is_empty() && self.lost.is_empty();
        none && self.clauses.is_empty() && self.cells.is_empty()
    }
}

/// Clauses of which a case was judged.
fn judged(report: &RuntimeReport) -> impl Iterator<Item = &ClauseReport> {
    report.clauses.iter().filter(|clause| !clause.cases.is_empty())
}

/// Which way an outcome went, if it changed.
fn direction(old: Option<Outcome>, new: Option<Outcome>) -> Option<Direction> {
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) => (old, new),
        (Some(_), None) => return Some(Direction::Removed),
        (None, Some(_)) => return Some(Direction::Added),
        (None, None) => return None,
    };
    match standing(new).cmp(&standing(old)) {
        std::cmp::Ordering::Greater => Some(Direction::Up),
        std::cmp::Ordering::Less => Some(Direction::Down),
        std::cmp::Ordering::Equal => (old != new).then_some(Direction::Aside),
    }
}

/// How good an outcome is: kept, not binding, not shown, doubtful, broken.
fn standing(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Pass | Outcome::Warn => 4,
        Outcome::NotApplicable => 3,
        Outcome::NotObserved | Outcome::CouldNotRun | Outcome::Untested => 2,
        Outcome::Flaky | Outcome::HarnessError => 1,
        Outcome::Fail | Outcome::ExpectedFail => 0,
    }
}

/// What two reports were not measured alike by.
fn unlike(old: &ConformanceReport, new: &ConformanceReport) -> Vec<String> {
    let short = |hash: &str| format!("{hash:.12}");
    let pairs = [
        ("profile", old.profile.to_string(), new.profile.to_string()),
        ("edition", old.edition.clone(), new.edition.clone()),
        ("suite", short(&old.suite), short(&new.suite)),
        ("judge", old.judge.clone(), new.judge.clone()),
        ("seed", old.seed.to_string(), new.seed.to_string()),
        ("selection", old.selection().told().join("; "), new.selection().told().join("; ")),
    ];
    let differing = pairs.into_iter().filter(|(_, old, new)| old != new);
    differing.map(|(what, old, new)| format!("{what}: `{old}` and `{new}`")).collect()
}

/// Reports that cannot become one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnionError {
    /// They were not measured alike.
    #[error("the reports were not measured alike: {}", .0.join("; "))]
    Unlike(Vec<String>),
    /// A judge was interrupted.
    #[error("report {0} is of an interrupted judge")]
    Interrupted(usize),
    /// They were measured on different machines.
    #[error("report {0} was measured on another machine than the first")]
    Host(usize),
    /// Two have the same runtime or agent.
    #[error("{0} stands in more than one of them")]
    Twice(String),
}

impl ConformanceReport {
    /// One report with the rows of this one and of others, as if all had been measured at once; its date is the latest, and
    /// its load the worst.
    ///
    /// # Errors
    /// [`UnionError`]: rows that cannot be compared never stand in one table.
    pub fn joined(mut self, others: &[Self]) -> Result<Self, UnionError> {
        for (number, other) in others.iter().enumerate() {
            let unlike = unlike(&self, other);
            if !unlike.is_empty() {
                return Err(UnionError::Unlike(unlike));
            }
            if self.host != other.host {
                return Err(UnionError::Host(number + 2));
            }
            if let Some(twice) = other.runtimes.iter().find(|row| self.runtime(&row.runtime).is_some()) {
                return Err(UnionError::Twice(twice.runtime.clone()));
            }
            self.date = self.date.max(other.date);
            self.load = [self.load, other.load].into_iter().flatten().reduce(HostLoad::worse);
            self.runtimes.extend(other.runtimes.iter().cloned());
        }
        let all = [self.complete].into_iter().chain(others.iter().map(|other| other.complete));
        if let Some(number) = all.into_iter().position(|complete| !complete) {
            return Err(UnionError::Interrupted(number + 1));
        }
        self.runtimes.sort_by(|a, b| a.runtime.cmp(&b.runtime));
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A report with one runtime, whose clauses have these outcomes.
    fn report(name: &str, outcomes: &[&str], more: &Value) -> ConformanceReport {
        let clauses = outcomes.iter().enumerate().map(|(number, outcome)| {
            let case = json!({"id": format!("x-00{number}-a"), "title": "t", "outcome": outcome, "time": "real",
                "elapsed_ms": 1, "checks": []});
            json!({"id": format!("X-00{number}"), "column": "exit-codes", "level": "MUST", "outcome": outcome,
                "cases": [case]})
        });
        let clauses: Vec<Value> = clauses.collect();
        let mut report = json!({"version": 1, "edition": "e", "judge": "0", "suite": "s", "seed": 1,
            "host": {"os": "o", "arch": "a", "cores": 1}, "date": "2026-06-01T09:30:00Z", "complete": true,
            "ledger": [], "claims": [], "checklist": [],
            "runtimes": [{"runtime": name, "manifest": "m", "elapsed_ms": 1, "clauses": clauses}]});
        for (key, value) in more.as_object().expect("a mapping") {
            report[key] = value.clone();
        }
        serde_json::from_value(report).expect("a report")
    }

    #[test]
    fn up_down_and_aside() {
        for (old, new, direction) in [
            ("pass", "pass", None),
            ("pass", "warn", Some(Direction::Aside)),
            ("pass", "fail", Some(Direction::Down)),
            ("pass", "flaky", Some(Direction::Down)),
            ("pass", "could-not-run", Some(Direction::Down)),
            ("warn", "not-applicable", Some(Direction::Down)),
            ("not-observed", "fail", Some(Direction::Down)),
            ("fail", "expected-fail", Some(Direction::Aside)),
            ("flaky", "fail", Some(Direction::Down)),
            ("fail", "pass", Some(Direction::Up)),
            ("untested", "pass", Some(Direction::Up)),
        ] {
            let compared = Comparison::of(&report("it", &[old], &json!({})), &report("it", &[new], &json!({})));
            assert_eq!(compared.clauses.first().map(|it| it.direction), direction, "{old} {new}");
            assert_eq!(compared.is_worse(), direction == Some(Direction::Down), "{old} {new}");
            assert_eq!(compared.is_same(), direction.is_none());
            assert_eq!(compared.compared, 1);
        }
    }

    #[test]
    fn what_only_one_of_them_has() {
        let (one, two) = (report("it", &["pass", "fail"], &json!({})), report("it", &["pass"], &json!({})));
        assert_eq!(Comparison::of(&one, &two).clauses[0].direction, Direction::Removed);
        assert_eq!(Comparison::of(&two, &one).clauses[0].direction, Direction::Added);
        assert!(!Comparison::of(&one, &two).is_worse(), "what was not asked for did not get worse");
        let other = Comparison::of(&one, &report("that", &["pass"], &json!({})));
        assert_eq!((other.compared, other.removed, other.added), (0, vec!["it".to_owned()], vec!["that".to_owned()]));
        let gone =
            json!({"runtimes": [{"runtime": "it", "manifest": "m", "problem": "p", "elapsed_ms": 0, "clauses": []}]});
        assert!(Comparison::of(&one, &report("it", &[], &gone)).is_worse());
    }

    #[test]
    fn only_what_was_measured_alike_becomes_one() {
        let it = report("it", &["pass"], &json!({"load": {"crowd": 1.5, "late_ms": 90}}));
        let later = json!({"date": "2026-06-02T09:30:00Z", "load": {"crowd": 3.5, "late_ms": 7}});
        let joined = it.clone().joined(&[report("an", &["fail"], &later)]).expect("alike");
        assert_eq!(joined.load, Some(HostLoad { crowd: 3.5, late_ms: 90 }), "the worst of both");
        assert_eq!(joined.runtimes.iter().map(|row| row.runtime.as_str()).collect::<Vec<_>>(), ["an", "it"]);
        assert_eq!(joined.date.to_string(), "2026-06-02T09:30:00Z");
        for (name, more, said) in [
            ("it", json!({}), "it stands in more than one of them"),
            ("an", json!({"edition": "f"}), "edition: `e` and `f`"),
            ("an", json!({"suite": "t"}), "suite: `s` and `t`"),
            ("an", json!({"profile": "agent"}), "profile: `runtime` and `agent`"),
            ("an", json!({"seed": 2}), "seed: `1` and `2`"),
            ("an", json!({"only": "X"}), "selection"),
            ("an", json!({"complete": false}), "report 2 is of an interrupted judge"),
            ("an", json!({"host": {"os": "o", "arch": "b", "cores": 1}}), "report 2 was measured on another machine"),
        ] {
            let refused = it.clone().joined(&[report(name, &["pass"], &more)]).expect_err(said).to_string();
            assert!(refused.contains(said), "{refused}");
        }
    }
}
