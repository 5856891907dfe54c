//! The escalation report, and whether the human was told (Escalation Protocol).

use regex::Regex;

use super::Evidence;
use super::control::{self, Refusal, Usual, unfounded};
use super::document::{clip, show};
use super::matcher::{Fields, Mismatch, Scene, Taken};
use crate::conform::judge::Check;
use crate::conform::judge::occurrence::accused;
use crate::conform::observe::{AttemptSeen, OutputLine, ReportSeen};
use crate::conform::spec::{Manifest, Reason};
use crate::system::clock::Millis;

/// Where no report was found.
fn looked_in_vain(evidence: &Evidence<'_>) -> String {
    match &evidence.manifest.report {
        Some(glob) => format!("there is none: nothing new matches {glob}, the manifest's `report`"),
        None => "there is none among what is new in the workspace, HOME and TMPDIR, or on the output".to_owned(),
    }
}

/// The report that appeared in a step; of several candidates the best counts.
pub(super) fn report(evidence: &Evidence<'_>, step: Option<usize>, present: bool, fields: &Fields) -> Check {
    let expected = if present { "an escalation report" } else { "no escalation report" };
    let Some((number, seen)) = evidence.driven(step) else {
        return Check::fail(Reason::NoReport, expected, "the step never came");
    };
    if !present {
        let started = evidence.attempts(Some(number)).next().is_some();
        let check = match seen.reports.first() {
            Some(report) => {
                Check::fail(Reason::UnexpectedReport, expected, show(&report.document)).in_file(&report.path)
            }
            None if started => Check::pass(expected, "there is none"),
            None => Check::fail(Reason::NothingSighted, expected, "nothing happened in the step"),
        };
        return check.in_step(number);
    }
    let scene = Scene { evidence, checkpoints: &seen.checkpoints };
    let judged = seen.reports.iter().rev().map(|report| (report, scene.fields(fields, &report.document)));
    match best(judged.collect()) {
        None => Check::fail(Reason::NoReport, expected, looked_in_vain(evidence)).in_step(number),
        Some((report, judged)) => {
            let check = match (judged, groundless(evidence, report, &seen.reports)) {
                (Err(mismatch), _) => mismatch.into_check(),
                (Ok(_), Some((reason, why))) => Check::fail(reason, expected, why),
                (Ok(taken), None) => taken.into_check(evidence, expected, &show(&report.document)),
            };
            check.in_step(number).in_file(&report.path).at_time(report.at)
        }
    }
}

/// Why a report with the right content proves nothing: it is one of many that name every phase, or is there anyway.
fn groundless(evidence: &Evidence<'_>, report: &ReportSeen, all: &[ReportSeen]) -> Option<(Reason, String)> {
    if let Some(other) = unfounded(evidence) {
        let shown = format!("{} in a run in which nothing went wrong: {}", other.path, show(&other.document));
        return Some((Reason::CriesWolf, shown));
    }
    let phase = accused(&report.document)?;
    let other = all.iter().find(|other| accused(&other.document).is_some_and(|named| named != phase))?;
    Some((
        Reason::AccusesSeveral,
        format!("{} names {phase}, and {} another: {}", report.path, other.path, show(&other.document)),
    ))
}

type Judged<'a> = (&'a ReportSeen, Result<Taken, Mismatch>);

