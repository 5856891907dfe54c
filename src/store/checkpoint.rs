//! `.loa-checkpoint/<phase>.yaml` (Checkpoint Schema; Checkpoint Operations: `write`).

use std::path::Path;

use super::format::{project, yaml_for};
use super::{Layout, StoreError, make_room};
use crate::contract::Checkpoint;
use crate::system::files::Privacy;

/// Writes the checkpoint of its phase, whole, in place of an earlier one. The journal holds it durably.
///
/// # Errors
/// [`StoreError`]; the earlier checkpoint is then untouched.
pub fn write_checkpoint(layout: &Layout, checkpoint: &Checkpoint) -> Result<(), StoreError> {
    let path = layout.checkpoint(checkpoint.phase);
    make_room(layout, &path)?;
    project(layout.disk().as_ref(), &path, &checkpoint_text(&path, checkpoint)?, Privacy::Shared)
}

/// A checkpoint as it is written.
pub(super) fn checkpoint_text(path: &Path, checkpoint: &Checkpoint) -> Result<String, StoreError> {
    yaml_for(path, checkpoint)
}
