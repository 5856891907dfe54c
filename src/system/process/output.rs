//! A pipe cut into lines, or into pieces where a line is long, so that no output needs more memory than one piece.

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

/// The most bytes that one piece holds; a longer line arrives in several.
pub const LONGEST_PIECE: usize = 16 * 1024;

/// Which output something came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A line, or a part of a long one, with its newline where it has one. Any bytes may be in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it came from.
    pub stream: Stream,
    /// What was written.
    pub bytes: Vec<u8>,
}

impl Piece {
    /// Whether a line ends here.
    #[must_use]
    pub fn ends_line(&self) -> bool {
        self.bytes.ends_with(b"\n")
    }

    /// The text without its line ending, what is not UTF-8 replaced.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        String::from_utf8_lossy(bytes.strip_suffix(b"\r").unwrap_or(bytes)).into_owned()
    }
}

/// Reads a pipe to its end. A slow receiver slows the child down instead of filling memory.
pub(super) async fn pump(mut pipe: impl AsyncRead + Unpin, stream: Stream, to: mpsc::Sender<Piece>) {
    let mut read = vec![0; LONGEST_PIECE];
    let mut cutter = Cutter::default();
    loop {
        // A pipe that can no longer be read has ended as far as we are concerned.
        let count = pipe.read(&mut read).await.unwrap_or(0);
        let pieces = if count == 0 { cutter.rest().into_iter().collect() } else { cutter.cut(&read[..count]) };
        for bytes in pieces {
            if to.send(Piece { stream, bytes }).await.is_err() {
                return;
            }
        }
        if count == 0 {
            return;
        }
    }
}

/// Cuts bytes into lines of at most [`LONGEST_PIECE`].
#[derive(Debug, Default)]
struct Cutter {
    begun: Vec<u8>,
}

impl Cutter {
    fn cut(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let mut part = part;
            while !part.is_empty() {
                let room = LONGEST_PIECE - self.begun.len();
                let (now, later) = part.split_at(part.len().min(room));
                self.begun.extend_from_slice(now);
                if self.begun.ends_with(b"\n") || self.begun.len() == LONGEST_PIECE {
                    pieces.push(std::mem::take(&mut self.begun));
                }
                part = later;
            }
        }
        pieces
    }

    fn rest(&mut self) -> Option<Vec<u8>> {
        Some(std::mem::take(&mut self.begun)).filter(|bytes| !bytes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_whole_across_reads_and_long_ones_are_cut() {
        let mut cutter = Cutter::default();
        assert_eq!(cutter.cut(b"one\ntw"), [b"one\n"]);
        assert_eq!(cutter.cut(b"o\n\nthree"), [&b"two\n"[..], b"\n"]);
        assert_eq!(cutter.rest().expect("a half line"), b"three");
        assert_eq!(cutter.rest(), None);
        let long = vec![b'x'; 2 * LONGEST_PIECE + 5];
        let pieces: Vec<usize> = cutter.cut(&long).iter().map(Vec::len).collect();
        assert_eq!(pieces, [LONGEST_PIECE, LONGEST_PIECE]);
        assert_eq!(cutter.rest().expect("the rest").len(), 5);
    }
}
