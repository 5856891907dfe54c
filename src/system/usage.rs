//! What processes take of the host. Only Linux shows it; elsewhere there are none.

use std::fs;

use rustix::param::page_size;

use super::orphans;
use super::process::own_id;

/// What processes take together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many there are.
    pub processes: u64,
    /// Bytes of memory that they hold; what several of them share counts for each.
    pub memory: u64,
    /// Files, sockets and pipes that they have open.
    pub handles: u64,
}

/// What everything below us takes, but for one process that is not meant.
#[must_use]
pub fn below_us(but: u32) -> Usage {
    let but = i32::try_from(but).unwrap_or_default();
    of(orphans::below(own_id()).into_iter().map(|(pid, _)| pid).filter(|pid| *pid != but))
}

/// What everything takes that is below a child of this process.
pub(in crate::system) fn below_children_of(process: u32) -> Usage {
    let children = |parent: i32| u32::try_from(parent) == Ok(process);
    of(orphans::below(process).into_iter().filter(|(_, parent)| !children(*parent)).map(|(pid, _)| pid))
}

fn of(pids: impl Iterator<Item = i32>) -> Usage {
    pids.fold(Usage::default(), |all, pid| Usage {
        processes: all.processes + 1,
        memory: all.memory + memory(pid).unwrap_or_default(),
        handles: all.handles + fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count) as u64,
    })
}

/// The bytes of memory that a process holds.
fn memory(pid: i32) -> Option<u64> {
    let sizes = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    Some(sizes.split(' ').nth(1)?.parse::<u64>().ok()? * page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::process::Command;

    #[test]
    fn what_is_below_a_process_is_counted_and_it_is_not() {
        let command = Command::new("sh").args(["-c", "sleep 60 & sleep 60 & exec 7</dev/null; echo; wait"]);
        let mut prepared = command.prepared();
        let mut child = prepared.stdout(std::process::Stdio::piped()).spawn().expect("sh");
        let mut said = [0];
        std::io::Read::read_exact(child.stdout.as_mut().expect("piped"), &mut said).expect("it is ready");
        let below = orphans::below(child.id());
        let all = of(below.iter().map(|(pid, _)| *pid));
        assert_eq!((below.len(), all.processes), (2, 2), "{below:?}");
        assert!(all.memory > 0 && all.handles >= 6, "{all:?}");
        assert_eq!(below_children_of(child.id()), Usage::default());
        let ours = below_us(child.id());
        assert!(ours.processes >= 2, "{ours:?}");
        let group = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = child.wait();
    }
}
