//! The request for a halt: a file in the state folder, for which the owner of the execution looks.

use super::{Place, StoreError};
use crate::system::files::Privacy;

/// Asks the owner for a halt, durably.
///
/// # Errors
/// [`StoreError`].
pub fn request_halt(place: &Place) -> Result<(), StoreError> {
    Ok(place.disk().write_durably(&place.halt_request(), b"halt\n", Privacy::Private)?)
}

/// Whether somebody asks for a halt.
#[must_use]
pub fn is_halt_requested(place: &Place) -> bool {
    place.disk().kind(&place.halt_request()).is_some()
}

/// Takes the request away, when there is one.
///
/// # Errors
/// [`StoreError`].
pub fn forget_halt(place: &Place) -> Result<(), StoreError> {
    Ok(place.disk().remove(&place.halt_request())?)
}
