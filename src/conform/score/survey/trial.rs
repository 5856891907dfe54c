//! One candidate on its way through the suite: what is ready, what needs no run, and what was judged.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::again::{confirm, deserves_another};
use super::{Listener, Progress, Rig};
use crate::conform::judge::{Check, Evidence, Judged, Outcome};
use crate::conform::observe::{Identity, Seen, timeline};
use crate::conform::score::CaseReport;
use crate::conform::score::lane::{self, Task};
use crate::conform::spec::{CaseDocument, Clause, Condition, ManifestDocument, Reason};
use crate::conform::suite::{Candidate, Suite};
use crate::system::clock;

/// One candidate on its way through the suite.
pub(super) struct Trial<'a, P: Judged> {
    pub(super) suite: &'a Suite<P>,
    pub(super) candidate: &'a Candidate<P>,
    pub(super) identity: Identity,
    /// Cases not judged yet.
    pub(super) open: BTreeSet<usize>,
    /// Stories not told yet, where a case is about them.
    pub(super) untold: BTreeSet<usize>,
    pub(super) judged: BTreeMap<usize, CaseReport>,
    /// What was seen of it when nothing went wrong.
    pub(super) control: Option<P::Seen>,
    /// What was seen of it in each scenario, the first time and perhaps a second, where a case is about all of them.
    pub(super) seen: BTreeMap<usize, Vec<P::Seen>>,
    /// What the machine did not let the judge see.
    pub(super) unseen: BTreeSet<String>,
    /// How long its scenarios took together.
    pub(super) elapsed_ms: u64,
}

impl<'a, P: Judged> Trial<'a, P> {
    pub(super) fn begin(
        suite: &'a Suite<P>,
        candidate: &'a Candidate<P>,
        selected: &BTreeSet<usize>,
        rig: &dyn Rig<P>,
        listener: Listener<'_>,
    ) -> Self {
        let name = candidate.manifest.name();
        listener(Progress::Identifying(name));
        let identity = rig.identify(candidate);
        listener(Progress::Identified(name, &identity));
        let open = if identity.problem.is_some() { BTreeSet::new() } else { selected.clone() };
        let (judged, unseen) = (BTreeMap::new(), BTreeSet::new());
        let seen = BTreeMap::new();
        let is_about_stories = open.iter().any(|index| suite.cases[*index].is_about_stories());
        let untold = if is_about_stories { suite.story_numbers().collect() } else { BTreeSet::new() };
        Self { suite, candidate, identity, open, untold, judged, control: None, seen, unseen, elapsed_ms: 0 }
    }

    /// Remembers what was seen of a scenario, as far as something is still to be judged from it.
    pub(super) fn keep(&mut self, leader: usize, seen: P::Seen) {
        self.untold.remove(&leader);
        self.unseen.extend(seen.unseen());
        if self.suite.control() == Some(leader) && self.control.is_none() {
            self.control = Some(seen.clone());
        }
        if self.open.iter().any(|index| self.suite.cases[*index].is_everywhere()) {
            self.seen.entry(leader).or_default().push(seen);
        }
    }

    /// Judges whatever needs no run: clauses that do not bind, presuppositions that do not hold, what the manifest keeps from
    /// being seen, and all when stopped.
    pub(super) fn settle(&mut self, stopped: bool, listener: Listener<'_>) {
        if stopped || self.untold.iter().any(|story| self.is_kept_from(*story)) {
            self.untold.clear();
        }
        loop {
            let settled: Vec<(usize, CaseReport)> = self
                .open
                .iter()
                .filter_map(|index| {
                    let case = &self.suite.cases[*index];
                    Some((*index, report(case, vec![self.without_a_run(case, stopped)?])))
                })
                .collect();
            if settled.is_empty() {
                return;
            }
            for (_, case) in &settled {
                listener(Progress::Judged(self.candidate.manifest.name(), case));
            }
            self.record(settled);
        }
    }

