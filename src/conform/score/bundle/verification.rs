//! Computing every verdict of a bundle again, by the same functions that judged the first time.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::contents::{Bundle, REPORT};
use super::discrepancy::{Discrepancy, Flaw};
use super::exhibit::{self, Exhibit, Label, place};
use super::recorder::manifest;
use super::replay::Replay;
use crate::conform::judge::Judged;
use crate::conform::observe::Seen;
use crate::conform::score::{CaseReport, ClauseReport, ConformanceReport, RuntimeReport, SurveyOptions, survey};
use crate::conform::spec::{ManifestDocument, Reason, draw};
use crate::conform::suite::Files;
use crate::conform::suite::{Candidate, Suite};

/// What came of computing a bundle again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Everything that does not agree; empty when all does.
    pub discrepancies: Vec<Discrepancy>,
    /// Verdicts on cases that were computed again.
    pub verdicts: usize,
    /// Cells that were computed again.
    pub cells: usize,
    /// Observations that they rest on.
    pub observations: usize,
    /// Whether the report itself says that the judge was interrupted: then nothing is computed again.
    pub interrupted: bool,
}

/// Computes every verdict and cell of a bundle again. `trusted` is the suite that the reader trusts: usually the program's
/// own, since a bundle that brings its own law can make anything green.
#[must_use]
pub fn verify<P: Judged>(bundle: &Bundle, report: &ConformanceReport, trusted: &Files) -> Verification {
    let mut found = bundle.unlisted();
    let mut done = Verification {
        discrepancies: Vec::new(),
        verdicts: 0,
        cells: 0,
        observations: 0,
        interrupted: !report.complete,
    };
    let suite = suite_of::<P>(bundle, report, trusted, &mut found);
    let suite = suite.map(|suite| suite.with_stories(report.seed, report.stories));
    if let Some(suite) = suite.filter(|_| report.complete) {
        let candidates = candidates(bundle, report, &mut found);
        let seen = observations::<P>(bundle, report, &suite, &mut found);
        done.observations = seen.len();
        let replay = Replay { seen, stated: report, asked: <_>::default() };
        let options = SurveyOptions {
            selection: report.selection(),
            today: Some(report.date.to_zoned(jiff::tz::TimeZone::UTC).date()),
            ..SurveyOptions::default()
        };
        let again = survey(&suite, &candidates, &replay, &options, &|_| ());
        found.extend(unused(&replay));
        done.verdicts = again.iter().map(|runtime| runtime.cases().count()).sum();
        done.cells = again.iter().map(|runtime| runtime.cells.len()).sum();
        for again in &again {
            let stated = report.runtime(&again.runtime);
            found.extend(stated.into_iter().flat_map(|stated| compared(stated, again, &report.judge)));
        }
    }
    Verification { discrepancies: found, ..done }
}

/// The suite of the bundle, when it can be read at all.
fn suite_of<P: Judged>(
    bundle: &Bundle,
    report: &ConformanceReport,
    trusted: &Files,
    found: &mut Vec<Discrepancy>,
) -> Option<Suite<P>> {
    let files: Files = bundle.below("suite").map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).collect();
    found.extend(strange(&files, trusted));
    if files.hash() != report.suite {
        found.push(Discrepancy::about(REPORT, Flaw::OtherSuite, &report.suite, files.hash()));
    }
    let suite = match Suite::<P>::load(files) {
        Ok(suite) => suite,
        Err(findings) => {
            found.extend(findings.into_iter().map(|finding| {
                let file = Utf8Path::new("suite").join(finding.file);
                Discrepancy::about(file, Flaw::Unreadable, "a part of a suite", finding.diagnostic.message)
            }));
            return None;
        }
    };
    let own = &suite.claims;
    if own.edition != report.edition {
        found.push(Discrepancy::about(REPORT, Flaw::OtherEdition, &report.edition, &own.edition));
    }
    if suite.clauses != report.ledger || own.claims != report.claims || own.checklist != report.checklist {
        let (stated, recomputed) = ("ledger, claims or checklist of its own", "those of the suite");
        found.push(Discrepancy::about(REPORT, Flaw::OtherEdition, stated, recomputed));
    }
    Some(suite)
}

