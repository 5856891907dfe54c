//! What a survey found, as one plain value: every renderer only formats it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cell;
use crate::conform::judge::{Check, Outcome};
use crate::conform::observe::{CommandReport, TimelineMark};
use crate::conform::spec::{CellWord, Clause, Column, Level, ProfileName, Reason, SettingReport, TimeMethod};
use crate::conform::spec::{ChecklistItem, Claim};
use crate::conform::suite::Selection;
use crate::system::load::Load;
use crate::text::Untrusted;

/// The report of a survey.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Conformance report")]
#[serde(deny_unknown_fields)]
pub struct ConformanceReport {
    /// Version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// What was judged, at which boundary.
    #[serde(default = "runtime")]
    pub profile: ProfileName,
    /// The edition of the contract, or of the profile.
    pub edition: String,
    /// Version of the judge.
    pub judge: String,
    /// SHA-256 in hex over every file of the suite.
    pub suite: String,
    /// The seed under which every value was drawn.
    pub seed: u64,
    /// How many stories were drawn under it and told to each candidate.
    #[serde(default, skip_serializing_if = "is_none")]
    pub stories: usize,
    /// Where it was measured.
    pub host: Host,
    /// How busy that machine was meanwhile, where it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<HostLoad>,
    /// When.
    pub date: Timestamp,
    /// Only cases that match this pattern, and what they presuppose, were run; such a report is no rating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// Cases that match this pattern were not run; such a report is no rating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
    /// Only the cases of this column, and what they presuppose, were run; only this column is rated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<Column>,
    /// Only clauses down to this level, and what they presuppose, were judged; such a report is no rating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Only the quick subset, and what it presupposes, was run; such a report is no rating.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// Whether every case came to its end; false when the judge was interrupted.
    pub complete: bool,
    /// The clauses judged.
    pub ledger: Vec<Clause>,
    /// The contract's own matrix.
    pub claims: Vec<Claim>,
    /// The Implementation Checklist.
    pub checklist: Vec<ChecklistItem>,
    /// One entry a candidate: a runtime, or an agent.
    pub runtimes: Vec<RuntimeReport>,
}

/// The machine on which it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Operating system.
    pub os: String,
    /// Architecture.
    pub arch: String,
    /// Cores that the judge may use.
    pub cores: usize,
    /// No other host could be reached from there, as `--hermetic` demands. Without it a runtime of the runtime profile has the
    /// host's network; of an agent, its row says whether it had.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hermetic: bool,
}

/// How busy a machine was while it measured. Every time that a runtime was given grew with it, up to five times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostLoad {
    /// How many processes wanted each core, on average.
    pub crowd: f64,
    /// How late a timer of the judge's own rang at worst, in milliseconds.
    pub late_ms: u64,
}

impl From<Load> for HostLoad {
    fn from(load: Load) -> Self {
        let late_ms = u64::try_from(load.late.as_millis()).unwrap_or(u64::MAX);
        Self { crowd: (load.crowd * 10.0).round() / 10.0, late_ms }
    }
}

impl HostLoad {
    /// The worse of two.
    pub(super) fn worse(self, other: Self) -> Self {
        Self { crowd: self.crowd.max(other.crowd), late_ms: self.late_ms.max(other.late_ms) }
    }
}

impl fmt::Display for HostLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { crowd, late_ms } = self;
        write!(f, "{crowd:.1} processes for each core, timers up to {late_ms} ms late")
    }
}

/// Which kind of machine it was, and what it was shut off from.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { os, arch, cores: _, hermetic } = self;
        write!(f, "{os} {arch}{}", if *hermetic { " without a network" } else { "" })
    }
}

/// What was found about one candidate: a runtime, or an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuntimeReport {
    /// Its name.
    pub runtime: String,
    /// Its manifest's path as it was given; absent for a bundled one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What it says about its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Untrusted>,
    /// SHA-256 in hex of its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// SHA-256 in hex of its manifest.
    pub manifest: String,
    /// Why it could not be started, if so; there are no cells then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Untrusted>,
    /// What of it differed from its makers' defaults in every case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingReport>,
    /// What the machine did not let the judge see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// The cells that it earned.
    #[serde(default)]
    pub cells: BTreeMap<Column, Cell>,
    /// The cells that it is known to earn.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<Column, CellWord>,
    /// The clauses that it is known to break and why, where its manifest says so one by one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reds: BTreeMap<String, Reason>,
    /// The cells that its makers claim.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<Column, CellWord>,
    /// One entry a clause of the ledger.
    pub clauses: Vec<ClauseReport>,
    /// How long its scenarios took, one after the other, in milliseconds.
    pub elapsed_ms: u64,
}

