//! Everything that the judge asks of a story: the rules of the model, and the cases that look wherever something comes up. What
//! became of each mutant when it was told stories.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::mutant::{About, compounds};
use super::{Mutant, Story, deeds, findings};
use crate::conform::judge::Check;
use crate::conform::judge::expect::everywhere;
use crate::conform::observe::Observation;
use crate::conform::spec::{Case, Clause, Expectation, Manifest, Plot, Rule, RuntimeProfile, Situation};
use crate::conform::suite::Suite;

/// In how many stories a mutant does its deed before it counts as one that is not found.
const MOST_TOLD: usize = 30;

/// What found a mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Caught {
    /// The clause that it broke.
    pub clause: String,
    /// The rule of the model or the case that says so.
    pub by: String,
}

/// What became of a mutant in the stories that it was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "fate", content = "by")]
pub enum Fate {
    /// What it is about never came up.
    NotReached,
    /// What it is about can come up in no story: why.
    Impossible(&'static str),
    /// It was found, by a clause that is its own.
    KilledByItsOwn(Caught),
    /// It was found, by a clause that it is not about.
    KilledByAnother(Caught),
    /// It was not found, and no story could have told it from a lawful runtime: why.
    Argued(&'static str),
    /// It was not found.
    Survived,
}

/// Who judges stories.
#[derive(Debug)]
pub struct Jury<'a> {
    rules: BTreeMap<Rule, &'a Clause>,
    everywhere: Vec<(&'a Case, &'a Clause)>,
    manifest: &'a Manifest,
    control: Observation,
}

impl<'a> Jury<'a> {
    /// The rules and cases of a suite, for a runtime with this manifest.
    #[must_use]
    pub fn of(suite: &'a Suite<RuntimeProfile>, manifest: &'a Manifest) -> Self {
        let rules = Rule::ALL.iter().filter_map(|rule| {
            let about = suite.cases.iter().find(|case| case.expect.contains(&Expectation::Lawful(*rule)))?;
            Some((*rule, suite.clause(&about.clause)?))
        });
        let asks = |case: &&Case| case.wherever.is_some_and(|it| it != Situation::Story);
        let everywhere = suite.cases.iter().filter(asks);
        let everywhere = everywhere.filter_map(|case| Some((case, suite.clause(&case.clause)?)));
        let control = Story::of(&Plot::plain()).lawful();
        Self { rules: rules.collect(), everywhere: everywhere.collect(), manifest, control }
    }

    /// Every clause that it asks about.
    #[must_use]
    pub fn clauses(&self) -> BTreeMap<&'a str, &'a Clause> {
        let cases = self.everywhere.iter().map(|(_, clause)| *clause);
        self.rules.values().copied().chain(cases).map(|clause| (clause.id.as_str(), clause)).collect()
    }

    /// The clauses that a mutant is about, the first foremost.
    #[must_use]
    pub fn own(&self, mutant: &Mutant) -> Vec<&'a str> {
        let (rules, clauses) = mutant.is_about_these();
        let by_rule = rules.iter().filter_map(|rule| self.rules.get(rule)).map(|clause| clause.id.as_str());
        let known = self.clauses();
        let named = clauses.iter().filter_map(|clause| known.get(clause)).map(|clause| clause.id.as_str());
        by_rule.chain(named).collect()
    }

    /// What is broken in what was seen of a story, if anything is: first by the rules, then by the cases in their order.
    /// `control` is a run of the same runtime in which nothing went wrong.
    #[must_use]
    pub fn caught(&self, story: &Case, seen: &Observation, control: &Observation) -> Option<Caught> {
        self.by_a_rule(story, seen).or_else(|| self.by_a_case(story, seen, control, |_| true))
    }

    fn by_a_rule(&self, story: &Case, seen: &Observation) -> Option<Caught> {
        let broken = findings(story, seen).into_iter().find(|it| !it.kept && seen.rig_error.is_none())?;
        let clause = self.rules.get(&broken.rule)?.id.clone();
        Some(Caught { clause, by: broken.rule.to_string() })
    }

    fn by_a_case(
        &self,
        story: &Case,
        seen: &Observation,
        control: &Observation,
        asked: impl Fn(&str) -> bool,
    ) -> Option<Caught> {
        let mut cases = self.everywhere.iter().filter(|(_, clause)| asked(&clause.id));
        let (case, clause) = cases.find(|(case, clause)| {
            let checks = everywhere(case, clause, self.manifest, &[(story, seen)], Some(control));
            checks.iter().any(|check| check.outcome.is_red())
        })?;
        Some(Caught { clause: clause.id.clone(), by: case.id.clone() })
    }

