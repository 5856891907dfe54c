//! What a runtime left on disk: the checkpoint folder as it stands now, and which files appeared or changed meanwhile.
//!
//! The judge's own reading of the disk. It reads regular files only, so that no named pipe can make it wait, never more than
//! a cap of each, and nothing that a link of the runtime's leads to outside of the case.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::system::{beneath, files};

use super::FileSeen;

/// The folder that the contract names.
const CHECKPOINTS: &str = ".loa-checkpoint";
/// The most bytes of a file that the judge reads.
const LONGEST: u64 = 1 << 20;
/// The most files of a workspace that the judge looks at: a runtime that unpacks a world must not stop it.
const MOST_FILES: usize = 20_000;

/// The folders in which a runtime leaves what it wants to be read: that of the case, and those that it may write besides.
#[derive(Debug, Clone, Default)]
pub(super) struct Grounds(Vec<PathBuf>);

impl Grounds {
    pub(super) fn new(case: PathBuf, writable: Vec<PathBuf>) -> Self {
        Self([case].into_iter().chain(writable).collect())
    }

    /// The files of a workspace's checkpoint folder, by name; folders inside it are left out. One that is not read says why
    /// instead, which no demand on a checkpoint lets pass.
    pub(super) fn checkpoints(&self, workspace: &Path) -> BTreeMap<String, FileSeen> {
        let folder = workspace.join(CHECKPOINTS);
        let is_ours = self.ground(&folder).is_some_and(|(ground, below)| beneath::is_inside(ground, below));
        let paths = if is_ours { files::list(&folder).unwrap_or_default() } else { Vec::new() };
        let seen = |path: &Path| match self.content(path) {
            _ if path.is_dir() && !path.is_symlink() => None,
            Ok(seen) => Some(seen),
            Err(why) => Some(FileSeen { text: format!("(not read by the judge, for {why})"), modified: 0 }),
        };
        let named = |path: &PathBuf| Some((path.file_name()?.to_string_lossy().into_owned(), seen(path)?));
        paths.iter().filter_map(named).collect()
    }

    /// A regular file's content; `None` when there is none, it is beyond the cap, or it lies outside.
    pub(super) fn file(&self, path: &Path) -> Option<FileSeen> {
        self.content(path).ok()
    }

    fn content(&self, path: &Path) -> Result<FileSeen, String> {
        let bytes = self.bytes(path, LONGEST)?;
        let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
        let modified = u64::try_from(Print::of(&metadata).modified / 1_000_000).unwrap_or(u64::MAX);
        Ok(FileSeen { text: String::from_utf8_lossy(&bytes).into_owned(), modified })
    }

    fn bytes(&self, path: &Path, limit: u64) -> Result<Vec<u8>, String> {
        let (ground, below) = self.ground(path).ok_or("it lies outside of the case")?;
        beneath::read(ground, below, limit).map_err(|error| error.source.to_string())
    }

    /// The ground that a path is named below, and the rest of it.
    fn ground<'a>(&'a self, path: &'a Path) -> Option<(&'a Path, &'a Path)> {
        self.0.iter().find_map(|ground| Some((ground.as_path(), path.strip_prefix(ground).ok()?)))
    }
}

/// Where the context's state stands.
pub(super) fn context_state(workspace: &Path) -> PathBuf {
    workspace.join(CHECKPOINTS).join("context-state.yaml")
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
    pub(super) fn lines(&mut self, grounds: &Grounds) -> Vec<String> {
        let print = Print::at(&self.path);
        if print == self.print {
            return Vec::new();
        }
        self.print = print;
        let bytes = grounds.bytes(&self.path, 64 * LONGEST).unwrap_or_default();
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
        let grounds = Grounds::new(place.path().to_path_buf(), Vec::new());
        let checkpoints = |workspace: &Path| grounds.checkpoints(workspace);
        assert!(checkpoints(place.path()).is_empty());
        fs::create_dir_all(place.path().join(".loa-checkpoint/escalations")).expect("made");
        fs::write(place.path().join(".loa-checkpoint/design.yaml"), b"a: \xff").expect("written");
        let seen = checkpoints(place.path());
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["design.yaml"]);
        assert_eq!(seen["design.yaml"].text, "a: \u{fffd}");
        assert!(seen["design.yaml"].modified > 1_600_000_000_000);
    }

    #[test]
    fn what_a_link_leads_to_outside_is_not_read_and_neither_is_a_pipe() {
        let (outside, place) = (self::place(), self::place());
        let [secret, folder] = [outside.path().join("design.yaml"), place.path().join(".loa-checkpoint")];
        fs::write(&secret, "secret: 1").expect("written");
        fs::create_dir(&folder).expect("made");
        fs::write(place.path().join("kept"), "kept: 1").expect("written");
        for (to, name) in
            [(secret.as_path(), "out.yaml"), (Path::new("../kept"), "inside.yaml"), (Path::new("/"), "root.yaml")]
        {
            std::os::unix::fs::symlink(to, folder.join(name)).expect("linked");
        }
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, folder.join("pipe.yaml"), fifo, 0o600.into(), 0).expect("a pipe");
        let grounds = Grounds::new(place.path().to_path_buf(), Vec::new());
        let seen = grounds.checkpoints(place.path());
        assert_eq!(seen["inside.yaml"].text, "kept: 1");
        for name in ["out.yaml", "root.yaml", "pipe.yaml"] {
            assert!(seen[name].text.starts_with("(not read by the judge, for it "), "{name}: {}", seen[name].text);
        }
        assert_eq!(grounds.file(&secret), None);
        assert!(Tail::new(secret).lines(&grounds).is_empty());
        fs::remove_dir_all(&folder).expect("removed");
        std::os::unix::fs::symlink(outside.path(), &folder).expect("linked");
        assert!(grounds.checkpoints(place.path()).is_empty(), "a folder elsewhere");
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
        let grounds = Grounds::new(place.path().to_path_buf(), Vec::new());
        let mut lines = || tail.lines(&grounds);
        assert!(lines().is_empty(), "a file that is not there yet");
        fs::write(&path, "one\ntw").expect("written");
        assert_eq!(lines(), ["one"]);
        fs::write(&path, "one\ntwo\n").expect("written");
        assert_eq!(lines(), ["two"]);
        assert!(lines().is_empty());
        fs::write(&path, "new\n").expect("written");
        assert_eq!(lines(), ["new"]);
    }
}
