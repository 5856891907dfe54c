//! One process of the runtime: started, listened to, disturbed as the case says, and ended when its time is over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::select;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::stage::Stage;
use crate::conform::census::residents;
use crate::conform::{Drive, Millis, ProcessEnd};
use crate::system::clock;
use crate::system::process::{Command, Event, Exit, Running, capture, signal_name};

/// How long a process may take to obey TERM.
const GRACE: Duration = Duration::from_secs(1);
/// How often a running verb is looked at, at least.
const LOOK: Duration = Duration::from_millis(50);
/// How often it is looked whether a file has appeared that the runtime is to be killed at.
const KEEN_LOOK: Duration = Duration::from_millis(1);
/// How often the dying are looked at.
const DYING: Duration = Duration::from_millis(5);
/// How long the socket of a phase may stay open after the runtime ended, when its process is already gone.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// So many polls after its report and the last phase, a runtime that is still there waits for its human, and after its end
/// what is still there stays; until then it may just be about to end, however busy the machine is.
pub(super) const SETTLED_POLLS: u32 = 10;

/// What starts a verb.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) argv: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) folder: PathBuf,
}

impl Call {
    fn command(&self) -> Command {
        let (program, arguments) = self.argv.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
        let command = Command::new(program).args(arguments).env_clear().folder(&self.folder);
        self.env.iter().fold(command, |command, (name, value)| command.env(name, value))
    }
}

/// What a verb is watched by.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    pub(super) stage: &'a Arc<Stage>,
    pub(super) reached: &'a mut UnboundedReceiver<String>,
    pub(super) budget: Duration,
    pub(super) stop: &'a AtomicBool,
    /// The manifest's `halt`, for this workspace.
    pub(super) halt: Option<Call>,
}

/// Why the judge ends a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Budget,
    Waiting,
    Stopped,
}

impl Watch<'_> {
    /// Runs one verb to its end. `last_report` says when the runtime last reported, if it did; it is there only when the
    /// manifest says that the runtime waits after a report.
    pub(super) async fn drive(
        &mut self,
        call: &Call,
        plan: &Drive,
        last_report: Option<&dyn Fn() -> Option<Millis>>,
    ) -> ProcessEnd {
        while self.reached.try_recv().is_ok() {}
        let mut running = match call.command().spawn() {
            Ok(running) => running,
            Err(error) => return ProcessEnd::NotStarted(error.to_string()),
        };
        let begun = clock::now();
        let mut killed = false;
        let first_sight = plan.kill_at_checkpoint.as_ref().map(|phase| checkpoint(&call.folder, phase));
        let mut halting: Option<JoinHandle<()>> = None;
        let mut ticks = interval(if first_sight.is_some() { KEEN_LOOK } else { LOOK });
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let cut = loop {
            select! {
                event = running.next() => match event {
                    Event::Output(piece) => self.stage.hear(&piece),
                    Event::Ended(exit) => {
                        self.last_words().await;
                        end_halt(halting).await;
                        return ended(&exit, killed);
                    }
                },
                Some(phase) = self.reached.recv() => {
                    if plan.kill_during.as_ref() == Some(&phase) && !killed {
                        killed = kill(&running);
                    }
                    if plan.halt_during.as_ref() == Some(&phase) && halting.is_none() {
                        halting = self.halt.clone().map(|halt| halt_beside(halt, self.budget));
                    }
                },
                _ = ticks.tick() => {
                    if !killed && first_sight.as_ref().is_some_and(|path| path.exists()) {
                        killed = kill(&running);
                    }
                    if self.stop.load(Ordering::Relaxed) {
                        break Cut::Stopped;
                    } else if clock::now().since(begun) >= self.budget {
                        break Cut::Budget;
                    } else if last_report.is_some_and(|last| self.has_settled(last)) {
                        break Cut::Waiting;
                    }
                },
            }
        };
        running.end(GRACE).await;
        self.last_words().await;
        end_halt(halting).await;
        match cut {
            Cut::Waiting => ProcessEnd::Waiting,
            Cut::Budget | Cut::Stopped => ProcessEnd::OutOfBudget,
        }
    }

    /// Whether there is a report, nothing runs, and both have been so for a while.
    fn has_settled(&self, last_report: &dyn Fn() -> Option<Millis>) -> bool {
        let (quiet, now, changed) = {
            let mut record = self.stage.record();
            record.notice_ends();
            (record.is_quiet(), record.now(), record.changed)
        };
        let is_over = |at: Millis| Duration::from_millis(now.saturating_sub(at)) >= self.stage.poll * SETTLED_POLLS;
        quiet && is_over(changed) && last_report().is_some_and(is_over)
    }

    /// Lets the sockets of processes that are gone be seen closed. One that stays open belongs to a process that stays.
    async fn last_words(&self) {
        let begun = clock::now();
        loop {
            {
                let mut record = self.stage.record();
                record.notice_ends();
                record.read_events();
                if record.is_quiet() {
                    return;
                }
            }
            if clock::now().since(begun) >= LAST_WORDS {
                return;
            }
            sleep(DYING).await;
        }
    }
}

/// Where a phase's checkpoint belongs.
fn checkpoint(workspace: &Path, phase: &str) -> PathBuf {
    workspace.join(".loa-checkpoint").join(format!("{phase}.yaml"))
}

fn ended(exit: &Exit, killed: bool) -> ProcessEnd {
    match exit {
        Exit::Signalled(9) if killed => ProcessEnd::KilledAsPlanned,
        Exit::Exited(code) => ProcessEnd::Exited(*code),
        Exit::Signalled(number) => ProcessEnd::Signalled(signal_name(*number)),
        Exit::SpawnFailed(error) => ProcessEnd::NotStarted(error.to_string()),
    }
}

/// SIGKILL to the runtime's own process, and to nothing else.
fn kill(running: &Running) -> bool {
    let pid = i32::try_from(running.group()).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}

/// Runs the halt verb beside the run, to its own end.
fn halt_beside(halt: Call, budget: Duration) -> JoinHandle<()> {
    tokio::spawn(async move {
        capture(&halt.command(), 0, budget).await;
    })
}

async fn end_halt(halting: Option<JoinHandle<()>>) {
    if let Some(halting) = halting {
        // Cancelled or done: its end is no observation.
        let _ = halting.await;
    }
}

/// Ends every process of a case: TERM, a grace, KILL.
pub(super) async fn end_all(mark: &str) {
    let begun = clock::now();
    let mut asked = Vec::new();
    loop {
        let left = residents(mark);
        if left.is_empty() {
            return;
        }
        let patience_is_over = clock::now().since(begun) >= GRACE;
        for resident in &left {
            if patience_is_over {
                resident.signal(Signal::KILL);
            } else if !asked.contains(&resident.pid) {
                asked.push(resident.pid);
                resident.signal(Signal::TERM);
            }
        }
        if clock::now().since(begun) >= GRACE * 3 {
            return;
        }
        sleep(DYING).await;
    }
}
