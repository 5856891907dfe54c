//! A pipe cut into lines, into blocks of whole lines, or into pieces where a line is long, so that no output needs more
//! memory than one piece.

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

/// A line of so many bytes arrives in several pieces.
pub const LONGEST_PIECE: usize = 16 * 1024;
/// How much is read at once where whole lines come together.
const BLOCK: usize = 64 * 1024;

/// How an output is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// A piece a line.
    Lines,
    /// The same, and a piece without bytes tells of bytes that end no line yet.
    LinesAndLife,
    /// As many whole lines as have come; a piece without bytes tells of bytes that end no line yet.
    Blocks,
}

/// Which output something came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A line, several whole lines, or a part of a long one, with the newlines where it has any. Any bytes may be in it.
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
pub(super) async fn pump(mut pipe: impl AsyncRead + Unpin, stream: Stream, cut: Cut, to: mpsc::Sender<Piece>) {
    let mut read = Vec::with_capacity(if cut == Cut::Blocks { BLOCK } else { LONGEST_PIECE });
    let mut cutter = Cutter::default();
    loop {
        // A pipe that can no longer be read has ended as far as we are concerned. The buffer is not touched before there is
        // something to read, and most stages write little.
        read.clear();
        let count = pipe.read_buf(&mut read).await.unwrap_or(0);
        let pieces = match (count, cut) {
            (0, _) => cutter.rest().into_iter().collect(),
            (_, Cut::Lines | Cut::LinesAndLife) => cutter.cut(&read),
            (_, Cut::Blocks) => cutter.block(&read).into_iter().collect(),
        };
        // Whoever writes dots, or a line that is not finished, lives too.
        let life = (pieces.is_empty() && count > 0 && cut != Cut::Lines).then(Vec::new);
        for bytes in pieces.into_iter().chain(life) {
            if to.send(Piece { stream, bytes }).await.is_err() {
                return;
            }
        }
        if count == 0 {
            return;
        }
    }
}

/// Cuts bytes into lines of at most [`LONGEST_PIECE`], or into blocks of whole lines.
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

    /// The whole lines that have come, together; of a line that is longer than a piece, what there is.
    fn block(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.begun.extend_from_slice(bytes);
        let whole = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let end = if self.begun.len() - whole >= LONGEST_PIECE { self.begun.len() } else { whole };
        let rest = self.begun.split_off(end);
        Some(std::mem::replace(&mut self.begun, rest)).filter(|block| !block.is_empty())
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

    #[test]
    fn half_a_line_is_a_sign_of_life_where_somebody_asks_for_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        for (cut, expected) in [
            (Cut::Lines, &[&b"half\n"[..]][..]),
            (Cut::LinesAndLife, &[b"", b"half\n"]),
            (Cut::Blocks, &[b"", b"half\n"]),
        ] {
            let pieces = runtime.block_on(async {
                let (to, mut from) = mpsc::channel(8);
                pump(AsyncReadExt::chain(&b"ha"[..], &b"lf\n"[..]), Stream::Stdout, cut, to).await;
                std::iter::from_fn(|| from.try_recv().ok()).map(|piece| piece.bytes).collect::<Vec<_>>()
            });
            assert_eq!(pieces, expected, "{cut:?}");
        }
    }

    #[test]
    fn whole_lines_come_together_and_an_endless_one_in_parts() {
        let mut cutter = Cutter::default();
        assert_eq!(cutter.block(b"one\ntwo\nth").expect("two lines"), b"one\ntwo\n");
        assert_eq!(cutter.block(b"re"), None);
        assert_eq!(cutter.block(b"e\n\nfour").expect("lines"), b"three\n\n");
        assert_eq!(cutter.block(&vec![b'x'; LONGEST_PIECE]).expect("a part").len(), LONGEST_PIECE + 4);
        assert_eq!(cutter.rest(), None);
        assert_eq!(cutter.block(b"end"), None);
        assert_eq!(cutter.rest().expect("half a line"), b"end");
    }
}
