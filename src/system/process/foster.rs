//! A child that is looked after by a process that does nothing else: the first of a process namespace, or one that takes
//! up every orphan below it.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper, wait,
};
use tokio::signal::unix::{SignalKind, signal};

use super::{Command, ProcessExit};

/// The child of a process that fosters; only one at a time.
#[derive(Debug)]
pub struct Foster {
    pid: Pid,
    pinned: OwnedFd,
}

impl Command {
    /// Starts it with our own outputs, in a group of its own, with every signal at its default whatever ours are, and takes
    /// up everything that is orphaned below us from now on.
    ///
    /// # Errors
    /// When the host cannot start it.
    pub fn foster(&self) -> io::Result<Foster> {
        catch_signals()?;
        set_child_subreaper(Some(getpid()))?;
        let child = self.prepared().stdin(Stdio::null()).spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Foster { pid, pinned: pidfd_open(pid, PidfdFlags::empty())? })
    }
}

impl Foster {
    /// Sends a signal to the child itself, unless it has ended.
    pub fn signal(&self, signal: Signal) {
        // It may be gone, and its number with it: the descriptor knows.
        let _ = pidfd_send_signal(&self.pinned, signal);
    }

    /// Blocks until the child has ended; buries whatever else ends meanwhile.
    #[must_use]
    pub fn ended(&self) -> ProcessExit {
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == self.pid => return exit(status),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return ProcessExit::SpawnFailed(error.into()),
            }
        }
    }
}

/// Buries every child that has ended.
pub fn bury() {
    while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
}

fn exit(status: WaitStatus) -> ProcessExit {
    match status.terminating_signal() {
        Some(signal) => ProcessExit::Signalled(signal),
        None => ProcessExit::Exited(status.exit_status().unwrap_or_default()),
    }
}

/// A signal that is ignored stays ignored in a new program, one that is caught does not: a judge that was started in the
/// background of a shell, or by `nohup`, would hand its deafness down.
fn catch_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _inside = runtime.enter();
    for kind in [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()] {
        // The handler stays when its listener goes.
        drop(signal(kind)?);
    }
    Ok(())
}
