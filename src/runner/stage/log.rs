//! The log of one attempt: what its processes wrote, without secrets and without end to their length.
//!
//! A stage that floods its output fills neither the disk nor memory: beyond its limit the log takes no more, the newest
//! part is kept in memory, and when the attempt is over that part follows, behind a line that says how much is missing.

use std::path::{Path, PathBuf};

use crate::policy::{RedactedStream, Redactor};
use crate::system::files::{Appender, FileError, Privacy};
use crate::system::process::{Piece, Stream};

/// The newest bytes beyond the limit that are kept.
const NEWEST: usize = 256 * 1024;

/// The log of one attempt.
#[derive(Debug)]
pub(super) struct PhaseLog {
    file: Appender,
    redactor: Redactor,
    streams: [RedactedStream; 2],
    /// How many bytes it may still take.
    room: u64,
    newest: Vec<u8>,
    left_out: u64,
}

impl PhaseLog {
    /// Opens the log of an attempt, which may grow by `limit` bytes and what is kept of the end.
    pub(super) fn open(path: &Path, redactor: &Redactor, limit: u64) -> Result<Self, FileError> {
        let file = Appender::open(path, Privacy::Private)?;
        let (redactor, streams) = (redactor.clone(), [RedactedStream::default(), RedactedStream::default()]);
        Ok(Self { file, redactor, streams, room: limit, newest: Vec::new(), left_out: 0 })
    }

    /// Takes in what a process wrote, and gives back what of it, and of what came before, may be shown.
    pub(super) fn take(&mut self, piece: &Piece) -> Result<Piece, FileError> {
        let stream = &mut self.streams[index(piece.stream)];
        let bytes = stream.push(&self.redactor, &piece.bytes);
        self.write(&bytes)?;
        Ok(Piece { stream: piece.stream, bytes })
    }

    /// A process is over: what was held back of its last lines, to be shown too.
    pub(super) fn end_of_process(&mut self) -> Result<Vec<Piece>, FileError> {
        let mut pieces = Vec::new();
        for stream in [Stream::Stdout, Stream::Stderr] {
            let bytes = self.streams[index(stream)].finish(&self.redactor);
            if !bytes.is_empty() {
                self.write(&bytes)?;
                pieces.push(Piece { stream, bytes });
            }
        }
        Ok(pieces)
    }

    /// The attempt is over: writes the end of what did not fit. Returns where the log is.
    pub(super) fn close(mut self) -> Result<PathBuf, FileError> {
        self.write_newest()?;
        Ok(self.file.path().to_path_buf())
    }

    fn write_newest(&mut self) -> Result<(), FileError> {
        if self.newest.is_empty() {
            return Ok(());
        }
        let kept = self.newest.len() as u64;
        // From the next line on, where there is one.
        let begin = self.newest.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let missing = self.left_out - kept + begin as u64;
        let note = format!("\n[loa-run: {missing} bytes are left out here: the log is at its limit]\n");
        self.file.append(note.as_bytes())?;
        self.file.append(&self.newest[begin..])
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let fits = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
        let (now, later) = bytes.split_at(fits);
        if !now.is_empty() {
            self.file.append(now)?;
            self.room -= now.len() as u64;
        }
        self.left_out += later.len() as u64;
        self.newest.extend_from_slice(later);
        // In large steps: each moves what is kept.
        if self.newest.len() > 2 * NEWEST {
            self.newest.drain(..self.newest.len() - NEWEST);
        }
        Ok(())
    }
}

fn index(stream: Stream) -> usize {
    usize::from(stream == Stream::Stderr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files::read;

    fn piece(stream: Stream, text: &str) -> Piece {
        Piece { stream, bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn secrets_reach_neither_the_log_nor_the_screen_and_the_streams_are_kept_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("design-1.log");
        let redactor = Redactor::new([("PASSWORD", "open sesame")]);
        let mut log = PhaseLog::open(&path, &redactor, 1000).expect("opened");
        let mut shown = Vec::new();
        for it in
            [piece(Stream::Stdout, "say open ses"), piece(Stream::Stderr, "other\n"), piece(Stream::Stdout, "ame\nend")]
        {
            shown.push(log.take(&it).expect("taken"));
        }
        shown.extend(log.end_of_process().expect("ended"));
        log.close().expect("closed");
        shown.retain(|piece| !piece.bytes.is_empty());
        let expected = [
            piece(Stream::Stderr, "other\n"),
            piece(Stream::Stdout, "say [REDACTED:$PASSWORD]\n"),
            piece(Stream::Stdout, "end"),
        ];
        assert_eq!(shown, expected);
        assert_eq!(read(&path, 1000).expect("read"), b"other\nsay [REDACTED:$PASSWORD]\nend");
    }

    #[test]
    fn a_flood_leaves_its_beginning_and_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("design-1.log");
        let mut log = PhaseLog::open(&path, &Redactor::default(), 1001).expect("opened");
        for number in 0..300_000 {
            log.take(&piece(Stream::Stdout, &format!("line {number:06}\n"))).expect("taken");
            assert!(log.newest.len() <= 2 * NEWEST);
        }
        log.end_of_process().expect("ended");
        log.close().expect("closed");
        let text = String::from_utf8(read(&path, 1 << 20).expect("read")).expect("text");
        assert!(text.starts_with("line 000000\nline 000001\n") && text.ends_with("line 299999\n"));
        let (head, tail) = text.split_once("\n[loa-run: ").expect("a note");
        let (missing, tail) = tail.split_once(" bytes are left out here: the log is at its limit]\n").expect("a note");
        assert_eq!(head.len() as u64 + missing.parse::<u64>().expect("a number") + tail.len() as u64, 300_000 * 12);
        assert!(tail.len() >= NEWEST - 12, "{}", tail.len());
        assert!(tail.lines().all(|line| line.len() == 11), "whole lines");
    }
}
