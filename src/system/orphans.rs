//! Processes that cannot be found by their group or their environment: a daemon that cleared both. They are found by
//! descent.
//!
//! On Linux a process may ask to be given every orphan below it in the place of the host's first process. Whatever a stage
//! leaves behind is then a child of ours sooner or later; those that we did not start ourselves are orphans.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper, waitpid,
};

use super::process::own::{is_own, spare};

/// How long a process may take to obey TERM, and how long one is waited for after KILL.
const GRACE: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(5);

/// A process, told apart from a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// When it was started, in ticks of the kernel since it started itself.
    pub born: u64,
}

/// Asks to be given every orphan below us from now on. Where that cannot be had, the search by environment is left. Children
/// that are there already, such as those of a script that became us by `exec`, are somebody else's.
pub fn adopt() {
    strangers().into_iter().for_each(spare);
    let _ = set_child_subreaper(Some(getpid()));
}

/// Our children that we did not start. Orphans are given to the main thread, which is also the one that starts children.
fn strangers() -> Vec<u32> {
    let us = getpid().as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{us}/task/{us}/children")).unwrap_or_default();
    let pids = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
    pids.filter(|pid| !is_own(*pid)).collect()
}

/// Buries the orphans that ended, and says which live. Costs one small file of `/proc`.
#[must_use]
pub fn look() -> BTreeSet<Process> {
    let pids = strangers().into_iter().filter_map(|pid| i32::try_from(pid).ok());
    pids.filter(|pid| !bury(*pid)).filter_map(|pid| Some(seen(pid)?.process)).collect()
}

/// Ends every orphan of ours and whatever is below it, and says how many there were.
#[must_use]
pub fn end() -> usize {
    end_trees(BTreeSet::new(), look)
}

/// Ends these processes, the members of these groups, and whatever is below them.
pub fn end_all(processes: BTreeSet<Process>, groups: &BTreeSet<i32>) {
    let members = table().into_values().filter(|seen| groups.contains(&seen.group)).map(|seen| seen.process);
    let known = processes.into_iter().chain(members).collect();
    let _ = end_trees(known, BTreeSet::new);
}

/// Tells all of them to end, at one moment: a shell whose command ends before it has heard of it goes on with the next one.
fn ask_to_end(find: &mut impl FnMut() -> BTreeSet<Process>) -> BTreeSet<Process> {
    send(&find(), Signal::STOP);
    // Who was started meanwhile, too.
    let found = find();
    for signal in [Signal::STOP, Signal::TERM, Signal::CONT] {
        send(&found, signal);
    }
    found
}

/// The ladder: TERM, up to [`GRACE`] to obey, KILL until nobody is left. What was once found stays known, because a child
/// loses its descent when its parent ends.
fn end_trees(mut known: BTreeSet<Process>, more: impl Fn() -> BTreeSet<Process>) -> usize {
    let mut find = || {
        known.extend(more());
        if known.is_empty() {
            return BTreeSet::new();
        }
        let table = table();
        known.retain(|process| table.get(&process.pid).is_some_and(|seen| seen.is(*process)));
        add_descendants(&mut known, &table);
        known.clone()
    };
    let found = ask_to_end(&mut find);
    if found.is_empty() {
        return 0;
    }
    let mut left = found.clone();
    let mut waited = Duration::ZERO;
    while !left.is_empty() && waited < 2 * GRACE {
        sleep(LOOK);
        waited += LOOK;
        left = find();
        if waited >= GRACE {
            send(&left, Signal::KILL);
        }
    }
    found.len()
}

fn send(processes: &BTreeSet<Process>, signal: Signal) {
    for process in processes {
        let Some(pid) = Pid::from_raw(process.pid) else { continue };
        // The descriptor pins the process; looked at again behind it, the number cannot have passed to a stranger.
        let Ok(pinned) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        if seen(process.pid).is_some_and(|seen| seen.is(*process)) {
            // It may end by itself in this moment, which is as good.
            let _ = pidfd_send_signal(&pinned, signal);
        }
    }
}

/// Whether a child had ended, and is buried now.
fn bury(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(Some(_))))
}

/// What `/proc` shows of a process that is not dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    process: Process,
    parent: i32,
    group: i32,
}

impl Seen {
    fn is(&self, process: Process) -> bool {
        self.process == process
    }
}

fn seen(pid: i32) -> Option<Seen> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// When a process was started, in ticks of the kernel since it started itself; `None` when it is dead.
#[must_use]
pub fn born(pid: i32) -> Option<u64> {
    Some(seen(pid)?.process.born)
}

fn parse(pid: i32, stat: &str) -> Option<Seen> {
    // The name stands in brackets and may hold anything; behind it come state, parent, group, and 16 words on the birth.
    let (_, behind) = stat.rsplit_once(") ")?;
    let words: Vec<&str> = behind.split_ascii_whitespace().collect();
    let [state, parent, group, ..] = words[..] else { return None };
    let born = words.get(19)?.parse().ok()?;
    let alive = !matches!(state, "Z" | "X");
    alive.then_some(Seen { process: Process { pid, born }, parent: parent.parse().ok()?, group: group.parse().ok()? })
}

/// Every process that lives, by its number.
fn table() -> BTreeMap<i32, Seen> {
    let Ok(processes) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = processes.filter_map(|process| process.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, seen(pid)?))).collect()
}

