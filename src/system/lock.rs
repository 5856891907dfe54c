//! One owner at a time: an advisory lock on a file that says who holds it.
//!
//! The kernel drops the lock when its holder dies by any cause, so a stale one is recognised by being free and is never
//! guessed from a process id or an age. The text inside only tells a refused second comer whom to look for.
#![expect(clippy::disallowed_methods, reason = "the lock's file is opened in place: renaming it would lose the lock")]

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::files::{FileError, is_absent};

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// When it took the lock.
    pub since: Timestamp,
    /// It is ending its processes and will let go soon.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ending: bool,
}

impl Holder {
    /// In words, for people.
    #[must_use]
    pub fn words(&self) -> String {
        match self.pid {
            0 => "a process that its lock does not name".to_owned(),
            pid => format!("process {pid} since {}", self.since),
        }
    }

    /// Whether it lets go soon: it says so, or its process is gone and the host has not noticed yet.
    #[must_use]
    pub fn is_dying(&self) -> bool {
        let status = || std::fs::read_to_string(format!("/proc/{}/status", self.pid));
        self.ending || self.pid != 0 && status().map_or(true, |status| is_killed(&status))
    }
}

/// Whether a process is gone, or was killed and is about to go, by its `/proc/<pid>/status`.
fn is_killed(status: &str) -> bool {
    const SIGKILL: u64 = 1 << 8;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    let waits = |name: &str| u64::from_str_radix(field(name), 16).is_ok_and(|signals| signals & SIGKILL != 0);
    matches!(field("State:").chars().next(), Some('Z' | 'X')) || waits("SigPnd:") || waits("ShdPnd:")
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else holds it.
    #[error("{} is held by {}", path.display(), describe(holder.as_ref()))]
    Held {
        /// The lock's file.
        path: PathBuf,
        /// Who, unless the holder has not written it yet.
        holder: Option<Holder>,
    },
    /// The file could not be opened, read, written or locked.
    #[error(transparent)]
    File(#[from] FileError),
}

fn describe(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another process".to_owned(), Holder::words)
}

/// A lock that is held until this value is dropped or the process dies.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    holder: Holder,
}

/// A lock on a folder itself: it holds whatever happens to the files in it. Nobody is named in it.
#[derive(Debug)]
pub struct FolderLock {
    folder: File,
}

// Closing would do, but for a child that was just started: until it becomes its program it holds the file open too.
impl Drop for Lock {
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        let _ = flock(&self.folder, FlockOperation::Unlock);
    }
}

impl FolderLock {
    /// Takes the lock at once; `None` when somebody has it.
    ///
    /// # Errors
    /// [`FileError`] when the folder cannot be opened or locked.
    pub fn take(folder: &Path) -> Result<Option<Self>, FileError> {
        Self::with(folder, FlockOperation::NonBlockingLockExclusive)
    }

    /// Whether somebody holds the lock.
    ///
    /// # Errors
    /// [`FileError`] when the folder cannot be opened.
    pub fn is_held(folder: &Path) -> Result<bool, FileError> {
        Ok(Self::with(folder, FlockOperation::NonBlockingLockShared)?.is_none())
    }