/// What was found about one clause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClauseReport {
    /// The clause.
    pub id: String,
    /// Its column.
    pub column: Column,
    /// How binding it is.
    pub level: Level,
    /// The worst of its cases; untested without one.
    pub outcome: Outcome,
    /// Its cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<CaseReport>,
}

/// What was found in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseReport {
    /// The case.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The worst of its checks.
    pub outcome: Outcome,
    /// How time passed.
    pub time: TimeMethod,
    /// How long its scenario took, in milliseconds; cases that do the same share one.
    pub elapsed_ms: u64,
    /// What of the candidate differed from its makers' defaults in this case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingReport>,
    /// Its checks.
    pub checks: Vec<Check>,
    /// What happened, in order of time; absent where nothing ran, and where everything was started once and went well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<TimelineMark>,
    /// What was started, where something is not green and it can be done by hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandReport>,
    /// Where its folder was kept, when that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

impl RuntimeReport {
    /// Where the reds of the clauses that were judged differ from those that its manifest names. A known red that is none is
    /// told of the `whole` suite alone: of a part, the case that it is red by may be missing.
    #[must_use]
    pub fn differing_reds(&self, whole: bool) -> Vec<String> {
        let judged = self.clauses.iter().filter(|clause| !clause.cases.is_empty());
        let differing = judged.filter_map(|clause| {
            let id = &clause.id;
            let reasons: Vec<Reason> = clause.reasons().collect();
            match (clause.outcome.is_red(), self.reds.get(id)) {
                (true, Some(known)) if reasons.contains(known) => None,
                (true, Some(known)) => {
                    Some(format!("{id} is known to be red for {known} and is for {}", joined(&reasons)))
                }
                (true, None) => Some(format!("{id} is not known to be red and is, for {}", joined(&reasons))),
                (false, Some(_)) if whole => Some(format!("{id} is known to be red and is {}", clause.outcome)),
                (false, _) => None,
            }
        });
        differing.collect()
    }

    /// Whether every clause of a box of the checklist was kept.
    #[must_use]
    pub fn ticks(&self, item: &ChecklistItem) -> bool {
        let kept = |id: &String| self.clauses.iter().any(|clause| clause.id == *id && clause.outcome.is_green());
        !item.clauses.is_empty() && item.clauses.iter().all(kept)
    }

    /// The columns in which it earned another word than it is known to. What this machine did not let the judge see may hold
    /// or not: a word that it would have earned either way is no surprise.
    #[must_use]
    pub fn surprises(&self) -> Vec<(Column, CellWord, CellWord)> {
        let differing = self.expect.iter().filter_map(|(column, expected)| {
            let earned = self.cells.get(column)?.word;
            let differs = earned != *expected && self.unhindered(*column) != Some(*expected);
            differs.then_some((*column, *expected, earned))
        });
        differing.collect()
    }

    /// The word of a column had the machine hidden nothing and all that it hid held; `None` where it hid nothing.
    fn unhindered(&self, column: Column) -> Option<CellWord> {
        let musts = || self.clauses.iter().filter(|it| it.column == column && it.level == Level::Must);
        musts().find(|clause| clause.is_hidden())?;
        let outcome = |it: &ClauseReport| if it.is_hidden() { Outcome::Pass } else { it.outcome };
        let musts: Vec<_> = musts().map(|it| (it.id.as_str(), outcome(it))).collect();
        let attested = self.cells.get(&column).map(|cell| cell.attested.as_slice()).unwrap_or_default();
        Some(Cell::of(&musts, attested, jiff::civil::Date::MIN).word)
    }

    /// The columns that it earned a cell in and is not known to earn any: a survey has nothing to hold them against.
    #[must_use]
    pub fn unknowns(&self) -> Vec<Column> {
        self.cells.keys().copied().filter(|column| !self.expect.contains_key(column)).collect()
    }

    /// Every case, with its clause.
    pub fn cases(&self) -> impl Iterator<Item = (&ClauseReport, &CaseReport)> {
        self.clauses.iter().flat_map(|clause| clause.cases.iter().map(move |case| (clause, case)))
    }
}

