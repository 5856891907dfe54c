//! Trying the variants: each beside its base, against the cases of its own column or against all, and what came of it.
//!
//! What is as declared is decided in `proof.rs`; here it is run and counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::{Row, RuntimeReport, differences, shortcomings, table};
use super::{survey::Rig, survey::SurveyOptions, survey::survey};
use crate::conform::judge::{Check, Judged, Outcome};
use crate::conform::spec::{CaseDocument, Column, Level, TimeMethod};
use crate::conform::suite::{Candidate, CandidateError, Selection, Suite, Variant, VariantError};
use crate::system::files;
use crate::system::scratch::ScratchError;

/// How variants are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProofOptions {
    /// Against every case, instead of those of the column that a variant belongs to.
    pub full: bool,
    /// Whether candidates that do nothing are tried, too: bundled ones whose name begins with `null-`.
    pub nulls: bool,
    /// How many cases at once.
    pub jobs: usize,
    /// How many cases that measure time at once.
    pub timing_jobs: usize,
}

/// What came of one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// Its name.
    pub variant: String,
    /// The clause of the case that must kill it; absent for a lawful one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clause: Option<String>,
    /// Whether this machine kept the judge from trying it.
    pub hidden: bool,
    /// Everything that is not as declared; empty when it died, or lived, as it must.
    pub found: Vec<String>,
    /// What was red or doubtful, to read when something is not as declared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reds: Vec<String>,
}

/// What came of them all.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Proof {
    /// MUSTs that have a case.
    pub testable: BTreeSet<String>,
    /// Every variant, in the order of the columns.
    pub tried: Vec<Tried>,
    /// What makes the proof void: bases that do not earn their cells.
    pub void: Vec<String>,
    /// Every candidate that does nothing, with the clauses that it passed all the same.
    pub nulls: BTreeMap<String, Vec<String>>,
    /// Every outcome, a table for each column. Clauses that need a faster clock are not in it, for not every machine has one.
    pub table: String,
}

