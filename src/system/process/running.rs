//! A child that was started: its output as it comes, its end, and the ladder that ends its whole group.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::output::{Cut, pump};
use super::own::Own;
use super::{Captured, Fostered, Piece, Pipes, ProcessExit, Stream, Talk, group};

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
/// How long a child whose output is kept may take to obey when its time is over.
const PATIENCE: Duration = Duration::from_millis(500);

/// What a child did.
#[derive(Debug)]
pub enum Event {
    /// It wrote something.
    Output(Piece),
    /// It ended, and everything that it wrote was delivered; a descendant that holds a pipe is not waited for.
    Ended(ProcessExit),
}

/// A process that is the leader of its group. Dropped before its end, it is killed; its group only where its output is
/// captured.
#[derive(Debug)]
pub struct Running {
    leader: Leader,
    group: u32,
    pieces: mpsc::Receiver<Piece>,
    exit: Option<(ProcessExit, Instant)>,
    /// When it last wrote something, or ended. Kept here, because a caller may drop `next` more often than silence lasts.
    heard: Instant,
    /// Its group is killed with it, where it is dropped before its end.
    with_group: bool,
    /// Last: it is our own until it is awaited, or left to be.
    _own: Option<Own>,
}

/// Whose child the leader is.
#[derive(Debug)]
enum Leader {
    Ours(Child),
    Fostered(Fostered),
}

impl Leader {
    /// Its end. May be dropped and called again, until it has said so.
    async fn ended(&mut self) -> ProcessExit {
        match self {
            Self::Ours(child) => known(child.wait().await).into(),
            Self::Fostered(child) => (&mut child.ending).await.unwrap_or_else(|_| nobody_knows()),
        }
    }

    /// Sends a signal to every process of its group.
    fn signal_group(&self, group: u32, signal: Signal) {
        match self {
            Self::Ours(_) => signal_group(group, signal),
            Self::Fostered(child) => child.reach.signal(signal, true),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.with_group {
            self.leader.signal_group(self.group, Signal::KILL);
        }
        if let (Leader::Fostered(child), None) = (&self.leader, &self.exit) {
            child.reach.signal(Signal::KILL, false);
        }
    }
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
        let leader = Leader::Ours(child);
        Self {
            leader,
            group,
            pieces,
            exit: None,
            heard: Instant::now(),
            with_group: false,
            _own: Some(Own::mark(group)),
        }
    }

    /// A child of another process of ours, with its pipes. One that is talked with has its [`Talk`].
    #[must_use]
    pub fn fostered(child: Fostered, pipes: Pipes) -> (Self, Option<Talk>) {
        Self::fostered_and_cut(child, pipes, Cut::Lines)
    }

    pub(super) fn fostered_and_cut(child: Fostered, pipes: Pipes, cut: Cut) -> (Self, Option<Talk>) {
        let (sender, pieces) = mpsc::channel(QUEUE);
        let Pipes { input, output, error } = pipes;
        tokio::spawn(pump(error, Stream::Stderr, cut, sender.clone()));
        let talk = if input.is_some() {
            Some(Talk::over(input, Some(output), cut))
        } else {
            tokio::spawn(pump(output, Stream::Stdout, cut, sender));
            None
        };
        let group = child.id;
        let leader = Leader::Fostered(child);
        (Self { leader, group, pieces, exit: None, heard: Instant::now(), with_group: false, _own: None }, talk)
    }

    /// The process group, which equals the leader's process id; as its parent sees it.
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
                exit = self.leader.ended() => {
                    self.heard = Instant::now();
                    self.exit = Some((exit, self.heard + DRAIN));
                }
            }
        }
        let latest = self.exit.as_ref().map_or(self.heard, |(_, latest)| *latest);
        match timeout_at(latest.min(self.heard + SILENCE), self.pieces.recv()).await {
            Ok(Some(piece)) => {
                self.heard = Instant::now();
                Event::Output(piece)
            }
            Ok(None) | Err(_) => Event::Ended(self.exit()),
        }
    }

    /// How it ended, which is known already.
    fn exit(&mut self) -> ProcessExit {
        self.exit.take().expect("asked for once, when it has ended").0
    }

    /// Whether the leader has ended, although its end may not have been delivered yet.
    pub fn is_over(&mut self) -> bool {
        self.exit.is_some()
            || match &mut self.leader {
                Leader::Ours(child) => child.try_wait().is_ok_and(|status| status.is_some()),
                Leader::Fostered(child) => child.ending.is_terminated() || !child.ending.is_empty(),
            }
    }

    /// Sends a signal to the leader alone, unless it has ended; whether it has not.
    pub fn signal(&mut self, signal: Signal) -> bool {
        let lives = !self.is_over();
        match &self.leader {
            Leader::Ours(_) if lives => pid(self.group).is_some_and(|pid| kill_process(pid, signal).is_ok()),
            Leader::Fostered(child) if lives => {
                child.reach.signal(signal, false);
                true
            }
            Leader::Ours(_) | Leader::Fostered(_) => false,
        }
    }

    /// Asks the whole group to end. What it still says comes with [`Running::next`].
    pub fn ask_to_end(&self) {
        self.leader.signal_group(self.group, Signal::TERM);
    }

    /// Asks the whole group to end, waits, then kills what is left. Output that comes meanwhile is dropped.
    pub async fn end(mut self, grace: Duration) -> ProcessExit {
        self.ask_to_end();
        let asked = timeout(grace, self.last_event()).await;
        if asked.is_err() {
            self.leader.signal_group(self.group, Signal::KILL);
        }
        let exit = match asked {
            Ok(exit) => exit,
            Err(_) if self.exit.is_some() => self.exit(),
            Err(_) => self.leader.ended().await,
        };
        self.leader.signal_group(self.group, Signal::KILL);
        self.with_group = false;
        exit
    }

    async fn last_event(&mut self) -> ProcessExit {
        loop {
            if let Event::Ended(exit) = self.next().await {
                return exit;
            }
        }
    }

    /// Hears it for at most `time`, keeping at most `limit` bytes of each output. Its group is ended when it is over, and
    /// where nobody waits for it any more.
    pub async fn captured(mut self, limit: usize, time: Duration) -> Captured {
        self.with_group = true;
        let mut captured = Captured::nothing(ProcessExit::Exited(0));
        let ended = timeout(time, async {
            loop {
                match self.next().await {
                    Event::Ended(exit) => return exit,
                    Event::Output(piece) => captured.keep(&piece, limit),
                }
            }
        })
        .await;
        captured.timed_out = ended.is_err();
        captured.exit = match ended {
            Ok(exit) => {
                self.leader.signal_group(self.group, Signal::KILL);
                self.with_group = false;
                exit
            }
            Err(_) => self.end(PATIENCE).await,
        };
        captured
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

/// The end of a child whose parent is gone without a word.
fn nobody_knows() -> ProcessExit {
    ProcessExit::SpawnFailed(io::Error::other("whoever started it is gone"))
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
