//! Which cases of a suite are asked for. What is judged by a part of the suite is no rating, and says so.

use super::matches;
use crate::conform::spec::{Clause, Column, Head, Level};

/// A choice of cases; the usual one is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only cases that match by their own or their clause's identifier, and what these presuppose.
    pub only: Option<String>,
    /// Never cases that match; what presupposes them could not run.
    pub skip: Option<String>,
    /// Only cases of this column, and what these presuppose.
    pub column: Option<Column>,
    /// Only clauses that bind so much or more, and what these presuppose.
    pub level: Option<Level>,
    /// Only the quick subset, and what it presupposes.
    pub quick: bool,
}

impl Selection {
    /// Whether nothing of the suite is left out.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether everything of this column is asked for, so that it can be rated.
    #[must_use]
    pub fn is_all_of(&self, column: Column) -> bool {
        Self { column: None, ..self.clone() }.is_everything() && self.column.is_none_or(|asked| asked == column)
    }

    /// What of the suite was run, a sentence a restriction.
    #[must_use]
    pub fn told(&self) -> Vec<String> {
        let only = self.only.iter().map(|only| format!("Only cases that match {only}, and what they presuppose"));
        let skip = self.skip.iter().map(|skip| format!("Without cases that match {skip}"));
        let column = self.column.iter().map(|column| format!("Only the column {column}, and what it presupposes"));
        let level = self.level.iter().map(|level| format!("Only clauses down to {level}, and what they presuppose"));
        let quick = self.quick.then(|| "Only the quick subset, and what it presupposes".to_owned());
        only.chain(skip).chain(column).chain(level).chain(quick).collect()
    }

    /// Whether a case is asked for by itself.
    pub(super) fn asks_for(&self, head: &Head<'_>, clause: Option<&Clause>) -> bool {
        let named = self.only.as_ref().is_none_or(|only| names(only, head));
        let binding = self.level.is_none_or(|level| clause.is_some_and(|clause| clause.level <= level));
        let inside = self.column.is_none_or(|column| clause.is_some_and(|clause| clause.column == column));
        named && binding && inside && !self.skips(head)
    }

    /// Whether something was to be left out, and none of these cases is.
    #[must_use]
    pub fn skips_nothing<'a>(&self, mut cases: impl Iterator<Item = Head<'a>>) -> bool {
        self.skip.is_some() && !cases.any(|head| self.skips(&head))
    }

    /// Whether a case must not be run, even if others presuppose it.
    pub(super) fn skips(&self, head: &Head<'_>) -> bool {
        self.skip.as_ref().is_some_and(|skip| names(skip, head))
    }
}

fn names(pattern: &str, head: &Head<'_>) -> bool {
    matches(pattern, head.id) || matches(pattern, head.clause)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::conform::spec::{CaseDocument, ProfileName, RuntimeProfile, TimeMethod};
    use crate::conform::suite::{Files, Suite};

    /// What waits for a clock or is about every story is left to the whole suite.
    #[test]
    fn the_quick_subset_of_runtimes_has_a_case_for_every_must_that_waits_for_nothing() {
        let suite = Suite::<RuntimeProfile>::load(Files::bundled(ProfileName::Runtime)).expect("the bundled suite");
        let suite = suite.with_stories(1, 60);
        let quick = suite.select(&Selection { quick: true, ..Selection::default() });
        let cases = || quick.iter().map(|index| &suite.cases[*index]);
        let judged: BTreeSet<&str> = cases().map(|case| case.clause.as_str()).collect();
        let musts =
            suite.clauses.iter().filter(|it| it.level == Level::Must && suite.cases_of(&it.id).next().is_some());
        let left_out: Vec<&str> = musts.map(|it| it.id.as_str()).filter(|id| !judged.contains(id)).collect();
        assert_eq!(left_out, ["ESC-004", "ESC-026", "EXIT-005"]);
        let slow = |case: &&crate::conform::spec::Case| case.time != TimeMethod::Real || case.is_about_stories();
        assert_eq!(cases().filter(slow).count(), 0);
        let scenarios: BTreeSet<usize> =
            quick.iter().filter(|it| !suite.cases[**it].is_everywhere()).map(|it| suite.leader(*it)).collect();
        assert!(scenarios.len() <= 50, "{} scenarios are not quick", scenarios.len());
    }
}
