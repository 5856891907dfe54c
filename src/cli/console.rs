//! Standard output and standard error, and their colours. `anstream` drops colours on a pipe and where `NO_COLOR` is set.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{ExitStatus, Failure};
use crate::system::env;

pub(super) const RED: Style = AnsiColor::Red.on_default().bold();
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default().bold();

/// Writes text to standard output. When its reader has seen enough and is gone, as `head` is after ten lines, nothing failed:
/// the work goes on unseen, and the exit code still says what came of it.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    is_read(write(anstream::stdout().lock(), text.as_bytes())).map(drop)
}

/// Writes bytes to standard output as they are, and says whether anybody still reads them.
pub(super) fn pass_on(bytes: &[u8]) -> Result<bool, Failure> {
    is_read(write(io::stdout().lock(), bytes))
}

/// Writes bytes to standard error as they are, for whoever reads them.
pub(super) fn pass_on_aside(bytes: &[u8]) {
    let _ = write(io::stderr().lock(), bytes);
}

/// Whether what was written has a reader: a pipe may have lost its own, and a terminal may have been closed.
pub(super) fn is_read(written: io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe || env::is_closed_terminal(&error) => Ok(false),
        Err(error) => Err(Failure::new(ExitStatus::WriteFailed, NotWritten(error))),
    }
}

fn write(mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes).and_then(|()| out.flush())
}

#[derive(Debug, thiserror::Error)]
#[error("failed to write to standard output")]
struct NotWritten(#[source] io::Error);

/// Writes a line to standard error. Where it cannot be written nobody listens, and the exit code says the rest.
pub(super) fn say(line: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}
