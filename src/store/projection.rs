//! Compares what lies in the workspace with the journal, and writes it again where it differs.
//!
//! A checkpoint on disk is compared and never believed: the journal says what is concluded.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::checkpoint::checkpoint_text;
use super::escalation::{report_paths, report_texts};
use super::format::{self, StoreError};
use super::layout::Layout;
use super::room::{make_room, make_room_for_folders};
use crate::contract::{Checkpoint, Phase};
use crate::events::{Found, State};
use crate::schema::{CHECKPOINT, Checker};
use crate::system::disk::{Disk, Kind};
use crate::system::files::Privacy;

/// Something in the place of a checkpoint that is not what the journal says.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// The phase.
    pub phase: Phase,
    /// What is there.
    pub found: Found,
    /// Whether the journal has a checkpoint of the phase, which is to be there instead.
    pub concluded: bool,
    /// What is there, when it is a checkpoint of this phase and this execution.
    pub checkpoint: Option<Box<Checkpoint>>,
    /// Why it is no checkpoint, with the lines that it is about.
    pub why: Option<String>,
}

/// The most bytes that are compared; nothing that we write is longer.
const LONGEST: u64 = 64 << 20;

static CHECKER: LazyLock<Checker> = LazyLock::new(|| Checker::new(&CHECKPOINT));

/// What in `.loa-checkpoint/` is not what the journal says, in phase order.
#[must_use]
pub fn compare(layout: &Layout, state: &State) -> Vec<Mismatch> {
    Phase::ALL.iter().filter_map(|phase| compare_phase(layout, state, *phase)).collect()
}

fn compare_phase(layout: &Layout, state: &State, phase: Phase) -> Option<Mismatch> {
    let path = layout.checkpoint(phase);
    let expected = state.checkpoints.get(&phase);
    let concluded = expected.is_some();
    let mismatch = |found| Mismatch { phase, found, concluded, checkpoint: None, why: None };
    let expected = expected.and_then(|checkpoint| checkpoint_text(&path, checkpoint).ok());
    let Some(kind) = layout.disk().kind(&path) else {
        return expected.is_some().then(|| mismatch(Found::Missing));
    };
    let bytes = match layout.disk().read(&path, LONGEST) {
        Ok(bytes) if kind == Kind::File => bytes,
        Ok(_) => {
            let why = Some(format!("{} is a link", path.display()));
            return Some(Mismatch { why, ..mismatch(Found::NotACheckpoint) });
        }
        Err(error) => {
            let why = Some(format!("{error}: {}", error.source));
            return Some(Mismatch { why, ..mismatch(Found::NotACheckpoint) });
        }
    };
    if let Some(expected) = &expected {
        if bytes == expected.as_bytes() {
            return None;
        }
        let earlier = state.replaced.iter().filter(|it| it.phase == phase);
        let earlier = earlier.filter_map(|checkpoint| checkpoint_text(&path, checkpoint).ok());
        if earlier.chain([expected.clone()]).any(|written| is_torn(&bytes, written.as_bytes())) {
            return Some(mismatch(Found::Torn));
        }
    }
    Some(of_content(&path, &bytes, state, mismatch(Found::NotACheckpoint)))
}

/// Whether a power cut can have made this of what was written: its beginning, and zeros where pages never reached the disk,
/// which are there for whole pages or up to the end.
fn is_torn(bytes: &[u8], expected: &[u8]) -> bool {
    const PAGE: usize = 4096;
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let may_hold_zeros = bytes.len() == expected.len() || bytes.len().is_multiple_of(PAGE);
    bytes.len() <= expected.len()
        && written < expected.len()
        && (written == bytes.len() || may_hold_zeros)
        && expected.starts_with(&bytes[..written])
}

fn of_content(path: &Path, bytes: &[u8], state: &State, nothing: Mismatch) -> Mismatch {
    match format::parse::<Checkpoint>(path, bytes, &CHECKER) {
        Err(error) => Mismatch { why: Some(error.to_string()), ..nothing },
        Ok(there) if there.execution_id != state.execution_id => Mismatch { found: Found::Foreign, ..nothing },
        Ok(there) if there.phase != nothing.phase => {
            let why = Some(format!("{} is a checkpoint of {}", path.display(), there.phase));
            Mismatch { why, ..nothing }
        }
        Ok(there) => Mismatch { found: Found::Different, checkpoint: Some(Box::new(there)), ..nothing },
    }
}

/// Every valid checkpoint in the folder, in phase order, of whatever execution, and what is wrong with the other files.
#[must_use]
pub fn found_checkpoints(layout: &Layout) -> (Vec<Checkpoint>, Vec<String>) {
    found_checkpoints_in(layout.disk().as_ref(), &layout.checkpoints())
}

pub(super) fn found_checkpoints_in(disk: &dyn Disk, folder: &Path) -> (Vec<Checkpoint>, Vec<String>) {
    let (mut valid, mut wrong) = (Vec::new(), Vec::new());
    for phase in Phase::ALL {
        let path = folder.join(format!("{phase}.yaml"));
        match format::read::<Checkpoint>(disk, &path, &CHECKER) {
            Ok(None) => {}
            Ok(Some(checkpoint)) if checkpoint.phase == *phase => valid.push(checkpoint),
            Ok(Some(checkpoint)) => {
                wrong.push(format!("{} is a checkpoint of {}", path.display(), checkpoint.phase));
            }
            Err(error) => wrong.push(error.to_string()),
        }
    }
    (valid, wrong)
}

/// Removes what writes that never finished left in the workspace. Only for the owner, when nobody writes.
///
/// # Errors
/// [`StoreError`].
pub fn remove_unfinished(layout: &Layout) -> Result<(), StoreError> {
    for folder in [layout.run(), layout.logs(), layout.checkpoints(), layout.escalations()] {
        // What is no folder is put aside where it is in the way.
        if layout.disk().is_folder(&folder) {
            layout.disk().remove_unfinished(&folder)?;
        }
    }
    Ok(())
}

