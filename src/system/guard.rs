//! A small process that outlives us just long enough to end our children.
//!
//! It is our own program with a hidden argument, in a group of its own so that Ctrl-C does not reach it, reading the
//! process groups to watch from a pipe. When we die by any cause the kernel closes the pipe; the guard then ends the
//! groups, what is or was below them, and what left them but still carries our mark in its environment.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::orphans::{self, Process};
use super::process::Command;
use super::process::group::lives;
use super::process::own::Own;
use super::sweep;

/// The hidden first argument that makes our program a guard.
pub const ARGUMENT: &str = "__guard";
/// How long a group may take to obey TERM.
const GRACE: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(5);
const DONE: &str = "done";

/// The guard, seen from the process that it guards. Dropped, it ends what it still watches, as after our death.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    pipe: Option<ChildStdin>,
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
        let command = Command::new(program).args([ARGUMENT, mark.0, mark.1]).env_remove(mark.0);
        let mut child = command.prepared().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let (pipe, own) = (child.stdin.take(), Own::mark(child.id()));
        Ok(Self { child, pipe, orphans: BTreeSet::new(), _own: own })
    }

    /// From now on the group dies with us.
    pub fn watch(&mut self, group: u32) {
        self.say(&format!("+{group}"));
    }

    /// The group is over; its number may pass to a stranger.
    pub fn forget(&mut self, group: u32) {
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
        // A guard that somebody killed cannot be told anything; the sweep at the next start is left.
        let _ = self.pipe.as_mut().map(|pipe| pipe.write_all(format!("{line}\n").as_bytes()));
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipe = None;
        let _ = self.child.wait();
    }
}

/// The guard's whole life: reads groups until the pipe closes, then ends what is left. Call it first thing in `main`,
/// with the arguments that follow [`ARGUMENT`].
pub fn serve(arguments: &[String]) {
    let (mut groups, mut orphans) = (BTreeSet::new(), BTreeSet::new());
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match line.split_at_checked(1) {
            _ if line == DONE => return,
            Some(("+", group)) => drop(group.parse::<i32>().map(|group| groups.insert(group))),
            Some(("-", group)) => drop(group.parse::<i32>().map(|group| groups.remove(&group))),
            Some(("*", orphan)) => orphans.extend(process(orphan)),
            Some(("/", orphan)) => drop(process(orphan).map(|orphan| orphans.remove(&orphan))),
            _ => {}
        }
    }
    // Before its group: whoever hid from it is found by descent, which ends with the parent.
    orphans::end_all(orphans, &groups);
    end(&groups);
    if let [name, value, ..] = arguments {
        let _ = sweep::end_processes_with(name, value);
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
