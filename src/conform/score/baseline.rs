//! A baseline: the reds that are known, so that a new one is noticed. What it excuses stays red in every cell.

use std::collections::BTreeSet;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CaseReport, ConformanceReport};
use crate::conform::judge::{Check, Outcome};
use crate::conform::spec::Reason;
use crate::conform::suite::matches;
use crate::contract::vocabulary;
use crate::diag::{Diagnostic, Node};
use crate::schema::{Example, Explanation, Rule, Subject};

/// `baseline.yaml`, or a file of yours: the reds that are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Baseline")]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// One entry a red, or a group of reds with one cause.
    pub known: Vec<KnownRed>,
}

/// A red that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownRed {
    /// The runtime or agent.
    #[schemars(length(min = 1))]
    pub runtime: String,
    /// How the identifiers of the cases, or of their clause, begin; `*` stands for any characters.
    #[schemars(length(min = 1))]
    pub case: String,
    /// Why it is red. A red for another reason is not excused.
    pub reason: Reason,
    /// Where the red is being dealt with.
    #[schemars(length(min = 1))]
    pub issue: String,
    /// The last day on which it is excused.
    pub expires: Date,
}

vocabulary! {
    /// What is wrong with an entry of a baseline.
    pub enum Staleness ("staleness") {
        /// Every case that it is about is green by now.
        Stale = "baseline-stale",
        /// Its day is over.
        Expired = "baseline-expired",
        /// It is about no case of the measurement.
        Unmatched = "baseline-unmatched",
        /// Entries before it excuse everything that it is about.
        Duplicate = "baseline-duplicate",
        /// What it is about is red for another reason.
        OtherReason = "baseline-reason",
    }
}

/// Something wrong with an entry of a baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The entry's number, counted from 0.
    pub entry: usize,
    /// What is wrong.
    pub staleness: Staleness,
    /// The same for people, with what was found.
    pub message: String,
}

impl Baseline {
    /// Turns every red that is known into an expected one, and says which entries no longer fit. Cells stay as they are.
    pub fn apply(&self, report: &mut ConformanceReport, today: Date) -> Vec<Complaint> {
        let partial = report.is_partial();
        let mut tallies = vec![Tally::default(); self.known.len()];
        for runtime in &mut report.runtimes {
            for clause in &mut runtime.clauses {
                for case in &mut clause.cases {
                    self.excuse(case, &runtime.runtime, &clause.id, today, &mut tallies);
                }
                let judged = Outcome::worst(clause.cases.iter().map(|case| case.outcome));
                clause.outcome = judged.unwrap_or(clause.outcome);
            }
        }
        let entries = self.known.iter().zip(&tallies).enumerate();
        let wrong = entries.filter_map(|(entry, (known, tally))| {
            let (staleness, message) = known.complaint(tally, today, partial)?;
            Some(Complaint { entry, staleness, message })
        });
        wrong.collect()
    }

    fn excuse(&self, case: &mut CaseReport, runtime: &str, clause: &str, today: Date, tallies: &mut [Tally]) {
        let about = |known: &KnownRed| known.is_about(runtime, clause, &case.id);
        let entries: Vec<usize> = (0..self.known.len()).filter(|entry| about(&self.known[*entry])).collect();
        for entry in &entries {
            tallies[*entry].cases += 1;
            tallies[*entry].green += usize::from(case.outcome.is_green());
        }
        for check in case.checks.iter_mut().filter(|check| check.outcome == Outcome::Fail) {
            let mut taken = false;
            for entry in &entries {
                let (known, tally) = (&self.known[*entry], &mut tallies[*entry]);
                match (known.reason == check.reason, taken) {
                    (false, _) => _ = tally.other.insert(check.reason),
                    (true, true) => tally.taken += 1,
                    (true, false) if known.expires < today => tally.red += 1,
                    (true, false) => {
                        tally.red += 1;
                        taken = true;
                    }
                }
            }
            if taken {
                check.outcome = Outcome::ExpectedFail;
            }
        }
        case.outcome = Outcome::worst(case.checks.iter().map(|check| check.outcome)).unwrap_or(case.outcome);
    }

    /// The baseline that excuses every red of a report.
    #[must_use]
    pub fn of(report: &ConformanceReport, issue: &str, expires: Date) -> Self {
        let mut known: Vec<KnownRed> = Vec::new();
        for runtime in &report.runtimes {
            for (_, case) in runtime.cases() {
                let reasons: BTreeSet<Reason> =
                    case.checks.iter().filter(|it| is_new(it)).map(|it| it.reason).collect();
                known.extend(reasons.into_iter().map(|reason| KnownRed {
                    runtime: runtime.runtime.clone(),
                    case: case.id.clone(),
                    reason,
                    issue: issue.to_owned(),
                    expires,
                }));
            }
        }
        Self { version: 1, known }
    }

