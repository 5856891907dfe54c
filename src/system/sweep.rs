//! Finds the processes that a dead session left behind, by an entry in their environment, and ends them.
//!
//! A process that left its group (a daemon, `setsid`, `nohup`) still carries the environment that it was started with.
//! Never ended: ourselves, our own ancestors, processes of other users. Only Linux shows environments; elsewhere nothing
//! is found. One that threw away its environment too is told of where it works in the workspace and is nobody's child:
//! it may be somebody else's, so it is not ended.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, getuid, pidfd_open, pidfd_send_signal};

use super::orphans;

/// How long a process may take to obey TERM.
const GRACE: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(5);

/// Ends every process of ours whose environment has `name=value`, and says how many there were.
#[must_use]
pub fn end_processes_with(name: &str, value: &str) -> usize {
    let entry = format!("{name}={value}");
    let found = matching(&entry);
    if found.is_empty() {
        return 0;
    }
    signal_all(&found, &entry, Signal::TERM);
    let mut waited = Duration::ZERO;
    while waited < GRACE && !matching(&entry).is_empty() {
        sleep(LOOK);
        waited += LOOK;
    }
    // Those that were born meanwhile are among them.
    signal_all(&matching(&entry), &entry, Signal::KILL);
    found.len()
}

/// How many processes of ours have `name=value` in their environment.
#[must_use]
pub fn processes_with(name: &str, value: &str) -> usize {
    matching(&format!("{name}={value}")).len()
}

/// The hidden first argument that makes our program a guard.
pub const GUARD: &str = "__guard";

/// Processes of ours that work in this folder, were started at this time or later, and have lost their parent: who they
/// are, one line each. What a dead session left is among them, whatever it did to hide, unless it went to another folder.
#[must_use]
pub fn strays(folder: &Path, since: Timestamp) -> Vec<String> {
    let (Ok(folder), Some(booted)) = (folder.canonicalize(), booted()) else { return Vec::new() };
    let spared = ancestors();
    let is_stray = |pid: &i32| {
        let works_here = || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&folder));
        let is_orphan = || parent(*pid).is_some_and(|parent| parent == 1 || is_reaper(parent));
        let is_new = || orphans::born(*pid).is_some_and(|ticks| started(booted, ticks) >= since);
        // The guard of a session that was killed a moment ago is about to end by itself.
        !spared.contains(pid) && is_ours(*pid) && works_here() && is_orphan() && is_new() && !is_guard(*pid)
    };
    let name = |pid: i32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        format!("process {pid} ({})", name.trim())
    };
    processes().filter(is_stray).map(name).collect()
}

/// Whether this is a guard of ours: our own program, started as one.
fn is_guard(pid: i32) -> bool {
    let program = |pid: &str| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).nth(1) == Some(GUARD.as_bytes()) && program(&pid.to_string()) == program("self")
}

/// Whether this is a user's service manager, which takes in the orphans of its sessions.
fn is_reaper(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "systemd")
}

/// When the machine was started, in seconds since 1970.
fn booted() -> Option<i64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// When a process was started, at the latest: the time of the machine's start is a whole number of seconds.
fn started(booted: i64, ticks: u64) -> Timestamp {
    let seconds = ticks / rustix::param::clock_ticks_per_second();
    let seconds = booted.saturating_add(i64::try_from(seconds).unwrap_or(i64::MAX)).saturating_add(2);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok())
}

fn signal_all(pids: &BTreeSet<i32>, entry: &str, signal: Signal) {
    for raw in pids {
        let Some(pid) = Pid::from_raw(*raw) else { continue };
        // The descriptor pins the process; looked at again behind it, the number cannot have passed to a stranger.
        let Ok(pinned) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        if has_entry(*raw, entry, &mut Vec::new()) {
            // It may end by itself in this moment, which is as good.
            let _ = pidfd_send_signal(&pinned, signal);
        }
    }
}

fn matching(entry: &str) -> BTreeSet<i32> {
    let spared = ancestors();
    // Lent to all: of a file that does not say how long it is, each would be read in many small steps.
    let mut environment = Vec::with_capacity(64 * 1024);
    processes()
        .filter(|pid| !spared.contains(pid) && has_entry(*pid, entry, &mut environment) && is_ours(*pid))
        .collect()
}

fn has_entry(pid: i32, entry: &str, environment: &mut Vec<u8>) -> bool {
    environment.clear();
    let file = File::open(format!("/proc/{pid}/environ"));
    let read = file.and_then(|mut file| file.read_to_end(environment));
    read.is_ok() && environment.split(|byte| *byte == 0).any(|found| found == entry.as_bytes())
}

fn is_ours(pid: i32) -> bool {
    fs::metadata(format!("/proc/{pid}")).is_ok_and(|found| found.uid() == getuid().as_raw())
}

/// Ourselves and everything above us.
fn ancestors() -> BTreeSet<i32> {
    let mut spared = BTreeSet::new();
    let mut pid = getpid().as_raw_nonzero().get();
    while pid > 0 && spared.insert(pid) {
        pid = parent(pid).unwrap_or(0);
    }
    spared
}

fn parent(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::process::{Command, Event};

    #[test]
    fn a_daemon_outside_its_group_is_found_by_its_environment_and_a_stranger_is_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let value = crate::system::ids::session();
            // A process that becomes another program shows no environment meanwhile, so the daemon speaks when it is what it
            // stays: a shell that waits in itself for somebody to open its pipe.
            let place = crate::system::scratch::folder("sweep-").expect("a folder");
            let script = "mkfifo \"$0\"; setsid sh -c 'echo up; read -r never <\"$0\"' \"$0\" & wait";
            let daemon = |name: &str| {
                let pipe = place.path().join(name).to_string_lossy().into_owned();
                Command::new("sh").args(["-c", script, &pipe])
            };
            let mut running = daemon("ours").env("SWEEP_TEST", &value).spawn().expect("sh");
            let mut stranger = daemon("theirs").env("SWEEP_TEST", format!("{value}x")).spawn().expect("sh");
            assert!(matches!(running.next().await, Event::Output(_)));
            assert!(matches!(stranger.next().await, Event::Output(_)));
            assert_eq!(end_processes_with("SWEEP_TEST", &value), 2, "the shell and the daemon");
            assert!(matching(&format!("SWEEP_TEST={value}")).is_empty());
            assert_eq!(matching(&format!("SWEEP_TEST={value}x")).len(), 2, "the stranger and its daemon live");
            assert_eq!(end_processes_with("SWEEP_TEST", &format!("{value}x")), 2);
        });
    }

    #[test]
    fn we_and_those_above_us_are_spared() {
        let spared = ancestors();
        assert!(spared.contains(&getpid().as_raw_nonzero().get()));
        assert!(spared.contains(&1) || spared.len() > 1);
    }
}
