//! A survey: which cases are run against which candidates, in which order, and what comes of it.
//!
//! A case runs once everything that it presupposes is known to hold; otherwise it could not run, and says why. Cases of one
//! scenario are judged from one observation. What is red is done once more in a fresh place with the same seed: red and then
//! green is flaky, never green. Cases that are about every other are judged last. The plain run comes first: what a runtime says and leaves when nothing goes wrong proves nothing
//! in the cases that follow. Cases that measure time come last, when the machine is quiet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use fastrand::Rng;
use jiff::civil::Date;

use super::lane::{self, Task};
use super::timeline;
use super::{AgentCase, AgentObservation, AgentProfile, AgentRig, Case, Clause};
use super::{
    Candidate, CaseDocument, CaseReport, Cell, Check, ClauseReport, Column, Condition, Evidence, Identity, Level,
    ManifestDocument, Observation, Outcome, Profile, Reason, RigOptions, RuntimeProfile, RuntimeReport, Seen,
    Selection, Suite, identify, observe,
};
use crate::system::clock;

mod everywhere;
#[cfg(test)]
mod tests;

/// What a survey needs of the outside: programs that can be looked up and cases that can be done to them.
pub trait Rig<P: Profile = RuntimeProfile>: Sync {
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
    /// How many cases that measure time at once.
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
pub fn survey<P: Profile>(
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
        let (timing, quick): (Vec<Task>, Vec<Task>) = ready.into_iter().partition(|task| task.timing);
        let (mut tasks, jobs) = if quick.is_empty() { (timing, options.timing_jobs) } else { (quick, options.jobs) };
        if tasks.is_empty() {
            // One of each candidate at a time, so that what is seen again for one serves the next.
            tasks = trials.iter().enumerate().filter_map(|(index, trial)| trial.everywhere(index)).collect();
        }
        if tasks.is_empty() {
            break;
        }
        if let Some(order) = &mut order {
            order.shuffle(&mut tasks);
        }
        let done = lane::run(&tasks, jobs, |task| trials[task.candidate].perform(task, rig, listener));
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

/// By what cells are earned, besides outcomes.
struct Rated {
    today: Date,
    whole: bool,
    /// The one column that everything was asked of, if not of all.
    column: Option<Column>,
}

impl Rated {
    fn new(options: &SurveyOptions) -> Self {
        let today = || clock::now().wall().to_zoned(jiff::tz::TimeZone::UTC).date();
        Self {
            today: options.today.unwrap_or_else(today),
            whole: options.whole_columns || options.selection.is_everything(),
            column: options.selection.column.filter(|column| options.selection.is_all_of(*column)),
        }
    }
}

/// One candidate on its way through the suite.
struct Trial<'a, P: Profile> {
    suite: &'a Suite<P>,
    candidate: &'a Candidate<P>,
    identity: Identity,
    /// Cases not judged yet.
    open: BTreeSet<usize>,
    judged: BTreeMap<usize, CaseReport>,
    /// What was seen of it when nothing went wrong.
    control: Option<P::Seen>,
    /// What was seen of it in each scenario, the first time and perhaps a second, where a case is about all of them.
    seen: BTreeMap<usize, Vec<P::Seen>>,
    /// What the machine did not let the judge see.
    unseen: BTreeSet<String>,
    /// How long its scenarios took together.
    elapsed_ms: u64,
}

impl<'a, P: Profile> Trial<'a, P> {
    fn begin(
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
        Self { suite, candidate, identity, open, judged, control: None, seen, unseen, elapsed_ms: 0 }
    }

    /// Remembers what was seen of a scenario, as far as something is still to be judged from it.
    fn keep(&mut self, leader: usize, seen: P::Seen) {
        self.unseen.extend(seen.unseen().iter().cloned());
        if self.suite.control() == Some(leader) && self.control.is_none() {
            self.control = Some(seen.clone());
        }
        if self.open.iter().any(|index| self.suite.cases[*index].is_everywhere()) {
            self.seen.entry(leader).or_default().push(seen);
        }
    }

