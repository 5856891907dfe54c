//! Doing many scenarios at once, on plain threads: a scenario mostly waits.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::CaseReport;
use crate::conform::observe::Seen;

/// One scenario for one candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    /// The number of the candidate.
    pub(super) candidate: usize,
    /// The case whose scenario is done.
    pub(super) leader: usize,
    /// The cases that are judged from it.
    pub(super) cases: Vec<usize>,
    /// Whether one of them measures time.
    pub(super) timing: bool,
}

/// What came of a task: a verdict for each of its cases, and what was seen for it, each with the case whose scenario it is.
pub(super) type Done<S> = (Vec<(usize, CaseReport)>, Vec<(usize, S)>);

/// Performs every task, so many at once. What is finished stays finished, whatever happens to the others.
pub(super) fn run<T: Sync, D: Send>(tasks: &[T], jobs: usize, perform: impl Fn(&T) -> D + Sync) -> Vec<(&T, D)> {
    let waiting: Mutex<VecDeque<&T>> = Mutex::new(tasks.iter().collect());
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

/// Performs two lists of tasks beside each other, so many of each at once.
pub(super) fn beside<'t, T: Sync, D: Send>(
    (one, few): (&'t [T], usize),
    (other, many): (&'t [T], usize),
    perform: impl Fn(&T) -> D + Sync,
) -> Vec<(&'t T, D)> {
    thread::scope(|scope| {
        let beside = scope.spawn(|| if one.is_empty() { Vec::new() } else { run(one, few, &perform) });
        let mut done = if other.is_empty() { Vec::new() } else { run(other, many, &perform) };
        done.extend(beside.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done
    })
}

/// An observation, or the fault of ours that prevented it.
pub(super) fn guarded<S: Seen>(observe: impl FnOnce() -> S) -> S {
    catch_unwind(AssertUnwindSafe(observe)).unwrap_or_else(|_| S::broken("the rig panicked"))
}
