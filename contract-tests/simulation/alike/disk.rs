//! Files and locks, on the host's disk and on the simulated one.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use loa::system::disk::{self, Disk, Growing, Held};
use loa::system::files::{FileError, Privacy};
use proptest::prelude::*;

use crate::disk::SimDisk;

/// Something that is done to a disk. Numbers name files, folders, and what is held open.
#[derive(Debug, Clone)]
enum Act {
    WriteDurably(usize, Vec<u8>),
    Replace(usize, Vec<u8>),
    CreateDurably(usize, Vec<u8>),
    Rename(Vec<(usize, usize)>),
    Remove(usize),
    RemoveTree(usize),
    EnsureFolder(usize),
    Open(usize),
    Append(usize, Vec<u8>),
    CutTo(usize, u64),
    Close(usize),
    Lock(usize),
    LockFolder(usize),
    Unlock(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let (file, folder, slot) = (0..6_usize, 0..2_usize, 0..3_usize);
    let bytes = || proptest::collection::vec(any::<u8>(), 0..20);
    prop_oneof![
        (file.clone(), bytes()).prop_map(|(file, bytes)| Act::WriteDurably(file, bytes)),
        (file.clone(), bytes()).prop_map(|(file, bytes)| Act::Replace(file, bytes)),
        (file.clone(), bytes()).prop_map(|(file, bytes)| Act::CreateDurably(file, bytes)),
        proptest::collection::vec((file.clone(), file.clone()), 1..4).prop_map(Act::Rename),
        file.clone().prop_map(Act::Remove),
        folder.clone().prop_map(Act::RemoveTree),
        folder.clone().prop_map(Act::EnsureFolder),
        folder.clone().prop_map(Act::EnsureFolder),
        file.prop_map(Act::Open),
        (slot.clone(), bytes()).prop_map(|(slot, bytes)| Act::Append(slot, bytes)),
        (slot.clone(), 0..30_u64).prop_map(|(slot, length)| Act::CutTo(slot, length)),
        slot.clone().prop_map(Act::Close),
        slot.clone().prop_map(Act::Lock),
        folder.prop_map(Act::LockFolder),
        slot.prop_map(Act::Unlock),
    ]
}

/// A disk, and what is held open on it.
struct Side {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    open: Vec<Box<dyn Growing>>,
    locks: Vec<Box<dyn Held>>,
    folders: Vec<Box<dyn Debug + Send + Sync>>,
}

impl Side {
    fn new(disk: Arc<dyn Disk>, root: &Path) -> Self {
        disk.ensure_folder(&root.join("locks")).expect("a folder");
        let (open, locks, folders) = (Vec::new(), Vec::new(), Vec::new());
        Self { disk, root: root.to_path_buf(), open, locks, folders }
    }

    fn folder(&self, number: usize) -> PathBuf {
        self.root.join(format!("folder-{number}"))
    }

    fn file(&self, number: usize) -> PathBuf {
        self.folder(number / 3).join(format!("file-{}", number % 3))
    }

    /// Does it, and says what came of it.
    fn perform(&mut self, act: &Act) -> String {
        let privacy = Privacy::Private;
        let disk = self.disk.clone();
        match act {
            Act::WriteDurably(file, bytes) => said(disk.write_durably(&self.file(*file), bytes, privacy)),
            Act::Replace(file, bytes) => said(disk.replace(&self.file(*file), bytes, privacy)),
            Act::CreateDurably(file, bytes) => said(disk.create_durably(&self.file(*file), bytes, privacy)),
            Act::Rename(moves) => {
                let moves = moves.iter().map(|(from, to)| (self.file(*from), self.file(*to)));
                said(disk.rename_all(&moves.collect::<Vec<_>>()))
            }
            Act::Remove(file) => said(disk.remove(&self.file(*file))),
            Act::RemoveTree(folder) => said(disk.remove_tree(&self.folder(*folder))),
            Act::EnsureFolder(folder) => said(disk.ensure_folder(&self.folder(*folder))),
            Act::Open(file) => said(disk.append_to(&self.file(*file), privacy).map(|open| self.open.push(open))),
            Act::Append(slot, bytes) => {
                self.open.get_mut(*slot).map_or_else(String::new, |open| said(open.append(bytes)))
            }
            Act::CutTo(slot, length) => {
                self.open.get(*slot).map_or_else(String::new, |open| said(open.cut_to(*length)))
            }
            Act::Close(slot) => {
                let open = (*slot < self.open.len()).then(|| self.open.remove(*slot));
                open.map_or_else(String::new, |open| said(open.sync()))
            }
            Act::Lock(number) => {
                let taken = disk.lock(&self.root.join(format!("locks/{number}")), Timestamp::UNIX_EPOCH);
                let is_taken = taken.is_ok();
                self.locks.extend(taken);
                is_taken.to_string()
            }
            Act::LockFolder(folder) => match disk.lock_folder(&self.folder(*folder)) {
                Ok(taken) => {
                    let is_taken = taken.is_some();
                    self.folders.extend(taken);
                    is_taken.to_string()
                }
                Err(_) => "no such folder".to_owned(),
            },
            Act::Unlock(slot) => {
                let _ = (*slot < self.locks.len()).then(|| self.locks.remove(*slot));
                let _ = (*slot < self.folders.len()).then(|| self.folders.remove(*slot));
                String::new()
            }
        }
    }

    /// All that can be seen.
    fn seen(&self) -> String {
        let mut seen = Vec::new();
        for folder in 0..2 {
            let path = self.folder(folder);
            let listed = self.disk.list(&path).map(|all| all.iter().map(|it| it.file_name().map(Into::into)).collect());
            let listed: Vec<Option<std::ffi::OsString>> = listed.expect("readable");
            seen.push(format!("{folder} {} {listed:?}", self.disk.is_folder(&path)));
        }
        for file in 0..6 {
            let path = self.file(file);
            let content = self.disk.read(&path, 1_000).map_err(|error| error.source.kind());
            seen.push(format!("{file} {:?} {content:?}", self.disk.kind(&path)));
        }
        for open in &self.open {
            seen.push(format!("open {:?}", open.length_of_name().map_err(|error| error.source.kind())));
        }
        for number in 0..3 {
            let holder = self.disk.holder(&self.root.join(format!("locks/{number}"))).expect("readable");
            seen.push(format!("lock {number} {}", holder.is_some()));
        }
        for lock in &self.locks {
            seen.push(format!("held {}", lock.has_its_name()));
        }
        seen.join("\n")
    }
}

fn said(result: Result<(), FileError>) -> String {
    format!("{:?}", result.map_err(|error| error.source.kind()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_done_to_both_disks_comes_to_the_same(acts in proptest::collection::vec(act(), 1..40)) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut host = Side::new(disk::host(), folder.path());
        let mut simulated = Side::new(Arc::new(SimDisk::default()), Path::new("/simulated"));
        for act in &acts {
            prop_assert_eq!(host.perform(act), simulated.perform(act), "{:?}", act);
            prop_assert_eq!(host.seen(), simulated.seen(), "after {:?}", act);
        }
    }
}
