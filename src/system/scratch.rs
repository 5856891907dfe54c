//! Files of a place that nobody keeps: not durable, so that laying a hundred of them costs no sync.
#![expect(clippy::disallowed_methods, reason = "this is where files are written")]

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions as OpenBelow, OpenOptionsExt as _};
use rustix::fs::OFlags;
use tempfile::TempDir;

/// Something of a scratch place that could not be laid.
#[derive(Debug, thiserror::Error)]
#[error("cannot lay {}", path.display())]
pub struct ScratchError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the host said.
    pub source: io::Error,
}

/// A fresh folder below the host's folder for such things, removed when it is dropped.
///
/// # Errors
/// [`ScratchError`] when it cannot be made.
pub fn folder(prefix: &str) -> Result<TempDir, ScratchError> {
    let made = tempfile::Builder::new().prefix(prefix).tempdir();
    made.map_err(|source| ScratchError { path: PathBuf::from(prefix), source })
}

/// The same below this folder, which is made where it is missing, and stays.
///
/// # Errors
/// [`ScratchError`] when it cannot be made.
pub fn folder_below(parent: &Path, prefix: &str) -> Result<TempDir, ScratchError> {
    let made = fs::create_dir_all(parent).and_then(|()| tempfile::Builder::new().prefix(prefix).tempdir_in(parent));
    made.map_err(|source| ScratchError { path: parent.join(prefix), source })
}

/// Writes a file and the folders above it, replacing what was there.
///
/// # Errors
/// [`ScratchError`].
pub fn lay(path: &Path, content: &[u8]) -> Result<(), ScratchError> {
    write(path, content, 0o666).map_err(|source| ScratchError { path: path.to_path_buf(), source })
}

/// The same for a file that can be started.
///
/// # Errors
/// [`ScratchError`].
pub fn lay_program(path: &Path, content: &[u8]) -> Result<(), ScratchError> {
    write(path, content, 0o777).map_err(|source| ScratchError { path: path.to_path_buf(), source })
}

fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(content)?;
    let is_program = mode & 0o100 != 0;
    if is_program && file.metadata()?.permissions().mode() & 0o100 == 0 {
        file.set_permissions(fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// A folder in which somebody else works too: nothing that this one lays, takes away or renames is outside of it, whatever
/// links the other puts there meanwhile. A link that stays inside is followed, as an editor would.
#[derive(Debug)]
pub struct Shared {
    root: PathBuf,
    folder: Dir,
}

impl Shared {
    /// Holds on to the folder, which stays the same one from now on, whatever its name comes to mean.
    ///
    /// # Errors
    /// [`ScratchError`]: it is not there, or no folder.
    pub fn open(root: &Path) -> Result<Self, ScratchError> {
        let opened = Dir::open_ambient_dir(root, ambient_authority());
        let folder = opened.map_err(|source| ScratchError { path: root.to_path_buf(), source })?;
        Ok(Self { root: root.canonicalize().unwrap_or_else(|_| root.to_path_buf()), folder })
    }

    /// Writes a file, and the folders above it, replacing what it held.
    ///
    /// # Errors
    /// [`ScratchError`]: it would be outside, something that is no file stands there, or the host refuses.
    pub fn lay(&self, path: &Path, content: &[u8]) -> Result<(), ScratchError> {
        let followed = self.below(self.root.join(path).canonicalize().ok());
        self.at(followed.as_deref().unwrap_or(path), |folder, path| {
            if let Some(parent) = path.parent() {
                folder.create_dir_all(parent)?;
            }
            let mut options = OpenBelow::new();
            // A named pipe must not make anybody wait.
            options
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o666)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
            let mut file = folder.open_with(path, &options)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("it is no file"));
            }
            file.write_all(content)
        })
    }

    /// Removes a file, or a link itself. One that is not there is no error.
    ///
    /// # Errors
    /// [`ScratchError`]: it would be outside, it is a folder, or the host refuses.
    pub fn remove(&self, path: &Path) -> Result<(), ScratchError> {
        self.at(path, |folder, path| match folder.remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        })
    }

    /// Gives something another name.
    ///
    /// # Errors
    /// [`ScratchError`]: one of them would be outside, or the host refuses.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), ScratchError> {
        self.at(from, |folder, from| folder.rename(from, folder, to))
    }

    /// Does something to a path below the folder, with links above it that name the folder from `/` read as links from inside.
    fn at(&self, path: &Path, act: impl FnOnce(&Dir, &Path) -> io::Result<()>) -> Result<(), ScratchError> {
        let whole = self.root.join(path);
        let parent = whole.parent().and_then(|parent| parent.canonicalize().ok());
        let resolved = parent.zip(whole.file_name()).map(|(parent, name)| parent.join(name));
        act(&self.folder, self.below(resolved).as_deref().unwrap_or(path))
            .map_err(|source| ScratchError { path: whole, source })
    }

    /// A whole path as one from the folder, where it is inside.
    fn below(&self, whole: Option<PathBuf>) -> Option<PathBuf> {
        whole?.strip_prefix(&self.root).map(Path::to_path_buf).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_laid_program_can_be_started_and_a_second_laying_replaces_the_first() {
        let place = folder("scratch-").expect("a folder");
        let path = place.path().join("deep/er/x");
        lay(&path, b"a long first content").expect("laid");
        lay_program(&path, b"short").expect("laid");
        assert_eq!(fs::read(&path).expect("there"), b"short");
        assert_ne!(fs::metadata(&path).expect("there").permissions().mode() & 0o100, 0);
        assert!(lay(place.path(), b"").expect_err("a folder").to_string().contains("scratch-"));
    }

    #[test]
    fn what_is_laid_in_a_shared_folder_never_leaves_it() {
        let outside = folder("outside-").expect("a folder");
        let place = folder("shared-").expect("a folder");
        let secret = outside.path().join("secret");
        lay(&secret, b"mine").expect("laid");
        let shared = Shared::open(place.path()).expect("open");
        for (link, target) in
            [("out", outside.path()), ("file", &secret), ("up", Path::new("..")), ("new", &outside.path().join("new"))]
        {
            symlink(target, place.path().join(link)).expect("linked");
        }
        for path in ["out/secret", "file", "up/x", "../x", "out/deep/x", "new", "/etc/x"] {
            assert!(shared.lay(Path::new(path), b"theirs").is_err(), "{path}");
        }
        for path in ["out/secret", "up/x"] {
            assert!(shared.remove(Path::new(path)).is_err(), "{path}");
        }
        assert!(shared.rename(Path::new("out/secret"), Path::new("x")).is_err());
        assert_eq!(fs::read(&secret).expect("there"), b"mine");
        assert_eq!(fs::read_dir(outside.path()).expect("there").count(), 1);
        shared.remove(Path::new("file")).expect("the link itself goes");
        assert!(secret.exists());
    }

    #[test]
    fn links_that_stay_inside_are_followed_and_a_pipe_is_not_waited_for() {
        let place = folder("shared-").expect("a folder");
        let shared = Shared::open(place.path()).expect("open");
        shared.lay(Path::new("store/deep/a"), b"before").expect("laid");
        symlink("store", place.path().join("near")).expect("linked");
        symlink(place.path().join("store"), place.path().join("whole")).expect("linked");
        for (path, content) in [("near/deep/a", "near"), ("whole/deep/a", "whole")] {
            shared.lay(Path::new(path), content.as_bytes()).expect(path);
            assert_eq!(fs::read_to_string(place.path().join("store/deep/a")).expect("there"), content);
        }
        shared.rename(Path::new("near/deep/a"), Path::new("b")).expect("renamed");
        shared.remove(Path::new("b")).expect("removed");
        shared.remove(Path::new("b")).expect("nothing to remove");
        assert!(!place.path().join("b").exists());
        rustix::fs::mknodat(rustix::fs::CWD, place.path().join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
        assert!(shared.lay(Path::new("pipe"), b"x").is_err());
    }
}
