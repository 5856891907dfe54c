//! Whether anything of a process group still runs.

use std::fs;

use rustix::process::{Pid, WaitOptions, test_kill_process_group, waitpgid};

/// Whether a process of the group still runs. One that ended and waits for its parent to take note does not: the host's
/// first process may take seconds for that, or never do it, and a signal to the group would go on to succeed.
pub(in crate::system) fn lives(group: Pid) -> bool {
    test_kill_process_group(group).is_ok() && !only_dead_members(group)
}

/// Whether anything of the group is there, dead or alive. Dead members that are ours to await are awaited first.
pub(in crate::system) fn is_there(group: Pid) -> bool {
    while matches!(waitpgid(group, WaitOptions::NOHANG), Ok(Some(_))) {}
    test_kill_process_group(group).is_ok()
}

/// Only Linux shows the members of a group; elsewhere none is known to be dead.
fn only_dead_members(group: Pid) -> bool {
    let Ok(processes) = fs::read_dir("/proc/") else { return false };
    let lines = processes.filter_map(|process| fs::read_to_string(process.ok()?.path().join("stat")).ok());
    let mut states = lines.filter_map(|stat| state_in(&stat, group)).peekable();
    states.peek().is_some() && states.all(|state| matches!(state, 'Z' | 'X'))
}

/// The state of a process by its `/proc/<pid>/stat`, if it is of the group.
fn state_in(stat: &str, group: Pid) -> Option<char> {
    // The name stands in brackets and may hold anything; behind it come state, parent and group.
    let (_, behind) = stat.rsplit_once(") ")?;
    let mut words = behind.split(' ');
    let state = words.next()?.chars().next()?;
    (words.nth(1)?.parse() == Ok(group.as_raw_nonzero().get())).then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_stands_behind_a_name_of_any_form() {
        let group = Pid::from_raw(77).expect("not zero");
        for (stat, state) in [
            ("9 (sleep) S 1 77 77 0", Some('S')),
            ("9 (a) Z 1 (b) Z 1 77 77 0", Some('Z')),
            ("9 (sleep) S 77 1 77 0", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(state_in(stat, group), state, "{stat}");
        }
    }

    #[test]
    fn a_dead_process_that_nobody_awaited_keeps_no_group_alive() {
        let command = crate::system::process::Command::new("sleep").args(["60"]);
        let mut child = command.prepared().spawn().expect("sleep");
        let group = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("not zero");
        assert!(lives(group));
        child.kill().expect("killed");
        let stat = format!("/proc/{}/stat", child.id());
        while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            std::thread::yield_now();
        }
        assert!(test_kill_process_group(group).is_ok(), "it is still there");
        assert!(!lives(group), "and does not run");
        child.wait().expect("awaited");
        assert!(!lives(group));
    }
}