    /// Judges whatever needs no run: clauses that do not bind, presuppositions that do not hold, what the manifest keeps from
    /// being seen, and all when stopped.
    fn settle(&mut self, stopped: bool, listener: Listener<'_>) {
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

    fn without_a_run(&self, case: &P::Case, stopped: bool) -> Option<Check> {
        let clause = self.clause(case);
        if clause.when == Condition::Claimed && !P::claims(case, clause.column, &self.candidate.manifest) {
            let expected = format!("a {} that claims the feature", P::NAME);
            return Some(Check::new(Outcome::NotApplicable, Reason::NotClaimed, expected, "it does not"));
        }
        if stopped {
            return Some(Check::new(
                Outcome::CouldNotRun,
                Reason::Stopped,
                "the case to be run",
                "the judge was stopped",
            ));
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

    fn clause(&self, case: &P::Case) -> &'a Clause {
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

    fn outcome(&self, clause: &str) -> Outcome {
        self.worst(self.positions(clause))
    }

    fn worst(&self, cases: impl Iterator<Item = usize>) -> Outcome {
        let outcomes = cases.filter_map(|index| Some(self.judged.get(&index)?.outcome));
        Outcome::worst(outcomes).unwrap_or(Outcome::Untested)
    }

    fn positions<'s>(&'s self, clause: &'s str) -> impl Iterator<Item = usize> + 's {
        self.suite
            .cases
            .iter()
            .enumerate()
            .filter(move |(_, case)| case.head().clause == clause)
            .map(|(index, _)| index)
    }

    /// Scenarios whose cases presuppose nothing that is still open. The one in which nothing goes wrong comes before all others,
    /// because what is seen in them is held against it.
    fn ready(&self, candidate: usize) -> Vec<Task> {
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
        let control = self.suite.control().filter(|_| self.control.is_none());
        match control.and_then(|leader| scenarios.remove(&leader)) {
            Some(first) => vec![first],
            None => scenarios.into_values().collect(),
        }
    }

    /// Does a scenario and judges its cases; once more when one of them is red.
    fn perform(&self, task: &Task, rig: &dyn Rig<P>, listener: Listener<'_>) -> lane::Done<P::Seen> {
        let leader = &self.suite.cases[task.leader];
        if leader.is_everywhere() {
            return self.perform_everywhere(task, rig, listener);
        }
        let name = self.candidate.manifest.name();
        listener(Progress::Began(name, leader.head().id));
        let begun = clock::now();
        let first = lane::guarded(|| rig.observe(leader, self.candidate));
        let mut judged: Vec<(usize, Vec<Check>)> = task.cases.iter().map(|it| (*it, self.judge(*it, &first))).collect();
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

    fn record(&mut self, reports: Vec<(usize, CaseReport)>) {
        // All reports of one scenario carry the scenario's time.
        self.elapsed_ms += reports.first().map_or(0, |(_, report)| report.elapsed_ms);
        for (index, report) in reports {
            self.open.remove(&index);
            self.judged.insert(index, report);
        }
    }

    fn into_report(mut self, rated: &Rated) -> RuntimeReport {
        let cells = if self.identity.problem.is_some() { BTreeMap::new() } else { self.cells(rated) };
        let outcomes: Vec<Outcome> = self.suite.clauses.iter().map(|clause| self.outcome(&clause.id)).collect();
        let mut clauses = Vec::new();
        for (clause, outcome) in self.suite.clauses.iter().zip(outcomes) {
            let positions: Vec<usize> = self.positions(&clause.id).collect();
            let cases = positions.into_iter().filter_map(|index| self.judged.remove(&index)).collect();
            let (id, column, level) = (clause.id.clone(), clause.column, clause.level);
            clauses.push(ClauseReport { id, column, level, outcome, cases });
        }
        let manifest = &self.candidate.manifest;
        let program = self.identity.hash();
        let problem = self.identity.problem.map(|problem| match manifest.install() {
            Some(how) if self.identity.program.is_none() => format!("{problem}; to get it: {how}"),
            _ => problem,
        });
        RuntimeReport {
            runtime: manifest.name().to_owned(),
            path: None,
            program,
            version: self.identity.version,
            manifest: self.candidate.hash.clone(),
            problem,
            settings: manifest.settings(),
            unseen: self.unseen.into_iter().collect(),
            cells,
            expect: manifest.expect().clone(),
            reds: manifest.reds(),
            claims: manifest.claims(),
            clauses,
            elapsed_ms: self.elapsed_ms,
        }
    }

    fn cells(&self, rated: &Rated) -> BTreeMap<Column, Cell> {
        let cell = |column: &Column| {
            let clauses = self.suite.clauses.iter();
            let musts = clauses.filter(|clause| clause.column == *column && clause.level == Level::Must);
            let musts: Vec<_> = musts.map(|clause| (clause.id.as_str(), self.outcome(&clause.id))).collect();
            let cell = Cell::of(&musts, self.candidate.manifest.attest(), rated.today);
            if rated.whole || rated.column == Some(*column) { cell } else { cell.of_a_part() }
        };
        Column::of(P::NAME).map(|column| (column, cell(&column))).collect()
    }
}

/// Whether a red may have been bad luck. A candidate that does nothing at all has had no luck to lose.
fn deserves_another(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.outcome == Outcome::Fail && !is_nothing(check.reason)) || was_slow(checks)
}

/// Whether the judge cut a step short that was still at work, so that nothing is known.
fn was_slow(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.outcome == Outcome::CouldNotRun && check.reason == Reason::TooSlow)
}

/// Compares a red, or what could not be seen, with the second time: whatever is not red again is flaky.
fn confirm(first: &mut Vec<Check>, second: &[Check]) {
    // Where the machine was too slow for one of them, nothing is held against the candidate.
    if was_slow(first) || was_slow(second) {
        first.clear();
        first.extend_from_slice(second);
        return;
    }
    if Outcome::worst(second.iter().map(|check| check.outcome)) == Some(Outcome::Fail) {
        return;
    }
    for check in first.iter_mut().filter(|check| check.outcome == Outcome::Fail) {
        check.outcome = Outcome::Flaky;
    }
}

fn is_nothing(reason: Reason) -> bool {
    matches!(reason, Reason::NothingStarted | Reason::NoRequest)
}

/// The report of a case that was not run.
fn report(case: &impl CaseDocument, checks: Vec<Check>) -> CaseReport {
    let outcome = Outcome::worst(checks.iter().map(|check| check.outcome)).unwrap_or(Outcome::HarnessError);
    let head = case.head();
    let (id, title) = (head.id.to_owned(), head.title.to_owned());
    let (settings, timeline, commands) = (Vec::new(), Vec::new(), Vec::new());
    CaseReport { id, title, outcome, time: head.time, elapsed_ms: 0, settings, checks, timeline, commands, kept: None }
}
