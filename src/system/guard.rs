//! A small process that outlives us just long enough to end our children.
//!
//! It is our own program with a hidden argument, in a group of its own so that Ctrl-C does not reach it, reading the
//! process groups to watch from a pipe. When we die by any cause the kernel closes the pipe, which keeps what was written
//! until it is read; the guard then ends the groups, what is or was below them, and what left them but still carries our
//! mark in its environment. Until then it sleeps: woken for every word it would take a processor from the stages.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use super::orphans::{self, Process};
use super::process::Command;
use super::process::group::lives;
use super::process::own::Own;
use super::sweep;

/// How long a group may take to obey TERM.
const GRACE: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(5);
/// How long words may wait in the pipe, so that it never fills up.
const NAP: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const DONE: &str = "done";

/// The guard, seen from the process that it guards. Dropped, it ends what it still watches, as after our death.
#[derive(Debug)]
pub struct Guard {
    program: PathBuf,
    mark: (String, String),
    child: Child,
    pipe: Option<ChildStdin>,
    /// The groups that it watches.
    groups: BTreeSet<u32>,
    /// The orphans below us that it knows of.
    orphans: BTreeSet<Process>,
    _own: Own,
}

impl Guard {
    /// Starts a guard: `program` is our own file; `mark` is the variable and value that our children carry.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(program: &Path, mark: (&str, &str)) -> io::Result<Self> {
        // Without the mark in its own environment, or its sweep and the sweep of an outer session would find itself.
        let command = Command::new(program).args([sweep::GUARD, mark.0, mark.1]).env_remove(mark.0);
        let mut child = command.prepared().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let (pipe, own) = (child.stdin.take(), Own::mark(child.id()));
        let (program, mark) = (program.to_path_buf(), (mark.0.to_owned(), mark.1.to_owned()));
        Ok(Self { program, mark, child, pipe, groups: BTreeSet::new(), orphans: BTreeSet::new(), _own: own })
    }

    /// Puts another one in the place of a guard that has died; it watches what that one watched. Whether it had died.
    ///
    /// # Errors
    /// When another one cannot be started.
    pub fn renew(&mut self) -> io::Result<bool> {
        if self.child.try_wait()?.is_none() {
            return Ok(false);
        }
        let mut other = Self::start(&self.program, (&self.mark.0, &self.mark.1))?;
        self.groups.iter().for_each(|group| other.watch(*group));
        *self = other;
        self.watch_orphans();
        Ok(true)
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// From now on the group dies with us.
    pub fn watch(&mut self, group: u32) {
        self.groups.insert(group);
        self.say(&format!("+{group}"));
    }

    /// The group is over; its number may pass to a stranger.
    pub fn forget(&mut self, group: u32) {
        self.groups.remove(&group);
        self.say(&format!("-{group}"));
    }

    /// Looks for processes that were orphaned below us, so that they die with us, whatever they did to hide.
    pub fn watch_orphans(&mut self) {
        let now = orphans::look();
        let before = std::mem::replace(&mut self.orphans, now.clone());
        for gone in before.difference(&now) {
            self.say(&format!("/{} {}", gone.pid, gone.born));
        }
        for new in now.difference(&before) {
            self.say(&format!("*{} {}", new.pid, new.born));
        }
    }

    /// Everything ended well: nothing is to be done any more.
    pub fn dismiss(mut self) {
        self.say(DONE);
    }

    fn say(&mut self, line: &str) {
        // A guard that somebody killed cannot be told anything; the one in its place will be told all of it.
        let _ = self.pipe.as_mut().map(|pipe| pipe.write_all(format!("{line}\n").as_bytes()));
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipe = None;
        let _ = self.child.wait();
    }
}

/// The guard's whole life: waits until the pipe closes, then ends what is left. Call it first thing in `main`, with the
/// arguments that follow [`sweep::GUARD`].
pub fn serve(arguments: &[String]) {
    let Some(Watched { groups, orphans }) = listen(io::stdin().lock()) else { return };
    // Before its group: whoever hid from it is found by descent, which ends with the parent.
    orphans::end_all(orphans, &groups);
    end(&groups);
    if let [name, value, ..] = arguments {
        let _ = sweep::end_processes_with(name, value);
    }
}

/// What is to be ended.
#[derive(Debug, Default, PartialEq)]
struct Watched {
    groups: BTreeSet<i32>,
    orphans: BTreeSet<Process>,
}

/// Reads until the pipe closes; `None` when nothing is to be done then.
fn listen(mut pipe: impl Read + AsFd) -> Option<Watched> {
    // The other end has a description of its own, and still waits when the pipe is full.
    let _ = rustix::io::ioctl_fionbio(&pipe, true);
    let (mut watched, mut said) = (Watched::default(), Vec::new());
    loop {
        // Asked for nothing, it wakes us for the end alone.
        let _ = poll(&mut [PollFd::new(&pipe, PollFlags::empty())], Some(&NAP));
        // An error says that there is no more for now, and what came before it is read.
        let is_closed = pipe.read_to_end(&mut said).is_ok();
        let whole = said.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in String::from_utf8_lossy(&said[..whole]).lines() {
            if line == DONE {
                return None;
            }
            watched.take(line);
        }
        said.drain(..whole);
        if is_closed {
            return Some(watched);
        }
    }
}

impl Watched {
    fn take(&mut self, line: &str) {
        match line.split_at_checked(1) {
            Some(("+", group)) => drop(group.parse().map(|group| self.groups.insert(group))),
            Some(("-", group)) => drop(group.parse().map(|group| self.groups.remove(&group))),
            Some(("*", orphan)) => self.orphans.extend(process(orphan)),
            Some(("/", orphan)) => drop(process(orphan).map(|orphan| self.orphans.remove(&orphan))),
            _ => {}
        }
    }
}

fn process(words: &str) -> Option<Process> {
    let (pid, born) = words.split_once(' ')?;
    Some(Process { pid: pid.parse().ok()?, born: born.parse().ok()? })
}

fn end(groups: &BTreeSet<i32>) {
    let groups: Vec<Pid> = groups.iter().filter_map(|group| Pid::from_raw(*group)).collect();
    for group in &groups {
        let _ = kill_process_group(*group, Signal::TERM);
    }
    let mut waited = Duration::ZERO;
    while waited < GRACE && groups.iter().any(|group| lives(*group)) {
        std::thread::sleep(LOOK);
        waited += LOOK;
    }
    for group in &groups {
        let _ = kill_process_group(*group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_said_is_lost_when_the_pipe_closes_and_a_full_one_is_emptied() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let guard = std::thread::spawn(move || listen(reader));
        // More than a pipe takes: whoever writes waits until the guard has read.
        for group in 1..20_000 {
            write!(writer, "+{group}\n-{group}\n").expect("said");
        }
        write!(writer, "+7\n*9 5\n*8 5\n/8 5\n+7").expect("said");
        drop(writer);
        let orphans = BTreeSet::from([Process { pid: 9, born: 5 }]);
        assert_eq!(guard.join().expect("listened"), Some(Watched { groups: BTreeSet::from([7]), orphans }));
    }

    #[test]
    fn a_guard_that_is_dismissed_has_nothing_to_do() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        write!(writer, "+7\n{DONE}\n").expect("said");
        drop(writer);
        assert_eq!(listen(reader), None);
    }
}
