//! Puts one execution aside and the next in its place. Nothing is deleted.
//!
//! The record is copied first and then replaced in one step: until then the old execution is there, from then on the new
//! one, whoever dies when. Checkpoints of the old one that are still in place belong to another execution by then, so
//! they do not count, and [`put_away`] moves them after it.

use std::path::{Path, PathBuf};

use super::format::bytes;
use super::layout::file_name;
use super::{Layout, RunRecord, StoreError, write_record};
use crate::contract::{Checkpoint, ExecutionId, Phase};
use crate::system::files::{self, Privacy};

/// Makes `next` the workspace's execution. The record, the checkpoints, the context state, the stages, the sessions, the
/// logs and the history of `execution`, if there is one, go to `.loa-run/archive/<execution>/`; reports stay where people
/// were told to find them.
///
/// # Errors
/// [`StoreError`] for the first file that could not be read, written or moved.
pub fn succeed(layout: &Layout, execution: Option<&ExecutionId>, next: &RunRecord) -> Result<(), StoreError> {
    let folder = free_folder(layout, &execution.map_or_else(|| "unnamed".to_owned(), file_name));
    if let Some(record) = bytes(&layout.record())? {
        files::ensure_folder(&folder)?;
        files::write_durably(&folder.join("run.yaml"), &record, Privacy::Private)?;
    }
    write_record(layout, next)?;
    let checkpoints = Phase::ALL.iter().map(|phase| layout.checkpoint(*phase));
    let others = [layout.context_state(), layout.run().join("stages"), layout.sessions(), layout.logs()];
    for source in checkpoints.chain(others).chain([layout.history(), layout.earlier_history()]) {
        move_into(&folder, &source)?;
    }
    Ok(())
}

/// Moves checkpoints of executions that were put aside to the rest of them.
///
/// # Errors
/// [`StoreError::File`] for the first that could not be moved.
pub fn put_away(layout: &Layout, foreign: &[&Checkpoint]) -> Result<(), StoreError> {
    for checkpoint in foreign {
        let folder = layout.archived(&file_name(&checkpoint.execution_id));
        let source = layout.checkpoint(checkpoint.phase);
        if folder.is_dir() && !folder.join(source.file_name().unwrap_or_default()).exists() {
            move_into(&folder, &source)?;
        }
    }
    Ok(())
}

fn move_into(folder: &Path, source: &Path) -> Result<(), StoreError> {
    if source.symlink_metadata().is_err() {
        return Ok(());
    }
    files::ensure_folder(folder)?;
    Ok(files::rename(source, &folder.join(source.file_name().unwrap_or_default()))?)
}

fn free_folder(layout: &Layout, name: &str) -> PathBuf {
    let candidates = (1_u32..).map(|n| layout.archived(&if n == 1 { name.to_owned() } else { format!("{name}.{n}") }));
    let mut free = candidates.filter(|folder| !folder.join("run.yaml").exists());
    free.next().expect("an endless sequence of names has a free one")
}
