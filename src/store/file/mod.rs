//! The store of one machine: files, locks, and one process at a time.
//!
//! `journal` is the form of an execution's journal; `lease` is what makes one process the owner.

mod journal;
mod lease;

use std::path::{Path, PathBuf};

use jiff::Timestamp;

pub use self::journal::Head;
use self::journal::{Contents, OpenJournal, read};
use self::lease::Lease;
use super::format::bytes;
use super::{Claimed, Durability, Layout, Place, Recorded, RunStore, StoreError, Summary};
use crate::contract::ExecutionId;
use crate::events::{Envelope, PinnedFile, State};
use crate::system::disk::Disk;
use crate::system::files::{FileError, Privacy};
use crate::system::lock::{Holder, LockError};

/// The folder beside a journal in which texts are kept.
const KEPT: &str = "pinned";

/// Executions as files under a [`Place`].
#[derive(Debug)]
pub struct FileStore {
    place: Place,
    layout: Layout,
    lease: Option<Lease>,
    journal: Option<OpenJournal>,
}

impl FileStore {
    /// The store of a workspace. Nothing is read or made yet.
    #[must_use]
    pub fn new(place: Place, layout: Layout) -> Self {
        Self { place, layout, lease: None, journal: None }
    }

    /// Where its files lie.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    fn disk(&self) -> &dyn Disk {
        self.place.disk().as_ref()
    }

    fn current_name(&self) -> Result<Option<ExecutionId>, StoreError> {
        let named = bytes(self.disk(), &self.place.current())?.and_then(|bytes| String::from_utf8(bytes).ok());
        match named.and_then(|name| ExecutionId::new(name.trim()).ok()) {
            Some(named) if self.disk().kind(&self.place.journal(&named)).is_some() => Ok(Some(named)),
            // Lost, or torn, whatever is left of it may name: the journals are there, and the newest that got beyond its beginning is meant.
            _ => self.newest(),
        }
    }

    fn newest(&self) -> Result<Option<ExecutionId>, StoreError> {
        let mut newest = None;
        for folder in self.run_folders()? {
            let Some(contents) = read(self.disk(), &folder.join("journal.jsonl"))? else { continue };
            let (Some(state), Some(last)) = (State::fold(&contents.envelopes), contents.envelopes.last()) else {
                continue;
            };
            if last.seq > 1 && newest.as_ref().is_none_or(|(at, _)| *at < last.at) {
                newest = Some((last.at, state.execution_id));
            }
        }
        Ok(newest.map(|(_, execution)| execution))
    }

    /// The folders of executions; what begins with a dot is being removed.
    fn run_folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        let is_hidden =
            |folder: &PathBuf| folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let mut folders = self.disk().list(&self.place.runs())?;
        folders.retain(|folder| self.disk().is_folder(folder) && !is_hidden(folder));
        Ok(folders)
    }

    /// Removes what an owner left half written or half removed when it died.
    fn clear_up(&self) -> Result<(), StoreError> {
        self.disk().remove_unfinished(&self.place.folder())?;
        for folder in self.disk().list(&self.place.runs())? {
            if self.disk().is_folder(&folder) && self.disk().kind(&folder.join("journal.jsonl")).is_none() {
                self.disk().remove_tree(&folder)?;
            } else {
                self.disk().remove_unfinished(&folder)?;
                self.disk().remove_unfinished(&folder.join(KEPT))?;
            }
        }
        Ok(())
    }

    fn contents(&self, execution: &ExecutionId) -> Result<Option<Contents>, StoreError> {
        read(self.disk(), &self.place.journal(execution))
    }

    fn recorded(&self, execution: &ExecutionId) -> Result<Option<Recorded>, StoreError> {
        let Some(contents) = self.contents(execution)? else { return Ok(None) };
        let head = contents.head();
        let state = State::fold(&contents.envelopes);
        // A journal whose very first event was torn has begun nothing.
        let length = (!contents.torn).then_some(contents.length);
        Ok(state.map(|state| Recorded { state, envelopes: contents.envelopes, heads: contents.heads, head, length }))
    }
}

