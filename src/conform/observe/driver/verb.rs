//! One verb of the runtime: begun, listened to, disturbed as the case says, and ended when its time is over.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::select;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::adapter::Adapter;
use super::stage::{Reached, Stage};
use super::work::{self, Halting, Way, Work};
use crate::conform::observe::ProcessEnd;
use crate::conform::spec::Drive;
use crate::system::clock::Millis;
use crate::system::clock::{self, Moment};

/// How long a process may take to obey TERM, or to follow when nobody asks it anything more.
pub(super) const GRACE: Duration = Duration::from_secs(1);
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

/// What a verb is watched by.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    pub(super) stage: &'a Arc<Stage>,
    pub(super) reached: &'a mut UnboundedReceiver<Reached>,
    pub(super) budget: Duration,
    pub(super) stop: &'a AtomicBool,
    /// Who is asked for verbs that are no commands.
    pub(super) adapter: Option<&'a Adapter>,
    /// The runtime's `halt`, for this workspace.
    pub(super) halt: Option<Way>,
    /// Where checkpoints belong.
    pub(super) workspace: PathBuf,
    /// The phases during which some step of the case kills the runtime.
    pub(super) met_in: Vec<String>,
}

/// A verb that still does something has so many times its budget.
const MOST_BUDGETS: u32 = 5;
/// No reading of the contract allows so many starts of one phase in one run of a case.
const MOST_STARTS: usize = 16;

/// Why the judge ends a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// Nothing happened for the whole of the budget.
    Budget,
    /// A phase hangs that another step was to meet: nothing will happen.
    Hangs,
    /// The largest budget is over, and something still happened within the last one.
    Slow,
    /// One phase was started so often.
    Runaway(usize),
    Waiting,
    Stopped,
}

