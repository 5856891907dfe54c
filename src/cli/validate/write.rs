//! Writing files: whole, or not at all.

use std::path::Path;

use crate::cli::{ExitStatus, Failure};
use crate::system::files::{self, FileError, Privacy};
use crate::system::process::Interrupt;
use crate::system::rewrite::rewrite;
use crate::system::signals::held;

/// Replaces a file. A wish to end waits until that is done, and is an error then.
pub(super) fn whole(path: &Path, content: &[u8], privacy: Privacy) -> Result<(), Failure> {
    uninterrupted(path, || files::write_durably(path, content, privacy))
}

/// Replaces what a file holds, and keeps whose it is and who may read it. Otherwise as [`whole`].
pub(super) fn in_place(path: &Path, content: &[u8]) -> Result<(), Failure> {
    uninterrupted(path, || rewrite(path, content))
}

fn uninterrupted(path: &Path, write: impl FnOnce() -> Result<(), FileError>) -> Result<(), Failure> {
    let (written, came) = held(write);
    written.map_err(|error| Failure::new(ExitStatus::WriteFailed, error).hint("the file is as it was"))?;
    let status = match came {
        None => return Ok(()),
        Some(Interrupt::Interrupt) => ExitStatus::Interrupted,
        Some(Interrupt::Terminate) => ExitStatus::Terminated,
    };
    Err(Failure::new(status, format!("interrupted; {} was the last file written", path.display())))
}
