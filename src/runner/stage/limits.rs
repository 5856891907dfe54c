//! Watches what the processes of an attempt take of the host.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::policy::{Exceeded, Limits, Taken};
use crate::system::boundary::Boundary;
use crate::system::clock::Moment;
use crate::system::files;
use crate::system::usage::{self, Usage};

/// How often is looked. What comes and goes in between is not seen.
const INTERVAL: Duration = Duration::from_millis(200);

/// What an attempt may take, and what there was before it.
#[derive(Debug)]
pub(super) struct LimitsWatch {
    limits: Limits,
    /// Behind which its processes are; without one they are below us.
    boundary: Option<Boundary>,
    workspace: PathBuf,
    /// The bytes that were free when it began, where the host says so.
    room: Option<u64>,
    looked: Option<Moment>,
}

impl LimitsWatch {
    /// `None` where nothing is bounded.
    pub(super) fn begin(limits: Limits, boundary: Option<&Boundary>, workspace: &Path) -> Option<Self> {
        let (boundary, workspace) = (boundary.cloned(), workspace.to_path_buf());
        (!limits.is_empty()).then(|| Self { limits, boundary, room: room(&workspace), workspace, looked: None })
    }

    /// The limit that is passed now, looked at now and then; `but` is a process below us that belongs to no stage.
    pub(super) fn look(&mut self, now: Moment, but: u32) -> Option<Exceeded> {
        if self.looked.is_some_and(|looked| now.since(looked) < INTERVAL) {
            return None;
        }
        self.looked = Some(now);
        let Usage { processes, memory, handles } =
            self.boundary.as_ref().map_or_else(|| usage::below_us(but), Boundary::usage);
        let disk = self.room.zip(room(&self.workspace)).map_or(0, |(before, now)| before.saturating_sub(now));
        self.limits.exceeded(&Taken { processes, memory, disk, handles })
    }
}

/// The bytes that are free where the workspace lies.
fn room(workspace: &Path) -> Option<u64> {
    files::room(workspace).ok().map(|room| room.bytes)
}