impl Watch<'_> {
    /// Has one verb done to its end. `last_report` says when the runtime last reported, if it did; it is there only when the
    /// manifest says that the runtime waits after a report.
    pub(super) async fn drive(
        &mut self,
        way: &Way,
        plan: &Drive,
        last_report: Option<&dyn Fn() -> Option<Millis>>,
    ) -> ProcessEnd {
        while self.reached.try_recv().is_ok() {}
        self.stage.halted.send_replace(false);
        let mut work = match Work::begin(way, self.adapter, &self.stage.chamber).await {
            Ok(work) => work,
            Err(end) => return end,
        };
        let begun = clock::now();
        let first_sight = plan.kill_at_checkpoint.as_ref().map(|phase| checkpoint(&self.workspace, phase));
        let mut halting = None;
        let mut ticks = interval(if first_sight.is_some() { KEEN_LOOK } else { LOOK });
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let cut = loop {
            select! {
                end = work.ended(self.stage) => {
                    self.last_words().await;
                    return halted(halting).await.unwrap_or(end);
                }
                Some(reached) = self.reached.recv() => match reached {
                    Reached::Over { phase } if plan.kill_after.as_ref() == Some(&phase) => work.kill(),
                    Reached::Over { .. } => {}
                    Reached::LastAct { phase, hangs } => {
                        let is_killed = plan.kill_during.as_ref() == Some(&phase);
                        let is_halted = plan.halt_during.as_ref() == Some(&phase);
                        if is_killed {
                            work.kill();
                        }
                        if is_halted && halting.is_none() {
                            halting = self.halt.take().map(|way| work::halt(way, self.adapter, self.budget, self.stage));
                        }
                        if hangs && !is_killed && !is_halted && self.met_in.contains(&phase) {
                            break Cut::Hangs;
                        }
                    }
                },
                _ = ticks.tick() => {
                    if first_sight.as_ref().is_some_and(|path| path.exists()) {
                        work.kill();
                    }
                    if let Some(cut) = self.cut(begun, last_report) {
                        break cut;
                    }
                },
            }
        };
        self.end(work, cut, halting).await
    }

    /// Ends a verb that did not end by itself.
    async fn end(&self, work: Work<'_>, cut: Cut, halting: Option<Halting>) -> ProcessEnd {
        let silence = work.silence(self.budget, self.stage.record().has_begun()).filter(|_| cut == Cut::Budget);
        work.cut().await;
        self.last_words().await;
        let halted = halted(halting).await;
        match (cut, silence) {
            (_, Some(why)) => ProcessEnd::AdapterFailed(why),
            (Cut::Waiting, None) => halted.unwrap_or(ProcessEnd::Waiting),
            (Cut::Slow, None) => halted.unwrap_or(ProcessEnd::TooSlow),
            (Cut::Runaway(times), None) => halted.unwrap_or(ProcessEnd::Runaway(times)),
            (Cut::Budget | Cut::Hangs | Cut::Stopped, None) => halted.unwrap_or(ProcessEnd::OutOfBudget),
        }
    }

    /// Whether, and why, the judge ends the verb now.
    fn cut(&self, begun: Moment, last_report: Option<&dyn Fn() -> Option<Millis>>) -> Option<Cut> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(Cut::Stopped);
        }
        let (starts, silent) = {
            let mut record = self.stage.record();
            record.notice_ends();
            (record.most_starts(), Duration::from_millis(record.now().saturating_sub(record.changed)))
        };
        if let Some(cut) = overdue(clock::now().since(begun), silent, starts, self.stage.load.stretched(self.budget)) {
            Some(cut)
        } else {
            last_report.is_some_and(|last| self.has_settled(last)).then_some(Cut::Waiting)
        }
    }

    /// Whether there is a report, nothing runs, and both have been so for a while.
    fn has_settled(&self, last_report: &dyn Fn() -> Option<Millis>) -> bool {
        let (quiet, now, changed) = {
            let mut record = self.stage.record();
            record.notice_ends();
            (record.is_quiet(), record.now(), record.changed)
        };
        let is_over = |at: Millis| Duration::from_millis(now.saturating_sub(at)) >= self.stage.poll() * SETTLED_POLLS;
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
            if clock::now().since(begun) >= self.stage.load.stretched(LAST_WORDS) {
                return;
            }
            sleep(DYING).await;
        }
    }
}

/// Whether a verb has had its time: a budget in which nothing happened, or the largest, or more starts than anybody may make.
fn overdue(taken: Duration, silent: Duration, starts: usize, budget: Duration) -> Option<Cut> {
    match () {
        () if starts > MOST_STARTS => Some(Cut::Runaway(starts)),
        () if silent >= budget && taken >= budget => Some(Cut::Budget),
        () if taken >= budget * MOST_BUDGETS => Some(Cut::Slow),
        () => None,
    }
}

/// Where a phase's checkpoint belongs.
fn checkpoint(workspace: &Path, phase: &str) -> PathBuf {
    workspace.join(".loa-checkpoint").join(format!("{phase}.yaml"))
}

/// Waits for whoever asked the runtime to stop.
async fn halted(halting: Option<Halting>) -> Option<ProcessEnd> {
    // Cancelled is as good as done.
    halting?.await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_grows_while_something_happens_and_what_is_cut_then_was_only_too_slow() {
        let seconds = Duration::from_secs;
        for (taken, silent, starts, cut) in [
            (19, 19, 4, None),
            (20, 20, 4, Some(Cut::Budget)),
            (21, 3, 4, None),
            (99, 19, 4, None),
            (60, 20, 4, Some(Cut::Budget)),
            (100, 1, 4, Some(Cut::Slow)),
            (1, 0, MOST_STARTS, None),
            (1, 0, MOST_STARTS + 1, Some(Cut::Runaway(MOST_STARTS + 1))),
        ] {
            let found = overdue(seconds(taken), seconds(silent), starts, seconds(20));
            assert_eq!(found, cut, "{taken} s, the last {silent} of them silent, {starts} starts");
        }
    }
}
