//! What comes of a survey for one candidate: every clause with its cases, and the cells that they earn.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::SurveyOptions;
use super::trial::Trial;
use crate::conform::judge::{Judged, Outcome};
use crate::conform::score::{Cell, ClauseReport, RuntimeReport};
use crate::conform::spec::{Column, Level, ManifestDocument};
use crate::system::clock;

/// By what cells are earned, besides outcomes.
pub(super) struct Rated {
    today: Date,
    whole: bool,
    /// The one column that everything was asked of, if not of all.
    column: Option<Column>,
}

impl Rated {
    pub(super) fn new(options: &SurveyOptions) -> Self {
        let today = || clock::now().wall().to_zoned(jiff::tz::TimeZone::UTC).date();
        Self {
            today: options.today.unwrap_or_else(today),
            whole: options.whole_columns || options.selection.is_everything(),
            column: options.selection.column.filter(|column| options.selection.is_all_of(*column)),
        }
    }
}

impl<P: Judged> Trial<'_, P> {
    pub(super) fn into_report(mut self, rated: &Rated) -> RuntimeReport {
        let cells = if self.identity.problem.is_some() { BTreeMap::new() } else { self.cells(rated) };
        let outcomes: Vec<Outcome> = self.suite.clauses.iter().map(|clause| self.outcome(&clause.id)).collect();
        let mut clauses = Vec::new();
        for (clause, outcome) in self.suite.clauses.iter().zip(outcomes) {
            let positions: Vec<usize> = self.positions(&clause.id).collect();
            let cases = positions.into_iter().filter_map(|index| self.judged.remove(&index)).collect();
            let (id, column, level) = (clause.id.clone(), clause.column, clause.level);
            clauses.push(ClauseReport { id, column, level, outcome, cases });
        }
        let manifest = &self.candidate.manifest;
        let program = self.identity.hash();
        let problem = self.identity.problem.map(|problem| match manifest.install() {
            Some(how) if self.identity.program.is_none() => format!("{}; to get it: {how}", problem.raw()).into(),
            _ => problem,
        });
        RuntimeReport {
            runtime: manifest.name().to_owned(),
            path: None,
            program,
            version: self.identity.version,
            manifest: self.candidate.hash.clone(),
            problem,
            settings: manifest.settings(),
            unseen: self.unseen.into_iter().collect(),
            cells,
            expect: manifest.expect().clone(),
            reds: manifest.reds(),
            claims: manifest.claims(),
            clauses,
            elapsed_ms: self.elapsed_ms,
        }
    }

    fn cells(&self, rated: &Rated) -> BTreeMap<Column, Cell> {
        let cell = |column: &Column| {
            let clauses = self.suite.clauses.iter();
            let musts = clauses.filter(|clause| clause.column == *column && clause.level == Level::Must);
            let musts: Vec<_> = musts.map(|clause| (clause.id.as_str(), self.outcome(&clause.id))).collect();
            let cell = Cell::of(&musts, self.candidate.manifest.attest(), rated.today);
            if rated.whole || rated.column == Some(*column) { cell } else { cell.of_a_part() }
        };
        Column::of(P::NAME).map(|column| (column, cell(&column))).collect()
    }
}