impl RunStore for FileStore {
    fn claim(&mut self, now: Timestamp, patient: bool) -> Result<Claimed, StoreError> {
        if self.lease.is_some() {
            return Ok(Claimed::default());
        }
        let (lease, claimed) = Lease::take(&mut self.place, &self.layout, now, patient)?;
        self.lease = Some(lease);
        self.clear_up()?;
        Ok(claimed)
    }

    fn say_ending(&mut self) {
        if let Some(lease) = &mut self.lease {
            lease.say_ending();
        }
    }

    fn holder(&self) -> Result<Option<Holder>, StoreError> {
        Lease::holder(&self.place, &self.layout)
    }

    fn current(&self) -> Result<Option<Recorded>, StoreError> {
        let Some(name) = self.current_name()? else { return Ok(None) };
        self.recorded(&name)
    }

    fn read(&self, execution: &ExecutionId) -> Result<Option<Recorded>, StoreError> {
        self.recorded(execution)
    }

    fn is_known(&self, execution: &ExecutionId) -> Result<bool, StoreError> {
        let journal = Path::new("runs").join(execution.file_name()).join("journal.jsonl");
        let ours = self.place.folder();
        // One event in our own folder is a start of ours that died before its execution was the present one.
        let died = |path: &Path| read(self.disk(), path).is_ok_and(|it| it.is_none_or(|it| it.envelopes.len() <= 1));
        let knows = |folder: PathBuf| {
            let path = folder.join(&journal);
            self.disk().kind(&path).is_some() && !(folder == ours && died(&path))
        };
        Ok(self.disk().list(self.place.base())?.into_iter().any(knows))
    }

    fn executions(&self) -> Result<Vec<Summary>, StoreError> {
        let current = self.current_name()?;
        let mut summaries = Vec::new();
        for folder in self.run_folders()? {
            let path = folder.join("journal.jsonl");
            let written = self.disk().modified(&path).unwrap_or_default();
            let recorded = read(self.disk(), &path).ok().flatten();
            let state = recorded.as_ref().and_then(|contents| State::fold(&contents.envelopes));
            let newest = recorded.and_then(|contents| contents.envelopes.last().map(|newest| newest.at));
            let named = folder.file_name().and_then(|name| ExecutionId::new(name.to_string_lossy()).ok());
            let Some(execution) = state.as_ref().map(|state| state.execution_id.clone()).or(named) else { continue };
            summaries.push(Summary {
                is_current: current.as_ref() == Some(&execution),
                execution,
                status: state.as_ref().map(|state| state.status),
                started_at: state.map_or(written, |state| state.started_at),
                updated_at: newest.unwrap_or(written),
                bytes: self.disk().size_of_tree(&folder),
            });
        }
        summaries.sort_by_key(|summary| summary.started_at);
        Ok(summaries)
    }

    fn remove(&mut self, execution: &ExecutionId) -> Result<(), StoreError> {
        self.held()?;
        assert!(self.current_name()?.as_ref() != Some(execution), "the present execution is never removed");
        let (folder, journal) = (self.place.run(execution), self.place.journal(execution));
        // The journal first: without it the rest is what a start clears away.
        self.disk().remove(&journal)?;
        Ok(self.disk().remove_tree(&folder)?)
    }

