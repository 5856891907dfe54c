//! Standard output and standard error, and their colours. `anstream` drops colours on a pipe and where `NO_COLOR` is set.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{ExitStatus, Failure};

pub(super) const RED: Style = AnsiColor::Red.on_default().bold();
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default().bold();

/// Writes text to standard output.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).or_else(|error| heard(error).map(drop))
}

/// What a failed write to standard output means: `false`, where its reader has read enough and is gone (`| head`).
pub(super) fn heard(error: io::Error) -> Result<bool, Failure> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Ok(false);
    }
    Err(Failure::new(ExitStatus::WriteFailed, NotWritten(error)))
}

#[derive(Debug, thiserror::Error)]
#[error("failed to write to standard output")]
struct NotWritten(#[source] io::Error);

/// Writes a line to standard error. Where it cannot be written nobody listens, and the exit code says the rest.
pub(super) fn say(line: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}
