//! The files that one attempt of a stage exchanges with us, and the environment that tells it where they are.

use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use camino::Utf8Path;
use serde_json::Value;

use crate::contract::{ExecutionId, PhaseResult, SessionId, Signal};
use crate::diag::Budget;
use crate::policy::{Redactor, effort};
use crate::runner::session::SESSION_VARIABLE;
use crate::runner::{Bounds, RunError, Stage};
use crate::schema::{Checker, PHASE_RESULT};
use crate::store::{Layout, Place, make_folder};
use crate::system::beneath;
use crate::system::files::{self, FileError, Privacy};

/// The name of the result file.
const RESULT: &str = "result.json";
/// The most bytes of a result file that are read.
const LONGEST_RESULT: u64 = 4 * 1024 * 1024;
/// The most bytes of a signal that are read; a longer line is dropped.
const LONGEST_SIGNAL: usize = 64 * 1024;

/// The paths of one attempt.
#[derive(Debug, Clone)]
pub(super) struct StageFiles {
    /// What has to be there for the folder to be made again: the workspace, or the folder of the state.
    home: PathBuf,
    pub(super) result: PathBuf,
    pub(super) signals: PathBuf,
    pub(super) events: PathBuf,
}

impl StageFiles {
    /// Makes a fresh folder for the attempt, without signals and result in it: with the state, where no phase cleans up.
    /// For an agent it lies in the workspace, because its sandbox or its container may let it write nowhere else.
    pub(super) fn prepare(
        (layout, place): (&Layout, &Place),
        execution: &ExecutionId,
        stage: &Stage,
        attempt: u32,
    ) -> Result<Self, RunError> {
        let (home, folder, privacy) = if stage.agent().is_some() {
            let folder = layout.stage(stage.phase, attempt);
            make_folder(layout, &folder)?;
            (layout.workspace().to_path_buf(), folder, Privacy::Shared)
        } else {
            (place.run(execution), place.stage(execution, stage.phase, attempt), Privacy::Private)
        };
        files::empty_folder(&folder, privacy)?;
        Ok(Self {
            home,
            result: folder.join(RESULT),
            signals: folder.join("signals.jsonl"),
            events: folder.join("events.jsonl"),
        })
    }

    /// Makes the folder again where the stage, or git in it, took it away; whether that was so.
    pub(super) fn restore(&self) -> Result<bool, FileError> {
        let folder = self.folder();
        // A workspace that was itself moved away is not made again: that would only be in the way of what comes back.
        if folder.is_dir() || !self.home.is_dir() {
            return Ok(false);
        }
        files::ensure_folder(folder)?;
        Ok(true)
    }

    fn folder(&self) -> &Path {
        self.signals.parent().unwrap_or(&self.signals)
    }

    /// Takes away what the stage left in its result file, before its work is tried again.
    pub(super) fn forget_result(&self) -> Result<(), FileError> {
        files::remove(&self.result)
    }

    /// What the stage left in its result file, without secrets: `None` when nothing, the reason when it cannot be used.
    pub(super) fn read_result(&self, redactor: &Redactor) -> Result<Option<PhaseResult>, String> {
        static CHECKER: LazyLock<Checker> = LazyLock::new(|| Checker::new(&PHASE_RESULT));
        let bytes = match beneath::read(self.folder(), Path::new(RESULT), LONGEST_RESULT) {
            Err(error) if error.is_not_found() => return Ok(None),
            bytes => bytes.map_err(|error| format!("{error}: {}", error.source))?,
        };
        let budget = Budget { bytes: LONGEST_RESULT, ..Budget::default() };
        let read = CHECKER.read(&bytes, Utf8Path::new(RESULT), &budget);
        read.map(|result| Some(without_secrets(&result, redactor))).map_err(|findings| {
            let said: Vec<String> = findings.iter().map(|finding| finding.message.clone()).collect();
            redactor.text(&said.join("; "))
        })
    }
}

/// The same result with every text redacted that may end in checkpoints and reports. Outputs are for later stages alone,
/// which need them as they are.
fn without_secrets(result: &PhaseResult, redactor: &Redactor) -> PhaseResult {
    fn redact(value: &mut Value, redactor: &Redactor) {
        match value {
            Value::String(text) => *text = redactor.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| redact(item, redactor)),
            Value::Object(entries) => entries.values_mut().for_each(|entry| redact(entry, redactor)),
            _ => {}
        }
    }
    let shown = PhaseResult { outputs: serde_json::Map::new(), ..result.clone() };
    let mut document = serde_json::to_value(shown).expect("a result is plain data with text keys");
    redact(&mut document, redactor);
    // Only a word of a closed set, or a secret in the place of one, could refuse; neither has the shape of a secret.
    let redacted: PhaseResult = serde_json::from_value(document).unwrap_or_else(|_| result.clone());
    PhaseResult { outputs: result.outputs.clone(), ..redacted }
}

/// Which execution, session and attempt a process works for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity<'a> {
    pub(super) execution: &'a ExecutionId,
    pub(super) session: &'a SessionId,
    pub(super) attempt: u32,
}