/// Files in which the bundle's suite is not the trusted one.
fn strange(files: &Files, trusted: &Files) -> Vec<Discrepancy> {
    let (theirs, ours): (BTreeMap<_, _>, BTreeMap<_, _>) = (files.judging().collect(), trusted.judging().collect());
    let names: BTreeSet<&Utf8Path> = theirs.keys().chain(ours.keys()).copied().collect();
    let differing = names.into_iter().filter_map(|name| {
        let (stated, recomputed) = match (theirs.get(name), ours.get(name)) {
            (Some(a), Some(b)) if a == b => return None,
            (Some(_), Some(_)) => ("another text", "the trusted suite has its own"),
            (Some(_), None) => ("a file", "the trusted suite has none"),
            (None, _) => ("no such file", "the trusted suite has one"),
        };
        Some(Discrepancy::about(Utf8Path::new("suite").join(name), Flaw::OtherSuite, stated, recomputed))
    });
    differing.collect()
}

/// The candidates of the report, from the manifests of the bundle.
fn candidates<P: Judged>(
    bundle: &Bundle,
    report: &ConformanceReport,
    found: &mut Vec<Discrepancy>,
) -> Vec<Candidate<P>> {
    let mut all: Vec<Candidate<P>> = Vec::new();
    for stated in &report.runtimes {
        let (name, file) = (&stated.runtime, manifest(&stated.runtime));
        let about = |flaw, stated: &str, came: &str| Discrepancy::about(file.clone(), flaw, stated, came).of(name);
        let Some(bytes) = bundle.0.get(&file) else {
            found.push(about(Flaw::MissingFile, "a manifest", "no such file"));
            continue;
        };
        match Candidate::<P>::read(bytes.clone(), &file, "/".into()) {
            Err(findings) => {
                let first = findings.first().map(|it| it.diagnostic.message.clone()).unwrap_or_default();
                found.push(about(Flaw::Unreadable, "a manifest", &first));
            }
            Ok(candidate) if candidate.manifest.name() != name => {
                found.push(about(Flaw::OtherManifest, name, candidate.manifest.name()));
            }
            Ok(candidate) if all.iter().any(|it| it.manifest.name() == name) => {
                found.push(about(Flaw::Report, "twice in the report", candidate.manifest.name()));
            }
            Ok(candidate) => {
                if candidate.hash != stated.manifest {
                    found.push(about(Flaw::OtherManifest, &stated.manifest, &candidate.hash));
                }
                all.push(candidate);
            }
        }
    }
    let strangers = bundle.below("manifests").filter(|(path, _)| {
        report.runtimes.iter().all(|stated| manifest(&stated.runtime) != Utf8Path::new("manifests").join(path))
    });
    found.extend(strangers.map(|(path, _)| {
        let file = Utf8Path::new("manifests").join(path);
        Discrepancy::about(file, Flaw::OtherManifest, "a manifest", "no such candidate in the report")
    }));
    all
}

/// Every observation of the bundle that is what its name says.
fn observations<P: Judged>(
    bundle: &Bundle,
    report: &ConformanceReport,
    suite: &Suite<P>,
    found: &mut Vec<Discrepancy>,
) -> BTreeMap<Label, P::Seen> {
    let mut all = BTreeMap::new();
    for (path, bytes) in bundle.below("evidence") {
        let file = Utf8Path::new("evidence").join(path);
        match exhibit::read::<P::Seen>(&file, bytes) {
            Err(unreadable) => found.push(*unreadable),
            Ok(exhibit) => {
                found.extend(misplaced(&file, &exhibit, report, suite));
                // By its place, not by its word: a verdict that rests on another's observation comes out otherwise.
                let label = if place(&exhibit.label()) == file { exhibit.label() } else { continue };
                all.insert(label, exhibit.seen);
            }
        }
    }
    all
}

/// Where an observation is not what its place and the report say.
fn misplaced<P: Judged>(
    file: &Utf8PathBuf,
    exhibit: &Exhibit<P::Seen>,
    report: &ConformanceReport,
    suite: &Suite<P>,
) -> Vec<Discrepancy> {
    let about = |flaw, stated: String, came: String| {
        Discrepancy::about(file.clone(), flaw, stated, came).of(&exhibit.runtime).in_case(&exhibit.case)
    };
    let mut wrong = Vec::new();
    let own = place(&exhibit.label());
    if own != *file {
        wrong.push(about(Flaw::OtherEvidence, file.to_string(), own.to_string()));
    }
    if exhibit.seed != report.seed {
        wrong.push(about(Flaw::OtherSeed, exhibit.seed.to_string(), report.seed.to_string()));
    }
    if exhibit.suite != report.suite {
        wrong.push(about(Flaw::OtherEvidence, exhibit.suite.clone(), report.suite.clone()));
    }
    let manifest = report.runtime(&exhibit.runtime).map(|runtime| runtime.manifest.as_str());
    if manifest != Some(&exhibit.manifest) {
        let came = manifest.unwrap_or("no such candidate in the report").to_owned();
        wrong.push(about(Flaw::OtherEvidence, exhibit.manifest.clone(), came));
    }
    let Some(case) = suite.named(&exhibit.case) else {
        wrong.push(about(Flaw::OtherEvidence, exhibit.case.clone(), "no such case in the suite".to_owned()));
        return wrong;
    };
    // A rig that failed may have failed before it drew.
    let drawn = exhibit.seen.drawn();
    let exempt = exhibit.seen.rig_error().is_some() && drawn.is_empty();
    let again = draw(case, report.seed).unwrap_or_default();
    if !exempt && again != *drawn {
        let shown = |values| serde_json::to_string(values).unwrap_or_default();
        wrong.push(about(Flaw::OtherDraws, shown(drawn), shown(&again)));
    }
    wrong
}

