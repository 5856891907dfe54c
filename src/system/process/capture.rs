//! Runs a program to its end and keeps what it said, up to a limit.

use std::time::Duration;

use super::{Command, Event, ProcessExit, Stream};

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

/// Runs `command` for at most `time`, keeping at most `limit` bytes of each output. Never fails: a program that cannot be
/// started is [`ProcessExit::SpawnFailed`]. Its group is ended when it is over.
pub async fn capture(command: &Command, limit: usize, time: Duration) -> Captured {
    let spawned = command.spawn();
    let mut captured = Captured {
        exit: ProcessExit::Exited(0),
        stdout: Vec::new(),
        stderr: Vec::new(),
        truncated: false,
        timed_out: false,
    };
    let mut running = match spawned {
        Ok(running) => running,
        Err(error) => return Captured { exit: ProcessExit::SpawnFailed(error), ..captured },
    };
    let group = running.group();
    let ended = tokio::time::timeout(time, async {
        loop {
            match running.next().await {
                Event::Ended(exit) => return exit,
                Event::Output(piece) => {
                    let kept = match piece.stream {
                        Stream::Stdout => &mut captured.stdout,
                        Stream::Stderr => &mut captured.stderr,
                    };
                    let room = limit.saturating_sub(kept.len()).min(piece.bytes.len());
                    kept.extend_from_slice(&piece.bytes[..room]);
                    captured.truncated |= room < piece.bytes.len();
                }
            }
        }
    })
    .await;
    captured.timed_out = ended.is_err();
    captured.exit = match ended {
        Ok(exit) => exit,
        Err(_) => running.end(Duration::from_millis(500)).await,
    };
    super::kill_group(group, Duration::ZERO).await;
    captured
}
