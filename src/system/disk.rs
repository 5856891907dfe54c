//! The disk as a port: what the store and the owner of an execution do with files, so that a test may put a disk in its
//! place that loses what was not synced, fills up, or fails.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::files::{self, Appender, FileError, FolderIdentity, Privacy, Stamp};
use super::lock::{FolderLock, Holder, Lock, LockError};

/// What has a name on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Anything else, links among them.
    Other,
}

/// A disk. Each function means what its namesake in [`files`] and [`super::lock`] means.
#[expect(missing_docs, reason = "the namesakes are documented")]
#[expect(clippy::missing_errors_doc, reason = "the namesakes are documented")]
pub trait Disk: Debug + Send + Sync {
    fn kind(&self, path: &Path) -> Option<Kind>;
    fn is_folder(&self, path: &Path) -> bool;
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FileError>;
    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, FileError>;
    fn stamp(&self, path: &Path) -> Option<Stamp>;
    fn modified(&self, path: &Path) -> Option<Timestamp>;
    fn size_of_tree(&self, folder: &Path) -> u64;
    fn identity(&self, folder: &Path) -> Result<FolderIdentity, FileError>;

    fn write_durably(&self, path: &Path, content: &[u8], privacy: Privacy) -> Result<(), FileError>;
    fn replace(&self, path: &Path, content: &[u8], privacy: Privacy) -> Result<(), FileError>;
    fn create_durably(&self, path: &Path, content: &[u8], privacy: Privacy) -> Result<(), FileError>;
    fn ensure_folder(&self, path: &Path) -> Result<(), FileError>;
    fn ensure_private_folder(&self, path: &Path) -> Result<(), FileError>;
    fn rename(&self, from: &Path, to: &Path) -> Result<(), FileError> {
        self.rename_all(&[(from.to_owned(), to.to_owned())])
    }
    fn rename_all(&self, moves: &[(PathBuf, PathBuf)]) -> Result<(), FileError>;
    fn remove(&self, path: &Path) -> Result<(), FileError>;
    fn remove_tree(&self, path: &Path) -> Result<(), FileError>;
    fn remove_unfinished(&self, folder: &Path) -> Result<(), FileError>;
    fn sync_all(&self, paths: &[PathBuf]) -> Result<(), FileError>;
    fn append_to(&self, path: &Path, privacy: Privacy) -> Result<Box<dyn Growing>, FileError>;

    fn lock(&self, path: &Path, now: Timestamp) -> Result<Box<dyn Held>, LockError>;
    fn holder(&self, path: &Path) -> Result<Option<Holder>, FileError>;
    fn lock_folder(&self, folder: &Path) -> Result<Option<Box<dyn Debug + Send + Sync>>, FileError>;
    fn is_folder_locked(&self, folder: &Path) -> Result<bool, FileError>;
}

/// A file that grows at its end; see [`Appender`].
#[expect(missing_docs, reason = "the namesakes are documented")]
#[expect(clippy::missing_errors_doc, reason = "the namesakes are documented")]
pub trait Growing: Debug + Send + Sync {
    fn append(&mut self, bytes: &[u8]) -> Result<(), FileError>;
    fn sync(&self) -> Result<(), FileError>;
    fn cut_to(&self, length: u64) -> Result<(), FileError>;
    fn length_of_name(&self) -> Result<Option<u64>, FileError>;
}

/// A lock that is held until it is dropped; see [`Lock`].
#[expect(missing_docs, reason = "the namesakes are documented")]
#[expect(clippy::missing_errors_doc, reason = "the namesakes are documented")]
pub trait Held: Debug + Send + Sync {
    fn say_ending(&mut self) -> Result<(), FileError>;
    fn has_its_name(&self) -> bool;
}

/// The disk of this host.
#[must_use]
pub fn host() -> Arc<dyn Disk> {
    Arc::new(Host)
}

#[derive(Debug)]
struct Host;

impl Disk for Host {
    fn kind(&self, path: &Path) -> Option<Kind> {
        files::kind(path)
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
        files::read(path, limit)
    }

    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, FileError> {
        files::list(folder)
    }

    fn stamp(&self, path: &Path) -> Option<Stamp> {
        files::stamp(path)
    }

    fn modified(&self, path: &Path) -> Option<Timestamp> {
        files::modified(path)
    }

    fn size_of_tree(&self, folder: &Path) -> u64 {
        files::size_of_tree(folder)
    }

    fn identity(&self, folder: &Path) -> Result<FolderIdentity, FileError> {
        FolderIdentity::of(folder)
    }

    fn write_durably(&self, path: &Path, content: &[u8], privacy: Privacy) -> Result<(), FileError> {
        files::write_durably(path, content, privacy)
    }

    fn replace(&self, path: &Path, content: &[u8], privacy: Privacy) -> Result<(), FileError> {
        files::replace(path, content, privacy)
    }

    fn create_durably(&self, path: &Path, content: &[u8], privacy: Privacy) -> Result<(), FileError> {
        files::create_durably(path, content, privacy)
    }

    fn ensure_folder(&self, path: &Path) -> Result<(), FileError> {
        files::ensure_folder(path)
    }

    fn ensure_private_folder(&self, path: &Path) -> Result<(), FileError> {
        files::ensure_private_folder(path)
    }

    fn rename_all(&self, moves: &[(PathBuf, PathBuf)]) -> Result<(), FileError> {
        files::rename_all(moves)
    }

    fn remove(&self, path: &Path) -> Result<(), FileError> {
        files::remove(path)
    }

    fn remove_tree(&self, path: &Path) -> Result<(), FileError> {
        files::remove_tree(path)
    }

    fn remove_unfinished(&self, folder: &Path) -> Result<(), FileError> {
        files::remove_unfinished(folder)
    }

    fn sync_all(&self, paths: &[PathBuf]) -> Result<(), FileError> {
        files::sync_all(paths)
    }

    fn append_to(&self, path: &Path, privacy: Privacy) -> Result<Box<dyn Growing>, FileError> {
        Ok(Box::new(Appender::open(path, privacy)?))
    }

    fn lock(&self, path: &Path, now: Timestamp) -> Result<Box<dyn Held>, LockError> {
        Ok(Box::new(Lock::take(path, now)?))
    }

    fn holder(&self, path: &Path) -> Result<Option<Holder>, FileError> {
        Lock::holder(path)
    }

    fn lock_folder(&self, folder: &Path) -> Result<Option<Box<dyn Debug + Send + Sync>>, FileError> {
        Ok(FolderLock::take(folder)?.map(|lock| Box::new(lock) as Box<dyn Debug + Send + Sync>))
    }

    fn is_folder_locked(&self, folder: &Path) -> Result<bool, FileError> {
        FolderLock::is_held(folder)
    }
}

impl Growing for Appender {
    fn append(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        Self::append(self, bytes)
    }

    fn sync(&self) -> Result<(), FileError> {
        Self::sync(self)
    }

    fn cut_to(&self, length: u64) -> Result<(), FileError> {
        Self::cut_to(self, length)
    }

    fn length_of_name(&self) -> Result<Option<u64>, FileError> {
        Self::length_of_name(self)
    }
}

impl Held for Lock {
    fn say_ending(&mut self) -> Result<(), FileError> {
        Self::say_ending(self)
    }

    fn has_its_name(&self) -> bool {
        Self::has_its_name(self)
    }
}