impl ClauseReport {
    /// The case that alone carries the verdict of a clause that was kept.
    #[must_use]
    pub fn carried_alone(&self) -> Option<&str> {
        let kept = self.cases.iter().filter(|case| self.outcome.is_green() && case.outcome.is_green());
        let mut carriers = BTreeSet::new();
        for case in kept.filter(|case| case.outcome != Outcome::NotApplicable) {
            let widest = case.checks.iter().max_by_key(|check| check.carriers);
            carriers.insert(match widest.filter(|check| check.carriers.is_some()) {
                Some(check) => check.place.case.as_deref()?,
                None => case.id.as_str(),
            });
        }
        carriers.first().copied().filter(|_| carriers.len() == 1)
    }

    /// Whether it was not observed for the machine's sake alone.
    fn is_hidden(&self) -> bool {
        let mut checks = self.cases.iter().flat_map(|case| &case.checks).filter(|it| !it.outcome.is_green()).peekable();
        self.outcome == Outcome::NotObserved && checks.peek().is_some() && checks.all(|it| it.reason.is_the_machines())
    }

    /// Why its red cases are red.
    fn reasons(&self) -> impl Iterator<Item = Reason> {
        let checks = self.cases.iter().flat_map(|case| &case.checks);
        checks.filter(|check| check.outcome.is_red()).map(|check| check.reason)
    }
}

fn joined(reasons: &[Reason]) -> String {
    reasons.iter().map(|reason| reason.as_str()).collect::<Vec<_>>().join(", ")
}

fn runtime() -> ProfileName {
    ProfileName::Runtime
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl ConformanceReport {
    /// Whether it says too little to be a rating: only some of the cases were run.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        !self.selection().is_everything()
    }

    /// Whether everything of this column was asked for, so that its cell is a rating.
    #[must_use]
    pub fn rates(&self, column: Column) -> bool {
        self.selection().is_all_of(column)
    }

    /// Which cases were asked for.
    #[must_use]
    pub fn selection(&self) -> Selection {
        let (only, skip) = (self.only.clone(), self.skip.clone());
        Selection { only, skip, column: self.column, level: self.level, quick: self.quick }
    }

    /// A clause of the ledger.
    #[must_use]
    pub fn clause(&self, id: &str) -> Option<&Clause> {
        self.ledger.iter().find(|clause| clause.id == id)
    }

    /// The runtime of this name.
    #[must_use]
    pub fn runtime(&self, name: &str) -> Option<&RuntimeReport> {
        self.runtimes.iter().find(|runtime| runtime.runtime == name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn one_case_alone_carries_a_verdict_that_no_other_one_carries() {
        let check = |carriers: Option<usize>, alone: Option<&str>| {
            let mut check = Check::pass("e", "o");
            (check.carriers, check.place.case) = (carriers, alone.map(str::to_owned));
            check
        };
        let own = || check(None, None);
        for (cases, expected) in [
            (vec![("a", vec![own(), own()])], Some("a")),
            (vec![("a", vec![own()]), ("b", vec![own()])], None),
            (vec![("everywhere", vec![check(Some(1), Some("c")), check(Some(1), Some("c"))])], Some("c")),
            (vec![("everywhere", vec![check(Some(1), Some("c")), check(Some(2), None)])], None),
            (vec![("a", vec![own()]), ("everywhere", vec![check(Some(1), Some("a"))])], Some("a")),
            (vec![("a", vec![own()]), ("everywhere", vec![check(Some(9), None)])], None),
            (vec![], None),
        ] {
            let case = |(id, checks): &(&str, Vec<Check>)| json!({ "id": id, "title": "t", "outcome": "pass", "time": "real", "elapsed_ms": 1, "checks": checks });
            let shown: Vec<Value> = cases.iter().map(case).collect();
            let report = |outcome: &str| -> ClauseReport {
                let clause =
                    json!({ "id": "X-1", "column": "exit-codes", "level": "MUST", "outcome": outcome, "cases": shown });
                serde_json::from_value(clause).expect("a clause")
            };
            assert_eq!(report("pass").carried_alone(), expected, "{cases:?}");
            assert_eq!(report("fail").carried_alone(), None, "what is broken is not carried");
        }
    }
}
