//! The artifacts of a phase that does not name them itself: what became of the workspace's files while it ran
//! (Checkpoint Schema: `artifacts`).

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use crate::contract::{Artifact, ArtifactAction, Phase, PhaseResult};
use crate::policy::Redactor;
use crate::runner::Bounds;
use crate::store::{Layout, Place};
use crate::system::tree::{Change, ChangeKind, Looker, Tree};

/// The most files and folders that are looked at, before and after each phase. Ten thousand cost some ten milliseconds.
const MOST_LOOKED_AT: usize = 50_000;
/// The most artifacts that a checkpoint is given.
const MOST: usize = 200;
/// How far the times of files may lie behind the clock: the kernel's tick.
const TICK: Duration = Duration::from_millis(10);

/// What becomes of the workspace's files.
#[derive(Debug)]
pub(in crate::runner) struct Artifacts {
    /// Looks at all but the run's own folders.
    looker: Looker,
    redactor: Redactor,
    is_wanted: bool,
    /// The files as the last phase left them, when somebody looked.
    left: Option<Tree>,
    /// The files as the present phase found them.
    found: Option<Tree>,
}

impl Artifacts {
    pub(in crate::runner) fn new(layout: &Layout, place: &Place, bounds: &Bounds) -> Self {
        let own = place.name_in_workspace();
        let except: Vec<&str> = Layout::OWN.iter().copied().chain(own.as_deref()).collect();
        Self {
            looker: Looker::new(layout.workspace(), &except),
            redactor: bounds.redactor.clone(),
            is_wanted: bounds.find_artifacts,
            left: None,
            found: None,
        }
    }

    /// Looks at the files as a phase finds them. One that an earlier session `began` found them as they were then. What
    /// there is to say about that.
    pub(in crate::runner) fn before(&mut self, began: Option<Timestamp>) -> Option<String> {
        // Between two phases nobody but us writes, and our own folders do not count.
        let last = self.left.take();
        if began.is_none() && last.is_some() {
            self.found = last;
            return None;
        }
        let (tree, said) = self.look();
        self.found = match began {
            None => tree,
            Some(began) => tree.map(|tree| tree.before(SystemTime::from(began) - TICK)),
        };
        said
    }

    /// What the phase did to the files that it found, unless its result says it; and what there is to say about that.
    pub(in crate::runner) fn after(
        &mut self,
        phase: Phase,
        result: Option<&PhaseResult>,
    ) -> (Vec<Artifact>, Option<String>) {
        if result.is_some_and(|result| !result.artifacts.is_empty()) {
            return (Vec::new(), None);
        }
        let Some(before) = self.found.take() else { return (Vec::new(), None) };
        let (Some(after), said) = self.look() else { return (Vec::new(), None) };
        let mut changes = before.changes(&after);
        self.left = Some(after);
        // A name with a secret in it cannot be said, and said otherwise it names nothing.
        changes.retain(|change| self.redactor.text(&change.path) == change.path);
        let many = changes.len() > MOST;
        let many =
            many.then(|| format!("{phase}: it changed {} files; its checkpoint names the first {MOST}", changes.len()));
        (changes.into_iter().take(MOST).map(artifact).collect(), many.or(said))
    }

    fn look(&mut self) -> (Option<Tree>, Option<String>) {
        if !self.is_wanted {
            return (None, None);
        }
        let found = self.looker.look(MOST_LOOKED_AT);
        // Nor will there be fewer later.
        self.is_wanted = found.is_some();
        let many = format!(
            "the workspace has more than {MOST_LOOKED_AT} files that git does not ignore: artifacts are not looked for"
        );
        let said = found.is_none().then_some(many);
        (found, said)
    }
}

fn artifact(change: Change) -> Artifact {
    let (action, size_bytes) = match change.kind {
        ChangeKind::Created(size) => (ArtifactAction::Created, Some(size)),
        ChangeKind::Modified(size) => (ArtifactAction::Modified, Some(size)),
        ChangeKind::Deleted => (ArtifactAction::Deleted, None),
    };
    Artifact { path: change.path.into(), action, size_bytes }
}
