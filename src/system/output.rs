//! Our own outputs: whoever reads them may be slow, or stop.

use std::io::{self, IoSlice};
use std::os::fd::AsFd;

use rustix::fs::fstat;
use rustix::io::{ReadWriteFlags, pwritev2, retry_on_intr, write};

/// Writes as much as goes without waiting, and says how much. None where the host cannot tell.
#[must_use]
pub fn write_at_once(output: &dyn AsFd, bytes: &[u8]) -> usize {
    // At the place where the output stands, whatever it is.
    const HERE: u64 = u64::MAX;
    pwritev2(output, &[IoSlice::new(bytes)], HERE, ReadWriteFlags::NOWAIT).unwrap_or(0)
}

/// Writes everything, however long that takes.
///
/// # Errors
/// What the host says.
pub fn write_all(output: &dyn AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = retry_on_intr(|| write(output, bytes))?;
        bytes = &bytes[written..];
    }
    Ok(())
}

/// Whether two outputs end in one place: a terminal, a pipe or a file. Where the host does not say, they do not.
#[must_use]
pub fn same_file(one: impl AsFd, other: impl AsFd) -> bool {
    match (fstat(one), fstat(other)) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}

/// The rows and columns of the terminal that standard output is; `None` where it is none.
#[must_use]
pub fn size_of_terminal() -> Option<(usize, usize)> {
    let (rows, columns) = console::Term::stdout().size_checked()?;
    (rows > 0 && columns > 0).then_some((rows.into(), columns.into()))
}
