//! The children that we started and await ourselves, told apart from those that were given to us as orphans.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

static OWN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Marks a child as our own, for as long as this lives.
#[derive(Debug)]
pub(in crate::system) struct Own(u32);

impl Own {
    /// To be made at once after the start, before anybody looks for orphans.
    pub(in crate::system) fn mark(pid: u32) -> Self {
        own().insert(pid);
        Self(pid)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        own().remove(&self.0);
    }
}

/// Spares a child for good, such as one of the program that became us.
pub(in crate::system) fn spare(pid: u32) {
    own().insert(pid);
}

/// Whether a child is our own.
pub(in crate::system) fn is_own(pid: u32) -> bool {
    own().contains(&pid)
}

fn own() -> MutexGuard<'static, BTreeSet<u32>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of our own process.
#[must_use]
pub fn own_id() -> u32 {
    std::process::id()
}
