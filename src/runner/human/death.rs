//! Notices that whoever worked on an execution is gone, so that people are told before anybody goes on.

use crate::contract::SessionId;
use crate::events::Event;
use crate::runner::RunError;
use crate::store::{FileStore, Journal, Layout, Place, Recorded, RunStore, StoreError};
use crate::system::clock;
use crate::system::disk::Kind;
use crate::system::lock::LockError;

/// Queues a message about a session whose process died without an end, once for each. Whether there is a new one. Of a workspace
/// that moved, or in which something lies in the place of our folder, the next session has more to say, and nothing is done.
///
/// # Errors
/// [`RunError`]: something on disk is not valid, or cannot be read or written.
pub fn notice_death(layout: &Layout, place: &Place) -> Result<bool, RunError> {
    let mut store = FileStore::new(place.clone(), layout.clone());
    let is_in_order =
        place.moved_from().is_none() && matches!(layout.disk().kind(&layout.run()), None | Some(Kind::Folder));
    if !is_in_order || untold(&store)?.is_none() || store.holder()?.is_some() {
        return Ok(false);
    }
    let now = clock::now().wall();
    match store.claim(now, false) {
        // Somebody has begun to work on it meanwhile.
        Err(StoreError::Lock(LockError::Held { .. })) => return Ok(false),
        claimed => drop(claimed?),
    }
    store.say_ending();
    let Some((recorded, session)) = untold(&store)? else { return Ok(false) };
    Journal::resume(Box::new(store), &recorded)?.record(now, Event::DeathNoticed { session })?;
    Ok(true)
}

/// The execution whose session died and was not told of, with that session.
fn untold(store: &FileStore) -> Result<Option<(Recorded, SessionId)>, StoreError> {
    let recorded = store.current()?;
    Ok(recorded.and_then(|it| it.state.untold_death().cloned().map(|session| (it, session))))
}
