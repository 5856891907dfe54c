//! Follows the file in which Codex records a session: `<home>/sessions/<year>/<month>/<day>/rollout-…-<thread>.jsonl`.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Reads what is appended to the session's file, line by line.
#[derive(Debug)]
pub(super) struct Rollout {
    home: PathBuf,
    file: Option<PathBuf>,
    position: u64,
    half: Vec<u8>,
}

impl Rollout {
    /// The file of an earlier session is read from where it ends now; that of a new session from its beginning.
    pub(super) fn new(home: PathBuf, earlier: Option<&str>) -> Self {
        let file = earlier.and_then(|thread| find(&home, thread));
        let position = file.as_deref().and_then(|file| fs::metadata(file).ok()).map_or(0, |file| file.len());
        Self { home, file, position, half: Vec::new() }
    }

    /// The complete lines that came since the last call; none while nobody knows the thread or its file.
    pub(super) fn fresh(&mut self, thread: Option<&str>) -> Vec<String> {
        if self.file.is_none() {
            self.file = thread.and_then(|thread| find(&self.home, thread));
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

fn read_from(file: &Path, position: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(file)?;
    let mut bytes = Vec::new();
    if file.metadata()?.len() > position {
        file.seek(SeekFrom::Start(position))?;
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The newest day first: a session is far more often of today than of last year.
fn find(home: &Path, thread: &str) -> Option<PathBuf> {
    let ending = format!("-{thread}.jsonl");
    let days = below(&home.join("sessions")).into_iter().flat_map(|year| below(&year)).flat_map(|month| below(&month));
    let mut files = days.flat_map(|day| below(&day));
    files.find(|file| file.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&ending)))
}

/// What a folder holds, the last by name first; nothing where it cannot be listed.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort_unstable_by(|one, other| other.cmp(one));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files::{Appender, Privacy, ensure_folder};

    #[test]
    fn a_session_is_found_by_its_thread_and_read_on_from_where_it_ended() {
        let home = tempfile::tempdir().expect("a folder");
        let day = home.path().join("sessions/2026/01/31");
        let mut rollout = Rollout::new(home.path().to_path_buf(), None);
        assert!(rollout.fresh(Some("t-1")).is_empty(), "no file yet");
        ensure_folder(&day).expect("made");
        let open = |name: &str| Appender::open(&day.join(name), Privacy::Private).expect("opened");
        open("rollout-2026-01-31T00-00-00-t-2.jsonl").append(b"other\n").expect("appended");
        let mut file = open("rollout-2026-01-31T00-00-00-t-1.jsonl");
        file.append(b"one\ntw").expect("appended");
        assert!(rollout.fresh(None).is_empty(), "nobody knows which");
        assert_eq!(rollout.fresh(Some("t-1")), ["one\n"]);
        file.append(b"o\n").expect("appended");
        assert_eq!(rollout.fresh(Some("t-1")), ["two\n"]);
        let mut later = Rollout::new(home.path().to_path_buf(), Some("t-1"));
        assert!(later.fresh(Some("t-1")).is_empty(), "what an earlier invocation wrote");
        file.append(b"three\n").expect("appended");
        assert_eq!(later.fresh(Some("t-1")), ["three\n"]);
    }
}
