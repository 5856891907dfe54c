//! Which exit code a report deserves.

use crate::cli::ExitStatus;
use crate::conform::judge::Outcome;
use crate::conform::score::{CaseReport, ClauseReport, ConformanceReport, RuntimeReport};
use crate::conform::spec::{CellWord, ClaimWord, Column, Level, ProfileName, Reason};
use crate::system::process::Interrupt;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Question<'a> {
    /// Whether runtimes were named; otherwise each is held against what it is known to earn.
    pub(super) named: bool,
    /// Runtimes that must be able to run.
    pub(super) require: &'a [String],
    /// Whether claims must be true.
    pub(super) strict_claims: bool,
    /// By what the judge was interrupted.
    pub(super) interrupted: Option<Interrupt>,
    /// Whether an entry of the baseline no longer fits.
    pub(super) stale: bool,
    /// Whether a clause came out better in the report that this one is held against; `None` when nothing could be compared.
    pub(super) went_down: Option<bool>,
}

/// The exit code. Nothing checked is never a success.
pub(super) fn decide(report: &ConformanceReport, question: &Question<'_>) -> ExitStatus {
    match question.interrupted {
        Some(Interrupt::Interrupt) => return ExitStatus::Interrupted,
        Some(Interrupt::Terminate) => return ExitStatus::Terminated,
        None => {}
    }
    let running = || report.runtimes.iter().filter(|runtime| runtime.problem.is_none());
    let runs = |name: &String| running().any(|runtime| runtime.runtime == *name);
    if running().any(|runtime| runtime.cases().any(|(_, case)| case.outcome == Outcome::HarnessError)) {
        return ExitStatus::HarnessFailed;
    }
    if !question.require.iter().all(runs) || question.stale || question.went_down == Some(true) {
        return ExitStatus::NotConforming;
    }
    if running().next().is_none() || running().any(|runtime| checks(runtime) == 0) {
        return ExitStatus::Incomplete;
    }
    // What an agent is known to break is said clause by clause, so that a part of the suite can be held against it, too.
    let survey = !question.named && (report.profile == ProfileName::Agent || is_rating(report));
    let known = |runtime: &RuntimeReport| survey || is_held_against_its_own(report, runtime);
    let one = |runtime| if known(runtime) { surveyed(report, runtime) } else { judged(report, runtime) };
    let status = worst(running().map(one));
    let all_ran = report.runtimes.iter().all(|runtime| runtime.problem.is_none());
    match status {
        ExitStatus::Success if question.strict_claims && claims_hold(report) == Some(false) => ExitStatus::ClaimsDiffer,
        ExitStatus::Success if question.strict_claims && claims_hold(report).is_none() => ExitStatus::Incomplete,
        // Something that belongs to the question was left out by hand.
        ExitStatus::Success if report.skip.is_some() || question.went_down.is_none() => ExitStatus::Incomplete,
        ExitStatus::Success if question.named && !all_ran => ExitStatus::Incomplete,
        status => status,
    }
}

/// Checks that looked at something the runtime did.
fn checks(runtime: &RuntimeReport) -> usize {
    let ran =
        runtime.cases().filter(|(_, case)| !matches!(case.outcome, Outcome::CouldNotRun | Outcome::NotApplicable));
    ran.map(|(_, case)| case.checks.len()).sum()
}

/// A bundled candidate, against what it is known to earn, and an agent against what it is known to break; where nothing is
/// known, nothing was confirmed.
fn surveyed(report: &ConformanceReport, runtime: &RuntimeReport) -> ExitStatus {
    let by_clause = report.profile == ProfileName::Agent;
    let whole = !report.is_partial();
    let differs =
        surprises(report, runtime).next().is_some() || (by_clause && !runtime.differing_reds(whole).is_empty());
    match differs {
        true => ExitStatus::NotConforming,
        false if runtime.expect.is_empty() || unknowns(report, runtime).next().is_some() => ExitStatus::Incomplete,
        false => ExitStatus::Success,
    }
}

/// Whether any column is rated.
fn is_rating(report: &ConformanceReport) -> bool {
    Column::of(report.profile).any(|column| report.rates(column))
}

/// Where a rated column earned another word than is known.
fn surprises(report: &ConformanceReport, runtime: &RuntimeReport) -> impl Iterator<Item = Column> {
    runtime.surprises().into_iter().map(|(column, _, _)| column).filter(|column| report.rates(*column))
}

/// The rated columns of which no word is known.
fn unknowns(report: &ConformanceReport, runtime: &RuntimeReport) -> impl Iterator<Item = Column> {
    runtime.unknowns().into_iter().filter(|column| report.rates(*column))
}

/// Whether a manifest of one's own says what it earns in every column that is rated: then this is what was asked.
fn is_held_against_its_own(report: &ConformanceReport, runtime: &RuntimeReport) -> bool {
    let known = || runtime.expect.keys().any(|column| report.rates(*column));
    runtime.path.is_some() && known() && unknowns(report, runtime).next().is_none()
}

/// Whether a runtime was held against its own manifest alone, and the contract asks for more.
fn is_less_than_asked(report: &ConformanceReport, runtime: &RuntimeReport) -> bool {
    is_held_against_its_own(report, runtime) && judged(report, runtime) != ExitStatus::Success
}