    fn begin(&mut self, execution: &ExecutionId, first: &Envelope) -> Result<(), StoreError> {
        self.held()?;
        // With the folder in it that its stages need, so that the disk is waited for once.
        self.disk().ensure_private_folder(&self.place.logs(execution))?;
        let path = self.place.journal(execution);
        match read(self.disk(), &path) {
            Ok(None) => {}
            // A start that died before it was the present one has left a journal of one event.
            Ok(Some(contents)) if contents.envelopes.len() <= 1 => self.disk().remove(&path)?,
            // Of the same execution, taken over anew: what was there is kept.
            Ok(Some(_)) | Err(_) => self.disk().rename(&path, &free_name(self.disk(), &path))?,
        }
        self.journal = Some(OpenJournal::create(self.place.disk(), &path, first)?);
        let name = format!("{execution}\n");
        Ok(self.disk().write_durably(&self.place.current(), name.as_bytes(), Privacy::Private)?)
    }

    fn open(&mut self, recorded: &Recorded) -> Result<(), StoreError> {
        self.held()?;
        let path = self.place.journal(&recorded.state.execution_id);
        let disk = self.place.disk();
        let journal = if let Some(length) = recorded.length {
            OpenJournal::at_end(disk, &path, length, recorded.head.clone())?
        } else {
            // Only what is torn now, while nobody else may write, is cut off.
            let contents = read(disk.as_ref(), &path)?.ok_or(StoreError::Superseded { epoch: 0 })?;
            OpenJournal::open(disk, &path, &contents)?
        };
        // What is read now is acted on, and whoever wrote it may have died before its sync.
        journal.sync()?;
        self.journal = Some(journal);
        Ok(())
    }

    fn append(&mut self, envelopes: &[Envelope], durability: Durability) -> Result<(), StoreError> {
        self.held()?;
        let journal = self.journal.as_mut().expect("an execution is begun or opened before anything is appended");
        journal.append(envelopes, durability == Durability::Synced)
    }

    fn verify(&self) -> Result<(), StoreError> {
        self.journal.as_ref().expect("an execution is begun or opened before it is verified").verify()
    }

    fn keep(&mut self, text: &[u8]) -> Result<(), StoreError> {
        self.held()?;
        let journal = self.journal.as_ref().expect("an execution is begun or opened before anything is kept with it");
        let folder = journal.path().with_file_name(KEPT);
        self.disk().ensure_private_folder(&folder)?;
        let path = folder.join(PinnedFile::digest(text));
        if bytes(self.disk(), &path)?.as_deref() == Some(text) {
            return Ok(());
        }
        Ok(self.disk().write_durably(&path, text, Privacy::Private)?)
    }

    fn kept(&self, execution: &ExecutionId, digest: &str) -> Result<Option<String>, StoreError> {
        let path = self.place.run(execution).join(KEPT).join(digest);
        let text = bytes(self.disk(), &path)?.and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(text.filter(|text| PinnedFile::digest(text) == digest))
    }

    fn head(&self) -> Head {
        self.journal.as_ref().map(|journal| journal.head().clone()).unwrap_or_default()
    }
}

impl FileStore {
    fn held(&mut self) -> Result<(), StoreError> {
        let lease = self.lease.as_mut().expect("whoever writes has claimed the workspace");
        match lease.hold_on(&self.place) {
            Err(LockError::Held { .. }) => {
                let newest = self.current().ok().flatten();
                Err(StoreError::Superseded { epoch: newest.map_or(0, |recorded| recorded.state.epoch) })
            }
            Err(LockError::File(error)) if error.is_not_found() => {
                let source = std::io::Error::other("somebody removed it while a run worked here");
                Err(FileError { action: "go on with", path: self.place.folder(), source }.into())
            }
            held => Ok(held?),
        }
    }
}

/// A name beside the journal that is free.
fn free_name(disk: &dyn Disk, path: &Path) -> PathBuf {
    let names = (1_u32..).map(|n| path.with_extension(format!("{n}.jsonl")));
    let mut free = names.filter(|name| disk.kind(name).is_none());
    free.next().expect("an endless sequence of names has a free one")
}

/// The folder of an execution that a name on the command line means; names are file names.
pub(super) fn is_named(execution: &ExecutionId, name: &str) -> bool {
    execution.as_str() == name || execution.file_name() == name
}
