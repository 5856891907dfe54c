//! What a runtime left on disk: the checkpoint folder as it stands now, and which files appeared or changed meanwhile.
//!
//! The judge's own reading of the disk. It reads regular files only, so that no named pipe can make it wait, and never more
//! than a cap of each.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::system::files;

use super::FileSeen;

/// The folder that the contract names.
const CHECKPOINTS: &str = ".loa-checkpoint";
/// The most bytes of a file that the judge reads.
const LONGEST: u64 = 1 << 20;
/// The most files of a workspace that the judge looks at: a runtime that unpacks a world must not stop it.
const MOST_FILES: usize = 20_000;

/// The files of the checkpoint folder, by name; folders inside it are left out.
pub(super) fn checkpoints(workspace: &Path) -> BTreeMap<String, FileSeen> {
    let paths = files::list(&workspace.join(CHECKPOINTS)).unwrap_or_default();
    let named = |path: &PathBuf| Some((path.file_name()?.to_string_lossy().into_owned(), file(path)?));
    paths.iter().filter_map(named).collect()
}

/// Where the context's state stands.
pub(super) fn context_state(workspace: &Path) -> PathBuf {
    workspace.join(CHECKPOINTS).join("context-state.yaml")
}

/// A regular file's content; `None` when there is none or it is beyond the cap.
pub(super) fn file(path: &Path) -> Option<FileSeen> {
    let bytes = files::read(path, LONGEST).ok()?;
    let modified = Print::of(&fs::metadata(path).ok()?).modified / 1_000_000;
    Some(FileSeen {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        modified: u64::try_from(modified).unwrap_or(u64::MAX),
    })
}

/// How a file looked: enough to tell that it was written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Print {
    /// Nanoseconds since the epoch.
    pub(super) modified: u128,
    length: u64,
    inode: u64,
}

impl Print {
    /// Of the file behind a path, when there is one.
    pub(super) fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }

    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self { modified: modified.map_or(0, |time| time.as_nanos()), length: metadata.len(), inode: metadata.ino() }
    }
}

/// Every file below some folders, and how it looked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Footprint(BTreeMap<PathBuf, Print>);

impl Footprint {
    /// Looks at every regular file below the folders; repositories' own folders and links are left out.
    pub(super) fn of(folders: &[PathBuf]) -> Self {
        let mut found = BTreeMap::new();
        let mut open: Vec<PathBuf> = folders.to_vec();
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_dir() && entry.file_name() != ".git" {
                    open.push(entry.path());
                } else if metadata.is_file() {
                    found.insert(entry.path(), Print::of(&metadata));
                }
            }
            if found.len() > MOST_FILES {
                break;
            }
        }
        Self(found)
    }

    /// The files that are new or changed since `before`, the oldest writing first.
    pub(super) fn since(&self, before: &Self) -> Vec<(&Path, Print)> {
        let is_new = |path: &PathBuf, print: &Print| before.0.get(path) != Some(print);
        let mut changed: Vec<_> = self.0.iter().filter(|(path, print)| is_new(path, print)).collect();
        changed.sort_by_key(|(_, print)| print.modified);
        changed.into_iter().map(|(path, print)| (path.as_path(), *print)).collect()
    }
}

/// Follows a file of lines that somebody else appends to.
#[derive(Debug)]
pub(super) struct Tail {
    path: PathBuf,
    read: usize,
    print: Option<Print>,
}

impl Tail {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, read: 0, print: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The whole lines since the last call; a half line stays for the next. A file that became shorter is a new one.
    pub(super) fn lines(&mut self) -> Vec<String> {
        let print = Print::at(&self.path);
        if print == self.print {
            return Vec::new();
        }
        self.print = print;
        let bytes = files::read(&self.path, 64 * LONGEST).unwrap_or_default();
        if bytes.len() < self.read {
            self.read = 0;
        }
        let fresh = &bytes[self.read..];
        let whole = fresh.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.read += whole;
        let text = String::from_utf8_lossy(&fresh[..whole]);
        text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes what the journal reads")]
mod tests {
    use super::*;

    fn place() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[test]
    fn the_checkpoint_folder_is_read_flat() {
        let place = place();
        assert!(checkpoints(place.path()).is_empty());
        fs::create_dir_all(place.path().join(".loa-checkpoint/escalations")).expect("made");
        fs::write(place.path().join(".loa-checkpoint/design.yaml"), b"a: \xff").expect("written");
        let seen = checkpoints(place.path());
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["design.yaml"]);
        assert_eq!(seen["design.yaml"].text, "a: \u{fffd}");
        assert!(seen["design.yaml"].modified > 1_600_000_000_000);
    }

    #[test]
    fn only_new_and_changed_files_count_and_repositories_do_not() {
        let place = place();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path(".git")).expect("made");
        fs::write(path("old"), "1").expect("written");
        fs::write(path("touched"), "1").expect("written");
        let folders = [place.path().to_path_buf()];
        let before = Footprint::of(&folders);
        fs::write(path(".git/x"), "1").expect("written");
        fs::write(path("touched"), "22").expect("written");
        fs::create_dir_all(path("deep")).expect("made");
        fs::write(path("deep/new"), "1").expect("written");
        let after = Footprint::of(&folders);
        let mut names: Vec<_> = after.since(&before).iter().map(|(path, _)| path.to_path_buf()).collect();
        names.sort();
        assert_eq!(names, [path("deep/new"), path("touched")]);
        assert!(before.since(&before).is_empty());
    }

    #[test]
    fn a_tail_gives_whole_lines_once_and_starts_anew_with_a_new_file() {
        let place = place();
        let path = place.path().join("events");
        let mut tail = Tail::new(path.clone());
        assert!(tail.lines().is_empty(), "a file that is not there yet");
        fs::write(&path, "one\ntw").expect("written");
        assert_eq!(tail.lines(), ["one"]);
        fs::write(&path, "one\ntwo\n").expect("written");
        assert_eq!(tail.lines(), ["two"]);
        assert!(tail.lines().is_empty());
        fs::write(&path, "new\n").expect("written");
        assert_eq!(tail.lines(), ["new"]);
    }
}
