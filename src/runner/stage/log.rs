//! The log of one attempt: what its processes wrote, without secrets and without end to their length.
//!
//! A stage that floods its output fills neither the disk nor memory. Near its limit the log takes no more, and the newest
//! part is kept in memory; when the attempt is over that part follows, behind a line that says how much is missing. All of
//! it together is never longer than the limit.

use std::path::PathBuf;

use crate::policy::{RedactedStream, Redactor};
use crate::system::files::{Appender, FileError, Privacy};
use crate::system::process::{Piece, Stream};

/// The most bytes that are kept for the end.
const NEWEST: u64 = 256 * 1024;
/// More bytes than the line takes that says how much is missing.
const NOTE: u64 = 128;

/// The log of one attempt.
#[derive(Debug)]
pub(super) struct PhaseLog {
    path: PathBuf,
    /// Made for the first byte: many stages say nothing.
    file: Option<Appender>,
    redactor: Redactor,
    streams: [RedactedStream; 2],
    /// How many bytes the file may still grow by.
    room: u64,
    /// How many of them are for the end.
    reserve: u64,
    newest: Vec<u8>,
    left_out: u64,
}

impl PhaseLog {
    /// The log of an attempt: a file of at most `limit` bytes.
    pub(super) fn new(path: PathBuf, redactor: &Redactor, limit: u64) -> Self {
        // A power cut may have taken the start from the journal that wrote it.
        let there = path.metadata().map_or(0, |found| found.len());
        Self {
            path,
            file: None,
            redactor: redactor.clone(),
            streams: [RedactedStream::default(), RedactedStream::default()],
            room: limit.saturating_sub(there),
            reserve: NEWEST.min(limit / 4),
            newest: Vec::new(),
            left_out: 0,
        }
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

    /// The attempt is over: writes the end of what did not fit. Returns where the log is, if anything was said.
    pub(super) fn close(mut self) -> Result<Option<PathBuf>, FileError> {
        self.write_newest()?;
        Ok(self.file.map(|_| self.path))
    }

    fn write_newest(&mut self) -> Result<(), FileError> {
        let newest = std::mem::take(&mut self.newest);
        if self.left_out <= self.room {
            return self.append(&newest);
        }
        let Some(room) = self.room.checked_sub(NOTE) else { return Ok(()) };
        let newest = &newest[newest.len() - in_memory(room).min(newest.len())..];
        // From the next line on, where one begins.
        let inner = &newest[..newest.len().saturating_sub(1)];
        let newest = &newest[inner.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1)..];
        let missing = self.left_out - newest.len() as u64;
        let note = format!("\n[loa-run: {missing} bytes are left out here: the log is at its limit]\n");
        self.append(note.as_bytes())?;
        self.append(newest)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let (now, later) = bytes.split_at(in_memory(self.room.saturating_sub(self.reserve)).min(bytes.len()));
        self.append(now)?;
        self.left_out += later.len() as u64;
        self.newest.extend_from_slice(later);
        // In large steps: each moves what is kept.
        let kept = in_memory(self.reserve);
        if self.newest.len() > 2 * kept {
            self.newest.drain(..self.newest.len() - kept);
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        if bytes.is_empty() {
            return Ok(());
        }
        match &mut self.file {
            Some(file) => file.append(bytes)?,
            none => none.insert(Appender::open(&self.path, Privacy::Private)?).append(bytes)?,
        }
        self.room -= bytes.len() as u64;
        Ok(())
    }
}

/// A number of bytes, or as many as memory can hold.
fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn index(stream: Stream) -> usize {
    usize::from(stream == Stream::Stderr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files::read;
    use std::path::Path;

    fn piece(stream: Stream, text: &str) -> Piece {
        Piece { stream, bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn secrets_reach_neither_the_log_nor_the_screen_and_the_streams_are_kept_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("design-1.log");
        let redactor = Redactor::new([("PASSWORD", "open sesame")]);
        let mut log = PhaseLog::new(path.clone(), &redactor, 1000);
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

    /// The log of an attempt that said these pieces, and how many bytes that were.
    fn logged(path: &Path, limit: u64, pieces: impl Iterator<Item = String>) -> (String, u64) {
        let mut log = PhaseLog::new(path.to_path_buf(), &Redactor::default(), limit);
        let mut said = 0;
        for text in pieces {
            said += text.len() as u64;
            log.take(&piece(Stream::Stdout, &text)).expect("taken");
            assert!(log.newest.len() as u64 <= 2 * NEWEST);
        }
        log.end_of_process().expect("ended");
        log.close().expect("closed");
        (String::from_utf8(read(path, 1 << 24).expect("read")).expect("text"), said)
    }

    #[test]
    fn a_flood_leaves_its_beginning_and_its_end_within_the_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let shapes: [fn(u32) -> String; 3] =
            [|n| format!("line {n:06}\n"), |n| format!("{n:012}"), |n| format!("{n:06}\n{n:05}")];
        for (number, shape) in shapes.into_iter().enumerate() {
            for limit in [2000, 100_003, 1 << 20] {
                let path = folder.path().join(format!("{number}-{limit}.log"));
                let (text, said) = logged(&path, limit, (0..150_000).map(shape));
                let (first, last) = (shape(0) + &shape(1), shape(149_999));
                assert!(text.len() as u64 <= limit, "{number}: {} of {limit}", text.len());
                assert!(text.starts_with(&first) && text.ends_with(&last), "{number} {limit}");
                let (head, tail) = text.split_once("\n[loa-run: ").expect("a note");
                let (missing, tail) =
                    tail.split_once(" bytes are left out here: the log is at its limit]\n").expect("it");
                let missing: u64 = missing.parse().expect("a number");
                assert_eq!(head.len() as u64 + missing + tail.len() as u64, said, "{number} {limit}");
                assert!(tail.len() as u64 + NOTE + 12 >= NEWEST.min(limit / 4), "{number} {limit}: {}", tail.len());
                assert!(number != 0 || tail.lines().all(|line| line.len() == 11), "whole lines");
            }
        }
    }

    #[test]
    fn what_fits_is_whole_and_one_line_more_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let whole = "all of it\n".repeat(200);
        for (name, limit, fits) in [("whole", 2000, true), ("more", 1999, false)] {
            let (text, _) = logged(&folder.path().join(name), limit, whole.lines().map(|line| format!("{line}\n")));
            assert_eq!(text == whole, fits, "{name}");
            assert!(text.len() as u64 <= limit, "{name}: {}", text.len());
        }
    }

    #[test]
    fn an_enormous_line_leaves_its_end_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let line = "x".repeat(20_000) + "end\n";
        let (text, _) = logged(&folder.path().join("log"), 4000, std::iter::once(line));
        assert!(text.len() <= 4000 && text.ends_with("xxxend\n"), "{}", text.len());
    }

    #[test]
    fn what_an_earlier_process_left_in_the_file_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        for _ in 0..5 {
            let (text, _) = logged(&path, 4000, (0..150).map(|number| format!("line {number:06}\n")));
            assert!(text.starts_with("line 000000\n") && text.len() <= 4000, "{}", text.len());
        }
    }

    #[test]
    fn a_silent_attempt_leaves_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut log = PhaseLog::new(path.clone(), &Redactor::default(), 4000);
        log.take(&piece(Stream::Stdout, "")).expect("taken");
        assert_eq!(log.close().expect("closed"), None);
        assert!(!path.exists());
    }
}
