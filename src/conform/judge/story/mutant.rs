//! Mutants: what a runtime may do wrong, drawn from the model. Where something happened (the cause), in which phase, and how
//! often before, a lawful runtime does one thing and the mutant another.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::deeds::{self, Row};
use super::player::{Fault, Player, Reading};
use super::words::{Cause, Deed, Field, Which};
use crate::conform::observe::Observation;
use crate::conform::spec::{Act, Case, Plot, Rule};
use crate::contract::Phase;

/// Something that a mutant could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Chance {
    pub(super) deed: Deed,
    pub(super) field: Option<Field>,
    pub(super) cause: Cause,
    pub(super) phase: Phase,
}

/// What a mutant is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Rule(Rule),
    Clause(&'static str),
}

impl About {
    /// Whether a deed is about it.
    pub(super) fn has(self, chance: Chance) -> bool {
        let Chance { deed, field, cause, .. } = chance;
        deeds::rows().any(|row| (row.deed, row.field, row.cause) == (deed, field, cause) && self.is_of(&row))
    }

    /// Whether a row is about it.
    fn is_of(self, row: &Row) -> bool {
        match self {
            Self::Rule(rule) => row.rules.contains(&rule),
            Self::Clause(clause) => row.clauses.contains(&clause),
        }
    }
}

/// Something that a runtime does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mutant {
    /// What it does.
    pub deed: Deed,
    /// To which field of a document, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Field>,
    /// After what.
    pub cause: Cause,
    /// In which phase; in every one when absent.
    pub phase: Option<Phase>,
    /// Which times.
    pub which: Which,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = self.phase.map_or("any phase".to_owned(), |phase| phase.to_string());
        let field = self.field.map_or(String::new(), |field| format!(" {field}"));
        write!(f, "{}{field} after {} in {phase}, {} time", self.deed, self.cause, self.which)
    }
}

/// A story, and what comes up in it.
#[derive(Debug, Clone)]
pub struct Story {
    /// The story.
    pub case: Case,
    chances: BTreeMap<Chance, usize>,
}

impl Story {
    /// The story of a plot.
    #[must_use]
    pub fn of(plot: &Plot) -> Self {
        let case = plot.case("story");
        let chances = Player::plays(&case, Reading::USUAL, None).chances;
        Self { case, chances }
    }

    /// How much happens in it.
    #[must_use]
    pub fn length(&self) -> usize {
        let acts = self.case.phases.values().flatten().flatten();
        self.case.steps.len() + acts.filter(|act| matches!(act, Act::Usage(_))).count()
    }

    /// What would be seen of a lawful runtime.
    #[must_use]
    pub fn lawful(&self) -> Observation {
        Player::plays(&self.case, Reading::USUAL, None).seen
    }
}

impl Mutant {
    /// Every mutant: each deed after each cause that it can follow, in each phase and in all, every time and at some.
    pub fn all() -> impl Iterator<Item = Self> {
        let phases = || std::iter::once(None).chain(Phase::ALL.iter().copied().map(Some));
        deeds::rows().flat_map(move |Row { deed, field, cause, .. }| {
            let whichs =
                move |phase| Which::ALL.iter().map(move |which| Self { deed, field, cause, phase, which: *which });
            phases().flat_map(whichs)
        })
    }

