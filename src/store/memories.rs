//! `.loa-run/memories.json`: the memories that stages are shown.

use serde_json::{Value, json};

use super::{Layout, StoreError, make_room};
use crate::system::files::Privacy;

/// Version of the format.
const MEMORIES_VERSION: u32 = 1;

/// Writes the memories, durably and for us alone.
///
/// # Errors
/// [`StoreError`].
pub fn write_memories(layout: &Layout, memories: &[Value]) -> Result<(), StoreError> {
    let text = format!("{}\n", json!({ "version": MEMORIES_VERSION, "memories": memories }));
    make_room(layout, &layout.memories())?;
    Ok(layout.disk().write_durably(&layout.memories(), text.as_bytes(), Privacy::Private)?)
}

/// Takes the memories of an earlier session away.
///
/// # Errors
/// [`StoreError`].
pub fn forget_memories(layout: &Layout) -> Result<(), StoreError> {
    make_room(layout, &layout.memories())?;
    Ok(layout.disk().remove(&layout.memories())?)
}
