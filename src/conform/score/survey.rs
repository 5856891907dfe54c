//! A survey: which cases are run against which candidates, in which order, and what comes of it.
//!
//! A case runs once everything that it presupposes is known to hold; otherwise it could not run, and says why. Cases of one
//! scenario are judged from one observation. What is red is done once more in a fresh place with the same seed: red and then
//! green is flaky, never green. The plain run comes first: what a runtime says and leaves when nothing goes wrong proves
//! nothing in the cases that follow. Few cases that measure time are done at once, beside the others, what takes longest begins
//! first, and cases that are about every other come last.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;

use fastrand::Rng;
use jiff::civil::Date;

use self::rated::Rated;
use self::trial::Trial;
use super::{CaseReport, RuntimeReport};
use super::{lane, lane::Task};
use crate::conform::judge::Judged;
use crate::conform::observe::{AgentObservation, AgentRig, Identity, Observation, RigOptions, identify, observe};
use crate::conform::spec::{AgentCase, AgentProfile, Case, RuntimeProfile};
use crate::conform::suite::{Candidate, Selection, Suite};

mod again;
mod everywhere;
mod rated;
#[cfg(test)]
mod tests;
mod trial;

/// What a survey needs of the outside: programs that can be looked up and cases that can be done to them.
pub trait Rig<P: Judged = RuntimeProfile>: Sync {
    /// Finds, and if need be makes, the program of a candidate.
    fn identify(&self, candidate: &Candidate<P>) -> Identity;
    /// Does a case to a candidate.
    fn observe(&self, case: &P::Case, candidate: &Candidate<P>) -> P::Seen;
    /// Whether somebody wants it all to end.
    fn stopped(&self) -> bool;
}

impl Rig for RigOptions {
    fn identify(&self, candidate: &Candidate) -> Identity {
        identify(&candidate.manifest, &candidate.dir, &self.judge)
    }

    fn observe(&self, case: &Case, candidate: &Candidate) -> Observation {
        observe(case, &candidate.manifest, &candidate.dir, self)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Rig<AgentProfile> for AgentRig {
    fn identify(&self, candidate: &Candidate<AgentProfile>) -> Identity {
        self.identify(&candidate.manifest, &candidate.dir)
    }

    fn observe(&self, case: &AgentCase, candidate: &Candidate<AgentProfile>) -> AgentObservation {
        self.observe(case, &candidate.manifest, &candidate.dir)
    }

    fn stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }
}

/// How a survey is run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SurveyOptions {
    /// Which cases.
    pub selection: Selection,
    /// The selection leaves no case of a column out that it has cases of, so the cells are rated as those of a whole run.
    pub whole_columns: bool,
    /// How many cases at once.
    pub jobs: usize,
    /// How many cases that measure time at once, beside the others.
    pub timing_jobs: usize,
    /// Scenarios that are ready at once are done in the order of the suite, or shuffled under this seed.
    pub shuffle: Option<u64>,
    /// The day on which attestations must not have expired; the current one when absent.
    pub today: Option<Date>,
}

/// Something that happened in a survey.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress<'a> {
    /// A candidate's program is being looked up, and perhaps made.
    Identifying(&'a str),
    /// A candidate is ready, or has a problem.
    Identified(&'a str, &'a Identity),
    /// So many cases are going to be judged, over all candidates.
    Planned(usize),
    /// A scenario begins.
    Began(&'a str, &'a str),
    /// A case was judged.
    Judged(&'a str, &'a CaseReport),
}

/// Listens to a survey; called from several threads.
pub type Listener<'a> = &'a (dyn Fn(Progress<'_>) + Sync);

/// Runs the suite against every candidate.
#[must_use]
pub fn survey<P: Judged>(
    suite: &Suite<P>,
    candidates: &[Candidate<P>],
    rig: &dyn Rig<P>,
    options: &SurveyOptions,
    listener: Listener<'_>,
) -> Vec<RuntimeReport> {
    let selected = suite.select(&options.selection);
    let mut order = options.shuffle.map(Rng::with_seed);
    let mut trials: Vec<Trial<'_, P>> =
        candidates.iter().map(|candidate| Trial::begin(suite, candidate, &selected, rig, listener)).collect();
    listener(Progress::Planned(trials.iter().map(|trial| trial.open.len()).sum()));
    loop {
        let stopped = rig.stopped();
        for trial in &mut trials {
            trial.settle(stopped, listener);
        }
        let ready: Vec<Task> = trials.iter().enumerate().flat_map(|(index, trial)| trial.ready(index)).collect();
        let (mut timing, mut others): (Vec<Task>, Vec<Task>) = ready.into_iter().partition(|task| task.timing);
        if timing.is_empty() && others.is_empty() {
            // One of each candidate at a time, so that what is seen again for one serves the next.
            others = trials.iter().enumerate().filter_map(|(index, trial)| trial.everywhere(index)).collect();
        }
        if timing.is_empty() && others.is_empty() {
            break;
        }
        for tasks in [&mut timing, &mut others] {
            match &mut order {
                Some(order) => order.shuffle(tasks),
                // What takes longest begins first, so that nobody waits for it alone at the end.
                None => tasks.sort_by_key(|task| Reverse(trials[task.candidate].waits(task))),
            }
        }
        let perform = |task: &Task| trials[task.candidate].perform(task, rig, listener);
        let done = lane::beside((&timing, options.timing_jobs), (&others, options.jobs), perform);
        for (task, (reports, seen)) in done {
            let trial = &mut trials[task.candidate];
            trial.record(reports);
            for (leader, seen) in seen {
                trial.keep(leader, seen);
            }
        }
    }
    let rated = Rated::new(options);
    trials.into_iter().map(|trial| trial.into_report(&rated)).collect()
}