/// Writes the reports of the journal that are missing or torn again, and says which. What people edited in one stays.
///
/// # Errors
/// [`StoreError`].
pub fn project_all(layout: &Layout, state: &State) -> Result<Vec<PathBuf>, StoreError> {
    make_room_for_folders(layout)?;
    let mut restored = Vec::new();
    for (number, report) in &state.reports {
        let paths = report_paths(layout, &report.execution_id, *number);
        let texts = report_texts(&paths, report)?;
        for (path, text) in [&paths.yaml, &paths.markdown].into_iter().zip(texts) {
            let lost = match layout.disk().read(path, LONGEST) {
                _ if !make_room(layout, path)?.is_empty() => true,
                Err(error) => error.is_not_found(),
                Ok(bytes) => bytes != text.as_bytes() && is_torn(&bytes, text.as_bytes()),
            };
            if lost {
                layout.disk().write_durably(path, text.as_bytes(), Privacy::Shared)?;
                restored.push(path.strip_prefix(layout.workspace()).unwrap_or(path).to_path_buf());
            }
        }
    }
    Ok(restored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{ExecutionId, PhaseExit};
    use crate::events::RunOrigin;
    use crate::store::write_checkpoint;
    use crate::system::files;
    use jiff::Timestamp;

    fn checkpoint(id: &str, phase: Phase, summary: &str) -> Checkpoint {
        Checkpoint {
            execution_id: ExecutionId::new(id).expect("not empty"),
            phase,
            created_at: Timestamp::from_second(1_769_868_000).expect("in range"),
            exit_code: PhaseExit::Success,
            summary: summary.into(),
            decisions: Vec::new(),
            artifacts: Vec::new(),
            errors: Vec::new(),
            metrics: None,
        }
    }

    /// A workspace in which `design` is concluded and written.
    fn workspace() -> (tempfile::TempDir, Layout, State) {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(folder.path());
        let design = checkpoint("exec-1", Phase::Design, "done");
        let mut state = State::new(
            design.execution_id.clone(),
            vec![Phase::Design, Phase::Audit],
            RunOrigin::config(),
            design.created_at,
        );
        state.checkpoints.insert(Phase::Design, design.clone());
        state.replaced.push(checkpoint("exec-1", Phase::Design, "at first it failed"));
        write_checkpoint(&layout, &design).expect("written");
        (folder, layout, state)
    }

    #[test]
    fn what_is_not_as_the_journal_has_it_is_told_apart() {
        let (_folder, layout, state) = workspace();
        assert_eq!(compare(&layout, &state), []);
        let path = layout.checkpoint(Phase::Design);
        let whole = files::read(&path, 1 << 20).expect("read");
        let text = String::from_utf8(whole.clone()).expect("text");
        let zeros = vec![0; whole.len()];
        let half = [&whole[..10], &zeros[10..]].concat();
        // As long as nothing that was written.
        let (too_few, half_of_them) = (vec![0; 100], [&whole[..10], &zeros[..90]].concat());
        // Of one that was written before, and had not reached the disk either.
        let replaced = checkpoint_text(&path, &state.replaced[0]).expect("writable").into_bytes();
        let rows: Vec<(Option<Vec<u8>>, Found)> = vec![
            (None, Found::Missing),
            (Some(Vec::new()), Found::Torn),
            (Some(whole[..whole.len() - 1].to_vec()), Found::Torn),
            (Some(zeros), Found::Torn),
            (Some(half), Found::Torn),
            (Some(replaced[..replaced.len() - 2].to_vec()), Found::Torn),
            (Some(replaced.clone()), Found::Different),
            (Some(too_few), Found::NotACheckpoint),
            (Some(half_of_them), Found::NotACheckpoint),
            (Some(text.replace("done", "else").into_bytes()), Found::Different),
            (Some(format!("{text}more: 1\n").into_bytes()), Found::Different),
            (Some(text.replace("exec-1", "exec-2").into_bytes()), Found::Foreign),
            (Some(text.replace("'design'", "'audit'").into_bytes()), Found::NotACheckpoint),
            (Some(b"summary: half\n".to_vec()), Found::NotACheckpoint),
            (Some(b"\xff".to_vec()), Found::NotACheckpoint),
        ];
        for (bytes, found) in &rows {
            match bytes {
                Some(bytes) => files::replace(&path, bytes, Privacy::Shared).expect("written"),
                None => files::remove(&path).expect("removed"),
            }
            let mismatches = compare(&layout, &state);
            let [only] = &mismatches[..] else { panic!("{bytes:?}: {mismatches:?}") };
            assert_eq!((only.phase, only.found, only.concluded), (Phase::Design, *found, true), "{bytes:?}");
            assert_eq!(only.why.is_some(), *found == Found::NotACheckpoint);
        }
    }

    #[test]
    fn what_lies_where_nothing_is_concluded_does_not_count() {
        let (_folder, layout, state) = workspace();
        for (bytes, found) in [
            (&b"junk"[..], Found::NotACheckpoint),
            (b"", Found::NotACheckpoint),
            (
                b"execution_id: exec-1\nphase: audit\ncreated_at: '2026-01-31T14:00:00Z'\nexit_code: 0\nsummary: s\n",
                Found::Different,
            ),
        ] {
            files::replace(&layout.checkpoint(Phase::Audit), bytes, Privacy::Shared).expect("written");
            let mismatches = compare(&layout, &state);
            assert_eq!((mismatches.len(), mismatches[0].found, mismatches[0].concluded), (1, found, false));
        }
    }
}
