//! `.loa-checkpoint/context-state.yaml` (Context Signals Interface): the last known state of the context.

use super::format::{project, read_own, yaml_for};
use super::{Layout, StoreError, make_room};
use crate::contract::ContextState;
use crate::system::files::Privacy;

/// The newest version of the format.
pub(super) const CONTEXT_STATE_VERSION: u32 = 1;

/// Writes the state, whole. What a power cut takes of it is written again.
///
/// # Errors
/// [`StoreError`].
pub fn write_context_state(layout: &Layout, state: &ContextState) -> Result<(), StoreError> {
    let path = layout.context_state();
    make_room(layout, &path)?;
    project(layout.disk().as_ref(), &path, &yaml_for(&path, state)?, Privacy::Shared)
}

/// The last known state; `None` before the first.
///
/// # Errors
/// [`StoreError`], also when it comes from a newer version.
pub fn read_context_state(layout: &Layout) -> Result<Option<ContextState>, StoreError> {
    read_own(layout.disk().as_ref(), &layout.context_state(), CONTEXT_STATE_VERSION)
}
