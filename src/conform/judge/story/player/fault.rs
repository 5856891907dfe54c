//! What is wrong with a runtime in memory, and where it shows.

use serde_json::Value;

use super::Player;
use crate::conform::judge::story::deeds::{self, Row};
use crate::conform::judge::story::mutant::{About, Chance, Mutant};
use crate::conform::judge::story::words::{Cause, Deed, Field};
use crate::conform::spec::Rule;
use crate::contract::Phase;

/// What is wrong with a runtime in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::conform::judge::story) enum Fault {
    /// It breaks this rule once, after it kept it so often.
    Slip(Rule, usize),
    /// It does this when it comes up, which it does so often.
    Mutant(Mutant, usize),
    /// It does everything that this is about, whenever it can.
    Compound(About),
}

impl Player {
    /// Whether it breaks the rule now.
    pub(super) fn slips(&mut self, rule: Rule) -> bool {
        match &mut self.fault {
            Some(Fault::Slip(which, times)) if *which == rule && !self.slipped => {
                self.slipped = *times == 0;
                *times = times.saturating_sub(1);
                self.slipped
            }
            _ => false,
        }
    }

    /// Whether its mutant does this here.
    pub(super) fn does(&mut self, deed: Deed, cause: Cause, phase: Phase) -> bool {
        self.does_to(None, deed, cause, phase)
    }

    /// Whether its mutant does this to a field here.
    pub(super) fn does_to(&mut self, field: Option<Field>, deed: Deed, cause: Cause, phase: Phase) -> bool {
        let chance = Chance { deed, field, cause, phase };
        if self.fault.is_none() {
            *self.chances.entry(chance).or_default() += 1;
        }
        let does = match self.fault {
            Some(Fault::Mutant(mutant, times)) if mutant.is_about(chance) => {
                self.came_up += 1;
                mutant.which.holds(self.came_up, times)
            }
            Some(Fault::Compound(about)) => about.has(chance),
            _ => false,
        };
        self.slipped |= does;
        does
    }

    /// What its mutant does to a field of a document of this kind that is written here.
    pub(super) fn spoils(&mut self, kind: &str, document: &Value, cause: Cause, phase: Phase) -> Option<(Field, Deed)> {
        let rows = deeds::rows().filter(|row| row.cause == cause);
        let asked = rows.filter_map(|Row { field, deed, .. }| Some((field?, deed)));
        // What was right before is known where it is written, and which lists matter.
        let is_known = |deed: Deed| !matches!(deed, Deed::Stale | Deed::LosesLast | Deed::Invents);
        let asked = asked.filter(|(field, deed)| field.document() == kind && is_known(*deed));
        let meant = |mutant: &Mutant, it: &(Field, Deed)| (mutant.field, mutant.deed) == (Some(it.0), it.1);
        let fault = self.fault;
        let asked = asked.filter(|it| !matches!(fault, Some(Fault::Mutant(mutant, _)) if !meant(&mutant, it)));
        // Nothing is lost where there was nothing.
        let is_null = |field: Field| document.pointer(field.pointer()).is_none_or(Value::is_null);
        let asked: Vec<(Field, Deed)> = asked.filter(|(field, _)| !is_null(*field)).collect();
        asked.into_iter().find(|(field, deed)| self.does_to(Some(*field), *deed, cause, phase))
    }

    /// What follows in a mutant, where `lawful` would: the phase that starts, if any does.
    pub(super) fn follows(&mut self, cause: Cause, phase: Phase, lawful: Option<Phase>) -> Option<Phase> {
        match lawful {
            Some(_) if self.does(Deed::Stops, cause, phase) => None,
            Some(right) if right != Phase::Preflight && self.does(Deed::FromStart, cause, phase) => {
                Some(Phase::Preflight)
            }
            Some(right) if right != phase && self.does(Deed::Again, cause, phase) => Some(phase),
            Some(right) => match right.next() {
                Some(other) if self.does(Deed::Skips, cause, phase) => Some(other),
                _ => lawful,
            },
            None if self.does(Deed::Again, cause, phase) => Some(phase),
            None if self.does(Deed::FromStart, cause, phase) => Some(Phase::Preflight),
            None => phase.next().filter(|_| self.does(Deed::GoesOn, cause, phase)),
        }
    }
}