    /// Whether something that a story presupposes does not hold.
    fn is_kept_from(&self, story: usize) -> bool {
        let needs = self.suite.scene(story).head().needs;
        needs.iter().any(|need| self.decided(need).is_some_and(|outcome| !outcome.is_green()))
    }

    fn without_a_run(&self, case: &P::Case, stopped: bool) -> Option<Check> {
        let clause = self.clause(case);
        if clause.when == Condition::Claimed && !P::claims(case, clause.column, &self.candidate.manifest) {
            let expected = format!("a {} that claims the feature", P::NAME);
            return Some(Check::new(Outcome::NotApplicable, Reason::NotClaimed, expected, "it does not"));
        }
        if stopped {
            return Some(cut_off());
        }
        let needs = case.head().needs;
        let red: Vec<String> = needs
            .iter()
            .filter_map(|need| {
                let outcome = self.decided(need)?;
                (!outcome.is_green()).then(|| format!("{need} ({outcome})"))
            })
            .collect();
        let expected = format!("{} to hold", needs.join(", "));
        if !red.is_empty() {
            return Some(Check::new(Outcome::CouldNotRun, Reason::NeedsRed, expected, red.join(", ")));
        }
        let is_open = needs.iter().any(|need| self.decided(need).is_none());
        if is_open { None } else { P::unobservable(case, &self.candidate.manifest) }
    }