/// Whatever is below a process, each with its parent.
pub(in crate::system) fn below(process: u32) -> Vec<(i32, i32)> {
    let table = table();
    let Some(root) = i32::try_from(process).ok().and_then(|pid| table.get(&pid)) else { return Vec::new() };
    let mut known = BTreeSet::from([root.process]);
    add_descendants(&mut known, &table);
    let others = known.iter().filter(|process| process.pid != root.process.pid);
    others.filter_map(|process| Some((process.pid, table.get(&process.pid)?.parent))).collect()
}

fn add_descendants(known: &mut BTreeSet<Process>, table: &BTreeMap<i32, Seen>) {
    let pids = |known: &BTreeSet<Process>| known.iter().map(|process| process.pid).collect::<BTreeSet<i32>>();
    loop {
        let (before, parents) = (known.len(), pids(known));
        known.extend(table.values().filter(|seen| parents.contains(&seen.parent)).map(|seen| seen.process));
        if known.len() == before {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(pid: i32, parent: i32) -> (i32, Seen) {
        (pid, Seen { process: Process { pid, born: 7 }, parent, group: pid })
    }

    #[test]
    fn descent_is_followed_to_its_end_and_siblings_are_none() {
        let table: BTreeMap<i32, Seen> = [at(1, 0), at(5, 1), at(6, 5), at(4, 6), at(9, 1), at(3, 9)].into();
        let mut known = BTreeSet::from([Process { pid: 5, born: 7 }]);
        add_descendants(&mut known, &table);
        assert_eq!(known.iter().map(|process| process.pid).collect::<Vec<_>>(), [4, 5, 6]);
    }

    #[test]
    fn the_birth_stands_far_behind_a_name_of_any_form() {
        let stat = "9 (a) Z 1 (b) S 4 5 6 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 2 3";
        let expected = Seen { process: Process { pid: 9, born: 12345 }, parent: 4, group: 5 };
        assert_eq!(parse(9, stat), Some(expected));
        assert_eq!(parse(9, &stat.replace(") S ", ") Z ")), None, "dead");
        assert_eq!(parse(9, "9 (sleep) S 1 2"), None);
        assert_eq!(
            seen(getpid().as_raw_nonzero().get()).map(|seen| seen.process.pid),
            Some(getpid().as_raw_nonzero().get())
        );
    }

    #[test]
    fn whoever_stands_still_is_told_to_end_as_well() {
        let place = tempfile::tempdir().expect("a folder");
        let script = "trap 'echo > told; exit' TERM; kill -STOP $$ & wait";
        let command = crate::system::process::Command::new("sh").args(["-c", script]).folder(place.path());
        let mut stopped = command.prepared().spawn().expect("sh");
        let pid = i32::try_from(stopped.id()).expect("a number");
        let stands = || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") T "));
        while !stands() {
            std::thread::yield_now();
        }
        end_all(BTreeSet::new(), &BTreeSet::from([pid]));
        stopped.wait().expect("awaited");
        assert!(place.path().join("told").exists());
    }

    #[test]
    fn who_is_known_stands_still_before_anybody_is_looked_for_again() {
        let command = crate::system::process::Command::new("sleep").args(["60"]);
        let mut child = command.prepared().spawn().expect("sleep");
        let known = seen(i32::try_from(child.id()).expect("a number")).expect("it lives").process;
        let mut looks = 0;
        let asked = ask_to_end(&mut || {
            looks += 1;
            // The signal is sent; that it is obeyed may take a moment.
            let stat = || fs::read_to_string(format!("/proc/{}/stat", known.pid)).expect("it is there");
            let began = crate::system::clock::now();
            while looks == 2 && !stat().contains(") T ") {
                let waited = crate::system::clock::now().since(began);
                assert!(waited < Duration::from_secs(20), "it goes on: {}", stat());
                std::thread::yield_now();
            }
            BTreeSet::from([known])
        });
        assert_eq!((asked, looks), (BTreeSet::from([known]), 2));
        assert!(!child.wait().expect("awaited").success());
    }

    #[test]
    fn members_of_a_group_are_ended_with_what_hid_from_it_and_strangers_are_not() {
        let start = |script: &str| {
            let command = crate::system::process::Command::new("sh").args(["-c", script]);
            command.prepared().stdout(std::process::Stdio::piped()).spawn().expect("sh")
        };
        let mut ours = start("env -i setsid sleep 60 & echo $!; wait");
        let mut stranger = start("echo up; exec sleep 60");
        let mut line = String::new();
        let mut said = std::io::BufReader::new(ours.stdout.take().expect("piped"));
        std::io::BufRead::read_line(&mut said, &mut line).expect("read");
        let hidden = line.trim().parse().expect("a number");
        let group = i32::try_from(ours.id()).expect("a number");
        // It leaves the group at once, but not before it runs.
        while seen(hidden).is_some_and(|seen| seen.group == group) {
            std::thread::yield_now();
        }
        end_all(BTreeSet::new(), &BTreeSet::from([group]));
        assert_eq!(seen(hidden), None);
        assert!(!ours.wait().expect("awaited").success());
        assert!(stranger.try_wait().expect("looked at").is_none(), "the stranger lives");
        stranger.kill().expect("killed");
        stranger.wait().expect("awaited");
    }
}
