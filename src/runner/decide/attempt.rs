//! An attempt that ended: what it left, and what its phase comes to with it.

use std::time::Duration;

use super::live::Stop;
use crate::contract::{Artifact, Phase, PhaseResult};
use crate::policy::StageOutcome;

/// The most characters of a stage's last words in a reason.
const LAST_WORDS: usize = 400;

/// What an attempt left when it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// How it ended, or why it was stopped. An end that came first counts, whatever it was to be stopped for.
    pub end: Result<StageOutcome, Stop>,
    /// What it left in its result file.
    pub result: Option<PhaseResult>,
    /// Why the result file was not used, when it was there.
    pub result_refused: Option<String>,
    /// The end of standard error.
    pub stderr: String,
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
    pub(super) earlier: &'a [String],
    pub(super) attempts: u32,
    pub(super) duration_ms: u64,
    pub(super) artifacts: Vec<Artifact>,
}

/// Why an attempt failed, in one line for people: what happened, and the last words of the stage.
pub(super) fn failure_line(attempt: &Attempt, outcome: &StageOutcome) -> String {
    let happened = match &outcome.error {
        Some(error) => error.message.clone(),
        None => format!("exit {}", outcome.exit.code()),
    };
    let said = attempt.stderr.lines().rfind(|line| !line.trim().is_empty()).map(str::trim);
    match said {
        Some(said) => format!("{happened}: {}", said.chars().take(LAST_WORDS).collect::<String>()),
        None => happened,
    }
}