    pub(super) fn clause(&self, case: &P::Case) -> &'a Clause {
        self.suite.clause(case.head().clause).expect("the lint knows the clause of every case")
    }

    /// The outcome of a clause once all of its cases are judged that are not about every other: these come last.
    fn decided(&self, clause: &str) -> Option<Outcome> {
        let cases = || self.positions(clause).filter(|index| !self.suite.cases[*index].is_everywhere());
        if cases().any(|index| self.open.contains(&index)) {
            return None;
        }
        Some(self.worst(cases()))
    }

    pub(super) fn outcome(&self, clause: &str) -> Outcome {
        self.worst(self.positions(clause))
    }

    fn worst(&self, cases: impl Iterator<Item = usize>) -> Outcome {
        let outcomes = cases.filter_map(|index| Some(self.judged.get(&index)?.outcome));
        Outcome::worst(outcomes).unwrap_or(Outcome::Untested)
    }

    pub(super) fn positions<'s>(&'s self, clause: &'s str) -> impl Iterator<Item = usize> + 's {
        self.suite
            .cases
            .iter()
            .enumerate()
            .filter(move |(_, case)| case.head().clause == clause)
            .map(|(index, _)| index)
    }

    /// Scenarios whose cases presuppose nothing that is still open. The one in which nothing goes wrong comes before all others,
    /// because what is seen in them is held against it.
    pub(super) fn ready(&self, candidate: usize) -> Vec<Task> {
        let mut scenarios: BTreeMap<usize, Task> = BTreeMap::new();
        for &index in self.open.iter().filter(|index| !self.suite.cases[**index].is_everywhere()) {
            let case = &self.suite.cases[index];
            if case.head().needs.iter().all(|need| self.decided(need).is_some()) {
                let leader = self.suite.leader(index);
                let task = scenarios.entry(leader).or_insert_with(|| Task {
                    candidate,
                    leader,
                    cases: Vec::new(),
                    timing: false,
                });
                task.cases.push(index);
                task.timing |= case.measures_time();
            }
        }
        for story in self.untold.iter().copied() {
            let is_ready = |need: &String| self.decided(need).is_some();
            if self.suite.scene(story).head().needs.iter().all(is_ready) {
                scenarios.insert(story, Task { candidate, leader: story, cases: Vec::new(), timing: false });
            }
        }
        let control = self.suite.control().filter(|_| self.control.is_none());
        match control.and_then(|leader| scenarios.remove(&leader)) {
            Some(first) => vec![first],
            None => scenarios.into_values().collect(),
        }
    }

    /// How long a scenario waits by itself, however fast the runtime is.
    pub(super) fn waits(&self, task: &Task) -> Duration {
        self.suite.scene(task.leader).waits()
    }

    /// Does a scenario and judges its cases; once more when one of them is red.
    pub(super) fn perform(&self, task: &Task, rig: &dyn Rig<P>, listener: Listener<'_>) -> lane::Done<P::Seen> {
        let leader = self.suite.scene(task.leader);
        if leader.is_everywhere() {
            return self.perform_everywhere(task, rig, listener);
        }
        let name = self.candidate.manifest.name();
        listener(Progress::Began(name, leader.head().id));
        let begun = clock::now();
        let first = lane::guarded(|| rig.observe(leader, self.candidate));
        let mut judged: Vec<(usize, Vec<Check>)> = task.cases.iter().map(|it| (*it, self.judge(*it, &first))).collect();
        if rig.stopped() {
            // What was not seen to its end says nothing against the runtime, nor against the judge.
            let is_red = |checks: &[Check]| checks.iter().any(|check| !check.outcome.is_green());
            judged.iter_mut().filter(|(_, checks)| is_red(checks)).for_each(|(_, checks)| *checks = vec![cut_off()]);
        }
        let mut second = None;
        if !rig.stopped() && judged.iter().any(|(_, checks)| deserves_another(checks)) {
            let second = second.insert(lane::guarded(|| rig.observe(leader, self.candidate)));
            for (index, checks) in judged.iter_mut().filter(|(_, checks)| deserves_another(checks)) {
                confirm(checks, &self.judge(*index, second));
            }
        }
        let elapsed_ms = u64::try_from(clock::now().since(begun).as_millis()).unwrap_or(u64::MAX);
        let reports = judged.into_iter().map(|(index, checks)| {
            let case = &self.suite.cases[index];
            let bare = report(case, checks);
            let kept = first.kept().map(str::to_owned);
            let settings = P::turned(case, &self.candidate.manifest);
            let commands = if bare.outcome.is_green() { Vec::new() } else { P::commands(&first) };
            let timeline = Some(first.timeline()).filter(|it| !bare.outcome.is_green() || timeline::is_eventful(it));
            let timeline = timeline.unwrap_or_default();
            (index, CaseReport { elapsed_ms, settings, timeline, commands, kept, ..bare })
        });
        let reports: Vec<_> = reports.collect();
        for (_, case) in &reports {
            listener(Progress::Judged(name, case));
        }
        (reports, std::iter::once(first).chain(second).map(|seen| (task.leader, seen)).collect())
    }

    fn judge(&self, index: usize, seen: &P::Seen) -> Vec<Check> {
        let case = &self.suite.cases[index];
        let is_control = self.suite.control() == Some(self.suite.leader(index));
        let control = if is_control { Some(seen) } else { self.control.as_ref() };
        P::judge(&Evidence { case, clause: self.clause(case), manifest: &self.candidate.manifest, seen, control })
    }

    pub(super) fn record(&mut self, reports: Vec<(usize, CaseReport)>) {
        // All reports of one scenario carry the scenario's time.
        self.elapsed_ms += reports.first().map_or(0, |(_, report)| report.elapsed_ms);
        for (index, report) in reports {
            self.open.remove(&index);
            self.judged.insert(index, report);
        }
    }
}

/// Of a case that the judge was stopped before or in.
fn cut_off() -> Check {
    Check::new(Outcome::CouldNotRun, Reason::Stopped, "the case to be run", "the judge was stopped")
}

/// The report of a case that was not run.
pub(super) fn report(case: &impl CaseDocument, checks: Vec<Check>) -> CaseReport {
    let outcome = Outcome::worst(checks.iter().map(|check| check.outcome)).unwrap_or(Outcome::HarnessError);
    let head = case.head();
    let (id, title) = (head.id.to_owned(), head.title.to_owned());
    let (settings, timeline, commands) = (Vec::new(), Vec::new(), Vec::new());
    CaseReport { id, title, outcome, time: head.time, elapsed_ms: 0, settings, checks, timeline, commands, kept: None }
}
