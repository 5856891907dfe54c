//! Reading a pipe that has a name: whoever was to write to it may never come.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};

/// Reads a named pipe to its end, at most so many bytes of it.
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] when for so long nobody wrote anything; otherwise as the host refuses.
pub fn read(path: &Path, most: u64, patience: Duration) -> io::Result<Vec<u8>> {
    // Opened without waiting for a writer.
    let mut pipe = File::from(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    let (mut bytes, mut piece) = (Vec::new(), [0; 8 << 10]);
    let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
    while (bytes.len() as u64) < most {
        if poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&patience))? == 0 {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody wrote anything to it"));
        }
        match pipe.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Ok(bytes)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "files are written here")]
mod tests {
    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn what_is_written_is_read_and_nobody_waits_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("made");
        let alone = read(&path, 100, Duration::from_millis(20));
        assert_eq!(alone.expect_err("nobody writes").kind(), io::ErrorKind::TimedOut);
        let writer = {
            let path = path.clone();
            std::thread::spawn(move || std::fs::write(path, "some words"))
        };
        assert_eq!(read(&path, 100, Duration::from_mins(1)).expect("read"), b"some words");
        writer.join().expect("no panic").expect("written");
    }
}
