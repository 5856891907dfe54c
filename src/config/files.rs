//! The files that settings come from, and who reads them.

use std::path::Path;

use super::Source;
use crate::diag::Budget;
use crate::system::files::{self, FileError};

/// What a file is to the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// The workspace's configuration.
    Workspace,
    /// The user's own configuration.
    User,
    /// The file of an older program's home, under its old names.
    OldHome,
    /// The file of an older program in the workspace.
    OldProject,
}

/// Reads the files that settings come from: from the disk, or from where they were written down earlier.
pub trait ConfigFiles {
    /// The file in a role, which lies at a path; `None` when there is none.
    ///
    /// # Errors
    /// [`FileError`] when it is there and cannot be read.
    fn read(&self, role: FileRole, path: &Path) -> Result<Option<Source>, FileError>;
}

/// The files as they lie on the disk.
#[derive(Debug, Clone, Copy)]
pub struct OnDisk;

impl ConfigFiles for OnDisk {
    fn read(&self, _: FileRole, path: &Path) -> Result<Option<Source>, FileError> {
        match files::read(path, Budget::default().bytes) {
            Ok(bytes) => Ok(Some(Source { path: path.to_path_buf(), bytes })),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
