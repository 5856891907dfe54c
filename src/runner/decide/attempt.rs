//! An attempt that ended: what it left, and what its phase comes to with it.

use std::time::Duration;

use super::live::Stop;
use crate::contract::{Artifact, Phase, PhaseResult};
use crate::events::FailedAttempt;
use crate::policy::StageOutcome;
use crate::text::{Untrusted, plain, visible};

/// The most characters of a stage's last words in a reason, and how many of them are the beginning of a line that is longer.
const LAST_WORDS: usize = 400;
const BEGINNING: usize = 150;

/// What an attempt left when it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// How it ended, or why it was stopped. An end that came first counts, whatever it was to be stopped for.
    pub end: Result<StageOutcome, Stop>,
    /// What it left in its result file.
    pub result: Option<PhaseResult>,
    /// Why the result file was not used, when it was there.
    pub result_refused: Option<String>,
    /// The end of what it wrote; of its gate, where that was asked.
    pub words: Words,
    /// Its work was done, and its gate was asked.
    pub in_gate: bool,
    /// How long a provider asked to wait before the next attempt.
    pub wait: Option<Duration>,
    /// What an agent said last.
    pub said: Option<String>,
    /// An agent says that it is done, and no gate says so too.
    pub unverified: bool,
    /// Tokens in its context, as they were last known.
    pub context_tokens: Option<u64>,
    /// The context stayed at its hard limit after an emergency compaction.
    pub overflow: bool,
}

/// The end of what an attempt wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// On standard output, where that is meant for people.
    pub stdout: String,
    /// On standard error.
    pub stderr: String,
}

/// What the workspace tells when a phase is concluded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// What became of its files, where the phase does not say it itself.
    pub artifacts: Vec<Artifact>,
    /// The commit.
    pub head: Option<String>,
    /// A digest of the work tree.
    pub tree: Option<String>,
}

/// A phase with its outcome, when no retry is left.
#[derive(Debug)]
pub(super) struct Concluded<'a> {
    pub(super) phase: Phase,
    pub(super) outcome: StageOutcome,
    pub(super) last: &'a Attempt,
    /// How the attempts before the last failed.
    pub(super) earlier: &'a [FailedAttempt],
    /// The number of the last start.
    pub(super) number: u32,
    pub(super) attempts: u32,
    pub(super) duration_ms: u64,
    pub(super) artifacts: Vec<Artifact>,
    /// It was cut off, and nobody knows how far it came with what it does outside of the workspace.
    pub(super) in_doubt: bool,
}

/// Why an attempt failed, in one line for people: what happened, and the last words of the stage.
pub(super) fn failure_line(attempt: &Attempt, outcome: &StageOutcome) -> Untrusted {
    let place = if attempt.in_gate { "in its gate: " } else { "" };
    let happened = match &outcome.error {
        Some(error) => format!("{place}{}", error.message.raw()),
        None => format!("{place}exit {}", outcome.exit.code()),
    };
    match last_words(attempt) {
        Some(words) if !says(&happened, &words) => format!("{happened}: {words}").into(),
        _ => happened.into(),
    }
}

/// Whether these words stand in what is said already. A single short word may stand in anything.
fn says(happened: &str, words: &str) -> bool {
    happened == words || happened.ends_with(&format!(": {words}")) || words.contains(' ') && happened.contains(words)
}

/// The last line of an attempt: on standard error, on standard output, or an agent's. Who complains writes to the first,
/// many a test runner names what failed only on the second.
fn last_words(attempt: &Attempt) -> Option<String> {
    let Words { stdout, stderr } = &attempt.words;
    let said = attempt.said.as_deref().filter(|_| !attempt.in_gate).unwrap_or_default();
    match (last_line(stderr), last_line(stdout).or_else(|| last_line(said))) {
        (Some(error), Some(output)) if error != output => Some(format!("{error} (standard output: {output})")),
        (error, output) => error.or(output),
    }
}

/// The last line, or its beginning and its end where it is long: what went wrong stands at either. A line that is written over,
/// such as that of a progress bar, ends where it begins anew.
fn last_line(text: &str) -> Option<String> {
    // Colours and cursors are for the terminal of whoever wrote them, and not for those of its readers.
    let words = plain(text);
    let line = words.rsplit(['\n', '\r']).map(visible).find(|line| !line.trim().is_empty())?;
    let line = line.trim();
    let length = line.chars().count();
    if length <= LAST_WORDS {
        return Some(line.to_owned());
    }
    let beginning = line.chars().take(BEGINNING).chain(" … ".chars());
    let end = line.chars().skip(length - (LAST_WORDS - BEGINNING));
    Some(beginning.chain(end).collect())
}
