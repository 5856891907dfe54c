//! A disk in memory that loses what was not synced, fills up, and dies at any write.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use loa::system::disk::{Disk, Growing, Held, Kind};
use loa::system::files::{FileError, FolderIdentity, Privacy, Stamp};
use loa::system::lock::{Holder, LockError};

#[derive(Debug, Clone, Default)]
struct File {
    id: u64,
    bytes: Vec<u8>,
}

/// A planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// A sync does nothing.
    NeverSyncs,
    /// A lock is given to everybody.
    LetsEverybodyIn,
    /// A torn end is not cut off.
    KeepsTears,
    /// Documents of phases are not written.
    WritesNoDocuments,
}

#[derive(Debug, Default)]
struct Inner {
    files: BTreeMap<PathBuf, File>,
    /// What a power cut leaves for certain.
    durable: BTreeMap<PathBuf, File>,
    folders: BTreeSet<PathBuf>,
    locked: BTreeMap<PathBuf, u64>,
    /// Whoever holds a lock names itself by this.
    owners: u64,
    ids: u64,
    changes: u64,
    /// So many more writes succeed before the process that writes is dead.
    lives: Option<u64>,
    full: bool,
    wrong: Option<Wrong>,
}

/// The disk. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub(super) struct SimDisk(Arc<Mutex<Inner>>);

fn error(action: &'static str, path: &Path, kind: io::ErrorKind) -> FileError {
    FileError { action, path: path.to_path_buf(), source: kind.into() }
}

impl Inner {
    /// A write is about to happen: whether whoever writes still lives, and there is room.
    fn write(&mut self, path: &Path) -> Result<(), FileError> {
        self.alive(path)?;
        if self.full { Err(error("write", path, io::ErrorKind::StorageFull)) } else { Ok(()) }
    }

    fn alive(&mut self, path: &Path) -> Result<(), FileError> {
        match &mut self.lives {
            Some(0) => return Err(error("write", path, io::ErrorKind::Interrupted)),
            Some(lives) => *lives -= 1,
            None => {}
        }
        Ok(())
    }

    fn put(&mut self, path: &Path, bytes: &[u8], durable: bool) {
        self.ids += 1;
        self.changes += 1;
        let file = File { id: self.ids, bytes: bytes.to_vec() };
        if durable {
            self.durable.insert(path.to_path_buf(), file.clone());
        }
        self.files.insert(path.to_path_buf(), file);
    }
}

impl SimDisk {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After so many more writes whoever writes is dead; `None` lets everybody live.
    pub(super) fn die_after(&self, writes: Option<u64>) {
        self.inner().lives = writes;
    }

    pub(super) fn is_dead(&self) -> bool {
        self.inner().lives == Some(0)
    }

    pub(super) fn fill(&self, full: bool) {
        self.inner().full = full;
    }

    pub(super) fn plant(&self, wrong: Wrong) {
        self.inner().wrong = Some(wrong);
    }

    /// The host let go of every lock of a process that died.
    pub(super) fn release_locks(&self) {
        self.inner().locked.clear();
    }

    /// The power is cut. What was not synced is there, is torn, or is what it was before, as `chance` has it.
    pub(super) fn cut_power(&self, chance: &mut fastrand::Rng) {
        let mut inner = self.inner();
        let mut left = inner.durable.clone();
        for (path, file) in &inner.files {
            let durable = inner.durable.get(path);
            if durable.is_some_and(|durable| durable.bytes == file.bytes) {
                continue;
            }
            let kept = durable.filter(|durable| file.bytes.starts_with(&durable.bytes)).map_or(0, |it| it.bytes.len());
            let bytes = match chance.u8(0..4) {
                0 => continue,
                1 => file.bytes.clone(),
                2 => file.bytes[..chance.usize(kept..=file.bytes.len())].to_vec(),
                _ => {
                    let mut torn = file.bytes[..chance.usize(kept..=file.bytes.len())].to_vec();
                    torn.resize(file.bytes.len(), 0);
                    torn
                }
            };
            left.insert(path.clone(), File { id: file.id, bytes });
        }
        inner.files.clone_from(&left);
        inner.durable = left;
        inner.changes += 1;
    }

