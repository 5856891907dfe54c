//! A verdict that rests on every observation: wherever the situation came up, in whichever case, the expectations hold. It
//! names the cases that carried it, and says so where one alone did.

use std::collections::BTreeSet;

use super::Evidence;
use super::judge::{check, conditional};
use crate::conform::judge::occurrence::Occurrence;
use crate::conform::judge::{Check, Outcome, Place};
use crate::conform::observe::Observation;
use crate::conform::spec::{Case, Clause, Expectation, Manifest, Plot, Reason};

/// Judges a case that is about every other: one check an expectation. Cases of which nothing is known count for nothing.
#[must_use]
pub fn everywhere(
    case: &Case,
    clause: &Clause,
    manifest: &Manifest,
    all: &[(&Case, &Observation)],
    control: Option<&Observation>,
) -> Vec<Check> {
    let mut tallies: Vec<Tally> = case.expect.iter().map(|_| Tally::default()).collect();
    for &(other, seen) in all {
        let occurrences = case.wherever.map(|situation| situation.occurrences(other, seen)).unwrap_or_default();
        for occurrence in occurrences {
            let view = occurrence.view(seen);
            let evidence = Evidence { case: other, clause, manifest, seen: &view, control };
            for (expectation, tally) in case.expect.iter().zip(&mut tallies) {
                tally.add(&other.id, one(&evidence, expectation, &occurrence));
            }
        }
    }
    tallies.into_iter().map(Tally::into_check).collect()
}

fn one(evidence: &Evidence<'_>, expectation: &Expectation, occurrence: &Occurrence) -> Check {
    let check = conditional(evidence, check(evidence, expectation));
    if check.place.step.is_some() { check } else { check.in_step(occurrence.step) }
}

/// What one expectation came to, over all occurrences.
#[derive(Debug, Default)]
struct Tally {
    /// The first of the worst that say something.
    worst: Option<Check>,
    /// The first that says nothing, if none says anything.
    mute: Option<Check>,
    times: usize,
    cases: BTreeSet<String>,
    readings: BTreeSet<String>,
}

impl Tally {
    fn add(&mut self, case: &str, check: Check) {
        if matches!(check.outcome, Outcome::NotApplicable | Outcome::NotObserved) {
            self.mute.get_or_insert(check.in_case(case));
            return;
        }
        self.times += 1;
        self.cases.insert(case.to_owned());
        self.readings.extend(check.readings.iter().cloned());
        let is_worse = self.worst.as_ref().is_none_or(|worst| {
            Outcome::worst([worst.outcome, check.outcome]) == Some(check.outcome) && worst.outcome != check.outcome
        });
        if is_worse {
            self.worst = Some(check.in_case(case));
        }
    }

    fn into_check(self) -> Check {
        let carried = self.carried();
        let Some(worst) = self.worst else {
            let none = "in none of the cases that were run did it come up, or nothing of it could be seen";
            return self.mute.unwrap_or_else(|| {
                Check::not_observed(Reason::NoOccasion, "the situation to come up in a case", none)
            });
        };
        if worst.outcome.is_green() {
            let readings = self.readings.into_iter().collect();
            let alone = self.cases.iter().next().filter(|_| self.cases.len() == 1).cloned();
            let place = Place { case: alone, ..Place::default() };
            return Check { observed: carried, place, readings, carriers: Some(self.cases.len()), ..worst };
        }
        worst
    }

    /// Who carried it.
    fn carried(&self) -> String {
        let names: Vec<&str> = self.cases.iter().map(String::as_str).collect();
        match names.as_slice() {
            [alone] => format!("so in {alone}, which alone carries this verdict"),
            names => format!(
                "so each of the {} times that it came up, in {} cases: {}",
                self.times,
                names.len(),
                ranges(names).join(", ")
            ),
        }
    }
}

/// Names in their order, those of stories that follow each other as one: `a, story-001 to story-007`.
fn ranges(names: &[&str]) -> Vec<String> {
    let number = |name: &str| Plot::number(name);
    let follows = |before: &&str, after: &&str| number(before).is_some_and(|n| number(after) == Some(n + 1));
    let ranges = names.chunk_by(follows).map(|range| match range {
        [first, .., last] => format!("{first} to {last}"),
        _ => range.concat(),
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(checks: &[(&str, Check)]) -> Check {
        let mut tally = Tally::default();
        for (case, check) in checks {
            tally.add(case, check.clone());
        }
        tally.into_check()
    }

    #[test]
    fn one_that_breaks_it_is_enough_and_is_named() {
        let pass = || Check::pass("e", "o");
        let fail = |observed: &str| Check::fail(Reason::WentOn, "e", observed);
        let check = tally(&[("a", pass()), ("b", fail("first")), ("c", fail("second"))]);
        assert_eq!((check.outcome, check.observed.as_str()), (Outcome::Fail, "first"));
        assert_eq!(check.place.case.as_deref(), Some("b"));
    }

    #[test]
    fn a_verdict_names_the_cases_that_carried_it_and_says_where_one_alone_did() {
        let pass = || Check::pass("e", "o");
        let both = tally(&[("a", pass()), ("b", pass()), ("a", pass())]);
        assert_eq!(both.observed, "so each of the 3 times that it came up, in 2 cases: a, b");
        let alone = tally(&[("a", pass()), ("a", pass())]);
        assert_eq!(alone.observed, "so in a, which alone carries this verdict");
        assert_eq!((alone.place.case.as_deref(), alone.carriers), (Some("a"), Some(1)));
        assert_eq!((both.place.case, both.carriers), (None, Some(2)));
        let stories = ["a", "story-001", "story-002", "story-003", "story-005", "story-007"];
        let told = tally(&stories.map(|name| (name, pass())));
        let expected =
            "so each of the 6 times that it came up, in 6 cases: a, story-001 to story-003, story-005, story-007";
        assert_eq!(told.observed, expected);
    }

    #[test]
    fn nothing_passes_because_it_never_came_up() {
        let nothing = tally(&[]);
        assert_eq!((nothing.outcome, nothing.reason), (Outcome::NotObserved, Reason::NoOccasion));
        let unseen = Check::not_observed(Reason::NoSight, "e", "o");
        assert_eq!(tally(&[("a", unseen.clone())]).reason, Reason::NoSight);
        assert_eq!(tally(&[("a", unseen), ("b", Check::pass("e", "o"))]).outcome, Outcome::Pass);
    }
}
