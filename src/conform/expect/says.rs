//! What the runtime says in its own words.

use regex::Regex;

use super::Evidence;
use super::document::clip;
use super::report::{ended, shown};
use crate::conform::{Check, Millis, OutputLine, Reason};

/// The output matches. Where a phase is the cause, only what comes after its end counts, and a runtime that said it before
/// the phase even started says it without cause.
pub(super) fn says(evidence: &Evidence<'_>, phase: Option<&str>, step: Option<usize>, pattern: &str) -> Check {
    let pattern = evidence.text(pattern);
    let expected = format!("the output to match /{pattern}/");
    let Ok(regex) = Regex::new(&pattern) else {
        return Check::fail(Reason::NotSaid, expected, "this is no regular expression");
    };
    match phase {
        Some(phase) => after(evidence, &evidence.text(phase), step, &regex),
        None => anywhere(evidence, step, &regex, expected),
    }
}

fn after(evidence: &Evidence<'_>, phase: &str, step: Option<usize>, regex: &Regex) -> Check {
    let expected = format!("the output to match /{regex}/ once {phase} had ended");
    let (attempt, ended) = match ended(evidence, phase, &expected) {
        Ok(found) => found,
        Err(check) => return *check,
    };
    let first = evidence.attempts(Some(attempt.step)).find(|attempt| attempt.phase == phase).unwrap_or(attempt);
    let step = step.unwrap_or(attempt.step);
    let said =
        |step, after, before| evidence.lines(step, after, before).find(|line: &&OutputLine| regex.is_match(&line.text));
    let check = match (said(attempt.step, 0, first.started), said(step, ended, Millis::MAX)) {
        (Some(early), _) => Check::fail(Reason::SaidWithoutCause, expected, clip(&early.text)).at_time(early.at),
        (None, Some(line)) => Check::pass(expected, clip(&line.text)).at_time(line.at),
        (None, None) => {
            let lines: Vec<_> = evidence.lines(step, ended, Millis::MAX).collect();
            Check::fail(Reason::NotSaid, expected, shown(&lines)).at_time(ended)
        }
    };
    check.in_step(step).in_file("output")
}

fn anywhere(evidence: &Evidence<'_>, step: Option<usize>, regex: &Regex, expected: String) -> Check {
    let steps = (0..evidence.seen.steps.len()).filter(|number| step.is_none_or(|step| step == *number));
    let lines: Vec<(usize, &OutputLine)> =
        steps.flat_map(|step| evidence.lines(step, 0, Millis::MAX).map(move |line| (step, line))).collect();
    let found = lines.iter().find(|(_, line)| regex.is_match(&line.text));
    let said =
        found.map(|(step, line)| Check::pass(expected.clone(), clip(&line.text)).in_step(*step).at_time(line.at));
    let silent = || {
        let lines: Vec<_> = lines.iter().map(|(_, line)| *line).collect();
        Check::fail(Reason::NotSaid, expected, shown(&lines))
    };
    said.unwrap_or_else(silent).in_file("output")
}
