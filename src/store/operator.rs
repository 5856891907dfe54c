//! `.loa-checkpoint/operator-type.yaml`: who operates the run.

use super::format::{project, yaml_for};
use super::{Layout, StoreError, make_room};
use crate::contract::OperatorRecord;
use crate::system::files::Privacy;

/// Writes who operates, whole. What a power cut takes of it is written again.
///
/// # Errors
/// [`StoreError`].
pub fn write_operator(layout: &Layout, operator: &OperatorRecord) -> Result<(), StoreError> {
    let path = layout.operator();
    make_room(layout, &path)?;
    project(layout.disk().as_ref(), &path, &yaml_for(&path, operator)?, Privacy::Shared)
}
