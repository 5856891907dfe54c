//! `.loa-checkpoint/<phase>.yaml` (Checkpoint Schema; Checkpoint Operations: `write`, `read`).

use std::path::Path;
use std::sync::LazyLock;

use super::format::{read, write};
use super::{Layout, StoreError};
use crate::contract::{Checkpoint, Phase};
use crate::schema::{CHECKPOINT, Checker};
use crate::system::files::{self, Privacy};

static CHECKER: LazyLock<Checker> = LazyLock::new(|| Checker::new(&CHECKPOINT));

/// Writes the checkpoint of its phase durably, in place of an earlier one.
///
/// # Errors
/// [`StoreError`]; the earlier checkpoint is then untouched.
pub fn write_checkpoint(layout: &Layout, checkpoint: &Checkpoint) -> Result<(), StoreError> {
    files::ensure_folder(&layout.checkpoints())?;
    write(&layout.checkpoint(checkpoint.phase), checkpoint, Privacy::Shared)
}

/// The latest checkpoint of a phase; `None` when there is none.
///
/// # Errors
/// [`StoreError`], also when somebody edited the file into something that is no checkpoint of this phase.
pub fn read_checkpoint(layout: &Layout, phase: Phase) -> Result<Option<Checkpoint>, StoreError> {
    read(&layout.checkpoint(phase), &CHECKER, None)
}

/// All checkpoints that are there, in phase order.
///
/// # Errors
/// [`StoreError`] for the first that is not valid.
pub fn read_checkpoints(layout: &Layout) -> Result<Vec<Checkpoint>, StoreError> {
    read_checkpoints_in(&layout.checkpoints())
}

pub(super) fn read_checkpoints_in(folder: &Path) -> Result<Vec<Checkpoint>, StoreError> {
    let read = Phase::ALL.iter().map(|phase| read(&folder.join(format!("{phase}.yaml")), &CHECKER, None));
    read.filter_map(Result::transpose).collect()
}
