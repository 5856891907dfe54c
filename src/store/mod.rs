//! What survives: the journal of every execution, and its projections in the workspace.
//!
//! Level 4 of the house. [`RunStore`] is the port: one owner at a time, events appended under its epoch, nothing else is
//! true. `journal` is the owner's hand on it; `file/` is the store of one machine, and `place` says where that lies.
//! Projections are copies for people, tools and phases: `checkpoint`, `context_state`, `escalation` and `operator` are the
//! documents of the contract, `projection` compares what is on disk with the journal and writes it again. `layout` names
//! every path of the workspace, `format` how documents are written and read, and `format1` reads what the first programs
//! left. `archive` puts aside what an execution left that is over; `halt` is the request for a halt, `memories` what stages
//! are shown, `observations` the log of what is seen and not
//! journaled, and `tail` the end of a log, fit to be shown.

mod archive;
mod checkpoint;
mod context_state;
mod escalation;
mod file;
mod format;
mod format1;
mod halt;
mod journal;
mod layout;
mod markdown;
mod memories;
mod observations;
mod operator;
mod place;
mod projection;
mod room;
mod tail;

use std::fmt::Debug;

use jiff::Timestamp;

pub use archive::{archive, remove_archive};
pub use checkpoint::write_checkpoint;
pub use context_state::{read_context_state, write_context_state};
pub use escalation::{ReportPaths, read_report, report_paths, write_report};
pub use file::{FileStore, Head};
pub use format::{StoreError, to_yaml};
pub use format1::{Earlier, archived_format1, read_format1, retire_format1};
pub use halt::{forget_halt, is_halt_requested, request_halt};
pub use journal::Journal;
pub use layout::Layout;
pub use memories::{forget_memories, write_memories};
pub use observations::Observations;
pub use operator::write_operator;
pub use place::{Basis, Place};
pub use projection::{Mismatch, compare, found_checkpoints, project_all, remove_unfinished};

pub use tail::{Writer, tail};

pub use room::{make_folder, make_room, make_room_for_folders, put_aside, was_put_aside};

use crate::contract::ExecutionId;
use crate::events::{Envelope, RunStatus, State};
use crate::system::lock::Holder;

/// Keeps executions: one owner at a time, events appended under its epoch. It names no path: behind it may be files, or a
/// database on another machine.
pub trait RunStore: Debug {
    /// Makes us the owner of the workspace's executions until we are dropped. A patient claimant waits some seconds for an
    /// owner that is about to let go.
    ///
    /// # Errors
    /// [`StoreError::Lock`] when somebody else is the owner.
    fn claim(&mut self, now: Timestamp, patient: bool) -> Result<Claimed, StoreError>;

    /// Lets whoever waits know that we are about to let go.
    fn say_ending(&mut self);

    /// Who the owner is; `None` when there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    fn holder(&self) -> Result<Option<Holder>, StoreError>;

    /// The execution that the workspace works on; `None` before the first.
    ///
    /// # Errors
    /// [`StoreError`], also when the journal was edited or comes from a newer program.
    fn current(&self) -> Result<Option<Recorded>, StoreError>;

    /// Any execution of the workspace; `None` when there is no such.
    ///
    /// # Errors
    /// As [`RunStore::current`].
    fn read(&self, execution: &ExecutionId) -> Result<Option<Recorded>, StoreError>;

    /// Whether a journal of an execution is kept for any workspace: then a record of it that lies in a workspace is none of
    /// an earlier program.
    ///
    /// # Errors
    /// [`StoreError`].
    fn is_known(&self, execution: &ExecutionId) -> Result<bool, StoreError>;

    /// Every execution of the workspace, oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    fn executions(&self) -> Result<Vec<Summary>, StoreError>;

    /// Forgets an execution that is not the present one.
    ///
    /// # Errors
    /// [`StoreError`].
    fn remove(&mut self, execution: &ExecutionId) -> Result<(), StoreError>;

    /// Begins an execution with its first event, durably, in the place of the present one, which is kept.
    ///
    /// # Errors
    /// [`StoreError`]; the present one stays the present one then.
    fn begin(&mut self, execution: &ExecutionId, first: &Envelope) -> Result<(), StoreError>;

    /// Opens the journal of an execution, as it was read, to append to it. A torn end is cut off, and what was read would
    /// survive a power cut when this returns.
    ///
    /// # Errors
    /// [`StoreError`].
    fn open(&mut self, recorded: &Recorded) -> Result<(), StoreError>;

    /// Appends events to the execution that was begun or opened.
    ///
    /// # Errors
    /// [`StoreError::Superseded`] when another owner has appended meanwhile; nothing of these events counts then.
    fn append(&mut self, envelopes: &[Envelope], durability: Durability) -> Result<(), StoreError>;

    /// Reads the execution that is begun or open again: whether it still is what was appended.
    ///
    /// # Errors
    /// [`StoreError`] when somebody changed it.
    fn verify(&self) -> Result<(), StoreError>;

    /// Keeps a text with the execution that was begun or opened, durably. It is found again by its digest.
    ///
    /// # Errors
    /// [`StoreError`].
    fn keep(&mut self, text: &[u8]) -> Result<(), StoreError>;

    /// A text that was kept with an execution, by its digest; `None` where none of that digest is there.
    ///
    /// # Errors
    /// [`StoreError`].
    fn kept(&self, execution: &ExecutionId, digest: &str) -> Result<Option<String>, StoreError>;

    /// The hash of the newest event of that execution.
    fn head(&self) -> Head;
}

/// What a claim found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claimed {
    /// Where the workspace was before, when it moved.
    pub moved_from: Option<std::path::PathBuf>,
    /// What lay in the place of our folders in the workspace, and was put aside.
    pub put_aside: Vec<std::path::PathBuf>,
}

/// When an append may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When everybody on this machine sees it; a power cut may take it back.
    Buffered,
    /// When it, and all before it, would survive a power cut.
    Synced,
}

/// All that a journal tells of one execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its state now.
    pub state: State,
    /// Its events, oldest first.
    pub envelopes: Vec<Envelope>,
    /// The hash behind each event.
    pub heads: Vec<Head>,
    /// The newest hash.
    pub head: Head,
    /// The bytes of the journal; `None` when its end is torn.
    pub length: Option<u64>,
}

/// One execution in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The execution.
    pub execution: ExecutionId,
    /// Whether it is the one that the workspace works on.
    pub is_current: bool,
    /// Where it stands; `None` when its journal cannot be read.
    pub status: Option<RunStatus>,
    /// When it began, as far as its journal can be read.
    pub started_at: Timestamp,
    /// When its newest event happened, or when its journal was written last.
    pub updated_at: Timestamp,
    /// What it takes on the disk, in bytes.
    pub bytes: u64,
}

impl Summary {
    /// Whether a name on the command line means this execution.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        file::is_named(&self.execution, name)
    }

    /// Whether whoever began it died before it became the present one.
    #[must_use]
    pub fn was_never_started(&self) -> bool {
        !self.is_current && self.status == Some(RunStatus::Ready)
    }
}
