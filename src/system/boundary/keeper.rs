//! The first process behind a boundary: starts what it is ordered to, buries orphans, and takes everything with it.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group, setsid};

use super::furnish::furnish;
use super::words::{Answer, DONE, Order, Start, send};
use crate::system::process::{Command, Foster, ProcessExit, bury, hand_nothing_down};

/// The hidden first argument that makes our program a keeper.
pub const BOUNDARY: &str = "__boundary";
/// How long what is told to end may take to obey. The guard does the telling when whoever gave our orders has died.
const GRACE: Duration = Duration::from_millis(300);
/// How long what was killed may take to die: one that waits for a disk does not at once.
const DYING: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(2);
/// How often orphans that have ended are buried, where nothing else wakes us.
const NAP: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The keeper's whole life. Its orders come by standard input. Returns when the process has to end, which is the end of
/// everything behind the boundary.
pub fn keep() {
    hand_nothing_down();
    // Without the terminal: nothing behind the boundary types into it. Fails for the leader of a group, which we are not.
    let _ = setsid();
    let door = std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    // Whatever went wrong, nobody is left to be told.
    let _ = door.and_then(|door| Keeper { door, children: BTreeMap::new() }.serve());
    settle(2 * GRACE, &mut |_, _| ());
}

struct Keeper {
    door: UnixStream,
    /// By their number; with whom to tell of their end.
    children: BTreeMap<u32, (Foster, UnixStream)>,
}

impl Keeper {
    fn serve(&mut self) -> io::Result<()> {
        loop {
            if self.is_called()? {
                let Some((order, handed)) = Order::receive(&mut self.door)? else { return Ok(()) };
                self.follow(order, handed)?;
            }
            self.bury();
        }
    }

    /// Waits until somebody gives an order, which is so then, or something has ended.
    fn is_called(&self) -> io::Result<bool> {
        let mut watched = vec![PollFd::new(&self.door, PollFlags::IN)];
        watched
            .extend(self.children.values().map(|(child, _)| PollFd::from_borrowed_fd(child.pinned(), PollFlags::IN)));
        match poll(&mut watched, Some(&NAP)) {
            Ok(_) => Ok(!watched[0].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn follow(&mut self, order: Order, handed: Vec<OwnedFd>) -> io::Result<()> {
        let mut handed = handed.into_iter();
        let Some(mut answer) = handed.next().map(UnixStream::from) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        // Whoever does not wait for the answer any more has gone, which the next order tells.
        match order {
            Order::Furnish(view, ways) => {
                let _ = match furnish(&view, &ways) {
                    // Outside it is listened to; we keep nothing of it.
                    Ok(port) => send(&answer, DONE, &port.iter().map(AsFd::as_fd).collect::<Vec<_>>()),
                    Err(error) => answer.write_all(error.to_string().as_bytes()),
                };
            }
            Order::Start(start) => self.start(&start, handed.collect(), answer),
            Order::Clear => {
                let ended = self.clear();
                let _ = answer.write_all(&ended.to_le_bytes());
            }
        }
        Ok(())
    }

    fn start(&mut self, start: &Start, outlets: Vec<OwnedFd>, mut answer: UnixStream) {
        match started(start, outlets) {
            Ok(child) => {
                if tell_of(child.pinned(), &mut answer).is_ok() {
                    self.children.insert(child.id(), (child, answer));
                } else {
                    child.signal(Signal::KILL, true);
                }
            }
            Err(error) => {
                let why = error.raw_os_error().unwrap_or(rustix::io::Errno::INVAL.raw_os_error());
                let _ = answer.write_all(&Answer::Failed(why).bytes());
            }
        }
    }

    /// Buries who has ended, and says so to whoever waits for it.
    fn bury(&mut self) {
        for (id, exit) in bury() {
            tell_end(&mut self.children, id, &exit);
        }
    }

    /// Ends everything behind the boundary but us: TERM, a grace, KILL.
    fn clear(&mut self) -> u64 {
        self.bury();
        if !has_children() {
            return 0;
        }
        let mut ended = 0;
        let mut count = |id: u32, exit: &ProcessExit| {
            ended += 1;
            tell_end(&mut self.children, id, exit);
        };
        // At one moment: a shell whose command ends before it has heard of it goes on with the next one.
        for signal in [Signal::STOP, Signal::TERM, Signal::CONT] {
            signal_all(signal);
        }
        if !settle(GRACE, &mut count) {
            signal_all(Signal::KILL);
            settle(DYING, &mut count);
        }
        ended
    }
}

/// Tells whoever waits for it how a child ended.
fn tell_end(children: &mut BTreeMap<u32, (Foster, UnixStream)>, id: u32, exit: &ProcessExit) {
    let Some((_, mut answer)) = children.remove(&id) else { return };
    let said = match exit {
        ProcessExit::Exited(code) => Answer::Exited(*code),
        ProcessExit::Signalled(signal) => Answer::Signalled(*signal),
        ProcessExit::SpawnFailed(_) => return,
    };
    let _ = answer.write_all(&said.bytes());
}

fn started(start: &Start, outlets: Vec<OwnedFd>) -> io::Result<Foster> {
    let outlets = outlets.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
    let (program, arguments) = start.argv.split_first().ok_or(io::ErrorKind::InvalidData)?;
    let command = Command::new(program).args(arguments).env_clear().folder(&start.folder);
    start.env.iter().fold(command, |command, (name, value)| command.env(name, value)).foster(outlets)
}

/// Hands a child over, and waits until its number was read: buried before that, it would have none.
fn tell_of(pinned: BorrowedFd<'_>, answer: &mut UnixStream) -> io::Result<()> {
    send(answer, &Answer::Started.bytes(), &[pinned])?;
    answer.read_exact(&mut [0])
}

/// Buries children for at most so long; whether none is left. Every orphan behind the boundary is a child of ours.
fn settle(time: Duration, ended: &mut impl FnMut(u32, &ProcessExit)) -> bool {
    let mut waited = Duration::ZERO;
    loop {
        for (id, exit) in bury() {
            ended(id, &exit);
        }
        if !has_children() {
            return true;
        }
        if waited >= time {
            return false;
        }
        sleep(LOOK);
        waited += LOOK;
    }
}

/// Whether anything lives, or has to be buried, behind the boundary.
fn has_children() -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let looked = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, looked), Err(rustix::io::Errno::CHILD))
}

/// Sends a signal to everything but us, at one moment: nobody is born meanwhile.
fn signal_all(signal: Signal) {
    // The group of the number 1 is what the kernel takes for everybody but the first process, whom we are.
    let _ = kill_process_group(Pid::INIT, signal);
}