    /// The same without the entries that no longer fit, and with entries for the reds that none of the rest excuses.
    #[must_use]
    pub fn renewed(self, report: &ConformanceReport, issue: &str, expires: Date, today: Date) -> Self {
        let mut judged = report.clone();
        let wrong: BTreeSet<usize> = self.apply(&mut judged, today).iter().map(|it| it.entry).collect();
        let fitting = self.known.into_iter().enumerate().filter(|(entry, _)| !wrong.contains(entry));
        let known: Vec<KnownRed> = fitting.map(|(_, known)| known).collect();
        let kept = Self { version: 1, known };
        let mut judged = report.clone();
        kept.apply(&mut judged, today);
        let new = Self::of(&judged, issue, expires).known;
        Self { version: 1, known: kept.known.into_iter().chain(new).collect() }
    }
}

fn is_new(check: &Check) -> bool {
    check.outcome == Outcome::Fail
}

/// What an entry met.
#[derive(Debug, Clone, Default)]
struct Tally {
    /// Cases that it is about.
    cases: usize,
    /// Of these: green.
    green: usize,
    /// Reds for its reason.
    red: usize,
    /// Reds for its reason that an entry before it excuses.
    taken: usize,
    /// Reasons of the other reds.
    other: BTreeSet<Reason>,
}

impl KnownRed {
    fn is_about(&self, runtime: &str, clause: &str, case: &str) -> bool {
        self.runtime == runtime && (matches(&self.case, case) || matches(&self.case, clause))
    }

    fn complaint(&self, met: &Tally, today: Date, partial: bool) -> Option<(Staleness, String)> {
        let Self { runtime, case, reason, expires, .. } = self;
        let others = || met.other.iter().map(|reason| reason.as_str()).collect::<Vec<_>>().join(", ");
        match met {
            _ if *expires < today => Some((Staleness::Expired, format!("{runtime} {case}: excused until {expires}"))),
            // Of a part of the suite, the case that it is about may be missing.
            Tally { cases: 0, .. } if partial => None,
            Tally { cases: 0, .. } => {
                Some((Staleness::Unmatched, format!("{runtime} {case}: no such case was judged")))
            }
            Tally { red: 1.., .. } => None,
            Tally { taken: 1.., .. } => {
                Some((Staleness::Duplicate, format!("{runtime} {case}: an entry before it excuses the same")))
            }
            Tally { other, .. } if !other.is_empty() => {
                Some((Staleness::OtherReason, format!("{runtime} {case}: red for {}, not for {reason}", others())))
            }
            Tally { cases, green, .. } if cases == green => {
                Some((Staleness::Stale, format!("{runtime} {case}: green by now")))
            }
            // It could not be run or seen, which proves nothing either way.
            _ => None,
        }
    }
}

/// No two entries say the same.
pub(super) const KNOWN_ONCE: Rule = Rule {
    text: Explanation {
        id: "known-twice",
        about: "a baseline names a red once",
        why: "Of two entries for one red, one outlives its issue and its day, and nobody notices.",
        mend: "Remove one of them.",
        example: Some(Example {
            kind: "baseline",
            path: "baseline.yaml",
            wrong: "version: 1\nknown:\n\
                    - {runtime: mine, case: exit-003, reason: started-too-rarely, issue: '#1', expires: 2026-12-31}\n\
                    - {runtime: mine, case: exit-003, reason: started-too-rarely, issue: '#2', expires: 2027-12-31}\n",
            right: "version: 1\nknown:\n\
                    - {runtime: mine, case: exit-003, reason: started-too-rarely, issue: '#1', expires: 2026-12-31}\n",
        }),
    },
    check: known_twice,
};

