//! `.loa-run/history.jsonl`: what happened to an execution, one line an event, in the order in which it happened. Ours;
//! format version 1, which every line carries.
//!
//! Nothing is decided by it: checkpoints and record say where an execution stands, and the history says how it came there.
//! A line reaches the file at once; a power cut may take the last ones, and a kill may leave half of one, which is not
//! read. A file that has grown long is put beside the new one, in the place of the one before.

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Layout, StoreError};
use crate::contract::{CompactionLevel, EscalationTrigger, ExecutionId, Phase, PhaseExit, SessionId, WarningLevel};
use crate::system::files::{self, Appender, FileError, Privacy};

/// The newest version of the format.
pub const HISTORY_VERSION: u32 = 1;

/// How long a file may grow before the next is begun, in bytes: more than ten thousand attempts.
const LONGEST: u64 = 4 * 1024 * 1024;

/// One line of the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryLine {
    /// Version of this format: 1.
    pub version: u32,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: HistoryEvent,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum HistoryEvent {
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
    /// A phase was passed over.
    PhaseSkipped {
        /// The phase.
        phase: Phase,
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<PhaseExit>,
        /// Why it failed, in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The gate of a phase began.
    GateStarted {
        /// The phase.
        phase: Phase,
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
        /// Tokens after, when known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// A phase ended and its checkpoint is written.
    PhaseEnded {
        /// The phase.
        phase: Phase,
        /// How.
        exit: PhaseExit,
    },
    /// A human was called.
    Escalated {
        /// Why.
        trigger: EscalationTrigger,
        /// Where.
        phase: Phase,
        /// What happened, in one line.
        reason: String,
    },
    /// People were told of a call, or not.
    Notified {
        /// By what.
        means: String,
        /// Why they were not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// Something that a newer program of the same format wrote.
    #[serde(other)]
    Other,
}

/// The history of the execution that is being worked on. Only the holder of the workspace's lock may have one.
#[derive(Debug)]
pub struct History {
    layout: Layout,
    file: Appender,
    length: u64,
}

impl History {
    /// Opens the history; the half line of a writer that died ends first.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn open(layout: &Layout) -> Result<Self, FileError> {
        files::ensure_folder(&layout.run())?;
        let path = layout.history();
        let before = read_file(&path)?;
        let mut file = Appender::open(&path, Privacy::Private)?;
        let mut length = before.len() as u64;
        if !before.is_empty() && !before.ends_with(b"\n") {
            file.append(b"\n")?;
            length += 1;
        }
        Ok(Self { layout: layout.clone(), file, length })
    }

    /// Appends an event.
    ///
    /// # Errors
    /// [`FileError`].
    ///
    /// # Panics
    /// Never: an event is plain data.
    pub fn append(&mut self, at: Timestamp, event: HistoryEvent) -> Result<(), FileError> {
        let line = HistoryLine { version: HISTORY_VERSION, at, event };
        let mut text = serde_json::to_string(&line).expect("an event is plain data");
        text.push('\n');
        if self.length > LONGEST {
            files::rename(&self.layout.history(), &self.layout.earlier_history())?;
            self.file = Appender::open(&self.layout.history(), Privacy::Private)?;
            self.length = 0;
        }
        self.length += text.len() as u64;
        self.file.append(text.as_bytes())
    }
}

/// Every line of a history in the folder, oldest first, and how many could not be read. The half line of a writer that
/// died counts as unreadable once another line follows it.
///
/// # Errors
/// [`StoreError`], also when a line comes from a newer version of the format.
pub(super) fn read_history(folder: &Path) -> Result<(Vec<HistoryLine>, usize), StoreError> {
    let (mut lines, mut unreadable) = (Vec::new(), 0);
    for name in [Layout::EARLIER_HISTORY, Layout::HISTORY] {
        let path = folder.join(name);
        for line in read_file(&path)?.split_inclusive(|byte| *byte == b'\n') {
            match of_line(&path, line)? {
                Some(line) => lines.push(line),
                None if !line.ends_with(b"\n") || line.trim_ascii().is_empty() => {}
                None => unreadable += 1,
            }
        }
    }
    Ok((lines, unreadable))
}

fn of_line(path: &Path, line: &[u8]) -> Result<Option<HistoryLine>, StoreError> {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    match serde_json::from_slice::<Head>(line) {
        Ok(head) if head.version > u64::from(HISTORY_VERSION) => {
            Err(StoreError::Newer { path: path.to_path_buf(), found: head.version, known: HISTORY_VERSION })
        }
        Ok(_) => Ok(serde_json::from_slice(line).ok()),
        Err(_) => Ok(None),
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, FileError> {
    match files::read(path, 2 * LONGEST) {
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        bytes => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_769_868_000 + second).expect("a time of this century")
    }

    fn event(number: u32) -> HistoryEvent {
        HistoryEvent::Remediation { number }
    }

    #[test]
    fn what_is_appended_is_read_back_whoever_died_in_between() {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(folder.path());
        assert_eq!(read_history(&layout.run()).expect("no file is no history"), (Vec::new(), 0));
        History::open(&layout).expect("opened").append(at(1), event(1)).expect("appended");
        let mut torn = Appender::open(&layout.history(), Privacy::Private).expect("opened");
        torn.append(b"{\"version\":1,\"at\":\"2026-").expect("appended");
        let (lines, unreadable) = read_history(&layout.run()).expect("read");
        assert_eq!((lines.len(), unreadable), (1, 0), "a half line at the end is not there yet");
        History::open(&layout).expect("opened").append(at(2), event(2)).expect("appended");
        let (lines, unreadable) = read_history(&layout.run()).expect("read");
        assert_eq!(lines, [(1, 1), (2, 2)].map(|(s, n)| HistoryLine { version: 1, at: at(s), event: event(n) }));
        assert_eq!(unreadable, 1);
    }

    #[test]
    fn a_newer_version_is_refused_and_a_newer_event_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(folder.path());
        drop(History::open(&layout).expect("opened"));
        let mut file = Appender::open(&layout.history(), Privacy::Private).expect("opened");
        file.append(b"{\"version\":1,\"at\":\"2026-01-31T14:00:00Z\",\"event\":\"danced\",\"with\":\"whom\"}\n")
            .expect("appended");
        let (lines, unreadable) = read_history(&layout.run()).expect("read");
        assert_eq!((lines[0].event.clone(), unreadable), (HistoryEvent::Other, 0));
        file.append(b"{\"version\":2,\"when\":7}\n").expect("appended");
        let newer = read_history(&layout.run()).expect_err("newer").to_string();
        assert!(newer.contains("version 2") && newer.contains("history.jsonl"), "{newer}");
    }

    #[test]
    fn a_long_history_goes_on_in_a_file_of_its_own_and_never_fills_the_disk() {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(folder.path());
        let mut history = History::open(&layout).expect("opened");
        for number in 1..=3 {
            history.length = LONGEST + 1;
            history.append(at(i64::from(number)), event(number)).expect("appended");
        }
        let (lines, _) = read_history(&layout.run()).expect("read");
        assert_eq!(lines.iter().map(|line| line.event.clone()).collect::<Vec<_>>(), [event(2), event(3)]);
    }
}
