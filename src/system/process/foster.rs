//! A child that a process of ours starts for another one of ours, who hears it and ends it from afar: the first process of a
//! namespace, or one that takes up every orphan below it, is the parent; whoever ordered the child holds its pipes.

use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, pidfd_open, pidfd_send_signal,
    set_child_subreaper, wait,
};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::{Command, ProcessExit};

/// The three descriptors that a child is started with: standard input, output and error.
pub type Outlets = [OwnedFd; 3];

/// A child of ours that somebody else ordered.
#[derive(Debug)]
pub struct Foster {
    pid: Pid,
    pinned: OwnedFd,
}

impl Command {
    /// Starts it with these descriptors, in a group of its own.
    ///
    /// # Errors
    /// When the host cannot start it.
    pub fn foster(&self, outlets: Outlets) -> io::Result<Foster> {
        let mut command = self.prepared();
        let [input, output, error] = outlets.map(Stdio::from);
        let child = command.stdin(input).stdout(output).stderr(error).spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Foster { pid, pinned: pidfd_open(pid, PidfdFlags::empty())? })
    }
}

impl Foster {
    /// Its number, as we see it, and that of its group.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// What tells it from every other process.
    pub(in crate::system) fn pinned(&self) -> BorrowedFd<'_> {
        self.pinned.as_fd()
    }

    /// Sends a signal to the child itself, or to its whole group.
    pub fn signal(&self, signal: Signal, whole: bool) {
        // It may be gone, and its number with it: the descriptor knows. A group outlives its leader, and keeps its number.
        let _ = if whole { kill_process_group(self.pid, signal) } else { pidfd_send_signal(&self.pinned, signal) };
    }
}

/// Makes us the parent of everything that is orphaned below us. What we start has every signal at its default, whatever ours
/// are: one that is ignored stays ignored in a new program, one that is caught does not, and a judge that was started in the
/// background of a shell, or by `nohup`, would hand its deafness down.
///
/// # Errors
/// When the host refuses.
pub fn take_up_orphans() -> io::Result<()> {
    for kind in [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()] {
        // The handler stays when its listener goes.
        drop(signal(kind)?);
    }
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Buries every child that has ended, and says which and how.
#[must_use]
pub fn bury() -> Vec<(u32, ProcessExit)> {
    let mut dead = Vec::new();
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        dead.push((pid.as_raw_nonzero().get().unsigned_abs(), exit(status)));
    }
    dead
}

fn exit(status: WaitStatus) -> ProcessExit {
    match status.terminating_signal() {
        Some(signal) => ProcessExit::Signalled(signal),
        None => ProcessExit::Exited(status.exit_status().unwrap_or_default()),
    }
}

/// How the child of another process is reached.
pub trait Reach: Debug + Send + Sync {
    /// Has a signal sent to it, or to its whole group, unless it has ended.
    fn signal(&self, signal: Signal, whole: bool);
}

/// A child of another process, as whoever ordered it holds it.
#[derive(Debug)]
pub struct Fostered {
    /// Its number, as its parent sees it.
    pub id: u32,
    /// Told how it ended; dropped unsaid when its parent is gone.
    pub ending: oneshot::Receiver<ProcessExit>,
    /// How it is reached.
    pub reach: Arc<dyn Reach>,
}

/// Hears how the child of another process ended, which that process says on this socket in so many bytes. One that says nothing
/// has died, and the kernel has killed the child with it. Needs the runtime.
pub(in crate::system) fn hear_end<const LENGTH: usize>(
    socket: StdUnixStream,
    understood: fn([u8; LENGTH]) -> Option<ProcessExit>,
) -> io::Result<oneshot::Receiver<ProcessExit>> {
    socket.set_nonblocking(true)?;
    let mut socket = UnixStream::from_std(socket)?;
    let (ended, ending) = oneshot::channel();
    tokio::spawn(async move {
        let mut bytes = [0; LENGTH];
        let said = socket.read_exact(&mut bytes).await.ok().and_then(|_| understood(bytes));
        let _ = ended.send(said.unwrap_or(ProcessExit::Signalled(Signal::KILL.as_raw())));
    });
    Ok(ending)
}

/// Our ends of the pipes of a child that somebody else starts.
#[derive(Debug)]
pub struct Pipes {
    pub(super) input: Option<pipe::Sender>,
    pub(super) output: pipe::Receiver,
    pub(super) error: pipe::Receiver,
}

impl Pipes {
    /// Makes them, and the ends of the child. Unless it `talks`, its standard input is empty.
    ///
    /// # Errors
    /// When the host has no descriptors left.
    pub fn new(talks: bool) -> io::Result<(Self, Outlets)> {
        let (output_end, output) = pipe::pipe()?;
        let (error_end, error) = pipe::pipe()?;
        let (input, input_end) = if talks {
            let (input, end) = pipe::pipe()?;
            (Some(input), end.into_blocking_fd()?)
        } else {
            (None, open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
        };
        let outlets = [input_end, output_end.into_blocking_fd()?, error_end.into_blocking_fd()?];
        Ok((Self { input, output, error }, outlets))
    }
}
