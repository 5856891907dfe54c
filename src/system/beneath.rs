//! Files below a folder, read so that no link leads out of it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};

use super::disk::Kind;
use super::files::{self, FileError};

/// Reads a regular file of at most `limit` bytes below a folder. Links are followed as long as they stay below it.
///
/// # Errors
/// [`FileError`]: not there, no regular file, outside of the folder, unreadable, or longer than `limit`.
pub fn read(folder: &Path, relative: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let failed = |source| FileError { action: "read", path: folder.join(relative), source };
    let file = open_regular(folder, relative).map_err(failed)?;
    let mut content = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > limit {
        let reason = format!("it is longer than the {limit} bytes allowed here");
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, reason)));
    }
    Ok(content)
}

/// Opens a regular file below a folder, to be read. Links are followed as long as they stay below it.
///
/// # Errors
/// As [`read`].
pub fn open(folder: &Path, relative: &Path) -> Result<File, FileError> {
    open_regular(folder, relative).map_err(|source| FileError { action: "read", path: folder.join(relative), source })
}

/// Whether a regular file below a folder is executable by anybody; `None` where there is none that can be read.
#[must_use]
pub fn is_executable(folder: &Path, relative: &Path) -> Option<bool> {
    let found = open_regular(folder, relative).ok()?.metadata().ok()?;
    Some(found.permissions().mode() & 0o111 != 0)
}

/// Whether what this names below a folder is there, and no link leads out of it.
#[must_use]
pub fn is_inside(folder: &Path, relative: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(folder).zip(real(&folder.join(relative))).is_some_and(|(folder, place)| place.starts_with(folder))
}

/// Whether a link leads from what this names below a folder to somewhere else; not where nothing is there.
#[must_use]
pub fn leads_out(folder: &Path, relative: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(folder).zip(real(&folder.join(relative))).is_some_and(|(folder, place)| !place.starts_with(folder))
}

fn open_regular(folder: &Path, relative: &Path) -> io::Result<File> {
    let refused = |reason: &str| io::Error::new(io::ErrorKind::InvalidInput, reason.to_owned());
    let folder = std::fs::canonicalize(folder)?;
    let real = std::fs::canonicalize(folder.join(relative))?;
    let inside = real.strip_prefix(&folder).map_err(|_| refused("it lies outside of the workspace"))?;
    // What was a folder or a file a moment ago may be a link now.
    let mut at: OwnedFd = File::open(&folder)?.into();
    let mut names: Vec<&OsStr> = inside.iter().collect();
    let Some(last) = names.pop() else { return Err(refused("it is a folder")) };
    for name in names {
        at = openat(&at, name, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(&at, last, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused("it is no regular file")) }
}

/// The regular files and the links in a folder and below, relative to `root`; without those below `left_out`, which are names
/// in `root`. No link is followed. `None` when there are more entries than `most`.
///
/// # Errors
/// [`FileError`] when a folder cannot be listed.
pub fn files(root: &Path, folder: &Path, left_out: &[&str], most: usize) -> Result<Option<Vec<PathBuf>>, FileError> {
    let (mut found, mut seen) = (Vec::new(), 0);
    let mut open = vec![folder.to_path_buf()];
    while let Some(place) = open.pop() {
        match files::kind(&root.join(&place)) {
            Some(Kind::File) => found.push(place),
            Some(Kind::Folder) => {
                for entry in files::list(&root.join(&place))? {
                    let relative = entry.strip_prefix(root).unwrap_or(&entry).to_path_buf();
                    if !left_out.iter().any(|name| relative == Path::new(name)) {
                        open.push(relative);
                    }
                    seen += 1;
                }
            }
            Some(Kind::Other) if files::link_target(&root.join(&place)).is_some() => found.push(place),
            Some(Kind::Other) | None => {}
        }
        if seen > most {
            return Ok(None);
        }
    }
    found.sort();
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::super::files::Privacy;
    use super::*;

    #[test]
    fn a_link_that_leads_out_is_told_from_one_that_stays() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path().join("workspace");
        files::ensure_folder(&root.join("sub")).expect("made");
        for (to, name) in [("..", "up"), ("sub", "stays"), ("nowhere", "dangling")] {
            std::os::unix::fs::symlink(to, root.join(name)).expect("linked");
        }
        for (name, leads) in [("up", true), ("stays", false), ("sub", false), ("dangling", false), ("none", false)] {
            assert_eq!(leads_out(&root, Path::new(name)), leads, "{name}");
        }
    }

    #[test]
    fn no_link_leads_out_and_nothing_but_a_regular_file_is_read() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path().join("workspace");
        files::ensure_folder(&root.join("sub")).expect("made");
        files::replace(&place.path().join("secret"), b"secret", Privacy::Shared).expect("written");
        files::replace(&root.join("sub/file"), b"text", Privacy::Shared).expect("written");
        for (to, name) in [("../secret", "out"), ("sub", "folder"), ("sub/file", "inside"), ("..", "up")] {
            std::os::unix::fs::symlink(to, root.join(name)).expect("linked");
        }
        let text = |name: &str| read(&root, Path::new(name), 4).ok();
        for name in ["sub/file", "./sub/file", "inside", "folder/file"] {
            assert_eq!(text(name).as_deref(), Some(&b"text"[..]), "{name}");
        }
        for name in ["out", "up/secret", "../secret", "sub", "", "missing", "/etc/hostname"] {
            assert_eq!(text(name), None, "{name}");
        }
        assert!(read(&root, Path::new("sub/file"), 3).is_err(), "longer than allowed");
        let all = super::files(&root, Path::new(""), &[], 100).expect("readable").expect("few");
        let names: Vec<_> = all.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(names, ["folder", "inside", "out", "sub/file", "up"], "links are not followed");
        assert_eq!(
            super::files(&root, Path::new(""), &["sub", "folder", "inside", "out", "up"], 100).expect("readable"),
            Some(Vec::new())
        );
        assert_eq!(super::files(&root, Path::new(""), &[], 3).expect("readable"), None);
    }
}
