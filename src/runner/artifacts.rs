//! The artifacts of a phase that does not name them itself: what became of the workspace's files while it ran
//! (Checkpoint Schema: `artifacts`).

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::engine::Engine;
use crate::contract::{Artifact, ArtifactAction, Phase, PhaseResult};
use crate::store::Layout;
use crate::system::tree::{Change, ChangeKind, Tree};

/// The most files and folders that are looked at, before and after each phase. Ten thousand cost some ten milliseconds.
const MOST_LOOKED_AT: usize = 50_000;
/// The most artifacts that a checkpoint is given.
const MOST: usize = 200;
/// How far the times of files may lie behind the clock: the kernel's tick.
const TICK: Duration = Duration::from_millis(10);

impl Engine<'_> {
    /// The workspace's files as a phase finds them. One that an earlier session `began` found them as they were then.
    pub(super) fn files_before(&mut self, began: Option<Timestamp>) -> Option<Tree> {
        // Between two phases nobody but us writes, and our own folders do not count.
        let last = self.tree.take();
        match began {
            None => last.or_else(|| self.look_at_files()),
            Some(began) => Some(self.look_at_files()?.before(SystemTime::from(began) - TICK)),
        }
    }

    /// What the phase did to the files that it found, unless its result says it.
    pub(super) fn artifacts(
        &mut self,
        phase: Phase,
        before: Option<&Tree>,
        result: Option<&PhaseResult>,
    ) -> Vec<Artifact> {
        if result.is_some_and(|result| !result.artifacts.is_empty()) {
            return Vec::new();
        }
        let (Some(before), Some(after)) = (before, self.look_at_files()) else { return Vec::new() };
        let mut changes = before.changes(&after);
        self.tree = Some(after);
        // A name with a secret in it cannot be said, and said otherwise it names nothing.
        changes.retain(|change| self.bounds.redactor.text(&change.path) == change.path);
        if changes.len() > MOST {
            let text = format!("{phase}: it changed {} files; its checkpoint names the first {MOST}", changes.len());
            self.notice(text);
        }
        changes.into_iter().take(MOST).map(artifact).collect()
    }

    fn look_at_files(&mut self) -> Option<Tree> {
        if !self.bounds.find_artifacts {
            return None;
        }
        let own = self.place.name_in_workspace();
        let except: Vec<&str> = Layout::OWN.iter().copied().chain(own.as_deref()).collect();
        let found = Tree::of(self.layout.workspace(), &except, MOST_LOOKED_AT);
        if found.is_none() {
            // Nor will there be fewer later.
            self.bounds.find_artifacts = false;
            let text = format!(
                "the workspace has more than {MOST_LOOKED_AT} files that git does not ignore: artifacts are not looked for"
            );
            self.notice(text);
        }
        found
    }
}

fn artifact(change: Change) -> Artifact {
    let (action, size_bytes) = match change.kind {
        ChangeKind::Created(size) => (ArtifactAction::Created, Some(size)),
        ChangeKind::Modified(size) => (ArtifactAction::Modified, Some(size)),
        ChangeKind::Deleted => (ArtifactAction::Deleted, None),
    };
    Artifact { path: change.path, action, size_bytes }
}
