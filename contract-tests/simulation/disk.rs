//! A disk in memory that loses what was not synced, fills up, and dies at any write.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use loa::system::disk::{Disk, Growing, Held, Kind};
use loa::system::files::{FileError, FolderIdentity, Privacy, Stamp};
use loa::system::lock::{Holder, LockError};

use crate::world::workspace;

#[derive(Debug, Default)]
struct File {
    id: u64,
    bytes: Vec<u8>,
}

impl Clone for File {
    fn clone(&self) -> Self {
        Self { id: self.id, bytes: self.bytes.clone() }
    }

    /// Keeps the memory: a journal is synced a thousand times a second.
    fn clone_from(&mut self, other: &Self) {
        self.id = other.id;
        self.bytes.clone_from(&other.bytes);
    }
}

/// Files by their paths, which are compared as bytes: that is quicker than by their parts.
type Files = BTreeMap<OsString, File>;

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
    files: Files,
    /// What a power cut leaves for certain.
    durable: Files,
    folders: BTreeSet<OsString>,
    locked: BTreeMap<OsString, u64>,
    /// Whoever holds a lock names itself by this.
    owners: u64,
    ids: u64,
    /// How often anything was changed.
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

fn moved(path: OsString, from: &Path, to: &Path) -> OsString {
    match Path::new(&path).strip_prefix(from) {
        Ok(rest) if rest == Path::new("") => to.into(),
        Ok(rest) => to.join(rest).into(),
        Err(_) => path,
    }
}

fn move_name(files: &mut Files, from: &Path, to: &Path) {
    if from != to {
        files.remove(to.as_os_str());
    }
    *files = std::mem::take(files).into_iter().map(|(path, file)| (moved(path, from, to), file)).collect();
}

impl Inner {
    /// A write is about to happen: whether whoever writes still lives, and there is room.
    fn write(&mut self, path: &Path) -> Result<(), FileError> {
        self.alive(path)?;
        if path.parent().is_some_and(|folder| !self.folders.contains(folder.as_os_str())) {
            return Err(error("write", path, io::ErrorKind::NotFound));
        }
        self.has_room(path)
    }

    fn has_room(&self, path: &Path) -> Result<(), FileError> {
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

    fn changed(&mut self, path: &Path) {
        self.changes += u64::from(!path.starts_with(workspace()));
    }

    fn put(&mut self, path: &Path, bytes: &[u8], durable: bool) {
        self.ids += 1;
        self.changed(path);
        let file = File { id: self.ids, bytes: bytes.to_vec() };
        if durable {
            self.durable.insert(path.into(), file.clone());
        }
        self.files.insert(path.into(), file);
    }
}

/// How many bytes two files have in common from their beginning on.
fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
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

    /// A number that is another one whenever anything outside the workspace was changed.
    pub(super) fn changes(&self) -> u64 {
        self.inner().changes
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
            // What both have reached the disk before, also where something torn behind it was cut off.
            let kept = durable.map_or(0, |durable| common(&durable.bytes, &file.bytes));
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
        let found =
            inner.durable.iter().find(|(path, _)| Path::new(path).ends_with(&end)).map(|(_, file)| &file.bytes[..]);
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
        inner.files.retain(|path, _| !Path::new(path).starts_with(folder));
        inner.durable.retain(|path, _| !Path::new(path).starts_with(folder));
        inner.folders.retain(|path| !Path::new(path).starts_with(folder));
        // Whoever holds a lock there holds it on what has no name any more.
        inner.locked.retain(|path, _| !Path::new(path).starts_with(folder));
        inner.changes += 1;
    }
}

impl Disk for SimDisk {
    fn kind(&self, path: &Path) -> Option<Kind> {
        let inner = self.inner();
        let is_file = inner.files.contains_key(path.as_os_str());
        is_file.then_some(Kind::File).or_else(|| inner.folders.contains(path.as_os_str()).then_some(Kind::Folder))
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.inner().folders.contains(path.as_os_str())
    }

    fn read(&self, path: &Path, _: u64) -> Result<Vec<u8>, FileError> {
        let found = self.inner().files.get(path.as_os_str()).map(|file| file.bytes.clone());
        found.ok_or_else(|| error("read", path, io::ErrorKind::NotFound))
    }

    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, FileError> {
        let inner = self.inner();
        let all = inner.files.keys().chain(&inner.folders);
        let paths = all.map(Path::new).filter(|path| path.parent() == Some(folder));
        let mut found: Vec<PathBuf> = paths.map(Path::to_path_buf).collect();
        found.sort();
        Ok(found)
    }

    fn stamp(&self, path: &Path) -> Option<Stamp> {
        let inner = self.inner();
        inner.files.get(path.as_os_str()).map(|file| (0, file.id, file.bytes.len() as u64, 0, 0))
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
        if inner.folders.contains(path.as_os_str()) {
            return Ok(());
        }
        inner.alive(path)?;
        for folder in path.ancestors() {
            inner.folders.insert(folder.into());
        }
        Ok(())
    }

    fn ensure_private_folder(&self, path: &Path) -> Result<(), FileError> {
        self.ensure_folder(path)
    }

