//! The model on trial: a lawful runtime that is played in memory, in every reading, breaks nothing in any story; one that
//! slips once, wherever that is, is found, and for the right rule.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::player::{Fault, Player, Reading};
use super::{Cause, Fate, Jury, Mutant, Story, Which, findings};
use crate::conform::spec::{Plot, ProfileName, Rule, RuntimeProfile};
use crate::conform::suite::{Files, Suite};

fn readings() -> impl Iterator<Item = Reading> {
    let all = (2..=4).flat_map(|starts| [false, true].map(|remediates| (starts, remediates)));
    all.flat_map(|(starts, remediates)| {
        [(false, false), (false, true), (true, false)].map(|(begins_when_answered, lets_it_end)| Reading {
            starts,
            remediates,
            begins_when_answered,
            lets_it_end,
        })
    })
}

#[test]
fn a_lawful_runtime_breaks_nothing_in_any_reading() {
    let mut kept: BTreeMap<Rule, usize> = BTreeMap::new();
    for number in 1..=240 {
        let case = Plot::of(11, number).case("story");
        for reading in readings() {
            let player = Player::plays(&case, reading, None);
            for finding in findings(&case, &player.seen) {
                assert!(finding.kept, "story {number}, {reading:?}: {finding:?}\n{}", case.title);
                *kept.entry(finding.rule).or_default() += 1;
            }
        }
    }
    let rare: Vec<&Rule> = Rule::ALL.iter().filter(|rule| kept.get(rule).copied().unwrap_or_default() < 30).collect();
    assert!(rare.is_empty(), "these rules hardly ever apply: {rare:?}");
}

/// Each rule is broken the first time that it applies, the second and so on, in every story in which it applies so often.
#[test]
fn a_runtime_that_slips_once_is_found_for_the_right_rule() {
    for rule in Rule::ALL.iter().copied() {
        let mut found = 0;
        for number in 1..=200 {
            let case = Plot::of(12, number).case("story");
            for times in 0..4 {
                let player = Player::plays(&case, Reading::USUAL, Some(Fault::Slip(rule, times)));
                let broken: Vec<_> = findings(&case, &player.seen).into_iter().filter(|it| !it.kept).collect();
                let rules: Vec<Rule> = broken.iter().map(|it| it.rule).collect();
                let expected: &[Rule] = if player.slipped { &[rule] } else { &[] };
                assert_eq!(rules, expected, "story {number}, slip {times}: {broken:?}\n{}", case.title);
                found += usize::from(player.slipped);
            }
        }
        assert!(found >= 5, "{rule} was broken in {found} stories alone");
    }
}

fn suite() -> Suite<RuntimeProfile> {
    Suite::load(Files::bundled(ProfileName::Runtime)).expect("the suite is sound")
}

#[test]
fn every_argument_stands_in_the_ledger() {
    let suite = suite();
    let candidate = suite.candidate("python", Path::new("/")).expect("it is bundled");
    let jury = Jury::of(&suite, &candidate.manifest);
    for (mutant, why) in Mutant::all().filter_map(|mutant| Some((mutant, mutant.argument()?))) {
        let clause = suite.clause(jury.own(&mutant)[0]).expect("a row");
        assert!(
            clause.how.as_ref().is_some_and(|how| how.contains(why)),
            "{} does not say of {mutant}: {why}",
            clause.id
        );
    }
}

/// A drawn part of the mutants; `loa-conform mutants` tries them all.
#[test]
fn every_mutant_is_found_or_lawful() {
    let suite = suite();
    let candidate = suite.candidate("python", Path::new("/")).expect("it is bundled");
    let jury = Jury::of(&suite, &candidate.manifest);
    let drawn = (1..=60).map(|number| Plot::of(13, number));
    let filling = Plot::filling(&mut fastrand::Rng::with_seed(13));
    let mut stories: Vec<Story> = drawn.chain(filling).map(|plot| Story::of(&plot)).collect();
    stories.sort_by_key(Story::length);
    let mut mutants: Vec<Mutant> = Mutant::all().collect();
    assert!(mutants.len() > 10_000, "{}", mutants.len());
    fastrand::Rng::with_seed(13).shuffle(&mut mutants);
    let fates: Vec<(Mutant, Fate)> = mutants[..120].iter().map(|it| (*it, jury.fate(it, &stories))).collect();
    let survivors: Vec<String> =
        fates.iter().filter(|(_, fate)| *fate == Fate::Survived).map(|(mutant, _)| mutant.to_string()).collect();
    assert!(survivors.is_empty(), "{survivors:?}");
    let killed = fates.iter().filter(|(_, fate)| matches!(fate, Fate::KilledByItsOwn(_))).count();
    assert!(killed > 40, "{killed} alone were killed by a clause that they are about");
}

