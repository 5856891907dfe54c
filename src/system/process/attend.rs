//! Runs a program while a person looks on: its output as it comes, and an end of both when they press Ctrl-C.

use std::io::BufRead;
use std::time::Duration;

use tokio::sync::oneshot;

use super::{Command, Event, Interrupt, Interrupts, Piece, ProcessExit};

/// How long a program may take to end after an interrupt.
const PATIENCE: Duration = Duration::from_secs(5);

/// What came of it.
#[derive(Debug)]
pub enum Attended {
    /// It ended.
    Ended(ProcessExit),
    /// We were interrupted, and ended it.
    Interrupted(Interrupt),
}

/// Runs `command` to its end and hands over what it says. Never fails: a program that cannot be started is
/// [`ProcessExit::SpawnFailed`].
pub async fn attend(command: &Command, interrupts: &mut Interrupts, mut said: impl FnMut(&Piece)) -> Attended {
    let mut running = match command.spawn() {
        Ok(running) => running,
        Err(error) => return Attended::Ended(ProcessExit::SpawnFailed(error)),
    };
    loop {
        tokio::select! {
            event = running.next() => match event {
                Event::Output(piece) => said(&piece),
                Event::Ended(exit) => return Attended::Ended(exit),
            },
            interrupt = interrupts.next() => {
                running.end(PATIENCE).await;
                return Attended::Interrupted(interrupt);
            }
        }
    }
}

/// The next line of standard input; `None` at its end.
///
/// # Errors
/// The interrupt that came first. The line is then read by nobody: for programs that end.
pub async fn next_line(interrupts: &mut Interrupts) -> Result<Option<String>, Interrupt> {
    let (sender, line) = oneshot::channel();
    // A thread of its own: nothing can wake a read of a terminal, and the process does not wait for threads.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        let _ = sender.send(read.is_ok_and(|bytes| bytes > 0).then_some(line));
    });
    tokio::select! {
        line = line => Ok(line.ok().flatten()),
        interrupt = interrupts.next() => Err(interrupt),
    }
}
