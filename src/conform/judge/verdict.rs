//! Outcomes: of one check, of one case, of one clause. The worse always wins, and nothing is green by default.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conform::spec::reason::Reason;
use crate::contract::vocabulary;
use crate::system::clock::Millis;

vocabulary! {
    /// How a check, a case or a clause came out.
    pub enum Outcome ("outcome") {
        /// As the clause demands.
        Pass = "pass",
        /// As another legal reading allows, with a remark.
        Warn = "warn",
        /// Otherwise.
        Fail = "fail",
        /// The clause does not bind this runtime.
        NotApplicable = "not-applicable",
        /// The runtime gives the judge no way to see it.
        NotObserved = "not-observed",
        /// A presupposition is red, or the program could not be started.
        CouldNotRun = "could-not-run",
        /// No case judges the clause.
        Untested = "untested",
        /// The judge itself failed.
        HarnessError = "harness-error",
        /// Red once and green once under the same seed.
        Flaky = "flaky",
        /// Red, and known to be: it changes the exit code, never the cell.
        ExpectedFail = "expected-fail",
    }
}

impl Outcome {
    /// Whether the clause is kept: nothing else counts as green.
    #[must_use]
    pub fn is_green(self) -> bool {
        matches!(self, Self::Pass | Self::Warn)
    }

    /// Whether something was seen that breaks the clause.
    #[must_use]
    pub fn is_red(self) -> bool {
        matches!(self, Self::Fail | Self::ExpectedFail)
    }

    /// Whether it is a red that a baseline excuses.
    #[must_use]
    pub fn is_excused(self) -> bool {
        self == Self::ExpectedFail
    }

    /// The worst of several; `None` of none. A red that was seen outweighs everything, and what does not bind outweighs
    /// nothing.
    #[must_use]
    pub fn worst(outcomes: impl IntoIterator<Item = Self>) -> Option<Self> {
        outcomes.into_iter().max_by_key(|outcome| outcome.badness())
    }

    fn badness(self) -> u8 {
        match self {
            Self::NotApplicable => 0,
            Self::Pass => 1,
            Self::Warn => 2,
            Self::Untested => 3,
            Self::NotObserved => 4,
            Self::CouldNotRun => 5,
            Self::Flaky => 6,
            Self::HarnessError => 7,
            Self::ExpectedFail => 8,
            Self::Fail => 9,
        }
    }
}

/// What one expectation of a case came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// How it came out.
    pub outcome: Outcome,
    /// Why, as a stable code.
    pub reason: Reason,
    /// What would have been right.
    pub expected: String,
    /// What was seen.
    pub observed: String,
    /// Where it was read.
    #[serde(default, skip_serializing_if = "Place::is_nowhere")]
    pub place: Place,
    /// The readings of the ledger by which it passes, when not by the clause's own words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<String>,
    /// How many cases carried it, where the verdict of one rests on those of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carriers: Option<usize>,
}

impl Check {
    /// A check that came out so, for this reason.
    pub(in crate::conform) fn new(
        outcome: Outcome,
        reason: Reason,
        expected: impl Into<String>,
        observed: impl Into<String>,
    ) -> Self {
        let (expected, observed) = (expected.into(), observed.into());
        Self { outcome, reason, expected, observed, place: Place::default(), readings: Vec::new(), carriers: None }
    }

    /// A check that holds.
    pub(in crate::conform) fn pass(expected: impl Into<String>, observed: impl Into<String>) -> Self {
        Self::new(Outcome::Pass, Reason::AsExpected, expected, observed)
    }

    /// A check that does not hold.
    pub(in crate::conform) fn fail(reason: Reason, expected: impl Into<String>, observed: impl Into<String>) -> Self {
        Self::new(Outcome::Fail, reason, expected, observed)
    }

    /// A check that the runtime gives no way to make.
    pub(super) fn not_observed(reason: Reason, expected: impl Into<String>, observed: impl Into<String>) -> Self {
        Self::new(Outcome::NotObserved, reason, expected, observed)
    }

    pub(super) fn in_step(mut self, step: usize) -> Self {
        self.place.step = Some(step);
        self
    }

    pub(super) fn in_file(mut self, file: impl Into<String>) -> Self {
        self.place.file = Some(file.into());
        self
    }

    pub(super) fn at_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.place.pointer = Some(pointer.into()).filter(|pointer: &String| !pointer.is_empty());
        self
    }

    pub(super) fn in_case(mut self, case: &str) -> Self {
        self.place.case = Some(case.to_owned());
        self
    }

    pub(super) fn at_time(mut self, at: Millis) -> Self {
        self.place.at = Some(at);
        self
    }
}

/// Where something was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The case, where the verdict of one rests on those of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The step of the case, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The JSON pointer inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Milliseconds since the case began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Millis>,
}

impl Place {
    fn is_nowhere(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.case.iter().map(|case| format!("case {case}")).collect();
        if let Some(file) = &self.file {
            parts.push(match &self.pointer {
                Some(pointer) => format!("{file} at {pointer}"),
                None => file.clone(),
            });
        }
        parts.extend(self.step.map(|step| format!("step {step}")));
        parts.extend(self.at.map(|at| format!("t+{at} ms")));
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_wins_and_nothing_is_green_by_default() {
        use Outcome::{CouldNotRun, Fail, Flaky, HarnessError, NotApplicable, NotObserved, Pass, Untested, Warn};
        for (outcomes, worst) in [
            (vec![], None),
            (vec![NotApplicable], Some(NotApplicable)),
            (vec![Pass, NotApplicable], Some(Pass)),
            (vec![Pass, Warn, Pass], Some(Warn)),
            (vec![Warn, NotObserved], Some(NotObserved)),
            (vec![NotObserved, CouldNotRun], Some(CouldNotRun)),
            (vec![Pass, Flaky], Some(Flaky)),
            (vec![Flaky, HarnessError], Some(HarnessError)),
            (vec![HarnessError, Fail, Pass], Some(Fail)),
            (vec![Untested, Pass], Some(Untested)),
        ] {
            assert_eq!(Outcome::worst(outcomes.clone()), worst, "{outcomes:?}");
        }
    }

    #[test]
    fn only_pass_and_warn_are_green() {
        let green: Vec<_> = Outcome::ALL.iter().filter(|outcome| outcome.is_green()).collect();
        assert_eq!(green, [&Outcome::Pass, &Outcome::Warn]);
    }
}