/// The clauses about warnings, figures and compactions are asked of every usage, under every kind of limits; a runtime without a
/// fault keeps them all.
#[test]
fn a_lawful_runtime_tells_of_every_usage_what_the_limits_ask_for() {
    let suite = suite();
    let candidate = suite.candidate("python", Path::new("/")).expect("it is bundled");
    let jury = Jury::of(&suite, &candidate.manifest);
    let drawn = (1..=60).map(|number| Plot::of(15, number));
    let filling = Plot::filling(&mut fastrand::Rng::with_seed(15));
    let stories: Vec<Story> = drawn.chain(filling).map(|plot| Story::of(&plot)).collect();
    let (kept, broken) = jury.control(&stories);
    assert!(broken.is_empty(), "{broken:?}");
    let context: Vec<&str> = kept.into_iter().filter(|clause| clause.starts_with("CTX")).collect();
    // CTX-013 and those behind CTX-016 have fixed scenes alone.
    assert_eq!(context.len(), 15, "{context:?}");
}

/// Each deed about the context, the state and remediation, the first time that it can be done.
#[test]
fn a_runtime_that_is_wrong_about_the_context_or_its_state_is_found_by_the_clause_that_it_is_about() {
    let suite = suite();
    let candidate = suite.candidate("python", Path::new("/")).expect("it is bundled");
    let jury = Jury::of(&suite, &candidate.manifest);
    let filling = Plot::filling(&mut fastrand::Rng::with_seed(16));
    let drawn = (1..=60).map(|number| Plot::of(16, number));
    let mut stories: Vec<Story> = drawn.chain(filling).map(|plot| Story::of(&plot)).collect();
    stories.sort_by_key(Story::length);
    let is_new = |it: &Mutant| {
        let about_a_usage = it.cause.as_str().starts_with("usage");
        about_a_usage || matches!(it.cause, Cause::Asked | Cause::NeverPasses)
    };
    let firsts = Mutant::all().filter(|it| is_new(it) && it.phase.is_none() && it.which == Which::First);
    let fates: Vec<(String, Fate)> = firsts.map(|it| (it.to_string(), jury.fate(&it, &stories))).collect();
    assert!(fates.len() > 100, "{}", fates.len());
    let others: Vec<_> = fates.iter().filter(|(_, fate)| !matches!(fate, Fate::KilledByItsOwn(_))).collect();
    assert!(others.is_empty(), "{others:#?}");
}

/// What a checkpoint has too much and what a report leaves out is found, wherever a lawful runtime had neither.
#[test]
fn documents_with_something_more_or_less_are_found() {
    let (mut adds, mut leaves_out) = (0, 0);
    for number in 1..=60 {
        let case = Plot::of(14, number).case("story");
        let lawful = Player::plays(&case, Reading::USUAL, None).seen;
        let mut added = lawful.clone();
        for file in added.steps.iter_mut().flat_map(|step| step.checkpoints.values_mut()) {
            let mut document: Value = serde_json::from_str(&file.text).expect("it was written as JSON");
            let decisions = document["decisions"].as_array_mut().expect("a list");
            decisions.extend(decisions.first().cloned());
            file.text = document.to_string();
        }
        let mut few = lawful;
        for report in few.steps.iter_mut().flat_map(|step| &mut step.reports) {
            report.document["state"]["phases"].as_array_mut().expect("a list").truncate(7);
        }
        let broken = |seen| findings(&case, &seen).into_iter().find(|it| !it.kept).map(|it| it.rule);
        let (added, few) = (broken(added), broken(few));
        assert!(matches!(added, None | Some(Rule::ResultKept)), "{added:?}");
        assert!(matches!(few, None | Some(Rule::ReportIsTrue)), "{few:?}");
        (adds, leaves_out) = (adds + usize::from(added.is_some()), leaves_out + usize::from(few.is_some()));
    }
    assert!(adds > 20 && leaves_out > 40, "{adds} and {leaves_out}");
}
