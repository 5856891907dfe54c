//! A child that was started: its output as it comes, its end, and the ladder that ends its whole group.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::output::{Cut, pump};
use super::own::Own;
use super::{Piece, ProcessExit, Stream, group};

/// How many pieces of output may wait for a slow reader.
const QUEUE: usize = 16;
/// How long a pipe that a descendant still holds may stay silent after the child's end before we let go of it.
const SILENCE: Duration = Duration::from_millis(200);
/// How long we read after the child's end in any case.
const DRAIN: Duration = Duration::from_secs(5);
/// How often a dying group is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// Every so many looks, its members are looked for among all processes of the host.
const LOOKS_AT_ALL: u32 = 10;

/// What a child did.
#[derive(Debug)]
pub enum Event {
    /// It wrote something.
    Output(Piece),
    /// It ended, and everything that it wrote was delivered; a descendant that holds a pipe is not waited for.
    Ended(ProcessExit),
}

/// A child process that is the leader of its group. Dropped before its end, it is killed, its group is not.
#[derive(Debug)]
pub struct Running {
    child: Child,
    group: u32,
    pieces: mpsc::Receiver<Piece>,
    exit: Option<(ExitStatus, Instant)>,
    /// When it last wrote something, or ended. Kept here, because a caller may drop `next` more often than silence lasts.
    heard: Instant,
    /// Last: it is our own until it is awaited, or left to be.
    _own: Own,
}

impl Running {
    pub(super) fn new(mut child: Child, cut: Cut) -> Self {
        let (sender, pieces) = mpsc::channel(QUEUE);
        if let Some(pipe) = child.stdout.take() {
            tokio::spawn(pump(pipe, Stream::Stdout, cut, sender.clone()));
        }
        if let Some(pipe) = child.stderr.take() {
            tokio::spawn(pump(pipe, Stream::Stderr, cut, sender));
        }
        let group = child.id().expect("a child that was not awaited has an id");
        Self { child, group, pieces, exit: None, heard: Instant::now(), _own: Own::mark(group) }
    }

    /// The process group, which equals the child's process id.
    #[must_use]
    pub fn group(&self) -> u32 {
        self.group
    }

    /// The next thing that the child does. May be dropped and called again without losing anything; must not be called
    /// again after [`Event::Ended`].
    pub async fn next(&mut self) -> Event {
        if self.exit.is_none() {
            tokio::select! {
                biased;
                Some(piece) = self.pieces.recv() => return Event::Output(piece),
                status = self.child.wait() => {
                    self.heard = Instant::now();
                    self.exit = Some((known(status), self.heard + DRAIN));
                }
            }
        }
        let Some((status, latest)) = self.exit else { unreachable!("set just above") };
        match timeout_at(latest.min(self.heard + SILENCE), self.pieces.recv()).await {
            Ok(Some(piece)) => {
                self.heard = Instant::now();
                Event::Output(piece)
            }
            Ok(None) | Err(_) => Event::Ended(status.into()),
        }
    }

    /// Whether the child has ended, although its end may not have been delivered yet.
    pub fn is_over(&mut self) -> bool {
        self.exit.is_some() || self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Asks the whole group to end. What it still says comes with [`Running::next`].
    pub fn ask_to_end(&self) {
        signal_group(self.group, Signal::TERM);
    }

    /// Asks the whole group to end, waits, then kills what is left. Output that comes meanwhile is dropped.
    pub async fn end(mut self, grace: Duration) -> ProcessExit {
        signal_group(self.group, Signal::TERM);
        let asked = timeout(grace, async { while !matches!(self.next().await, Event::Ended(_)) {} }).await;
        if asked.is_err() {
            signal_group(self.group, Signal::KILL);
        }
        let status = match self.exit {
            Some((status, _)) => status,
            None => known(self.child.wait().await),
        };
        kill_group(self.group, Duration::ZERO).await;
        status.into()
    }
}

/// Ends every process of a group: TERM, up to `grace` to obey, KILL. A group without processes is fine.
pub async fn kill_group(group: u32, grace: Duration) {
    if !grace.is_zero() {
        signal_group(group, Signal::TERM);
        let until = Instant::now() + grace;
        let mut looks = 0_u32;
        while pid(group).is_some_and(group::is_there) && Instant::now() < until {
            looks += 1;
            // A dead process that somebody else has to await keeps a group there; to see that costs a look at every
            // process of the host, so it is done seldom, and never for a group that ends as most do.
            if looks.is_multiple_of(LOOKS_AT_ALL) && !pid(group).is_some_and(group::lives) {
                break;
            }
            sleep(LOOK).await;
        }
    }
    signal_group(group, Signal::KILL);
}

fn known(status: io::Result<ExitStatus>) -> ExitStatus {
    status.expect("the kernel knows its own child until it was awaited, and we await it once")
}

fn pid(group: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(group).ok()?)
}

fn signal_group(group: u32, signal: Signal) {
    // The only failure that matters is that nobody is left, and that is the aim.
    let _ = pid(group).map(|pid| kill_process_group(pid, signal));
}

#[cfg(test)]
mod tests;