    fn rename_all(&self, moves: &[(PathBuf, PathBuf)]) -> Result<(), FileError> {
        let mut inner = self.inner();
        for (from, to) in moves {
            inner.alive(from)?;
            let there = inner.files.contains_key(from.as_os_str()) || inner.folders.contains(from.as_os_str());
            let target = to.parent().is_none_or(|folder| inner.folders.contains(folder.as_os_str()));
            if !there || !target {
                return Err(error("move", from, io::ErrorKind::NotFound));
            }
            inner.changed(from);
            let Inner { files, folders, .. } = &mut *inner;
            move_name(files, from, to);
            *folders = std::mem::take(folders).into_iter().map(|path| moved(path, from, to)).collect();
        }
        // Durable at the end alone: whoever dies in between may lose all of them.
        for (from, to) in moves {
            move_name(&mut inner.durable, from, to);
            // What is renamed durably has its content on the disk in our use of it.
            if let Some(file) = inner.files.get(to.as_os_str()).cloned() {
                inner.durable.insert(to.into(), file);
            }
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), FileError> {
        let mut inner = self.inner();
        inner.alive(path)?;
        inner.files.remove(path.as_os_str());
        inner.durable.remove(path.as_os_str());
        inner.changed(path);
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
            inner.alive(path)?;
            if let Some(file) = inner.files.get(path.as_os_str()).cloned() {
                inner.durable.insert(path.into(), file);
            }
        }
        Ok(())
    }

    fn append_to(&self, path: &Path, _: Privacy) -> Result<Box<dyn Growing>, FileError> {
        let mut inner = self.inner();
        inner.write(path)?;
        if !inner.files.contains_key(path.as_os_str()) {
            inner.put(path, b"", true);
        }
        let id = inner.files[path.as_os_str()].id;
        Ok(Box::new(Tail { disk: self.clone(), path: path.to_path_buf(), id }))
    }

    fn lock(&self, path: &Path, _: Timestamp) -> Result<Box<dyn Held>, LockError> {
        let mut inner = self.inner();
        if inner.locked.contains_key(path.as_os_str()) && inner.wrong != Some(Wrong::LetsEverybodyIn) {
            return Err(LockError::Held { path: path.to_path_buf(), holder: None });
        }
        Ok(Box::new(take(&mut inner, path, self.clone())))
    }

    fn holder(&self, path: &Path) -> Result<Option<Holder>, FileError> {
        let held = self.inner().locked.contains_key(path.as_os_str());
        Ok(held.then_some(Holder { pid: 1, since: Timestamp::UNIX_EPOCH, ending: false }))
    }

    fn lock_folder(&self, folder: &Path) -> Result<Option<Box<dyn Debug + Send + Sync>>, FileError> {
        let mut inner = self.inner();
        if !inner.folders.contains(folder.as_os_str()) {
            return Err(error("lock", folder, io::ErrorKind::NotFound));
        }
        if inner.locked.contains_key(folder.as_os_str()) && inner.wrong != Some(Wrong::LetsEverybodyIn) {
            return Ok(None);
        }
        Ok(Some(Box::new(take(&mut inner, folder, self.clone()))))
    }

    fn is_folder_locked(&self, folder: &Path) -> Result<bool, FileError> {
        Ok(self.inner().locked.contains_key(folder.as_os_str()))
    }
}

fn take(inner: &mut Inner, path: &Path, disk: SimDisk) -> SimLock {
    inner.owners += 1;
    let owner = inner.owners;
    inner.locked.insert(path.into(), owner);
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
        inner.wrong == Some(Wrong::LetsEverybodyIn) || inner.locked.get(self.path.as_os_str()) == Some(&self.owner)
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut inner = self.disk.inner();
        if inner.locked.get(self.path.as_os_str()) == Some(&self.owner) {
            inner.locked.remove(self.path.as_os_str());
        }
    }
}

#[derive(Debug)]
struct Tail {
    disk: SimDisk,
    path: PathBuf,
    id: u64,
}

impl Tail {
    /// The name that our file has now: it may have been moved, or be gone.
    fn name(&self, files: &Files) -> Option<OsString> {
        let is_ours = |file: &File| file.id == self.id;
        let name = self.path.as_os_str();
        if files.get(name).is_some_and(is_ours) {
            return Some(name.to_owned());
        }
        files.iter().find(|(_, file)| is_ours(file)).map(|(name, _)| name.clone())
    }
}

impl Growing for Tail {
    fn append(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let mut inner = self.disk.inner();
        inner.alive(&self.path)?;
        inner.has_room(&self.path)?;
        if let Some(file) = self.name(&inner.files).and_then(|name| inner.files.get_mut(&name)) {
            file.bytes.extend_from_slice(bytes);
        }
        inner.changed(&self.path);
        Ok(())
    }

    fn sync(&self) -> Result<(), FileError> {
        let mut inner = self.disk.inner();
        inner.alive(&self.path)?;
        let Inner { files, durable, wrong, .. } = &mut *inner;
        if let Some(name) = self.name(files).filter(|_| *wrong != Some(Wrong::NeverSyncs)) {
            let file = &files[&name];
            durable.entry(name).or_default().clone_from(file);
        }
        Ok(())
    }

    fn cut_to(&self, length: u64) -> Result<(), FileError> {
        let mut inner = self.disk.inner();
        inner.alive(&self.path)?;
        let name = self.name(&inner.files).filter(|_| inner.wrong != Some(Wrong::KeepsTears));
        if let Some(file) = name.and_then(|name| inner.files.get_mut(&name)) {
            file.bytes.resize(usize::try_from(length).expect("a small file"), 0);
        }
        inner.changed(&self.path);
        Ok(())
    }

    fn length_of_name(&self) -> Result<Option<u64>, FileError> {
        let inner = self.disk.inner();
        let named = inner.files.get(self.path.as_os_str()).filter(|file| file.id == self.id);
        Ok(named.map(|file| file.bytes.len() as u64))
    }
}