    /// The end of the journal of an execution that a power cut would leave.
    pub(super) fn durable_journal(&self, execution: &str) -> String {
        let end = Path::new(execution).join("journal.jsonl");
        let inner = self.inner();
        let found = inner.durable.iter().find(|(path, _)| path.ends_with(&end)).map(|(_, file)| &file.bytes[..]);
        let bytes = found.unwrap_or_default();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(4_000)..]).into_owned()
    }

    /// Somebody who is not the owner writes a file.
    pub(super) fn forge(&self, path: &Path, bytes: &[u8]) {
        self.inner().put(path, bytes, false);
    }

    /// Somebody who is not the owner removes a folder.
    pub(super) fn wipe(&self, folder: &Path) {
        let mut inner = self.inner();
        inner.files.retain(|path, _| !path.starts_with(folder));
        inner.durable.retain(|path, _| !path.starts_with(folder));
        inner.folders.retain(|path| !path.starts_with(folder));
        inner.changes += 1;
    }
}

impl Disk for SimDisk {
    fn kind(&self, path: &Path) -> Option<Kind> {
        let inner = self.inner();
        let is_file = inner.files.contains_key(path);
        is_file.then_some(Kind::File).or_else(|| inner.folders.contains(path).then_some(Kind::Folder))
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.inner().folders.contains(path)
    }

    fn read(&self, path: &Path, _: u64) -> Result<Vec<u8>, FileError> {
        let found = self.inner().files.get(path).map(|file| file.bytes.clone());
        found.ok_or_else(|| error("read", path, io::ErrorKind::NotFound))
    }

    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, FileError> {
        let inner = self.inner();
        let all = inner.files.keys().chain(&inner.folders);
        let mut found: Vec<PathBuf> = all.filter(|path| path.parent() == Some(folder)).cloned().collect();
        found.sort();
        Ok(found)
    }

    fn stamp(&self, path: &Path) -> Option<Stamp> {
        let inner = self.inner();
        inner.files.get(path).map(|file| (0, file.id, file.bytes.len() as u64, 0, 0))
    }

    fn modified(&self, _: &Path) -> Option<Timestamp> {
        None
    }

    fn size_of_tree(&self, _: &Path) -> u64 {
        0
    }

    fn identity(&self, _: &Path) -> Result<FolderIdentity, FileError> {
        Ok(FolderIdentity { device: 1, inode: 1, born: Some(1) })
    }

    fn write_durably(&self, path: &Path, content: &[u8], _: Privacy) -> Result<(), FileError> {
        let mut inner = self.inner();
        inner.write(path)?;
        inner.put(path, content, true);
        Ok(())
    }

    fn replace(&self, path: &Path, content: &[u8], _: Privacy) -> Result<(), FileError> {
        let mut inner = self.inner();
        inner.write(path)?;
        if inner.wrong != Some(Wrong::WritesNoDocuments) {
            inner.put(path, content, false);
        }
        Ok(())
    }

    fn create_durably(&self, path: &Path, content: &[u8], privacy: Privacy) -> Result<(), FileError> {
        if self.kind(path).is_some() {
            return Err(error("create", path, io::ErrorKind::AlreadyExists));
        }
        self.write_durably(path, content, privacy)
    }

    fn ensure_folder(&self, path: &Path) -> Result<(), FileError> {
        let mut inner = self.inner();
        for folder in path.ancestors() {
            inner.folders.insert(folder.to_path_buf());
        }
        Ok(())
    }