    /// The rules of the model that it is about, and the clauses.
    #[must_use]
    pub fn is_about_these(&self) -> (&'static [Rule], &'static [&'static str]) {
        let own = deeds::rows().find(|row| (row.cause, row.deed, row.field) == (self.cause, self.deed, self.field));
        own.map(|row| (row.rules, row.clauses)).unwrap_or_default()
    }

    pub(super) fn is_about(self, chance: Chance) -> bool {
        let Chance { deed, field, cause, phase } = chance;
        (self.deed, self.field, self.cause) == (deed, field, cause) && self.phase.is_none_or(|it| it == phase)
    }

    /// How often it comes up in a story, of a runtime that does nothing wrong before.
    #[must_use]
    pub fn times(&self, story: &Story) -> usize {
        let about = story.chances.iter().filter(|(chance, _)| self.is_about(**chance));
        about.map(|(_, times)| times).sum()
    }

    /// Whether it may come up in a story.
    #[must_use]
    pub fn fits(&self, story: &Story) -> bool {
        let often = if matches!(self.which, Which::Every | Which::First) { 1 } else { 2 };
        self.times(story) >= often
    }

    /// What would be seen of it in a story, and whether it did its deed.
    #[must_use]
    pub fn played(&self, story: &Story) -> (bool, Observation) {
        let player = Player::plays(&story.case, Reading::USUAL, Some(Fault::Mutant(*self, self.times(story))));
        (player.slipped, player.seen)
    }

    /// Why it can come up in no story, where that is so.
    #[must_use]
    pub fn impossible(&self) -> Option<&'static str> {
        let again = matches!(self.which, Which::Second | Which::Later | Which::Last);
        let (cause, deed, phase) = (self.cause, self.deed, self.phase);
        let in_learning = phase == Some(Phase::Learning);
        let of_findings = deed != Deed::Lacks && deed != Deed::OtherType && self.field == Some(Field::Findings);
        let starts_another = matches!(deed, Deed::GoesOn | Deed::Skips | Deed::Stops);
        match cause {
            Cause::Begun if again => Some("a run begins once"),
            Cause::Begun if phase.is_some_and(|it| it != Phase::Preflight) => Some("a run begins with the first phase"),
            Cause::Over if phase.is_some() && !in_learning => {
                Some("when every phase is done, the last one was at work")
            }
            Cause::Timeout if again => Some("the time of a run is over once, and its story ends there"),
            Cause::Done if deed == Deed::EndsWrong && phase.is_some() && !in_learning => {
                Some("a run is over when the last phase is done")
            }
            Cause::Done if (in_learning || deed == Deed::EndsWrong) && again => Some("what is over is not done again"),
            Cause::NeverPasses if phase.is_some_and(|it| it != Phase::Audit) => Some("an audit alone is remediated"),
            _ if of_findings && phase.is_some_and(|it| it != Phase::Audit) => Some("an audit alone finds something"),
            Cause::Exhausted | Cause::NeverPasses
                if again && (of_findings || cause == Cause::NeverPasses || phase == Some(Phase::Audit)) =>
            {
                Some("an audit that never passes is passed over, or the run given up")
            }
            Cause::Asked
                if phase == Some(Phase::Preflight) && deed != Deed::Invents && self.field != Some(Field::Current) =>
            {
                Some("nothing is done before the first phase")
            }
            Cause::Skipped if in_learning && again => Some("what is over is not done again"),
            _ if in_learning && starts_another => Some("nothing comes after the last phase"),
            Cause::Done | Cause::Skipped if deed == Deed::Skips && phase == Some(Phase::Deploy) => {
                Some("nothing comes after the last phase")
            }
            Cause::Killed | Cause::Fixed if deed == Deed::FromStart && phase == Some(Phase::Preflight) => {
                Some("it begins with the first phase as it should")
            }
            _ => None,
        }
    }

    /// Why it is lawful, where it is; the ledger says so of the first clause that it is about.
    #[must_use]
    pub fn argument(&self) -> Option<&'static str> {
        let begins_where_it_cannot =
            (self.cause, self.deed, self.phase) == (Cause::Unstartable, Deed::FromStart, Some(Phase::Preflight));
        begins_where_it_cannot.then_some("what it would start is what cannot be started")
    }
}

/// Runtimes that are wrong about something whenever they can be: one that does every deed, and one that breaks the rule the
/// first time that it applies.
pub(super) fn compounds(about: About) -> Vec<Compound> {
    let slip = if let About::Rule(rule) = about { Some(Fault::Slip(rule, 0)) } else { None };
    let has_deeds = deeds::rows().any(|row| about.is_of(&row));
    let every = has_deeds.then_some(Fault::Compound(about));
    every.into_iter().chain(slip).map(Compound).collect()
}

/// One of them.
pub(super) struct Compound(Fault);

impl Compound {
    pub(super) fn played(&self, story: &Story) -> Observation {
        Player::plays(&story.case, Reading::USUAL, Some(self.0)).seen
    }
}
