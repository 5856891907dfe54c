//! Files of a place that nobody keeps: not durable, so that laying a hundred of them costs no sync.
#![expect(clippy::disallowed_methods, reason = "this is where files are written")]

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
