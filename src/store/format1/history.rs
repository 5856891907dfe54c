//! `.loa-run/history.jsonl` of format 1: what happened to an execution, one line an event.

use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;

use crate::contract::{CompactionLevel, ExecutionId, Phase, PhaseExit, SessionId, WarningLevel};
use crate::events::{AgentActivity, CompactionMeans, Dated, Event, RunEnd, RunOrigin};
use crate::store::StoreError;
use crate::system::files::{self, FileError};
use crate::text::Untrusted;

/// The version of the format.
const VERSION: u32 = 1;
/// The most bytes of a file that are read.
const LONGEST: u64 = 8 * 1024 * 1024;

/// One line of the history.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct HistoryLine {
    /// When it happened.
    pub(super) at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub(super) event: HistoryEvent,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum HistoryEvent {
    /// A session began to work on an execution.
    SessionStarted {
        /// The execution: what follows belongs to it, up to the next such line.
        execution: ExecutionId,
        /// The session.
        session: SessionId,
        /// Whether an earlier session worked on it.
        resumed: bool,
    },
    /// A session ended by itself; one without such a line died.
    SessionEnded {
        /// How: `completed`, `escalated`, `interrupted`, `paused`.
        end: String,
    },
    /// An attempt of a phase began.
    AttemptStarted {
        /// The phase.
        phase: Phase,
        /// The attempt, from 1.
        attempt: u32,
    },
    /// An attempt ended.
    AttemptEnded {
        /// The phase.
        phase: Phase,
        /// The attempt.
        attempt: u32,
        /// How; absent when the run was stopped meanwhile.
        #[serde(default)]
        exit: Option<PhaseExit>,
        /// Why it failed, in one line.
        #[serde(default)]
        reason: Option<Untrusted>,
    },
    /// The run waits before the next attempt.
    BackedOff {
        /// The phase.
        phase: Phase,
        /// For how long, in milliseconds.
        delay_ms: u64,
    },
    /// A failed audit leads back to implementation.
    Remediation {
        /// The loop, from 1.
        number: u32,
    },
    /// A threshold of the context was crossed.
    ContextCrossed {
        /// The phase.
        phase: Phase,
        /// Where it is now.
        level: WarningLevel,
        /// Tokens in the context.
        tokens: u64,
    },
    /// The context was compacted.
    Compacted {
        /// The phase.
        phase: Phase,
        /// How thoroughly.
        level: CompactionLevel,
    },
    /// An agent compacted its context by itself.
    AgentCompacted {
        /// The phase.
        phase: Phase,
        /// Tokens before, when known.
        #[serde(default)]
        before: Option<u64>,
        /// Tokens after, when known.
        #[serde(default)]
        after: Option<u64>,
    },
    /// An invocation of an agent ended.
    AgentEnded {
        /// The phase.
        phase: Phase,
        /// The class of its ending.
        class: String,
        /// Answers of its model in this attempt.
        turns: u32,
    },
    /// A provider's limit was reached, and the run waits.
    LimitReached {
        /// The phase.
        phase: Phase,
        /// When it goes on at the latest.
        until: Timestamp,
    },
    /// Something that tells nothing more than the record does.
    #[serde(other)]
    Other,
}

/// What the history in a folder tells of an execution, oldest first, and how many lines could not be read.
pub(super) fn read_history(folder: &Path, execution: &ExecutionId) -> Result<(Vec<Dated>, usize), StoreError> {
    let (mut events, mut unreadable) = (Vec::new(), 0);
    // The beginning may have rolled over and be lost.
    let mut ours = true;
    for name in ["history.1.jsonl", "history.jsonl"] {
        let path = folder.join(name);
        for line in read_file(&path)?.split_inclusive(|byte| *byte == b'\n') {
            match of_line(&path, line)? {
                Some(line) => {
                    if let HistoryEvent::SessionStarted { execution: of, .. } = &line.event {
                        ours = of == execution;
                    }
                    events.extend(ours.then(|| dated(line)).flatten());
                }
                None if !line.ends_with(b"\n") || line.trim_ascii().is_empty() => {}
                None => unreadable += 1,
            }
        }
    }
    Ok((events, unreadable))
}

fn of_line(path: &Path, line: &[u8]) -> Result<Option<HistoryLine>, StoreError> {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    match serde_json::from_slice::<Head>(line) {
        Ok(head) if head.version > u64::from(VERSION) => {
            Err(StoreError::Newer { path: path.to_path_buf(), found: head.version, known: VERSION })
        }
        Ok(_) => Ok(serde_json::from_slice(line).ok()),
        Err(_) => Ok(None),
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, FileError> {
    match files::read(path, LONGEST) {
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        bytes => bytes,
    }
}

/// A line as an event of today.
fn dated(line: HistoryLine) -> Option<Dated> {
    let event = match line.event {
        HistoryEvent::SessionStarted { session, resumed, .. } => {
            let (phases, origin, overrides) = (Vec::new(), RunOrigin::config(), Vec::new());
            Event::SessionStarted { session, pid: 0, resumed, swept: 0, phases, origin, overrides }
        }
        HistoryEvent::SessionEnded { end } => Event::SessionEnded {
            end: match end.as_str() {
                "completed" => RunEnd::Completed,
                "escalated" => RunEnd::Escalated,
                _ => RunEnd::Other,
            },
        },
        HistoryEvent::AttemptStarted { phase, attempt } => {
            Event::AttemptStarted { phase, stage: None, attempt, of: attempt }
        }
        HistoryEvent::AttemptEnded { phase, attempt, exit, reason } => {
            Event::AttemptEnded { phase, stage: None, attempt, exit, reason, context_tokens: None }
        }
        HistoryEvent::BackedOff { phase, delay_ms } => {
            let not_before = line.at + jiff::SignedDuration::from_millis(i64::try_from(delay_ms).ok()?);
            let reason = Untrusted::default();
            Event::BackedOff { phase, stage: None, attempt: 0, failure: None, reason, delay_ms, not_before }
        }
        HistoryEvent::Remediation { number } => Event::Remediation { number, of: number },
        HistoryEvent::ContextCrossed { phase, level, tokens } => {
            Event::ContextCrossed { phase, level, tokens, percent_used: 0.0, recommendation: String::new() }
        }
        HistoryEvent::Compacted { phase, level } => Event::Compacted { phase, level, means: CompactionMeans::Nobody },
        HistoryEvent::AgentCompacted { phase, before, after } => {
            Event::Agent { phase, agent: AgentActivity::Compacted { before, after } }
        }
        HistoryEvent::LimitReached { phase, until } => Event::LimitReached { phase, until },
        HistoryEvent::AgentEnded { .. } | HistoryEvent::Other => return None,
    };
    Some(Dated { at: line.at, event })
}
