//! What the runtime says in its own words.

use regex::Regex;

use super::Evidence;
use super::breakdown::decided_lines;
use super::document::clip;
use super::report::{ended, shown};
use crate::conform::judge::Check;
use crate::conform::observe::OutputLine;
use crate::conform::spec::Reason;
use crate::system::clock::Millis;

/// What must be said.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    /// Only what is said in this step counts.
    pub(super) step: Option<usize>,
    /// The step without a cause, whose lines do not count.
    pub(super) control: Option<usize>,
    /// The regular expression, names not filled in.
    pub(super) pattern: &'a str,
}

/// The output matches. Where a phase is the cause, only what comes after its end counts, and a runtime that said it before
/// the phase even started says it without cause.
pub(super) fn says(evidence: &Evidence<'_>, phase: Option<&str>, words: Words<'_>) -> Check {
    let pattern = evidence.text(words.pattern);
    let expected = format!("the output to match /{pattern}/");
    let Ok(regex) = Regex::new(&pattern) else {
        return Check::fail(Reason::NotSaid, expected, "this is no regular expression");
    };
    match phase {
        Some(phase) => after(evidence, &evidence.text(phase), words.step, &regex),
        None => anywhere(evidence, words, &regex, expected),
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
    let before: Vec<_> = evidence.lines(attempt.step, 0, first.started).collect();
    let later: Vec<_> = evidence.lines(step, ended, Millis::MAX).collect();
    // What a program prints when it breaks down may hold any word, and is none of its own.
    let later = decided_lines(&later);
    let check = match (said(&before, regex), said(&later, regex)) {
        (Some((early, at)), _) => Check::fail(Reason::SaidWithoutCause, expected, early).at_time(at),
        (None, Some((text, at))) => Check::pass(expected, text).at_time(at),
        (None, None) => Check::fail(Reason::NotSaid, expected, shown(&later)).at_time(ended),
    };
    check.in_step(step).in_file("output")
}

fn anywhere(evidence: &Evidence<'_>, words: Words<'_>, regex: &Regex, expected: String) -> Check {
    let control = words.control.map(|step| evidence.lines(step, 0, Millis::MAX).map(bare).collect::<Vec<_>>());
    let is_usual = |line: &OutputLine| control.as_ref().is_some_and(|usual| usual.contains(&bare(line)));
    let mut all = Vec::new();
    for step in (0..evidence.seen.steps.len()).filter(|step| words.step.is_none_or(|wanted| wanted == *step)) {
        let lines: Vec<_> = evidence.lines(step, 0, Millis::MAX).filter(|line| !is_usual(line)).collect();
        if let Some((text, at)) = said(&lines, regex) {
            return Check::pass(expected, text).in_step(step).at_time(at).in_file("output");
        }
        all.extend(lines);
    }
    Check::fail(Reason::NotSaid, expected, shown(&all)).in_file("output")
}

/// What of these lines, taken as one text, matches, and when its first line came.
fn said(lines: &[&OutputLine], regex: &Regex) -> Option<(String, Millis)> {
    let text = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    let found = regex.find(&text)?;
    let line = text[..found.start()].matches('\n').count();
    let whole = text.lines().nth(line).filter(|whole| whole.contains(found.as_str()));
    Some((clip(whole.unwrap_or(found.as_str())), lines.get(line)?.at))
}

/// What a line says, without its figures.
fn bare(line: &OutputLine) -> String {
    line.text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
