//! Puts an execution that is over aside, so that the next one starts in a clean place. Nothing is deleted.

use super::layout::file_name;
use super::{Layout, StoreError};
use crate::contract::{ExecutionId, Phase};
use crate::system::files;

/// Moves the checkpoints, the context state, the stages, the logs and the record to `.loa-run/archive/<execution>/`; reports
/// stay where people were told to find them. The record moves last, so an archive that was interrupted is begun again.
///
/// # Errors
/// [`StoreError::File`] for the first file that could not be moved.
pub fn archive(layout: &Layout, execution: &ExecutionId) -> Result<(), StoreError> {
    let mut sources = vec![layout.context_state(), layout.run().join("stages"), layout.logs()];
    sources.extend(Phase::ALL.iter().map(|phase| layout.checkpoint(*phase)));
    sources.push(layout.record());
    let sources: Vec<_> = sources.into_iter().filter(|source| source.symlink_metadata().is_ok()).collect();
    if sources.is_empty() {
        return Ok(());
    }
    let target = free_folder(layout, &file_name(execution));
    files::ensure_folder(&target)?;
    for source in sources {
        let file = source.file_name().unwrap_or_default();
        files::rename(&source, &target.join(file))?;
    }
    Ok(())
}

fn free_folder(layout: &Layout, name: &str) -> std::path::PathBuf {
    let candidates = (1_u32..).map(|n| layout.archived(&if n == 1 { name.to_owned() } else { format!("{name}.{n}") }));
    // A folder that holds a record is complete; one without it is an archive that was interrupted.
    let mut free = candidates.filter(|folder| !folder.join("run.yaml").exists());
    free.next().expect("an endless sequence of names has a free one")
}
