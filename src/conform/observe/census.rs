//! The processes of a case: everything below the first process of its chamber, which takes up every orphan there.
//!
//! The judge's own, on purpose apart from the sweep that runtimes may use. Never counted: the dead whom nobody has awaited.
//! Linux only; elsewhere nothing is found.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use super::ProcessSeen;

/// One living process of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resident {
    pub(super) pid: i32,
    /// When it began, in the kernel's own units: tells it from a stranger who gets its number later.
    began: u64,
    command: String,
}

impl Resident {
    /// The living process of a number. One that is dying and has no memory any more does not live.
    pub(super) fn of(pid: i32) -> Option<Self> {
        let status = Status::of(pid).filter(|status| status.lives && status.has_memory)?;
        Some(Self { pid, began: status.began, command: command_line(pid) })
    }

    /// What tells it from every other process, also from one that gets its number later.
    pub(super) fn identity(&self) -> (i32, u64) {
        (self.pid, self.began)
    }

    pub(super) fn seen(&self) -> ProcessSeen {
        ProcessSeen { pid: self.pid.unsigned_abs(), command: self.command.clone() }
    }

    /// Its number in the innermost world that it lives in, when the kernel tells it.
    pub(super) fn inner_id(&self) -> Option<u32> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace().last()?.parse().ok()
    }

    /// Sends a signal, unless it is gone.
    pub(super) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        // The descriptor pins the process; looked at again behind it, the number cannot have passed to a stranger.
        let Ok(pinned) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        if Status::of(self.pid).is_some_and(|status| status.began == self.began) {
            // It may end by itself in this moment, which is as good.
            let _ = pidfd_send_signal(&pinned, signal);
        }
    }
}

/// Every living process below this one.
pub(super) fn below(root: i32) -> Vec<Resident> {
    let all = processes();
    let found = all.iter().filter(|(pid, status)| status.lives && above(**pid, &all).any(|parent| parent == root));
    found.map(|(pid, status)| Resident { pid: *pid, began: status.began, command: command_line(*pid) }).collect()
}

/// Every living process below us.
pub(super) fn below_us() -> Vec<Resident> {
    below(own())
}

/// Whether a process stands anywhere below another one.
pub(super) fn descends(pid: i32, root: i32) -> bool {
    let parent = |pid: i32| Status::of(pid).map(|status| status.parent).filter(|parent| *parent > 0);
    // A number that passed on while we read could close a circle.
    std::iter::successors(parent(pid), |pid| parent(*pid)).take(1000).any(|parent| parent == root)
}

/// Whether the host shows its processes.
pub(super) fn shows_processes() -> bool {
    Status::of(own()).is_some()
}

/// Whether a process lives.
pub(super) fn lives(pid: i32) -> bool {
    Status::of(pid).is_some_and(|status| status.lives)
}

/// What `/proc/<pid>/stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Status {
    parent: i32,
    began: u64,
    lives: bool,
    has_memory: bool,
}

impl Status {
    fn of(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// `pid (name) state parent …`; the name may itself hold spaces and brackets, so it is left behind first.
    fn parse(stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Self {
            lives: !matches!(*fields.first()?, "Z" | "X" | "x"),
            parent: fields.get(1)?.parse().ok()?,
            began: fields.get(19)?.parse().ok()?,
            has_memory: *fields.get(20)? != "0",
        })
    }
}

fn processes() -> BTreeMap<i32, Status> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, Status::of(pid)?))).collect()
}

fn own() -> i32 {
    getpid().as_raw_nonzero().get()
}

/// The parents of a process, nearest first.
fn above(pid: i32, all: &BTreeMap<i32, Status>) -> impl Iterator<Item = i32> {
    let parent = |pid: i32| all.get(&pid).map(|status| status.parent).filter(|parent| *parent > 0);
    // A number that passed on while we read could close a circle.
    std::iter::successors(parent(pid), move |pid| parent(*pid)).take(1000)
}

fn command_line(pid: i32) -> String {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&arguments).trim_end_matches('\0').replace('\0', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_behind_the_strangest_name() {
        let stat = "77 (a) Z 1 (b) S 12 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        assert_eq!(Status::parse(stat), Some(Status { parent: 12, began: 98765, lives: true, has_memory: true }));
        assert!(!Status::parse(&stat.replace("(b) S", "(b) Z")).expect("a status").lives);
        assert!(!Status::parse(&stat.replace("98765 1", "98765 0")).expect("a status").has_memory);
        assert_eq!(Status::parse("77 (a"), None);
    }

    #[test]
    fn we_stand_below_our_parent_and_not_below_ourselves() {
        let parent = Status::of(own()).expect("Linux").parent;
        assert!(descends(own(), parent) && !descends(own(), own()));
        assert!(below(parent).iter().any(|resident| resident.pid == own()));
        assert!(below_us().iter().all(|resident| resident.pid != own()));
        assert!(lives(own()) && !lives(i32::MAX));
    }
}