/// The variables of a stage's process: its own from the plan, and those that the runtime sets over them.
pub(super) fn environment(
    identity: &Identity<'_>,
    stage: &Stage,
    bounds: &Bounds,
    workspace: &Path,
    paths: &StageFiles,
) -> Vec<(String, OsString)> {
    let own = stage.env.iter().map(|(name, value)| (name.clone(), value.into()));
    let set: [(&str, OsString); 11] = [
        ("LOA_EXECUTION_ID", identity.execution.as_str().into()),
        (SESSION_VARIABLE, identity.session.as_str().into()),
        ("LOA_PHASE", stage.phase.as_str().into()),
        ("LOA_STAGE", stage.phase.as_str().into()),
        ("LOA_ATTEMPT", identity.attempt.to_string().into()),
        ("LOA_WORKSPACE", workspace.into()),
        ("LOA_RESULT_FILE", paths.result.clone().into()),
        ("LOA_SIGNAL_FILE", paths.signals.clone().into()),
        ("LOA_EVENT_FILE", paths.events.clone().into()),
        ("CONTEXT_SOFT_LIMIT", bounds.context.soft.to_string().into()),
        ("CONTEXT_HARD_LIMIT", bounds.context.hard.to_string().into()),
    ];
    let set = set.into_iter().chain(features(bounds, stage, workspace));
    own.chain(set.map(|(name, value)| (name.to_owned(), value))).collect()
}

/// What the optional features hand to a stage; nothing where they are off.
fn features(bounds: &Bounds, stage: &Stage, workspace: &Path) -> Vec<(&'static str, OsString)> {
    let mut set: Vec<(&str, OsString)> = Vec::new();
    if let Some((level, budget)) = bounds.effort.as_ref().map(|config| effort(config, stage.phase)) {
        set.push(("LOA_EFFORT_LEVEL", level.as_str().into()));
        set.push(("LOA_THINKING_BUDGET", budget.max.to_string().into()));
    }
    if bounds.memories.is_some() {
        set.push(("LOA_MEMORY_FILE", Layout::new(workspace).memories().into()));
    }
    set
}

/// How much is read at a time, in bytes: a stage may append faster than anybody reads.
const MOST_AT_ONCE: u64 = 16 << 20;

/// Reads the stage's signals as they are appended.
#[derive(Debug)]
pub(super) struct SignalReader {
    path: PathBuf,
    position: u64,
    half: Vec<u8>,
    /// The line that is being read is longer than a signal can be.
    overlong: bool,
}

impl SignalReader {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, position: 0, half: Vec::new(), overlong: false }
    }

    /// The complete lines that came since the last call: a signal each, or the reason why it is none.
    pub(super) fn read(&mut self) -> Vec<Result<Signal, String>> {
        let fresh = self.fresh().unwrap_or_default();
        let mut signals = Vec::new();
        for part in fresh.split_inclusive(|byte| *byte == b'\n') {
            self.half.extend_from_slice(part);
            if !self.half.ends_with(b"\n") {
                self.overlong |= self.half.len() > LONGEST_SIGNAL;
                self.half.truncate(LONGEST_SIGNAL);
                continue;
            }
            let line = std::mem::take(&mut self.half);
            if std::mem::take(&mut self.overlong) || line.len() > LONGEST_SIGNAL {
                signals.push(Err(format!("a signal of more than {LONGEST_SIGNAL} bytes")));
            } else if !line.trim_ascii().is_empty() {
                let signal = serde_json::from_slice(&line);
                signals.push(signal.map_err(|error| format!("{error} in {}", String::from_utf8_lossy(&line).trim())));
            }
        }
        signals
    }

    /// What was appended. A file that the stage took away has nothing new in it.
    fn fresh(&mut self) -> std::io::Result<Vec<u8>> {
        let (folder, name) = (self.path.parent().unwrap_or(&self.path), self.path.file_name().unwrap_or_default());
        // No link out of the folder is followed: what it leads to may grow by our reading it, as the journal does.
        let mut file = beneath::open(folder, Path::new(name)).map_err(|error| error.source)?;
        if file.metadata()?.len() < self.position {
            // Another file has the name now.
            self.position = 0;
            self.half.clear();
        }
        file.seek(SeekFrom::Start(self.position))?;
        let mut bytes = Vec::new();
        file.take(MOST_AT_ONCE).read_to_end(&mut bytes)?;
        self.position += bytes.len() as u64;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files::Appender;

    #[test]
    fn half_lines_wait_and_nonsense_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("signals.jsonl");
        let mut reader = SignalReader::new(path.clone());
        assert!(reader.read().is_empty(), "no file yet");
        let mut file = Appender::open(&path, Privacy::Private).expect("opened");
        file.append(b"{\"type\":\"USAGE\",\"context").expect("appended");
        assert!(reader.read().is_empty(), "half a line");
        file.append(b"_tokens\":7}\n\n{\"type\":\"PARTY\"}\n").expect("appended");
        let signals = reader.read();
        assert_eq!(signals[0], Ok(Signal::Usage { context_tokens: 7 }));
        assert!(signals[1].as_ref().expect_err("unknown").contains("PARTY"));
        assert_eq!(signals.len(), 2);
        file.append(&vec![b'x'; 2 * LONGEST_SIGNAL]).expect("appended");
        assert!(reader.read().is_empty() && reader.half.len() <= LONGEST_SIGNAL);
        file.append(b"\n{\"type\":\"USAGE\",\"context_tokens\":8}\n").expect("appended");
        let signals = reader.read();
        assert!(signals[0].is_err());
        assert_eq!(signals[1], Ok(Signal::Usage { context_tokens: 8 }));
    }
}
