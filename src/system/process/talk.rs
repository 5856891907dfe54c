//! A child that is talked with: what is sent to its standard input, and what its standard output says, apart from the rest.

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::output::{Cut, pump};
use super::{Piece, Stream};

/// How many pieces may wait for a slow reader.
const QUEUE: usize = 16;

/// The standard input and the standard output of a child.
#[derive(Debug)]
pub struct Talk {
    /// `None` once it is closed.
    input: Option<UnboundedSender<Vec<u8>>>,
    output: mpsc::Receiver<Piece>,
}

impl Talk {
    /// Takes our ends of both pipes of a child.
    pub(super) fn over(
        input: Option<impl AsyncWrite + Unpin + Send + 'static>,
        output: Option<impl AsyncRead + Unpin + Send + 'static>,
        cut: Cut,
    ) -> Self {
        let (sender, bytes) = mpsc::unbounded_channel();
        if let Some(pipe) = input {
            tokio::spawn(feed(pipe, bytes));
        }
        let input = Some(sender);
        let (sender, pieces) = mpsc::channel(QUEUE);
        if let Some(pipe) = output {
            tokio::spawn(pump(pipe, Stream::Stdout, cut, sender));
        }
        Self { input, output: pieces }
    }

    /// Sends bytes, in order. Never waits: a child that reads nothing keeps us from nothing, and one that is gone is
    /// noticed by its silence.
    pub fn send(&self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            let _ = input.send(bytes);
        }
    }

    /// Closes its standard input, behind what was sent.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// The next line, or part of a long one, or a sign of life where the command asks for those; `None` once its standard
    /// output is closed. May be dropped and called again.
    pub async fn next(&mut self) -> Option<Piece> {
        self.output.recv().await
    }
}

async fn feed(mut pipe: impl AsyncWrite + Unpin, mut bytes: UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = bytes.recv().await {
        if pipe.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::system::process::{Command, Event, ProcessExit};

    fn wait<T>(what: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(what)
    }

    #[test]
    fn what_is_sent_arrives_and_a_closed_input_is_an_end() {
        wait(async {
            let (mut running, mut talk) = Command::new("cat").converse().expect("cat");
            talk.send(b"one\n".to_vec());
            talk.send(b"two".to_vec());
            assert_eq!(talk.next().await.expect("a line").bytes, b"one\n");
            talk.close();
            assert_eq!(talk.next().await.expect("the rest").bytes, b"two");
            assert_eq!(talk.next().await, None);
            assert!(matches!(running.next().await, Event::Ended(ProcessExit::Exited(0))));
        });
    }

    #[test]
    fn a_child_that_reads_nothing_keeps_us_from_nothing() {
        wait(async {
            let silent = Command::new("sh").args(["-c", "echo so >&2; exec >&-; exec sleep 60"]);
            let (mut running, mut talk) = silent.converse().expect("sh");
            for _ in 0..4 {
                talk.send(vec![b'x'; 1 << 20]);
            }
            assert_eq!(talk.next().await, None, "its standard output is closed, and it lives");
            let Event::Output(piece) = running.next().await else { panic!("it ended") };
            assert_eq!(piece.text(), "so");
        });
    }
}
