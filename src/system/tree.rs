//! The files of a folder at one moment, to see what work did to them.
//!
//! Left out is what git would ignore, in a repository or not; what lies behind links, on other file systems and in `.git`;
//! and names that are no text, for no document could say them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ignore::gitignore::gitconfig_excludes_path;
use ignore::{DirEntry, WalkBuilder};

/// Looks at the files of a folder again and again. What git ignores everywhere on this host is read once.
#[derive(Debug, Clone)]
pub struct Looker {
    folder: PathBuf,
    walk: WalkBuilder,
}

/// The files of a folder, by their path in it.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    folder: PathBuf,
    files: BTreeMap<String, Stamp>,
}

/// What tells two contents of a file apart without reading them.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    created: Option<SystemTime>,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its path in the folder.
    pub path: String,
    /// What was done.
    pub kind: ChangeKind,
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new; its size in bytes.
    Created(u64),
    /// It was written; its size in bytes.
    Modified(u64),
    /// It is gone.
    Deleted,
}

impl Looker {
    /// For the files below `folder`, but for what stands directly in it under a name of `except`.
    #[must_use]
    pub fn new(folder: &Path, except: &[&str]) -> Self {
        let except: Vec<PathBuf> = except.iter().map(|name| folder.join(name)).collect();
        let mut walk = WalkBuilder::new(folder);
        walk.hidden(false).ignore(false).require_git(false).same_file_system(true);
        // As the walk itself would read it, each time.
        walk.git_global(false);
        if let Some(everywhere) = gitconfig_excludes_path().filter(|path| path.is_file()) {
            walk.add_ignore(everywhere);
        }
        walk.filter_entry(move |entry| entry.file_name() != ".git" && !except.iter().any(|path| path == entry.path()));
        Self { folder: folder.to_path_buf(), walk }
    }

    /// The files as they are now; `None` when there are more than `most` files and folders.
    #[must_use]
    pub fn look(&self, most: usize) -> Option<Tree> {
        let mut files = BTreeMap::new();
        for (count, entry) in self.walk.build().enumerate() {
            if count > most {
                return None;
            }
            // What cannot be read, or went away meanwhile, cannot be compared either.
            files.extend(entry.ok().and_then(|entry| stamped(&self.folder, &entry)));
        }
        Some(Tree { folder: self.folder.clone(), files })
    }
}

impl Tree {
    /// As the tree was before `moment`, as far as that can be told now: files that are newer were not there, those that
    /// were written since looked otherwise.
    #[must_use]
    pub fn before(mut self, moment: SystemTime) -> Self {
        let since = |time: Option<SystemTime>| time.is_some_and(|time| time >= moment);
        self.files.retain(|_, stamp| !since(stamp.created));
        for stamp in self.files.values_mut().filter(|stamp| since(stamp.modified)) {
            stamp.modified = None;
        }
        self
    }

    /// What became of the files on the way to `later`, in the order of their paths.
    #[must_use]
    pub fn changes(&self, later: &Self) -> Vec<Change> {
        let gone = self.files.keys().filter(|path| !later.files.contains_key(*path));
        // One that git began to ignore is still there.
        let gone = gone.filter(|path| self.folder.join(path).symlink_metadata().is_err());
        let gone = gone.map(|path| Change { path: path.clone(), kind: ChangeKind::Deleted });
        let there = later.files.iter().filter_map(|(path, stamp)| {
            let kind = match self.files.get(path) {
                None => ChangeKind::Created(stamp.size),
                Some(earlier) if !earlier.looks_like(stamp) => ChangeKind::Modified(stamp.size),
                Some(_) => return None,
            };
            Some(Change { path: path.clone(), kind })
        });
        let mut changes: Vec<Change> = there.chain(gone).collect();
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        changes
    }
}

impl Stamp {
    fn looks_like(&self, other: &Self) -> bool {
        (self.size, self.modified) == (other.size, other.modified)
    }
}

fn stamped(folder: &Path, entry: &DirEntry) -> Option<(String, Stamp)> {
    if !entry.file_type()?.is_file() {
        return None;
    }
    let path = entry.path().strip_prefix(folder).ok()?.to_str()?.to_owned();
    let found = entry.metadata().ok()?;
    Some((path, Stamp { size: found.len(), modified: found.modified().ok(), created: found.created().ok() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files::{self, Privacy};

    fn write(folder: &Path, name: &str, text: &str) {
        files::ensure_folder(folder.join(name).parent().expect("inside")).expect("made");
        files::write_durably(&folder.join(name), text.as_bytes(), Privacy::Shared).expect("written");
    }

    fn tree(folder: &Path) -> Tree {
        Looker::new(folder, &[".own"]).look(100).expect("few files")
    }

    #[test]
    fn every_change_is_seen_and_what_does_not_count_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        for name in ["kept", "edited", "gone", "soon ignored", ".gitignore"] {
            write(at, name, if name == ".gitignore" { "*.log\nbuilt/\n" } else { "one" });
        }
        let looker = Looker::new(at, &[".own"]);
        let before = looker.look(100).expect("few files");
        write(at, "edited", "other");
        write(at, "deep/a name\nof two lines", "new");
        for hidden in ["x.log", "built/program", ".git/HEAD", ".own/state", "deep/.git"] {
            write(at, hidden, "x");
        }
        files::remove(&at.join("gone")).expect("removed");
        std::os::unix::fs::symlink("/etc/passwd", at.join("link")).expect("linked");
        write(at, ".gitignore", "*.log\nbuilt/\nsoon ignored\n");
        let changes = before.changes(&looker.look(100).expect("few files"));
        let change = |path: &str, kind| Change { path: path.to_owned(), kind };
        let expected = [
            change(".gitignore", ChangeKind::Modified(26)),
            change("deep/a name\nof two lines", ChangeKind::Created(3)),
            change("edited", ChangeKind::Modified(5)),
            change("gone", ChangeKind::Deleted),
        ];
        assert_eq!(changes, expected);
        assert!(looker.look(3).is_none(), "too many");
    }

    #[test]
    fn the_tree_of_an_earlier_moment_lacks_what_came_since() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), "old", "one");
        let now = tree(folder.path());
        let at = now.files["old"].modified.expect("a time");
        assert!(now.clone().before(at + std::time::Duration::from_nanos(1)).changes(&now).is_empty());
        let born = now.files["old"].created;
        let expected = if born.is_some() { ChangeKind::Created(3) } else { ChangeKind::Modified(3) };
        let changes = now.clone().before(born.unwrap_or(at)).changes(&now);
        assert_eq!(changes, [Change { path: "old".to_owned(), kind: expected }]);
        let mut written = now.clone();
        written.files.get_mut("old").expect("there").created = None;
        assert_eq!(written.before(at).changes(&now)[0].kind, ChangeKind::Modified(3));
    }
}