/// The candidate that holds, else the newest with a trigger, else the newest.
fn best(mut judged: Vec<Judged<'_>>) -> Option<Judged<'_>> {
    let holding = judged.iter().position(|(_, result)| result.is_ok());
    let with_trigger = || judged.iter().position(|(report, _)| report.document.get("trigger").is_some());
    let index = holding.or_else(with_trigger).unwrap_or_default();
    (index < judged.len()).then(|| judged.swap_remove(index))
}

/// After the phase had ended, or at least begun, the output named it, and the trigger or the report's place.
pub(super) fn surfaced(evidence: &Evidence<'_>, phase: &str, from_start: bool) -> Check {
    let phase = evidence.text(phase);
    let since = if from_start { "begun" } else { "ended" };
    let expected = format!("the output to name {phase}, and the trigger or the report's place, once it had {since}");
    let (step, since) = match since_when(evidence, &phase, from_start, &expected) {
        Ok(found) => found,
        Err(check) => return *check,
    };
    let reports = &evidence.seen.steps[step].reports;
    if reports.is_empty() {
        return Check::fail(Reason::NoReport, expected, "there is no report to surface").in_step(step);
    }
    let lines: Vec<_> = evidence.lines(step, since, Millis::MAX).collect();
    let pattern = by_pattern(evidence, &phase, reports, &lines);
    let told = pattern.as_ref().ok().copied().flatten().or_else(|| by_words(evidence, &phase, reports, &lines));
    let check = match (told, pattern) {
        (Some(line), _) => Check::pass(expected, clip(&line.text)).at_time(line.at),
        (None, Err(refusal)) => Check::fail(Reason::PatternRefused, expected, refusal.in_words()).at_time(since),
        (None, Ok(_)) => Check::fail(Reason::NotSurfaced, expected, shown(&lines)).at_time(since),
    };
    check.in_step(step).in_file("output")
}

/// The step in which a human must have been called for the phase, and the moment from which on it counts. A person may also be
/// asked before a phase starts.
fn since_when(
    evidence: &Evidence<'_>,
    phase: &str,
    from_start: bool,
    expected: &str,
) -> Result<(usize, Millis), Box<Check>> {
    if !from_start {
        return ended(evidence, phase, expected).map(|(attempt, ended)| (attempt.step, ended));
    }
    let never = || Box::new(Check::fail(Reason::NeverStarted, expected, "no step drove the runtime"));
    let (number, step) = evidence.driven(None).ok_or_else(never)?;
    let started = evidence.last_attempt(phase, Some(number)).map(|attempt| attempt.started);
    Ok((number, started.unwrap_or(step.started)))
}

/// A line that names the phase, and one that gives the trigger or the place; lines of a run in which nothing goes wrong tell
/// nobody anything.
fn by_words<'a>(
    evidence: &Evidence<'_>,
    phase: &str,
    reports: &[ReportSeen],
    lines: &[&'a OutputLine],
) -> Option<&'a OutputLine> {
    let usual = Usual::of(evidence);
    let phase = words(phase);
    lines.iter().find(|line| !usual.has(line) && words(&line.text).contains(&phase))?;
    lines.iter().copied().filter(|line| !usual.resembles(line)).find(|line| {
        let said = words(&line.text);
        reports.iter().any(|report| {
            let trigger = trigger(report).map(words).is_some_and(|trigger| said.contains(&trigger));
            trigger || line.text.contains(&report.path)
        })
    })
}

/// The line that the manifest's pattern finds. With the same phase and trigger, the pattern must miss in the control run.
fn by_pattern<'a>(
    evidence: &Evidence<'_>,
    phase: &str,
    reports: &[ReportSeen],
    lines: &[&'a OutputLine],
) -> Result<Option<&'a OutputLine>, Refusal> {
    let Some(surface) = &evidence.manifest.surface else { return Ok(None) };
    for report in reports {
        let filled = Manifest::surfaced(surface, phase, trigger(report).unwrap_or_default());
        let pattern = control::pattern(evidence, &filled, Regex::is_match)?;
        if let Some(line) = lines.iter().copied().find(|line| pattern.is_match(&line.text)) {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

fn trigger(report: &ReportSeen) -> Option<&str> {
    report.document.get("trigger")?.as_str()
}

/// A text in which `same_issue`, `Same issue` and `same-issue` are one, with a blank at both ends.
pub(super) fn words(text: &str) -> String {
    let folded = text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " ");
    format!(" {} ", folded.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The last attempt of the phase, and since when the runtime may say how it ended.
pub(super) fn ended<'a>(
    evidence: &Evidence<'a>,
    phase: &str,
    expected: &str,
) -> Result<(&'a AttemptSeen, Millis), Box<Check>> {
    let Some(attempt) = evidence.last_attempt(phase, None) else {
        return Err(Box::new(Check::fail(Reason::NeverStarted, expected, format!("{phase} never started"))));
    };
    let never = || Box::new(Check::fail(Reason::NeverEnded, expected, format!("{phase} never ended")));
    let ended = attempt.ended.ok_or_else(never)?;
    Ok((attempt, attempt.told.unwrap_or(ended)))
}

pub(super) fn shown(lines: &[&OutputLine]) -> String {
    match lines {
        [] => "no output after that".to_owned(),
        lines => clip(&lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" | ")),
    }
}
