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

    /// Whether a case must not be run, even if others presuppose it.
    pub(super) fn skips(&self, head: &Head<'_>) -> bool {
        self.skip.as_ref().is_some_and(|skip| names(skip, head))
    }
}

fn names(pattern: &str, head: &Head<'_>) -> bool {
    matches(pattern, head.id) || matches(pattern, head.clause)
}
