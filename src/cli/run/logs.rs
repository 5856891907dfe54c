//! `loa-run logs`: what a phase wrote, also while it writes.

use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::given::Here;
use super::refusal::of_run;
use super::show::print_json;
use crate::cli::console::pass_on;
use crate::cli::{ExitStatus, Failure};
use crate::contract::Phase;
use crate::events::Event;
use crate::store::RunStore;
use crate::system::files::{self, FileError};

/// How often a log that is followed is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Prints the log of an attempt: the one that was written to last, unless a number is given.
pub(super) fn logs(
    here: &Here,
    phase: Phase,
    attempt: Option<u32>,
    follow: bool,
    json: bool,
) -> Result<ExitStatus, Failure> {
    let log = newest(here, phase, attempt)?;
    let Some(mut log) = log else { return Err(none(here, phase, attempt)?) };
    if json {
        return print_json(&json!({ "phase": phase, "attempt": log.attempt, "log": log.path, "bytes": log.length() }))
            .map(|()| ExitStatus::Success);
    }
    let is_read = log.print()?;
    if follow && is_read { followed(here, phase, attempt, log) } else { Ok(ExitStatus::Success) }
}

/// Goes on as long as somebody works, from one attempt to the next.
fn followed(here: &Here, phase: Phase, attempt: Option<u32>, mut log: Log) -> Result<ExitStatus, Failure> {
    loop {
        // Asked before the last look: what it wrote before it went is printed then.
        let working = here.holder()?.is_some();
        if let Some(next) = newest(here, phase, attempt)?.filter(|next| next.path != log.path) {
            log.print()?;
            log = next;
        }
        let is_read = log.print()?;
        if !working || !is_read {
            return Ok(ExitStatus::Success);
        }
        std::thread::sleep(LOOK);
    }
}

/// A log, and how far it was printed.
struct Log {
    attempt: u32,
    path: PathBuf,
    printed: u64,
}

impl Log {
    fn length(&self) -> u64 {
        self.path.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Prints what is new, and says whether anybody still reads it.
    fn print(&mut self) -> Result<bool, Failure> {
        let failed = |source| FileError { action: "read", path: self.path.clone(), source };
        let no_input = |error: FileError| Failure::new(ExitStatus::NoInput, error);
        let mut file = match files::open(&self.path) {
            // Nothing was said yet.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
            file => file.map_err(failed).map_err(no_input)?,
        };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            file.seek(SeekFrom::Start(self.printed)).map_err(failed).map_err(no_input)?;
            let count = file.read(&mut buffer).map_err(failed).map_err(no_input)?;
            if count == 0 {
                return Ok(true);
            }
            // In whole lines, as long as there is more: a terminal is given nothing that is cut within an escape.
            let lines = buffer[..count].iter().rposition(|byte| *byte == b'\n').filter(|_| count == buffer.len());
            let whole = lines.map_or(count, |end| end + 1);
            if !pass_on(&buffer[..whole])? {
                return Ok(false);
            }
            self.printed += whole as u64;
        }
    }
}

/// The log of the attempt that was asked for, or the one that began last. It is empty while the attempt says nothing.
fn newest(here: &Here, phase: Phase, asked: Option<u32>) -> Result<Option<Log>, Failure> {
    let is_asked = |attempt: u32| asked.is_none_or(|asked| asked == attempt);
    if let Some(recorded) = here.store.current().map_err(|error| of_run(error.into()))? {
        let began = recorded.envelopes.iter().rev().find_map(|envelope| match &envelope.event {
            Event::AttemptStarted { phase: of, attempt, .. } if *of == phase && is_asked(*attempt) => Some(*attempt),
            _ => None,
        });
        if let Some(attempt) = began {
            let path = here.place.log(&recorded.state.execution_id, phase, attempt);
            return Ok(Some(Log { attempt, path, printed: 0 }));
        }
    }
    earlier(here, phase, is_asked)
}

/// The log that an earlier program wrote last.
fn earlier(here: &Here, phase: Phase, is_asked: impl Fn(u32) -> bool) -> Result<Option<Log>, Failure> {
    let paths = files::list(&here.layout.logs()).map_err(|error| of_run(error.into()))?;
    let prefix = format!("{phase}-");
    let log = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        let attempt: u32 = name.strip_prefix(&prefix)?.strip_suffix(".log")?.parse().ok()?;
        Some(Log { attempt, path, printed: 0 })
    };
    let written =
        |log: &Log| log.path.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let logs = paths.into_iter().filter_map(log).filter(|log| is_asked(log.attempt));
    Ok(logs.max_by_key(|log| (written(log), log.attempt)))
}

#[derive(Debug, thiserror::Error)]
#[error("{phase}{} has no log in {folder}", attempt.map(|number| format!(", attempt {number},")).unwrap_or_default())]
struct NoLog {
    phase: Phase,
    attempt: Option<u32>,
    folder: String,
}

fn none(here: &Here, phase: Phase, attempt: Option<u32>) -> Result<Failure, Failure> {
    let state = here.present()?.map(|state| here.place.logs(&state.execution_id));
    let folder = state.unwrap_or_else(|| here.layout.logs()).display().to_string();
    let failure = Failure::new(ExitStatus::NoInput, NoLog { phase, attempt, folder });
    Ok(failure.hint("`loa-run report` lists every attempt"))
}
