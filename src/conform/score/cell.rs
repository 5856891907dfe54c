//! One cell of the matrix: a word and the counts that it stands for. The contract uses such words and defines none of them:
//! these definitions are ours.

use std::fmt;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conform::judge::Outcome;
use crate::conform::spec::{Attestation, CellWord};

/// A word, and how many of the column's MUSTs stand behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The word.
    pub word: CellWord,
    /// MUSTs that bind the runtime.
    pub musts: usize,
    /// Of these: passed or warned.
    pub green: usize,
    /// Of these: failed.
    pub failed: usize,
    /// Of these: red once and green once.
    pub flaky: usize,
    /// Of these: not observed.
    pub not_observed: usize,
    /// Of these: could not run.
    pub could_not_run: usize,
    /// Of these: the judge failed.
    pub harness_error: usize,
    /// Of these: without a case.
    pub untested: usize,
    /// People's word for what no machine could judge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attested: Vec<Attestation>,
}

impl Cell {
    /// The cell of a column from the outcomes of its MUSTs by clause. Attestations count until they expire, and only for
    /// what was neither seen to hold nor seen to break.
    #[must_use]
    pub fn of(musts: &[(&str, Outcome)], attest: &[Attestation], today: Date) -> Self {
        let binding = || musts.iter().filter(|(_, outcome)| *outcome != Outcome::NotApplicable);
        let count = |wanted: fn(Outcome) -> bool| binding().filter(|(_, outcome)| wanted(*outcome)).count();
        let unjudged = || binding().filter(|(_, outcome)| is_unjudged(*outcome)).map(|(id, _)| *id);
        let vouched = |id: &str| attest.iter().find(|it| it.clause == id && it.expires >= today);
        let mut cell = Self {
            word: CellWord::Partial,
            musts: binding().count(),
            green: count(Outcome::is_green),
            failed: count(Outcome::is_red),
            flaky: count(|outcome| outcome == Outcome::Flaky),
            not_observed: count(|outcome| outcome == Outcome::NotObserved),
            could_not_run: count(|outcome| outcome == Outcome::CouldNotRun),
            harness_error: count(|outcome| outcome == Outcome::HarnessError),
            untested: count(|outcome| outcome == Outcome::Untested),
            attested: unjudged().filter_map(vouched).cloned().collect(),
        };
        cell.word = cell.earned();
        cell
    }

    /// The cell when only a part of the suite was run: never better than partly.
    #[must_use]
    pub fn of_a_part(self) -> Self {
        let word = if self.word == CellWord::None { CellWord::None } else { CellWord::Partial };
        Self { word, ..self }
    }

    /// The word for the counts. A do-nothing program passes no MUST, since a case in which nothing started is red; what it
    /// does not pass either is therefore everything.
    fn earned(&self) -> CellWord {
        let rest = self.musts - self.green;
        match () {
            () if self.musts > 0 && rest == 0 => CellWord::Full,
            () if rest > 0 && rest == self.attested.len() => CellWord::Manual,
            () if self.green == 0 => CellWord::None,
            () => CellWord::Partial,
        }
    }
}

/// Whether no machine could judge it: a person may then vouch for it.
fn is_unjudged(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::NotObserved | Outcome::Untested)
}

impl Cell {
    /// The MUSTs that were kept, of those that bind, and what became of the others.
    #[must_use]
    pub fn counts(&self) -> String {
        let others = [
            (self.failed, "failed"),
            (self.flaky, "flaky"),
            (self.not_observed, "not observed"),
            (self.could_not_run, "could not run"),
            (self.harness_error, "lost to the judge"),
            (self.untested, "untested"),
            (self.attested.len(), "attested"),
        ];
        let rest = others.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}"));
        format!("{}/{}{}", self.green, self.musts, rest.collect::<String>())
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}", self.word, self.counts()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{CouldNotRun, Fail, Flaky, HarnessError, NotApplicable, NotObserved, Pass, Untested, Warn};

    fn cell(outcomes: &[Outcome], attested: &[&str]) -> String {
        const IDS: [&str; 4] = ["A", "B", "C", "D"];
        let musts: Vec<_> = IDS.into_iter().zip(outcomes.iter().copied()).collect();
        let day = |text: &str| text.parse().expect("a day");
        let attest = attested.iter().map(|clause| Attestation {
            clause: (*clause).to_owned(),
            by: "somebody".to_owned(),
            on: day("2026-01-01"),
            expires: day("2026-06-30"),
            evidence: "looked".to_owned(),
        });
        Cell::of(&musts, &attest.collect::<Vec<_>>(), day("2026-06-30")).to_string()
    }

    #[test]
    fn words_and_counts() {
        for (outcomes, attested, said) in [
            (&[Pass, Warn, NotApplicable][..], &[][..], "Full 2/2"),
            (&[Pass, Fail], &[], "Partial 1/2, 1 failed"),
            (&[Pass, Untested], &[], "Partial 1/2, 1 untested"),
            (&[Pass, Pass, Fail, NotObserved], &[], "Partial 2/4, 1 failed, 1 not observed"),
            (&[Pass, Flaky], &[], "Partial 1/2, 1 flaky"),
            (&[Pass, HarnessError], &[], "Partial 1/2, 1 lost to the judge"),
            (&[Fail, CouldNotRun], &[], "None 0/2, 1 failed, 1 could not run"),
            (&[NotObserved, Untested], &[], "None 0/2, 1 not observed, 1 untested"),
            (&[Pass, NotObserved], &["B"], "Manual 1/2, 1 not observed, 1 attested"),
            (&[Pass, NotObserved, Untested], &["B"], "Partial 1/3, 1 not observed, 1 untested, 1 attested"),
            (&[Pass, Fail], &["B"], "Partial 1/2, 1 failed"),
            (&[Pass, CouldNotRun], &["B"], "Partial 1/2, 1 could not run"),
        ] {
            assert_eq!(cell(outcomes, attested), said, "{outcomes:?}");
        }
    }

    #[test]
    fn nothing_to_keep_is_not_everything_kept() {
        assert_eq!(cell(&[], &[]), "None 0/0");
        assert_eq!(cell(&[NotApplicable], &[]), "None 0/0");
    }

    #[test]
    fn an_expired_attestation_does_not_count() {
        let attest = Attestation {
            clause: "A".to_owned(),
            by: "somebody".to_owned(),
            on: Date::constant(2026, 1, 1),
            expires: Date::constant(2026, 6, 30),
            evidence: "looked".to_owned(),
        };
        let musts = [("A", NotObserved), ("B", Pass)];
        assert_eq!(Cell::of(&musts, std::slice::from_ref(&attest), Date::constant(2026, 6, 30)).word, CellWord::Manual);
        assert_eq!(Cell::of(&musts, &[attest], Date::constant(2026, 7, 1)).word, CellWord::Partial);
    }
}