/// A proof that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ProvingError {
    /// A variant that cannot be laid out.
    #[error(transparent)]
    Variant(#[from] VariantError),
    /// A place that cannot be written.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// A manifest that cannot be used.
    #[error(transparent)]
    Candidate(#[from] CandidateError),
    /// A folder that cannot be made.
    #[error(transparent)]
    File(#[from] files::FileError),
}

impl Proof {
    /// MUSTs that have a case, and of which a variant died as declared.
    #[must_use]
    pub fn killed(&self) -> BTreeSet<&str> {
        let dead = self.tried.iter().filter(|it| it.found.is_empty() && !it.hidden);
        dead.filter_map(|it| it.clause.as_deref()).filter(|clause| self.testable.contains(*clause)).collect()
    }

    /// Lawful variants that were not accepted.
    #[must_use]
    pub fn lawful_red(&self) -> usize {
        self.tried.iter().filter(|it| it.clause.is_none() && !it.found.is_empty()).count()
    }

    /// Whether everything is as declared; nothing tried proves nothing.
    #[must_use]
    pub fn holds(&self) -> bool {
        let as_declared = self.tried.iter().all(|it| it.found.is_empty());
        !self.tried.is_empty() && self.void.is_empty() && as_declared && self.nulls.values().all(Vec::is_empty)
    }

    /// One line that counts.
    #[must_use]
    pub fn score(&self) -> String {
        let (killed, testable) = (self.killed().len(), self.testable.len());
        let mut text = format!("killed {killed} of {testable} testable MUSTs; lawful red {}", self.lawful_red());
        let dead = self.tried.iter().filter(|it| it.clause.is_some() && it.found.is_empty() && !it.hidden).count();
        let faulty = self.tried.iter().filter(|it| it.clause.is_some()).count();
        // Writing to a String cannot fail.
        let _ = write!(text, "; {dead} of {faulty} faulty variants died as declared");
        let hidden = self.tried.iter().filter(|it| it.hidden).count();
        if hidden > 0 {
            let _ = write!(text, ", {hidden} could not be tried on this machine");
        }
        if !self.nulls.is_empty() {
            let passing = self.nulls.values().filter(|passed| !passed.is_empty()).count();
            let _ = write!(text, "; of {} programs that do nothing {passing} passed something", self.nulls.len());
        }
        text
    }
}

/// Tries variants. `place` is an empty folder for them and their bases; `listener` hears of every column that is done.
///
/// # Errors
/// [`ProvingError`]: above all an edit that does not fit its base, for a variant that is not what it says proves nothing.
pub fn prove<P: Judged>(
    suite: &Suite<P>,
    variants: &[Variant],
    place: &Path,
    rig: &dyn Rig<P>,
    options: ProofOptions,
    listener: &mut dyn FnMut(Option<Column>, &[Tried]),
) -> Result<Proof, ProvingError> {
    suite.files().lay_candidates(place)?;
    let musts = suite.clauses.iter().filter(|it| it.level == Level::Must && suite.cases_of(&it.id).next().is_some());
    let mut proof = Proof { testable: musts.map(|it| it.id.clone()).collect(), ..Proof::default() };
    let mut groups: BTreeMap<Option<Column>, Vec<&Variant>> = BTreeMap::new();
    for variant in variants {
        let column = if options.full { None } else { column(suite, variant) };
        groups.entry(column).or_default().push(variant);
    }
    for (column, variants) in groups {
        let group = Group { suite, place, rig, options, column };
        let before = proof.tried.len();
        group.try_all(&variants, &mut proof)?;
        listener(column, &proof.tried[before..]);
    }
    if options.nulls {
        let names: Vec<&str> = suite.bundled().filter(|name| name.starts_with("null-")).collect();
        let nulls: Vec<_> = names.iter().filter_map(|name| suite.candidate(name, place)).collect();
        for report in run(suite, &nulls, rig, options, None) {
            let passed = Row::of(&report).clauses.into_iter().filter(|(_, outcome)| outcome.is_green());
            proof.nulls.insert(report.runtime, passed.map(|(clause, _)| clause).collect());
        }
    }
    Ok(proof)
}

fn run<P: Judged>(
    suite: &Suite<P>,
    candidates: &[Candidate<P>],
    rig: &dyn Rig<P>,
    options: ProofOptions,
    only: Option<String>,
) -> Vec<RuntimeReport> {
    let ProofOptions { jobs, timing_jobs, .. } = options;
    let selection = Selection { only, ..Selection::default() };
    let options = SurveyOptions { selection, whole_columns: true, jobs, timing_jobs, ..SurveyOptions::default() };
    survey(suite, candidates, rig, &options, &|_| {})
}

/// The clause of the case that must kill a variant.
fn clause_of<P: Judged>(suite: &Suite<P>, variant: &Variant) -> Option<String> {
    let kill = variant.kills.as_ref()?;
    suite.cases.iter().map(CaseDocument::head).find(|head| head.id == kill.case).map(|head| head.clause.to_owned())
}

/// The column that a variant belongs to: that of its clause, or of the first clause that has its reading.
fn column<P: Judged>(suite: &Suite<P>, variant: &Variant) -> Option<Column> {
    if let Some(clause) = clause_of(suite, variant) {
        return suite.clause(&clause).map(|clause| clause.column);
    }
    let reading = variant.reading.as_deref()?;
    suite.clauses.iter().find(|it| it.readings.iter().any(|known| known.id == reading)).map(|it| it.column)
}

/// A variant as a candidate of its own, below the folder where the suite's candidates lie.
pub(super) fn laid<P: Judged>(variant: &Variant, place: &Path) -> Result<Candidate<P>, ProvingError> {
    let into = place.join("variants").join(&variant.variant);
    files::ensure_folder(&into)?;
    let bundled = place.join(format!("{}s", P::NAME));
    variant.lay_out::<P>(&bundled, &into)?;
    Ok(Candidate::open(&into.join("manifest.yaml"))?)
}

/// The variants of one column, or all of them.
struct Group<'a, P: Judged> {
    suite: &'a Suite<P>,
    place: &'a Path,
    rig: &'a dyn Rig<P>,
    options: ProofOptions,
    column: Option<Column>,
}

impl<P: Judged> Group<'_, P> {
    fn try_all(&self, variants: &[&Variant], proof: &mut Proof) -> Result<(), ProvingError> {
        let bases: BTreeSet<&str> = variants.iter().map(|variant| variant.base.as_str()).collect();
        let mut candidates: Vec<_> = bases.iter().filter_map(|name| self.suite.candidate(name, self.place)).collect();
        let count = candidates.len();
        for variant in variants {
            candidates.push(laid(variant, self.place)?);
        }
        let reports = run(self.suite, &candidates, self.rig, self.options, self.pattern());
        proof.void.extend(reports[..count].iter().flat_map(|base| self.void(base)));
        let rows: BTreeMap<&str, Row> = reports.iter().map(|it| (it.runtime.as_str(), self.row(it))).collect();
        for (variant, report) in variants.iter().zip(&reports[count..]) {
            let (base, row) = (rows.get(variant.base.as_str()).cloned().unwrap_or_default(), self.row(report));
            proof.tried.push(self.tried(variant, report, &base, &row));
        }
        let shown: Vec<(&str, Row)> = reports.iter().map(|it| (it.runtime.as_str(), self.shown(it))).collect();
        let shown: Vec<(&str, &Row)> = shown.iter().map(|(name, row)| (*name, row)).collect();
        let title = self.column.map_or("every column".to_owned(), |column| column.to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(proof.table, "{title}\n\n{}", table(&shown));
        Ok(())
    }

    /// Clauses of the column, by the beginnings of their names.
    fn pattern(&self) -> Option<String> {
        self.column?;
        let mine = self.suite.clauses.iter().filter(|it| self.is_mine(&it.id));
        let names: BTreeSet<&str> = mine.filter_map(|it| it.id.split_once('-')).map(|(name, _)| name).collect();
        Some(names.into_iter().map(|name| format!("{name}-")).collect::<Vec<_>>().join(","))
    }

    fn is_mine(&self, clause: &str) -> bool {
        let column = |id: &str| self.suite.clause(id).map(|clause| clause.column);
        self.column.is_none_or(|mine| column(clause) == Some(mine))
    }

    /// Why a base makes its variants void. Where only a column was asked, only this column is held against it.
    fn void(&self, base: &RuntimeReport) -> Vec<String> {
        if self.column.is_none() || base.problem.is_some() {
            return shortcomings(base);
        }
        let mine = base.surprises().into_iter().filter(|(column, ..)| Some(*column) == self.column);
        mine.map(|(column, word, earned)| format!("void: {} earned {earned} in {column}, not {word}", base.runtime))
            .collect()
    }

    fn row(&self, report: &RuntimeReport) -> Row {
        let mut row = Row::of(report);
        row.clauses.retain(|clause, _| self.is_mine(clause));
        row
    }

    /// The row without what not every machine can show.
    fn shown(&self, report: &RuntimeReport) -> Row {
        let mut row = self.row(report);
        let hurried = |id: &str| self.suite.cases_of(id).any(|case| case.head().time == TimeMethod::Accelerated);
        row.clauses.retain(|clause, _| !hurried(clause));
        row
    }

    fn tried(&self, variant: &Variant, report: &RuntimeReport, base: &Row, row: &Row) -> Tried {
        let mut declared = variant.clone();
        declared.also.retain(|clause| self.is_mine(clause));
        let hidden = variant.kills.as_ref().is_some_and(|kill| is_hidden(report, &kill.case));
        let mut found = if hidden { Vec::new() } else { differences(&declared, base, row) };
        found.extend(report.problem.iter().map(|problem| format!("void: it cannot be started: {}", problem.line())));
        let reds = if found.is_empty() { Vec::new() } else { doubtful(report) };
        Tried { variant: variant.variant.clone(), clause: clause_of(self.suite, variant), hidden, found, reds }
    }
}

/// Whether the machine, and nothing else, kept the judge from seeing a case.
fn is_hidden(report: &RuntimeReport, id: &str) -> bool {
    let mut cases = report.cases().filter(|(_, case)| case.id == id);
    cases.any(|(_, case)| {
        case.outcome == Outcome::NotObserved && case.checks.iter().all(|check| check.reason.is_the_machines())
    })
}

/// Every red and every doubtful check of a report.
fn doubtful(report: &RuntimeReport) -> Vec<String> {
    let telling = |check: &&Check| matches!(check.outcome, Outcome::Fail | Outcome::Flaky | Outcome::HarnessError);
    let checks = report.cases().flat_map(|(_, case)| case.checks.iter().filter(telling).map(move |it| (case, it)));
    checks
        .map(|(case, it)| format!("{} {} {}: {}; {}", case.id, it.outcome, it.reason, it.expected, it.observed))
        .collect()
}
