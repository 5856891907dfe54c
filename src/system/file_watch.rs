//! Notices that files were written, moved or replaced, also where everything is as before when somebody looks again.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};

/// What makes a file another one, or may. Its rights and times do not.
const TOUCHED: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ONLYDIR);

/// A watch over files: over their names in the folders that they lie in, and over the names of those folders.
#[derive(Debug)]
pub struct FileWatch {
    inotify: Option<OwnedFd>,
    /// By the watch of a folder and a name in it: the files that are others when something else has that name.
    names: BTreeMap<(i32, OsString), Vec<PathBuf>>,
}

impl FileWatch {
    /// Begins to watch these files, which lie below `root` or have absolute paths; the folders below `root` are watched, too.
    /// Where the host allows no watch, nothing is noticed.
    #[must_use]
    pub fn over<'a>(root: &Path, files: impl IntoIterator<Item = &'a Path>) -> Self {
        let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
        let mut watch = Self { inotify, names: BTreeMap::new() };
        for file in files {
            let place = root.join(file);
            let mut at = place.as_path();
            while let (Some(folder), Some(name)) = (at.parent(), at.file_name()) {
                watch.add(folder, name, file);
                if folder == root || !folder.starts_with(root) {
                    break;
                }
                at = folder;
            }
        }
        watch
    }

    fn add(&mut self, folder: &Path, name: &OsStr, file: &Path) {
        let watched = self.inotify.as_ref().and_then(|inotify| add_watch(inotify, folder, TOUCHED).ok());
        if let Some(watched) = watched {
            self.names.entry((watched, name.to_owned())).or_default().push(file.to_path_buf());
        }
    }

    /// Those of them that were touched since then.
    #[must_use]
    pub fn touched(self) -> Vec<PathBuf> {
        let Some(inotify) = &self.inotify else { return Vec::new() };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(inotify, &mut buffer);
        let mut touched: Vec<PathBuf> = Vec::new();
        while let Ok(event) = reader.next() {
            // More happened than is remembered, so nobody knows.
            let is_lost = event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_owned());
            let key = (event.wd(), name.unwrap_or_default());
            let files = self.names.iter().filter(|(known, _)| is_lost || **known == key).flat_map(|(_, files)| files);
            touched.extend(files.cloned());
        }
        touched.sort();
        touched.dedup();
        touched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{files, scratch};

    #[test]
    fn what_was_changed_and_changed_back_is_noticed_and_what_lies_beside_it_is_not() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path();
        let lay = |path: &str| scratch::lay(&root.join(path), b"text").expect("laid");
        let rename = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs.iter().map(|(from, to)| (root.join(from), root.join(to))).collect();
            files::rename_all(&pairs).expect("renamed");
        };
        ["ci/gate.sh", "ci/other.sh", "evil.sh", "top.sh"].into_iter().for_each(lay);
        let watched = ["ci/gate.sh", "top.sh", "missing.sh"].map(Path::new);
        let touched_by = |deed: &dyn Fn()| {
            let watch = FileWatch::over(root, watched);
            deed();
            watch.touched()
        };
        let none: [&Path; 0] = [];
        assert_eq!(touched_by(&|| ["ci/other.sh", "new.sh"].into_iter().for_each(lay)), none);
        assert_eq!(touched_by(&|| drop(std::fs::read(root.join("top.sh")).expect("read"))), none);
        assert_eq!(touched_by(&|| lay("ci/gate.sh")), [watched[0]], "the same text again");
        assert_eq!(touched_by(&|| lay("missing.sh")), [watched[2]]);
        let swap = [("top.sh", "kept"), ("evil.sh", "top.sh"), ("top.sh", "evil.sh"), ("kept", "top.sh")];
        assert_eq!(touched_by(&|| rename(&swap)), [watched[1]]);
        assert_eq!(touched_by(&|| rename(&[("ci", "kept"), ("kept", "ci")])), [watched[0]]);
        let mode: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        assert_eq!(touched_by(&|| std::fs::set_permissions(root.join("top.sh"), mode.clone()).expect("changed")), none);
    }
}
