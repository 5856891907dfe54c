//! The model on trial: a lawful runtime that is played in memory, in every reading, breaks nothing in any story; one that
//! slips once, wherever that is, is found, and for the right rule.

use std::collections::BTreeMap;

use super::player::{Fault, Player, Reading};
use super::{Fate, Mutant, Story, findings};
use crate::conform::spec::{Plot, Rule};

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

/// A drawn part of the mutants; `loa-conform mutants` tries them all.
#[test]
fn every_mutant_is_found_or_lawful() {
    let stories: Vec<Story> = (1..=120).map(|number| Story::of(&Plot::of(13, number))).collect();
    let mut mutants: Vec<Mutant> = Mutant::all().collect();
    assert!(mutants.len() > 1500, "{}", mutants.len());
    fastrand::Rng::with_seed(13).shuffle(&mut mutants);
    let fates: Vec<(Mutant, Fate)> = mutants[..150].iter().map(|it| (*it, it.fate(&stories))).collect();
    let survivors: Vec<String> =
        fates.iter().filter(|(_, fate)| *fate == Fate::Survived).map(|(mutant, _)| mutant.to_string()).collect();
    assert!(survivors.is_empty(), "{survivors:?}");
    let killed = fates.iter().filter(|(_, fate)| matches!(fate, Fate::KilledByItsOwn(_))).count();
    assert!(killed > 60, "{killed} alone were killed by a rule that they are about");
}