fn known_twice(subject: &Subject<'_>) -> Vec<Diagnostic> {
    // What cannot be read as a baseline has been refused by the schema already.
    let Ok(baseline) = serde_json::from_value::<Baseline>(subject.document.to_json()) else { return Vec::new() };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (number, known) in baseline.known.iter().enumerate() {
        if !seen.insert((&known.runtime, &known.case, known.reason)) {
            let pointer = format!("/known/{number}");
            let message = format!("{} {} for {} is known already", known.runtime, known.case, known.reason);
            let mut finding = Diagnostic::error(KNOWN_ONCE.text.id, message).of(pointer.clone());
            let node = subject.document.node_at(&pointer);
            (finding.span, finding.found) = (node.map(Node::head), node.map(Node::describe));
            found.push(finding.help("remove one of the two"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DAY: Date = Date::constant(2026, 6, 30);

    /// Two cases, one red twice for different reasons, one of this outcome.
    fn report(second: &str) -> ConformanceReport {
        let check = |outcome: &str, reason: &str| json!({"outcome": outcome, "reason": reason, "expected": "e", "observed": "o"});
        let case = |id: &str, outcome: &str, checks: serde_json::Value| json!({"id": id, "title": "t", "outcome": outcome, "time": "real", "elapsed_ms": 1, "checks": checks});
        let first = json!([check("fail", "started-too-rarely"), check("fail", "not-tracked")]);
        let cases =
            [case("x-001-a", "fail", first), case("x-001-b", second, json!([check(second, "started-too-often")]))];
        let clause = json!({"id": "X-001", "column": "exit-codes", "level": "MUST", "outcome": "fail", "cases": cases});
        let runtime = json!({"runtime": "it", "manifest": "m", "elapsed_ms": 1, "clauses": [clause]});
        let report = json!({"version": 1, "edition": "e", "judge": "0", "suite": "s", "seed": 1,
            "host": {"os": "o", "arch": "a", "cores": 1}, "date": "2026-06-01T09:30:00Z", "complete": true,
            "ledger": [], "claims": [], "checklist": [], "runtimes": [runtime]});
        serde_json::from_value(report).expect("a report")
    }

    fn known(runtime: &str, case: &str, reason: &str, expires: &str) -> KnownRed {
        let known = json!({"runtime": runtime, "case": case, "reason": reason, "issue": "#1", "expires": expires});
        serde_json::from_value(known).expect("an entry")
    }

    fn applied(known: &[KnownRed], report: &mut ConformanceReport) -> Vec<(usize, Staleness)> {
        let baseline = Baseline { version: 1, known: known.to_vec() };
        baseline.apply(report, DAY).into_iter().map(|it| (it.entry, it.staleness)).collect()
    }

    #[test]
    fn a_red_is_excused_only_when_every_reason_of_it_is_known() {
        let rarely = known("it", "x-001-a", "started-too-rarely", "2026-06-30");
        let tracked = known("it", "X-001", "not-tracked", "2026-06-30");
        let mut one = report("pass");
        assert_eq!(applied(std::slice::from_ref(&rarely), &mut one), []);
        assert_eq!(one.runtimes[0].clauses[0].outcome, Outcome::Fail, "one of its reasons is new");
        let mut both = report("pass");
        assert_eq!(applied(&[rarely, tracked], &mut both), []);
        assert_eq!(both.runtimes[0].clauses[0].outcome, Outcome::ExpectedFail);
        assert!(both.runtimes[0].clauses[0].outcome.is_red(), "it counts as failed in every cell");
    }

    #[test]
    fn entries_that_no_longer_fit_are_named() {
        let good = known("it", "x-001-a", "started-too-rarely", "2026-06-30");
        for (second, entry, said) in [
            ("pass", known("it", "x-001-b", "started-too-often", "2027-01-01"), Some(Staleness::Stale)),
            ("could-not-run", known("it", "x-001-b", "started-too-often", "2027-01-01"), None),
            ("pass", known("it", "x-001-a", "not-tracked", "2026-06-29"), Some(Staleness::Expired)),
            ("pass", known("it", "x-002", "not-tracked", "2027-01-01"), Some(Staleness::Unmatched)),
            ("pass", known("that", "x-001-a", "not-tracked", "2027-01-01"), Some(Staleness::Unmatched)),
            ("pass", known("it", "x-001", "started-too-rarely", "2027-01-01"), Some(Staleness::Duplicate)),
            ("fail", known("it", "x-001-b", "not-tracked", "2027-01-01"), Some(Staleness::OtherReason)),
        ] {
            let found = applied(&[good.clone(), entry.clone()], &mut report(second));
            let expected: Vec<_> = said.map(|said| (1, said)).into_iter().collect();
            assert_eq!(found, expected, "{second} {entry:?}");
        }
    }

    #[test]
    fn an_expired_entry_excuses_nothing() {
        let mut it = report("pass");
        applied(&[known("it", "x-001", "started-too-rarely", "2026-06-29")], &mut it);
        assert_eq!(it.runtimes[0].clauses[0].cases[0].checks[0].outcome, Outcome::Fail);
    }

    #[test]
    fn what_was_left_out_of_a_partial_run_is_not_missed() {
        let mut part = ConformanceReport { only: Some("x-001".to_owned()), ..report("pass") };
        assert_eq!(applied(&[known("it", "x-002", "not-tracked", "2027-01-01")], &mut part), []);
    }

    #[test]
    fn a_renewed_baseline_keeps_what_fits_and_excuses_everything() {
        let mine = KnownRed { issue: "#77".to_owned(), ..known("it", "x-001-a", "not-tracked", "2026-12-31") };
        let stale = known("it", "x-001-b", "started-too-often", "2026-12-31");
        let baseline = Baseline { version: 1, known: vec![mine.clone(), stale] };
        let renewed = baseline.renewed(&report("pass"), "#2", DAY, DAY);
        assert_eq!(renewed.known.len(), 2, "{renewed:?}");
        assert_eq!(renewed.known[0], mine);
        let mut it = report("pass");
        assert_eq!(renewed.apply(&mut it, DAY), []);
        assert_eq!(it.runtimes[0].clauses[0].outcome, Outcome::ExpectedFail);
    }
}
