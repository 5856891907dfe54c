//! `.loa-checkpoint/operator-type.yaml`: who operates the run.

use super::format::write;
use super::{Layout, StoreError};
use crate::contract::OperatorRecord;
use crate::system::files::Privacy;

/// Writes who operates, durably.
///
/// # Errors
/// [`StoreError`].
pub fn write_operator(layout: &Layout, operator: &OperatorRecord) -> Result<(), StoreError> {
    layout.disk().ensure_folder(&layout.checkpoints())?;
    write(layout.disk().as_ref(), &layout.operator(), operator, Privacy::Shared)
}
