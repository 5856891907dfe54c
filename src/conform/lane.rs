//! Doing many scenarios at once, on plain threads: a scenario mostly waits.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::{CaseReport, Observation};

/// One scenario for one runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    /// The number of the runtime.
    pub(super) candidate: usize,
    /// The case whose scenario is done.
    pub(super) leader: usize,
    /// The cases that are judged from it.
    pub(super) cases: Vec<usize>,
    /// Whether one of them measures time.
    pub(super) timing: bool,
}

/// What came of a task: a verdict for each of its cases, and what was seen the first time.
pub(super) type Done = (Vec<(usize, CaseReport)>, Observation);

/// Performs every task, so many at once. What is finished stays finished, whatever happens to the others.
pub(super) fn run(tasks: &[Task], jobs: usize, perform: impl Fn(&Task) -> Done + Sync) -> Vec<(&Task, Done)> {
    let waiting: Mutex<VecDeque<&Task>> = Mutex::new(tasks.iter().collect());
    let done = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, tasks.len().max(1)) {
            scope.spawn(|| {
                while let Some(task) = next() {
                    let one = perform(task);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((task, one));
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// An observation, or the fault of ours that prevented it.
pub(super) fn guarded(observe: impl FnOnce() -> Observation) -> Observation {
    catch_unwind(AssertUnwindSafe(observe))
        .unwrap_or_else(|_| Observation { rig_error: Some("the rig panicked".to_owned()), ..Observation::default() })
}
