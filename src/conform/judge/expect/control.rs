//! The control run: what the same runtime said and left when nothing went wrong. What is there then as well proves nothing
//! about a failure, so that neither a pattern that matches everything nor a report that always lies there counts.

use std::collections::BTreeSet;

use regex::Regex;

use super::Evidence;
use super::document::clip;
use crate::conform::judge::occurrence::accused;
use crate::conform::observe::{OutputLine, ReportSeen};

/// Why a pattern of the manifest does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is no regular expression.
    Broken(String),
    /// The suite has no run in which nothing goes wrong, or the judge has not made it.
    NoControl,
    /// It matches this line of the control run.
    Hits(String),
}

impl Refusal {
    /// Why, for the reader of a verdict.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Broken(why) => format!("the manifest's pattern is none: {why}"),
            Self::NoControl => "there was no control run to hold the manifest's pattern against".to_owned(),
            Self::Hits(line) => {
                format!("the manifest's pattern also matches a run in which nothing went wrong: {line}")
            }
        }
    }
}

/// The pattern, unless it matches the control run too.
pub(super) fn pattern(evidence: &Evidence<'_>, text: &str, counts: fn(&Regex, &str) -> bool) -> Result<Regex, Refusal> {
    let pattern = Regex::new(text).map_err(|error| Refusal::Broken(clip(&error.to_string())))?;
    if evidence.control.is_none() {
        return Err(Refusal::NoControl);
    }
    match lines(evidence).find(|line| counts(&pattern, &line.text)) {
        Some(line) => Err(Refusal::Hits(clip(&line.text))),
        None => Ok(pattern),
    }
}

/// The lines that the control run has too: word by word, and with digits aside.
pub(super) struct Usual {
    verbatim: BTreeSet<String>,
    folded: BTreeSet<String>,
}

impl Usual {
    pub(super) fn of(evidence: &Evidence<'_>) -> Self {
        Self {
            verbatim: lines(evidence).map(|line| line.text.clone()).collect(),
            folded: lines(evidence).map(|line| folded(&line.text)).collect(),
        }
    }

    /// Whether the control run has this very line.
    pub(super) fn has(&self, line: &OutputLine) -> bool {
        self.verbatim.contains(&line.text)
    }

    /// Whether the control run has this line but for its numbers.
    pub(super) fn resembles(&self, line: &OutputLine) -> bool {
        self.folded.contains(&folded(&line.text))
    }
}

/// A report of the control run that accuses a phase.
pub(super) fn unfounded<'a>(evidence: &Evidence<'a>) -> Option<&'a ReportSeen> {
    let steps = evidence.control.into_iter().flat_map(|seen| &seen.steps);
    steps.flat_map(|step| &step.reports).find(|report| accused(&report.document).is_some())
}

fn lines<'a>(evidence: &Evidence<'a>) -> impl Iterator<Item = &'a OutputLine> + use<'a> {
    evidence.control.into_iter().flat_map(|seen| &seen.steps).flat_map(|step| &step.output)
}

/// A line without its numbers, so that a time or a counter does not make it another.
fn folded(line: &str) -> String {
    line.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
