//! Runs a program to its end and keeps what it said, up to a limit.

use std::time::Duration;

use super::{Command, Piece, ProcessExit, Stream};

/// What a program said and how it ended.
#[derive(Debug)]
pub struct Captured {
    /// How it ended.
    pub exit: ProcessExit,
    /// Standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// Standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// Whether output beyond the limit was dropped.
    pub truncated: bool,
    /// Whether it was ended because its time was over.
    pub timed_out: bool,
}

impl Captured {
    /// Nothing was said yet.
    pub(super) fn nothing(exit: ProcessExit) -> Self {
        Self { exit, stdout: Vec::new(), stderr: Vec::new(), truncated: false, timed_out: false }
    }

    /// Keeps a piece, as far as there is room.
    pub(super) fn keep(&mut self, piece: &Piece, limit: usize) {
        let kept = match piece.stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let room = limit.saturating_sub(kept.len()).min(piece.bytes.len());
        kept.extend_from_slice(&piece.bytes[..room]);
        self.truncated |= room < piece.bytes.len();
    }
}

/// The same for a program that reads `input` from its standard input; what it says there is dropped. One that does not
/// read is no error.
pub async fn capture_told(command: &Command, input: Vec<u8>, limit: usize, time: Duration) -> Captured {
    match command.converse() {
        Ok((running, mut talk)) => {
            talk.send(input);
            talk.close();
            let drained = async { while talk.next().await.is_some() {} };
            tokio::pin!(drained);
            let captured = running.captured(limit, time);
            tokio::pin!(captured);
            tokio::select! {
                captured = &mut captured => captured,
                () = &mut drained => captured.await,
            }
        }
        Err(error) => Captured::nothing(ProcessExit::SpawnFailed(error)),
    }
}

/// Runs `command` for at most `time`, keeping at most `limit` bytes of each output. Never fails: a program that cannot be
/// started is [`ProcessExit::SpawnFailed`]. Its group is ended when it is over.
pub async fn capture(command: &Command, limit: usize, time: Duration) -> Captured {
    match command.spawn() {
        Ok(running) => running.captured(limit, time).await,
        Err(error) => Captured::nothing(ProcessExit::SpawnFailed(error)),
    }
}