    /// The cases about every other that are red in what was seen of a story, each with the check that says why.
    #[must_use]
    pub fn red_cases(&self, story: &Case, seen: &Observation, control: &Observation) -> Vec<(&'a Case, Check)> {
        let red = self.everywhere.iter().filter_map(|(case, clause)| {
            let checks = everywhere(case, clause, self.manifest, &[(story, seen)], Some(control));
            Some((*case, checks.into_iter().find(|check| check.outcome.is_red())?))
        });
        red.collect()
    }

    /// What is broken by a mutant in a story, when it is played in memory: whether it did its deed, and by what it was found.
    #[must_use]
    pub fn told(&self, mutant: &Mutant, story: &Story) -> (bool, Option<Caught>) {
        let (did, seen) = mutant.played(story);
        (did, self.caught(&story.case, &seen, &self.control))
    }

    /// What becomes of a mutant in these stories, in their order.
    #[must_use]
    pub fn fate(&self, mutant: &Mutant, stories: &[Story]) -> Fate {
        let own = self.own(mutant);
        let is_own = |clause: &str| own.contains(&clause);
        let (mut told, mut other) = (0, None);
        for story in stories.iter().filter(|story| mutant.fits(story)) {
            let (did, seen) = mutant.played(story);
            if !did {
                continue;
            }
            told += 1;
            let own = self.by_a_rule(&story.case, &seen).filter(|it| is_own(&it.clause));
            let own = own.or_else(|| self.by_a_case(&story.case, &seen, &self.control, is_own));
            if let Some(caught) = own {
                return Fate::KilledByItsOwn(caught);
            }
            other = other.or_else(|| self.caught(&story.case, &seen, &self.control));
            if told == MOST_TOLD {
                break;
            }
        }
        let reached = told > 0;
        match (other, reached, mutant.impossible()) {
            (Some(caught), ..) => Fate::KilledByAnother(caught),
            (None, false, Some(why)) => Fate::Impossible(why),
            (None, false, None) => Fate::NotReached,
            (None, true, _) => mutant.argument().map_or(Fate::Survived, Fate::Argued),
        }
    }

    /// The clauses that a runtime without a fault was asked about in these stories and kept, and those that it broke.
    #[must_use]
    pub fn control(&self, stories: &[Story]) -> (BTreeSet<&'a str>, BTreeSet<&'a str>) {
        let (mut asked, mut broken) = (BTreeSet::new(), BTreeSet::new());
        for story in stories {
            let seen = story.lawful();
            let rules = findings(&story.case, &seen);
            let found = rules.iter().filter_map(|it| Some((self.rules.get(&it.rule)?.id.as_str(), it.kept, !it.kept)));
            let cases = self.everywhere.iter().flat_map(|(case, clause)| {
                let checks = everywhere(case, clause, self.manifest, &[(&story.case, &seen)], Some(&self.control));
                checks.into_iter().map(|it| (clause.id.as_str(), it.outcome.is_green(), it.outcome.is_red()))
            });
            for (clause, is_kept, is_broken) in found.chain(cases) {
                asked.extend(is_kept.then_some(clause));
                broken.extend(is_broken.then_some(clause));
            }
        }
        asked.retain(|clause| !broken.contains(clause));
        (asked, broken)
    }

    /// Whether runtimes were found that do everything wrong that is about the clause, one for each rule and one for its cases.
    #[must_use]
    pub fn finds_compound(&self, clause: &str, stories: &[Story]) -> bool {
        let rules = self.rules.iter().filter(|(_, it)| it.id == clause).map(|(rule, _)| About::Rule(*rule));
        let by_deeds = deeds::rows().flat_map(|row| row.clauses).find(|it| **it == clause).map(|it| About::Clause(it));
        let mut all = rules.chain(by_deeds).peekable();
        all.peek().is_some() && all.all(|about| self.finds(about, stories))
    }

    /// Whether some deed or rule is about the clause.
    #[must_use]
    pub fn is_about(&self, clause: &str) -> bool {
        self.rules.values().any(|it| it.id == clause) || deeds::rows().any(|row| row.clauses.contains(&clause))
    }

    /// Each of the runtimes that are all wrong about something is found in some story.
    fn finds(&self, about: About, stories: &[Story]) -> bool {
        (0..compounds(about).len()).all(|which| {
            stories.iter().any(|story| {
                let seen = compounds(about)[which].played(story);
                self.caught(&story.case, &seen, &self.control).is_some()
            })
        })
    }
}