    fn with(folder: &Path, operation: FlockOperation) -> Result<Option<Self>, FileError> {
        let failed = |source| FileError { action: "lock", path: folder.to_path_buf(), source };
        let open = File::open(folder).map_err(failed)?;
        match flock(&open, operation) {
            Ok(()) => Ok(Some(Self { folder: open })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            // A file system without locks is no reason not to work; the other witnesses remain.
            Err(rustix::io::Errno::NOTSUP | rustix::io::Errno::NOSYS | rustix::io::Errno::INVAL) => {
                Ok(Some(Self { folder: open }))
            }
            Err(error) => Err(failed(error.into())),
        }
    }
}

impl Lock {
    /// Takes the lock at once or says who has it; `now` is written inside.
    ///
    /// # Errors
    /// [`LockError::Held`] when somebody has it; [`LockError::File`] when the file cannot be used.
    pub fn take(path: &Path, now: Timestamp) -> Result<Self, LockError> {
        let failed = |source| FileError { action: "lock", path: path.to_path_buf(), source };
        refuse_other_than_files(path)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(LockError::Held { path: path.to_path_buf(), holder: read_holder(&mut file) });
            }
            Err(error) => return Err(failed(error.into()).into()),
        }
        let holder = Holder { pid: std::process::id(), since: now, ending: false };
        let mut lock = Self { file, path: path.to_path_buf(), holder };
        lock.write()?;
        Ok(lock)
    }

    /// Says in the lock that its holder lets go soon.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn say_ending(&mut self) -> Result<(), FileError> {
        self.holder.ending = true;
        self.write()
    }

    /// Whether the file that we hold still has its name: somebody who removed it could take another one.
    #[must_use]
    pub fn has_its_name(&self) -> bool {
        let named = std::fs::symlink_metadata(&self.path);
        let ours = self.file.metadata();
        matches!((named, ours), (Ok(named), Ok(ours)) if (named.dev(), named.ino()) == (ours.dev(), ours.ino()))
    }

    fn write(&mut self) -> Result<(), FileError> {
        let failed = |source| FileError { action: "lock", path: self.path.clone(), source };
        let text = serde_json::to_string(&self.holder).map_err(|error| failed(error.into()))? + "\n";
        let file = &mut self.file;
        // In one go, and shortened behind it: whoever reads meanwhile must not find nobody.
        let written = file.rewind().and_then(|()| file.write_all(text.as_bytes()));
        written.and_then(|()| file.set_len(text.len() as u64)).map_err(failed)
    }

    /// Who holds the lock now; `None` when nobody does.
    ///
    /// # Errors
    /// [`FileError`] when the file is there and cannot be used.
    pub fn holder(path: &Path) -> Result<Option<Holder>, FileError> {
        let failed = |source| FileError { action: "look at the lock", path: path.to_path_buf(), source };
        if refuse_other_than_files(path).is_err() {
            // Nobody locks a pipe, a folder or a link.
            return Ok(None);
        }
        let mut file = match File::open(path) {
            Err(error) if is_absent(&error) => return Ok(None),
            file => file.map_err(failed)?,
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(None),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                // Between taking the lock and writing its name a holder is anonymous, and present all the same.
                Ok(Some(read_holder(&mut file).unwrap_or(Holder {
                    pid: 0,
                    since: Timestamp::UNIX_EPOCH,
                    ending: false,
                })))
            }
            Err(error) => Err(failed(error.into())),
        }
    }
}

/// Asked before opening: opening a named pipe waits for its other end.
fn refuse_other_than_files(path: &Path) -> Result<(), FileError> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no regular file");
            Err(FileError { action: "lock", path: path.to_path_buf(), source })
        }
        _ => Ok(()),
    }
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_killed_is_about_to_let_go() {
        for (status, killed) in [
            ("State:\tR (running)\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n", false),
            ("State:\tZ (zombie)\n", true),
            ("State:\tt (tracing stop)\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n", true),
            ("State:\tD (disk sleep)\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n", true),
            ("State:\tS (sleeping)\nSigPnd:\t0000000000004000\nShdPnd:\t0000000000000000\n", false),
        ] {
            assert_eq!(is_killed(status), killed, "{status}");
        }
        assert!(!Holder { pid: std::process::id(), since: Timestamp::UNIX_EPOCH, ending: false }.is_dying());
    }

    #[test]
    fn the_second_is_refused_and_told_who_until_the_first_lets_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let now: Timestamp = "2026-01-31T14:00:00Z".parse().expect("a timestamp");
        let first = Lock::take(&path, now).expect("free");
        let refused = Lock::take(&path, now).expect_err("held").to_string();
        let me = std::process::id();
        assert!(refused.contains(&format!("process {me} since 2026-01-31T14:00:00Z")), "{refused}");
        assert_eq!(Lock::holder(&path).expect("looked"), Some(Holder { pid: me, since: now, ending: false }));
        drop(first);
        assert_eq!(Lock::holder(&path).expect("looked"), None, "the text is still there and means nothing");
        Lock::take(&path, now).expect("free again");
    }

    #[test]
    fn a_holder_that_says_that_it_is_ending_is_never_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let mut lock = Lock::take(&path, Timestamp::UNIX_EPOCH).expect("free");
        let (looked, me) = (path.clone(), std::process::id());
        let looks = std::thread::spawn(move || {
            (0..20_000).all(|_| Lock::holder(&looked).expect("looked").is_some_and(|holder| holder.pid == me))
        });
        while !looks.is_finished() {
            lock.say_ending().expect("written");
        }
        assert!(looks.join().expect("looked"));
    }
}
