//! Follows the file in which a program records a session, or whatever else it appends lines to.

use std::fmt;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::process::{Reader, Verdict};
use super::refusal::Resumption;
use crate::events::Spent;
use crate::runner::AgentEvent;
use crate::system::files;
use crate::system::process::ProcessExit;

/// Finds the file of a session below the folder that the program keeps its sessions in.
pub(super) type Find = fn(&Path, &str) -> Option<PathBuf>;

/// Reads what is appended to a session's file, line by line.
#[derive(Debug)]
pub(super) struct Recorded {
    home: PathBuf,
    find: Find,
    file: Option<PathBuf>,
    position: u64,
    half: Vec<u8>,
}

impl Recorded {
    /// The file of an earlier session is read from where it ends now; that of a new session from its beginning.
    pub(super) fn new(home: PathBuf, find: Find, earlier: Option<&str>) -> Self {
        let file = earlier.and_then(|session| find(&home, session));
        let position = file.as_deref().and_then(|file| fs::metadata(file).ok()).map_or(0, |file| file.len());
        Self { home, find, file, position, half: Vec::new() }
    }

    /// The complete lines that came since the last call; none while nobody knows the session or its file.
    pub(super) fn fresh(&mut self, session: Option<&str>) -> Vec<String> {
        if self.file.is_none() {
            self.file = session.and_then(|session| (self.find)(&self.home, session));
        }
        let Some(Ok(bytes)) = self.file.as_deref().map(|file| read_from(file, self.position)) else {
            return Vec::new();
        };
        self.position += bytes.len() as u64;
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.half.extend_from_slice(part);
            if self.half.ends_with(b"\n") {
                lines.push(String::from_utf8_lossy(&std::mem::take(&mut self.half)).into_owned());
            }
        }
        lines
    }
}

/// What a program's stream and the file beside it say together.
pub(super) trait Beside: fmt::Debug + Default {
    /// The code with which it ends when it does not know the session that it was to go on with.
    const UNKNOWN_SESSION: i32;

    /// The session, once it was named.
    fn session(&self) -> Option<&str>;

    /// A line of the stream.
    fn stream(&mut self, line: &str) -> Vec<AgentEvent>;

    /// A line of standard error.
    fn complaint(&mut self, _line: &str) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// A line of the file.
    fn recorded(&mut self, line: &str) -> Vec<AgentEvent>;

    /// What it used, where it says so.
    fn spent(&self) -> Option<Spent>;

    /// The program ended, and everything was read.
    fn verdict(&self, exit: &ProcessExit) -> Verdict;
}

/// Reads a program's stream and the file beside it.
#[derive(Debug)]
pub(super) struct Followed<F> {
    resumption: Resumption,
    recorded: Recorded,
    facts: F,
}

impl<F: Beside> Followed<F> {
    /// With nothing read so far.
    pub(super) fn new(resumption: Resumption, recorded: Recorded) -> Self {
        Self { resumption, recorded, facts: F::default() }
    }
}

impl<F: Beside> Reader for Followed<F> {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        self.resumption.heard(line);
        let events = self.facts.stream(line);
        events.into_iter().chain(self.poll()).collect()
    }

    fn complaint(&mut self, line: &str) -> Vec<AgentEvent> {
        self.facts.complaint(line)
    }

    fn poll(&mut self) -> Vec<AgentEvent> {
        let lines = self.recorded.fresh(self.facts.session());
        lines.iter().flat_map(|line| self.facts.recorded(line)).collect()
    }

    fn verdict(&self, exit: &ProcessExit) -> Verdict {
        let session_refused = self.resumption.refused(exit, &[F::UNKNOWN_SESSION]);
        Verdict { session_refused, spent: self.facts.spent(), ..self.facts.verdict(exit) }
    }
}

fn read_from(file: &Path, position: u64) -> io::Result<Vec<u8>> {
    let mut file = files::open(file)?;
    let mut bytes = Vec::new();
    if file.metadata()?.len() > position {
        file.seek(SeekFrom::Start(position))?;
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// What a folder holds, the last by name first; nothing where it cannot be listed.
pub(super) fn below(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort_unstable_by(|one, other| other.cmp(one));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files::{Appender, Privacy};

    fn by_name(home: &Path, session: &str) -> Option<PathBuf> {
        below(home).into_iter().find(|file| file.ends_with(session))
    }

    #[test]
    fn a_session_is_read_on_from_where_it_ended() {
        let home = tempfile::tempdir().expect("a folder");
        let new = |earlier| Recorded::new(home.path().to_path_buf(), by_name, earlier);
        let mut recorded = new(None);
        assert!(recorded.fresh(Some("t-1")).is_empty(), "no file yet");
        let open = |name: &str| Appender::open(&home.path().join(name), Privacy::Private).expect("opened");
        open("t-2").append(b"other\n").expect("appended");
        let mut file = open("t-1");
        file.append(b"one\ntw").expect("appended");
        assert!(recorded.fresh(None).is_empty(), "nobody knows which");
        assert_eq!(recorded.fresh(Some("t-1")), ["one\n"]);
        file.append(b"o\n").expect("appended");
        assert_eq!(recorded.fresh(Some("t-1")), ["two\n"]);
        let mut later = new(Some("t-1"));
        assert!(later.fresh(Some("t-1")).is_empty(), "what an earlier invocation wrote");
        file.append(b"three\n").expect("appended");
        assert_eq!(later.fresh(Some("t-1")), ["three\n"]);
    }
}
