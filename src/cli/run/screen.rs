//! Writes what is shown: at once what the reader takes at once, the rest on a thread of its own, for a reader that stops
//! reading must not stop the run.
//!
//! A slow reader slows the run down, as any pipe does. One that takes nothing for a while loses what comes until it reads
//! again, and is told so; the logs have it all, and the run goes on watching its stages, its clocks and its signals.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::system::output::{write_all, write_at_once};
use crate::system::process::Stream;

/// The most bytes that wait for a reader.
const ROOM: usize = 256 * 1024;

/// Two outputs and the queue before them.
pub(super) struct Screen {
    queue: Arc<Queue>,
    /// How long a reader may take nothing.
    patience: Duration,
    /// The reader takes nothing; it is not waited for again until it does.
    stalled: bool,
    /// Bytes that were not shown since.
    lost: usize,
}

struct Queue {
    stdout: Box<dyn AsFd + Send + Sync>,
    stderr: Box<dyn AsFd + Send + Sync>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<(Stream, Vec<u8>)>,
    /// Bytes in `waiting` and in the write that is going on.
    bytes: usize,
    closed: bool,
}

impl Screen {
    /// Begins to write to the two outputs.
    pub(super) fn new(
        stdout: impl AsFd + Send + Sync + 'static,
        stderr: impl AsFd + Send + Sync + 'static,
        patience: Duration,
    ) -> Self {
        let (stdout, stderr) = (Box::new(stdout), Box::new(stderr));
        let queue = Arc::new(Queue { stdout, stderr, state: Mutex::default(), changed: Condvar::new() });
        let writer = Arc::clone(&queue);
        std::thread::spawn(move || writer.write());
        Self { queue, patience, stalled: false, lost: 0 }
    }

    /// Shows bytes, after those that were shown before, or loses them.
    pub(super) fn show(&mut self, stream: Stream, mut bytes: Vec<u8>) {
        let full = |state: &mut State| state.bytes >= ROOM;
        let mut state = self.queue.lock();
        if state.bytes == 0 && self.lost == 0 {
            // To wake the thread for it would cost more, and take a processor from the stage.
            bytes.drain(..write_at_once(self.queue.output(stream), &bytes));
            if bytes.is_empty() {
                return;
            }
        }
        if !self.stalled {
            let waited = self.queue.changed.wait_timeout_while(state, self.patience, full);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.stalled = full(&mut state);
        if self.stalled {
            self.lost += bytes.len();
            return;
        }
        if self.lost > 0 {
            let note = format!("\nloa-run: {} bytes were not shown, nobody read them; the logs have them\n", self.lost);
            state.push(Stream::Stderr, note.into_bytes());
            self.lost = 0;
        }
        state.push(stream, bytes);
        self.queue.changed.notify_all();
    }
}

impl Drop for Screen {
    /// Waits until all is shown, for as long as the reader takes something.
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.closed = true;
        self.queue.changed.notify_all();
        while state.bytes > 0 {
            let before = state.bytes;
            let unchanged = |state: &mut State| state.bytes == before;
            let waited = self.queue.changed.wait_timeout_while(state, self.patience, unchanged);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.bytes == before {
                return;
            }
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn output(&self, stream: Stream) -> &dyn AsFd {
        match stream {
            Stream::Stdout => &*self.stdout,
            Stream::Stderr => &*self.stderr,
        }
    }

    fn write(&self) {
        let idle = |state: &mut State| state.waiting.is_empty() && !state.closed;
        loop {
            let next =
                self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner).waiting.pop_front();
            let Some((stream, bytes)) = next else { return };
            // Nobody may be there to read any more; the log has it all, and the run goes on.
            let _ = write_all(self.output(stream), &bytes);
            self.lock().bytes -= bytes.len();
            self.changed.notify_all();
        }
    }
}

impl State {
    fn push(&mut self, stream: Stream, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        self.waiting.push_back((stream, bytes));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, pipe};

    use super::*;

    fn read_all(mut reader: impl Read) -> String {
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("UTF-8");
        text
    }

    #[test]
    fn a_reader_that_reads_gets_everything_in_order_however_slowly() {
        let (reader, writer) = pipe().expect("a pipe");
        let reader = std::thread::spawn(move || read_all(reader));
        let stderr = writer.try_clone().expect("cloned");
        let mut screen = Screen::new(writer, stderr, Duration::from_mins(1));
        let lines: Vec<String> = (0..50_000).map(|number| format!("line {number}\n")).collect();
        for (line, stream) in lines.iter().zip([Stream::Stdout, Stream::Stderr].into_iter().cycle()) {
            screen.show(stream, line.clone().into_bytes());
        }
        drop(screen);
        assert!(reader.join().expect("read") == lines.concat(), "something is missing or out of order");
    }

    #[test]
    fn a_reader_that_stalls_is_not_waited_for_and_is_told_when_it_reads_again() {
        let (reader, writer) = pipe().expect("a pipe");
        let stderr = writer.try_clone().expect("cloned");
        let mut screen = Screen::new(writer, stderr, Duration::from_millis(1));
        for _ in 0..64 {
            screen.show(Stream::Stdout, vec![b'x'; 16 * 1024]);
        }
        assert!(screen.stalled && screen.lost > 0);
        let lost = screen.lost;
        let reader = std::thread::spawn(move || read_all(reader));
        while screen.stalled {
            screen.stalled = screen.queue.lock().bytes > 0;
        }
        screen.show(Stream::Stdout, b"the end".to_vec());
        drop(screen);
        let text = reader.join().expect("read");
        assert!(text.contains(&format!("{lost} bytes were not shown")) && text.ends_with("the end"), "{}", text.len());
    }

    #[test]
    fn a_reader_that_never_reads_again_does_not_keep_us_at_the_end() {
        let (_reader, writer) = pipe().expect("a pipe");
        let stderr = writer.try_clone().expect("cloned");
        let mut screen = Screen::new(writer, stderr, Duration::from_millis(1));
        screen.show(Stream::Stderr, vec![b'x'; 128 * 1024]);
        drop(screen);
    }
}
