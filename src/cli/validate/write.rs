//! Writing files: whole, or not at all.

use std::path::Path;

use crate::cli::{ExitStatus, Failure};
use crate::system::files::{self, Privacy};
use crate::system::process::Interrupt;
use crate::system::signals::held;

/// Replaces a file. A wish to end waits until that is done, and is an error then.
pub(super) fn whole(path: &Path, content: &[u8], privacy: Privacy) -> Result<(), Failure> {
    let (written, came) = held(|| files::write_durably(path, content, privacy));
    written.map_err(|error| Failure::new(ExitStatus::WriteFailed, error).hint("the file is as it was"))?;
    let status = match came {
        None => return Ok(()),
        Some(Interrupt::Interrupt) => ExitStatus::Interrupted,
        Some(Interrupt::Terminate) => ExitStatus::Terminated,
    };
    Err(Failure::new(status, format!("interrupted; {} was the last file written", path.display())))
}