/// A named runtime, against the contract: every MUST that was asked for is kept.
fn judged(report: &ConformanceReport, runtime: &RuntimeReport) -> ExitStatus {
    let asked = |clause: &&ClauseReport| !report.is_partial() || !clause.cases.is_empty();
    let musts = || runtime.clauses.iter().filter(asked).filter(|clause| clause.level == Level::Must);
    let broken = |outcome: Outcome| matches!(outcome, Outcome::Fail | Outcome::Flaky);
    let excused = is_excused(runtime);
    let open = |outcome: Outcome| match outcome {
        Outcome::NotApplicable | Outcome::ExpectedFail => false,
        Outcome::CouldNotRun => !excused,
        outcome => !outcome.is_green(),
    };
    // With a selection, what is not a MUST was asked for by name too.
    let by_name = report.is_partial() && report.column.is_none();
    let others = || runtime.clauses.iter().filter(|clause| by_name && !clause.cases.is_empty());
    if musts().chain(others()).any(|clause| broken(clause.outcome)) {
        ExitStatus::NotConforming
    } else if musts().chain(others()).any(|clause| open(clause.outcome)) {
        ExitStatus::Incomplete
    } else {
        ExitStatus::Success
    }
}

/// Whether a baseline excuses everything that keeps cases from being run: whatever presupposes a known red, and nothing
/// else, could not run, and nothing besides is wrong.
fn is_excused(runtime: &RuntimeReport) -> bool {
    let known = runtime.clauses.iter().any(|clause| clause.outcome == Outcome::ExpectedFail);
    let follows = |case: &CaseReport| case.checks.iter().all(|check| check.reason == Reason::NeedsRed);
    let sound = |clause: &ClauseReport| match clause.outcome {
        Outcome::Pass | Outcome::Warn | Outcome::NotApplicable | Outcome::ExpectedFail => true,
        Outcome::CouldNotRun => clause.cases.iter().filter(|case| case.outcome == Outcome::CouldNotRun).all(follows),
        // Without a case, nothing can presuppose it.
        Outcome::Untested => clause.cases.is_empty(),
        Outcome::Fail | Outcome::Flaky | Outcome::NotObserved | Outcome::HarnessError => false,
    };
    known && runtime.clauses.iter().all(sound)
}

fn worst(statuses: impl Iterator<Item = ExitStatus>) -> ExitStatus {
    let rank = |status: &ExitStatus| match status {
        ExitStatus::NotConforming => 2,
        ExitStatus::Incomplete => 1,
        _ => 0,
    };
    statuses.max_by_key(rank).unwrap_or(ExitStatus::Incomplete)
}

/// Whether every claim that could be measured is what was measured: those of the contract and those of the makers. `None` when
/// there was nothing to compare, as with a part of the suite, which earns no cell.
fn claims_hold(report: &ConformanceReport) -> Option<bool> {
    if report.is_partial() {
        return None;
    }
    let by_contract = report.claims.iter().flat_map(|claim| {
        let runtime = claim.measured.as_deref().and_then(|name| report.runtime(name));
        let said = runtime.into_iter().flat_map(|runtime| claim.cells.iter().map(move |said| (runtime, said)));
        said.filter_map(|(runtime, (column, said))| Some(same(*said, runtime.cells.get(column)?.word)))
    });
    let by_makers = report.runtimes.iter().flat_map(|runtime| {
        let said = runtime.claims.iter();
        said.filter_map(|(column, said)| Some(runtime.cells.get(column)?.word == *said))
    });
    by_contract.chain(by_makers).reduce(|all, one| all && one)
}

fn same(said: ClaimWord, measured: CellWord) -> bool {
    said == ClaimWord::Implement || said.as_str() == measured.as_str()
}

/// What an exit code means, for people; the number is part of the sentence.
pub(super) fn sentence(status: ExitStatus, question: &Question<'_>, report: &ConformanceReport) -> String {
    let excused = || report.runtimes.iter().flat_map(RuntimeReport::cases).any(|(_, it)| it.outcome.is_excused());
    let said = match (status, question.named) {
        (ExitStatus::Success, true) if excused() => "broken only where the baseline knows it; this is no conformance",
        (ExitStatus::Success, true) if !is_rating(report) => {
            "conforms to what was asked, which was a part of the suite: no rating"
        }
        (ExitStatus::NotConforming, _) if question.stale => "an entry of the baseline no longer fits; see above",
        (ExitStatus::NotConforming, _) if question.went_down == Some(true) => {
            "something is worse than in the older report; see above"
        }
        (ExitStatus::Success, true) if report.runtimes.iter().any(|it| is_less_than_asked(report, it)) => {
            "earned what its manifest expects, which is not all that the contract asks"
        }
        (ExitStatus::Success, true) => "conforms to what was asked",
        (ExitStatus::Success, false) => "every candidate that could start earned what it is known to earn",
        (ExitStatus::NotConforming, true)
            if report
                .runtimes
                .iter()
                .any(|it| is_held_against_its_own(report, it) && surprises(report, it).next().is_some()) =>
        {
            "earned something else than its manifest expects; see the cells"
        }
        (ExitStatus::NotConforming, true) => {
            "does not conform: something that was asked for is broken or could not start"
        }
        (ExitStatus::NotConforming, false) => {
            "a candidate earned something else than it is known to, or a required one could not start"
        }
        (ExitStatus::Incomplete, true) => "nothing is broken, but not everything that was asked for could be judged",
        (ExitStatus::Incomplete, false) => "too little was measured, or is known, to say",
        (ExitStatus::HarnessFailed, _) => "the judge itself failed; look for harness-error above",
        (ExitStatus::ClaimsDiffer, _) => "a claim differs from what was measured",
        _ => "ended before its time",
    };
    format!("verdict: {said} (exit code {})", status.code())
}

#[cfg(test)]
mod tests;