/// Observations that no verdict rests on, and verdicts without any.
fn unused<P: Judged>(replay: &Replay<'_, P>) -> Vec<Discrepancy> {
    let asked = replay.asked();
    let about = |label: &Label, flaw, stated: &str, came: &str| {
        Discrepancy::about(place(label), flaw, stated, came).of(&label.0).in_case(&label.1)
    };
    let idle = replay.seen.keys().filter(|label| !asked.contains(*label));
    let idle = idle.map(|label| about(label, Flaw::UnusedEvidence, "an observation", "nothing was judged from it"));
    let missing = asked.iter().filter(|label| !replay.seen.contains_key(*label));
    idle.chain(missing.map(|label| about(label, Flaw::NoEvidence, "a verdict", "no usable observation"))).collect()
}

/// Where a report of a candidate is not what was computed again. What stands in it beside verdicts and cells is compared
/// with that of the same judge only: another may tell more, or in other words.
fn compared(stated: &RuntimeReport, again: &RuntimeReport, judge: &str) -> Vec<Discrepancy> {
    let (stated, again) = (&lasting(stated), &lasting(again));
    let name = &stated.runtime;
    let mut found: Vec<Discrepancy> = Vec::new();
    for clause in &again.clauses {
        let said = stated.clauses.iter().find(|said| said.id == clause.id);
        found.extend(verdicts(said, clause).into_iter().map(|it| it.of(name).in_clause(&clause.id)));
    }
    for (column, cell) in &again.cells {
        let said = stated.cells.get(column);
        if said != Some(cell) {
            let said = said.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            let came = format!("{column}: {cell}");
            found.push(Discrepancy::about(REPORT, Flaw::Cell, format!("{column}: {said}"), came).of(name));
        }
    }
    if found.is_empty() && judge == env!("CARGO_PKG_VERSION") && stated != again {
        found.push(Discrepancy::about(REPORT, Flaw::Report, "its other entries", "other ones").of(name));
    }
    found
}

/// Where a clause's verdicts differ.
fn verdicts(stated: Option<&ClauseReport>, again: &ClauseReport) -> Vec<Discrepancy> {
    let differs = |stated: String, came: String| Discrepancy::about(REPORT, Flaw::Verdict, stated, came);
    let Some(stated) = stated else { return vec![differs("nothing".to_owned(), again.outcome.to_string())] };
    let mut found = Vec::new();
    for case in &again.cases {
        let said = stated.cases.iter().find(|said| said.id == case.id);
        if said.is_none_or(|said| (said.outcome, &said.checks) != (case.outcome, &case.checks)) {
            let said = said.map_or_else(|| "nothing".to_owned(), summary);
            found.push(differs(said, summary(case)).in_case(&case.id));
        }
    }
    let strangers = stated.cases.iter().filter(|said| again.cases.iter().all(|case| case.id != said.id));
    found.extend(strangers.map(|said| differs(summary(said), "nothing".to_owned()).in_case(&said.id)));
    if stated.outcome != again.outcome {
        found.push(differs(stated.outcome.to_string(), again.outcome.to_string()));
    }
    found
}

/// A case's outcome, with what was expected and seen where it is not green.
fn summary(case: &CaseReport) -> String {
    let checks = case.checks.iter().map(|check| {
        let reason = if check.reason == Reason::AsExpected { "" } else { check.reason.as_str() };
        format!("{} {reason} (expected {}; observed {})", check.outcome, check.expected, check.observed)
    });
    format!("{}: {}", case.outcome, checks.collect::<Vec<_>>().join("; "))
}

/// What of a report can be computed again: not how long anything took, where it lay, and which file it was.
fn lasting(report: &RuntimeReport) -> RuntimeReport {
    let mut report = RuntimeReport { path: None, program: None, elapsed_ms: 0, ..report.clone() };
    for case in report.clauses.iter_mut().flat_map(|clause| &mut clause.cases) {
        case.elapsed_ms = 0;
        case.kept = None;
    }
    report
}
