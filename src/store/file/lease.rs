//! What makes one process the owner of a workspace's executions.
//!
//! Three witnesses, so that no single one that is taken away lets a second owner in: the lock in the state folder, a lock
//! on the workspace's folder itself, which also stands where two homes share one volume, and `.loa-run/lock`, which
//! programs of format 1 take and in which the holder is named for those who see the workspace alone.

use std::fmt::Debug;
use std::time::Duration;

use jiff::Timestamp;

use crate::store::{Claimed, Layout, Place, StoreError, make_folder};
use crate::system::clock;
use crate::system::disk::Held;
use crate::system::lock::{Holder, LockError};

/// How long a patient claimant waits for an owner that is about to let go: one may deliver what it has to tell first.
const PATIENCE: Duration = Duration::from_secs(12);
/// How long any claimant waits where the lock names nobody who lives: somebody may only be looking at it.
const GLANCE: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(10);

/// Ownership, until it is dropped or the process dies.
#[derive(Debug)]
pub(super) struct Lease {
    state: Box<dyn Held>,
    since: Timestamp,
    _folder: Box<dyn Debug + Send + Sync>,
    note: Option<Box<dyn Held>>,
}

impl Lease {
    /// Takes all three, or says who has them. The folder's comes first, and nothing is written before it is taken. A
    /// patient claimant waits for a holder that is about to let go.
    pub(super) fn take(
        place: &mut Place,
        layout: &Layout,
        now: Timestamp,
        patient: bool,
    ) -> Result<(Self, Claimed), StoreError> {
        let began = clock::now();
        loop {
            let held = match Self::try_take(place, layout, now) {
                Err(StoreError::Lock(held @ LockError::Held { .. })) => held,
                taken => return taken,
            };
            let LockError::Held { holder, .. } = &held else { return Err(held.into()) };
            let dying = holder.as_ref().is_none_or(Holder::is_dying);
            if !dying || clock::now().since(began) >= if patient { PATIENCE } else { GLANCE } {
                return Err(held.into());
            }
            std::thread::sleep(LOOK);
        }
    }

    fn try_take(place: &mut Place, layout: &Layout, now: Timestamp) -> Result<(Self, Claimed), StoreError> {
        let Some(folder) = layout.disk().lock_folder(layout.workspace())? else {
            let holder = match place.disk().holder(&place.lock())? {
                Some(holder) => Some(holder),
                None => layout.disk().holder(&layout.lock())?,
            };
            return Err(LockError::Held { path: layout.workspace().to_path_buf(), holder }.into());
        };
        // Whoever held it until now may have begun here, under an id that was not known when we looked.
        *place = place.found_again()?;
        let put_aside = make_folder(layout, &layout.run())?;
        let moved_from = place.establish()?;
        let state = place.disk().lock(&place.lock(), now)?;
        // One that another user left, or that is no file, cannot be used; the other two witnesses stand.
        let note = match layout.disk().lock(&layout.lock(), now) {
            Err(LockError::File(_)) => None,
            note => Some(note?),
        };
        Ok((Self { state, since: now, _folder: folder, note }, Claimed { moved_from, put_aside }))
    }

    /// Who works on the workspace; `None` when nobody does.
    pub(super) fn holder(place: &Place, layout: &Layout) -> Result<Option<Holder>, StoreError> {
        if let Some(holder) = place.disk().holder(&place.lock())? {
            return Ok(Some(holder));
        }
        if let Some(holder) = layout.disk().holder(&layout.lock())? {
            return Ok(Some(holder));
        }
        let unnamed = Holder { pid: 0, since: Timestamp::UNIX_EPOCH, ending: false };
        Ok(layout.disk().is_folder_locked(layout.workspace())?.then_some(unnamed))
    }

    /// Makes the lock's file again where somebody took it away: the other witnesses still stand. Whoever has locked another
    /// file of that name meanwhile is the owner now.
    ///
    /// # Errors
    /// [`LockError::Held`] by that owner; [`LockError::File`] when the folder of the state is gone, too.
    pub(super) fn hold_on(&mut self, place: &Place) -> Result<(), LockError> {
        if !self.state.has_its_name() {
            self.state = place.disk().lock(&place.lock(), self.since)?;
        }
        Ok(())
    }

    /// Lets whoever waits know that this owner is about to let go.
    pub(super) fn say_ending(&mut self) {
        // Only a courtesy: without it the next one is told who is there.
        let _ = self.state.say_ending();
        let _ = self.note.as_mut().map(|note| note.say_ending());
    }
}