    fn ensure_private_folder(&self, path: &Path) -> Result<(), FileError> {
        self.ensure_folder(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), FileError> {
        let mut inner = self.inner();
        inner.alive(from)?;
        let moved = |path: &Path| {
            path.strip_prefix(from)
                .ok()
                .map(|rest| if rest == Path::new("") { to.to_path_buf() } else { to.join(rest) })
        };
        for durable in [false, true] {
            let files = if durable { &mut inner.durable } else { &mut inner.files };
            *files =
                std::mem::take(files).into_iter().map(|(path, file)| (moved(&path).unwrap_or(path), file)).collect();
        }
        inner.folders = inner.folders.iter().map(|path| moved(path).unwrap_or_else(|| path.clone())).collect();
        // What is renamed durably has its content on the disk in our use of it.
        if let Some(file) = inner.files.get(to).cloned() {
            inner.durable.insert(to.to_path_buf(), file);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), FileError> {
        let mut inner = self.inner();
        inner.alive(path)?;
        inner.files.remove(path);
        inner.durable.remove(path);
        Ok(())
    }

    fn remove_tree(&self, path: &Path) -> Result<(), FileError> {
        self.inner().alive(path)?;
        self.wipe(path);
        Ok(())
    }

    fn remove_unfinished(&self, _: &Path) -> Result<(), FileError> {
        Ok(())
    }

    fn sync_all(&self, paths: &[PathBuf]) -> Result<(), FileError> {
        let mut inner = self.inner();
        for path in paths {
            if let Some(file) = inner.files.get(path).cloned() {
                inner.durable.insert(path.clone(), file);
            }
        }
        Ok(())
    }

    fn append_to(&self, path: &Path, _: Privacy) -> Result<Box<dyn Growing>, FileError> {
        let mut inner = self.inner();
        inner.write(path)?;
        if !inner.files.contains_key(path) {
            inner.put(path, b"", true);
        }
        let id = inner.files[path].id;
        Ok(Box::new(Tail { disk: self.clone(), path: path.to_path_buf(), id }))
    }

    fn lock(&self, path: &Path, _: Timestamp) -> Result<Box<dyn Held>, LockError> {
        let mut inner = self.inner();
        if inner.locked.contains_key(path) && inner.wrong != Some(Wrong::LetsEverybodyIn) {
            return Err(LockError::Held { path: path.to_path_buf(), holder: None });
        }
        Ok(Box::new(take(&mut inner, path, self.clone())))
    }

    fn holder(&self, path: &Path) -> Result<Option<Holder>, FileError> {
        let held = self.inner().locked.contains_key(path);
        Ok(held.then_some(Holder { pid: 1, since: Timestamp::UNIX_EPOCH, ending: false }))
    }

    fn lock_folder(&self, folder: &Path) -> Result<Option<Box<dyn Debug + Send + Sync>>, FileError> {
        let mut inner = self.inner();
        if inner.locked.contains_key(folder) && inner.wrong != Some(Wrong::LetsEverybodyIn) {
            return Ok(None);
        }
        Ok(Some(Box::new(take(&mut inner, folder, self.clone()))))
    }

    fn is_folder_locked(&self, folder: &Path) -> Result<bool, FileError> {
        Ok(self.inner().locked.contains_key(folder))
    }
}

fn take(inner: &mut Inner, path: &Path, disk: SimDisk) -> SimLock {
    inner.owners += 1;
    let owner = inner.owners;
    inner.locked.insert(path.to_path_buf(), owner);
    SimLock { disk, path: path.to_path_buf(), owner }
}

#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    path: PathBuf,
    owner: u64,
}

impl Held for SimLock {
    fn say_ending(&mut self) -> Result<(), FileError> {
        Ok(())
    }

    fn has_its_name(&self) -> bool {
        let inner = self.disk.inner();
        inner.wrong == Some(Wrong::LetsEverybodyIn) || inner.locked.get(&self.path) == Some(&self.owner)
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut inner = self.disk.inner();
        if inner.locked.get(&self.path) == Some(&self.owner) {
            inner.locked.remove(&self.path);
        }
    }
}

#[derive(Debug)]
struct Tail {
    disk: SimDisk,
    path: PathBuf,
    id: u64,
}

impl Growing for Tail {
    fn append(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let mut inner = self.disk.inner();
        inner.write(&self.path)?;
        let id = self.id;
        let ours = inner.files.get_mut(&self.path).filter(|file| file.id == id);
        if let Some(file) = ours {
            file.bytes.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), FileError> {
        let mut inner = self.disk.inner();
        inner.alive(&self.path)?;
        let ours = inner.files.get(&self.path).filter(|file| file.id == self.id).cloned();
        if let Some(file) = ours.filter(|_| inner.wrong != Some(Wrong::NeverSyncs)) {
            inner.durable.insert(self.path.clone(), file);
        }
        Ok(())
    }

    fn cut_to(&self, length: u64) -> Result<(), FileError> {
        let mut inner = self.disk.inner();
        let keeps = inner.wrong == Some(Wrong::KeepsTears);
        if let Some(file) = inner.files.get_mut(&self.path).filter(|file| file.id == self.id && !keeps) {
            file.bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        }
        Ok(())
    }

    fn length_of_name(&self) -> Result<Option<u64>, FileError> {
        let inner = self.disk.inner();
        let named = inner.files.get(&self.path).filter(|file| file.id == self.id);
        Ok(named.map(|file| file.bytes.len() as u64))
    }
}
