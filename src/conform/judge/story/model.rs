//! The model: what was seen of a story, held against what a lawful runtime may do. It looks at what the phases themselves
//! told the judge, and believes nothing that the runtime says of itself. Where a reading of the contract leaves a choice the
//! model follows the runtime; where something is not known it stops asking.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::left::Ending;
use super::script::{Supplied, acts, full_in_a_row};
use super::turn::{Turn, trigger, unstartable};
use crate::conform::observe::{AttemptSeen, FileSeen, Observation, ProcessEnd, StepSeen};
use crate::conform::spec::draw::Script;
use crate::conform::spec::plot::HARD_LIMIT;
use crate::conform::spec::{Act, Case, Drive, Knob, Rule, Step};
use crate::contract::{Phase, ResolutionAction};
use crate::system::clock::Millis;

/// One time that a rule could be kept or broken.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::conform) struct Finding {
    pub(in crate::conform) rule: Rule,
    pub(in crate::conform) kept: bool,
    pub(in crate::conform) step: usize,
    pub(in crate::conform) at: Option<Millis>,
    pub(in crate::conform) expected: String,
    pub(in crate::conform) observed: String,
}

/// Everything that the rules say of what was seen: what was kept, and at most one thing that was not, for what a runtime
/// that left the path does next says nothing more.
pub(in crate::conform) fn findings(case: &Case, seen: &Observation) -> Vec<Finding> {
    let script = Script::new(case, &seen.drawn);
    let mut walk = Walk { script: script.phases, time: case.knobs.get(&Knob::RunTimeout).copied(), ..Walk::default() };
    for (number, (step, seen_step)) in script.steps.iter().zip(&seen.steps).enumerate() {
        let attempts: Vec<&AttemptSeen> = seen.attempts.iter().filter(|it| it.step == number).collect();
        if walk.step(number, step, seen_step, &attempts).is_none() {
            break;
        }
        walk.lay.clone_from(&seen_step.checkpoints);
    }
    walk.findings
}

/// Nothing more is asked: something is not known, or the runtime left the path.
pub(super) type GoOn = Option<()>;

/// Three retries, so four starts.
const MOST_STARTS: u32 = 4;
/// The reading that retries least stops after two starts.
const FEWEST_STARTS: u32 = 2;
/// Three remediation loops, so four audits.
const MOST_AUDITS: u32 = 4;
/// The reading that remediates least calls a human after three.
const FEWEST_AUDITS: u32 = 3;
/// How often in a row a context is full, by what its phase says, before a human must have been called.
const MOST_FULL: usize = 3;

/// Why the runtime stood still at the end of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Rest {
    /// Nothing was run yet.
    #[default]
    Fresh,
    /// It was killed, in this phase if it was in one.
    Killed(Option<Phase>),
    /// A human is needed for this phase, and has answered or not.
    Called(Phase, Option<ResolutionAction>),
    /// Every phase is done.
    Done,
    /// A human gave it up.
    Aborted,
}

#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) findings: Vec<Finding>,
    pub(super) done: BTreeSet<Phase>,
    /// Done because a human said so.
    pub(super) skipped: BTreeSet<Phase>,
    /// Starts of the phase at work that ended with 1, in this life of the runtime and in all.
    failed: (u32, u32),
    pub(super) rest: Rest,
    /// Audits that failed, in this life of the runtime and in all.
    audits: (u32, u32),
    /// The phase that may be done or not: it ended while a human was called for another reason.
    pub(super) open: Option<Phase>,
    /// What each phase supplied.
    pub(super) supplied: BTreeMap<Phase, Supplied>,
    /// The phases that were started since the run began, or began anew.
    pub(super) begun_phases: BTreeSet<Phase>,
    /// How the phase ended for which a human is called.
    pub(super) ending: Option<Ending>,
    /// The checkpoints as they lay when the last step ended.
    pub(super) lay: BTreeMap<String, FileSeen>,
    /// What each attempt of a phase does.
    script: BTreeMap<String, Vec<Vec<Act>>>,
    /// How long the run may take, where the story says so.
    time: Option<Millis>,
    /// When it began.
    pub(super) begun: Option<Millis>,
    /// The execution that all checkpoints name.
    pub(super) execution: Option<Value>,
}

impl Walk {
    fn step(&mut self, number: usize, step: &Step, seen: &StepSeen, attempts: &[&AttemptSeen]) -> GoOn {
        match step {
            Step::Run(plan) | Step::Resume(plan) => {
                self.begun.get_or_insert(seen.started);
                self.passes_over(number, attempts)?;
                let turn = self.begin()?;
                self.drive(number, plan, seen, attempts, turn)
            }
            Step::Resolve(answer) => {
                let Rest::Called(phase, _) = self.rest else { return None };
                if seen.end != ProcessEnd::Exited(0) {
                    return None;
                }
                let answer: ResolutionAction = answer.parse().ok()?;
                self.rest = Rest::Called(phase, Some(answer));
                if answer == ResolutionAction::Abort {
                    self.keeps_what_is_there(number, seen)?;
                }
                // A runtime may begin at once when it is answered.
                if attempts.is_empty() {
                    return Some(());
                }
                self.passes_over(number, attempts)?;
                let turn = self.begin()?;
                self.drive(number, &Drive::default(), seen, attempts, turn)
            }
            Step::State => self.told_state(number, seen),
            // Somebody else changes what the runtime knows.
            _ => None,
        }
    }

    /// What may come first in a run or resume.
    fn begin(&mut self) -> Option<Turn> {
        (self.failed.0, self.audits.0) = (0, 0);
        let next = self.next();
        Some(match std::mem::take(&mut self.rest) {
            Rest::Fresh => Turn::must_start(Phase::Preflight, Rule::GoesOn),
            Rest::Killed(phase) => Turn::must_start(phase.or(next)?, Rule::ResumesThere),
            Rest::Called(phase, None) => self.unanswered(phase),
            Rest::Called(phase, Some(answer)) => self.answered(phase, answer),
            Rest::Done => Turn::must_end(Rule::StaysDone),
            Rest::Aborted => {
                self.rest = Rest::Aborted;
                Turn::must_end(Rule::AbortFinal)
            }
        })
    }

    /// Of a phase that ended while the human was called, the next one may be meant by `skip_phase`: all that is known is that
    /// this one does not start again.
    fn passes_over(&mut self, number: usize, attempts: &[&AttemptSeen]) -> GoOn {
        let Rest::Called(phase, Some(ResolutionAction::SkipPhase)) = self.rest else { return Some(()) };
        if self.open != Some(phase) {
            return Some(());
        }
        if let Some(first) = attempts.first() {
            let (kept, observed) = (first.phase != phase.as_str(), format!("{} started", first.phase));
            let expected = format!("{phase} to be passed over");
            self.find(Rule::SkippedPassed, kept, number, Some(first.started), expected, observed);
        }
        None
    }

    /// Nobody has answered yet: nothing starts, unless the resume itself is taken for the word that it may go on.
    fn unanswered(&mut self, phase: Phase) -> Turn {
        self.rest = Rest::Called(phase, None);
        (self.failed, self.audits) = Default::default();
        let after = Phase::ALL.iter().copied().find(|it| !self.done.contains(it) && *it != phase);
        let may_start = std::iter::once(phase).chain(after.filter(|_| self.open == Some(phase))).collect();
        Turn { may_start, ..Turn::must_end(Rule::UnansweredStays) }
    }

    fn answered(&mut self, phase: Phase, answer: ResolutionAction) -> Turn {
        (self.failed, self.audits) = Default::default();
        match answer {
            ResolutionAction::FixAndResume if self.open == Some(phase) => {
                let after = Phase::ALL.iter().copied().find(|it| !self.done.contains(it) && *it != phase);
                let may_start = std::iter::once(phase).chain(after).collect();
                Turn { may_start, may_end: after.is_none(), rule: Rule::FixedFirst, not: None }
            }
            ResolutionAction::FixAndResume => Turn::must_start(phase, Rule::FixedFirst),
            ResolutionAction::SkipPhase => {
                self.done.insert(phase);
                self.skipped.insert(phase);
                let turn = self
                    .next()
                    .map_or(Turn::must_end(Rule::SkippedPassed), |next| Turn::must_start(next, Rule::SkippedPassed));
                Turn { not: Some((phase, Rule::SkippedPassed)), ..turn }
            }
            ResolutionAction::Reset => {
                (self.done, self.skipped, self.execution, self.open) = Default::default();
                (self.begun_phases, self.supplied) = Default::default();
                // It may also refuse, and ask for a new run.
                Turn { may_end: true, ..Turn::must_start(Phase::Preflight, Rule::ResetFromStart) }
            }
            ResolutionAction::Abort => {
                self.rest = Rest::Aborted;
                Turn::must_end(Rule::AbortFinal)
            }
        }
    }

    /// Whether a phase besides this one is not done.
    fn others_remain(&self, phase: Phase) -> bool {
        Phase::ALL.iter().any(|other| *other != phase && !self.done.contains(other))
    }

    /// The first phase that is not done.
    pub(super) fn next(&self) -> Option<Phase> {
        Phase::ALL.iter().copied().find(|phase| !self.done.contains(phase))
    }

    /// What happened in a step in which the runtime was at work.
    fn drive(
        &mut self,
        number: usize,
        plan: &Drive,
        seen: &StepSeen,
        attempts: &[&AttemptSeen],
        mut turn: Turn,
    ) -> GoOn {
        let mut before: BTreeSet<Phase> = self.done.clone();
        let resumes = turn.rule != Rule::GoesOn;
        turn = unstartable(plan, turn);
        let (mut met, mut last) = (None, None);
        for (position, attempt) in attempts.iter().enumerate() {
            let phase: Phase = attempt.phase.parse().ok()?;
            if !turn.may_start.contains(&phase) {
                let rule = self.broken_by(phase, &turn, &before);
                let observed = format!("{phase} started");
                self.find(rule, false, number, Some(attempt.started), turn.in_words(), observed);
                return None;
            }
            self.kept(turn.rule, number, attempt.started, &turn.in_words(), phase);
            self.is_written(number, attempt, phase)?;
            if position == 0 && resumes && !before.is_empty() {
                self.kept(Rule::StaysDone, number, attempt.started, "no phase that is done to start", phase);
            }
            if let Some(open) = self.open.take().filter(|open| *open != phase) {
                // The runtime went on: it was done.
                self.done.insert(open);
            }
            last = Some(phase);
            let supplied = self.supplied.remove(&phase).unwrap_or_default();
            self.supplied.insert(phase, supplied.by(acts(&self.script, attempt), attempt));
            self.begun_phases.insert(phase);
            // Remediation: what is done again is not done.
            self.done.remove(&phase);
            self.skipped.remove(&phase);
            before.remove(&phase);
            let is_halted = plan.halt_during.as_deref() == Some(phase.as_str());
            if is_halted && !acts(&self.script, attempt).contains(&Act::UntilHalted) {
                // It did not wait for that, and whether it had ended before is not known.
                return None;
            }
            let calls = self.calls(is_halted, attempt, met);
            self.ending = Ending::of(phase, attempt, calls.is_some());
            if let Some(rule) = calls {
                // What was not told to end with 0 is not done.
                (met, self.open) = (Some(rule), (attempt.exit == Some(0)).then_some(phase));
                turn = Turn::must_end(rule);
                continue;
            }
            let Some(after) = self.ended(phase, attempt) else { return self.cut_off(phase, seen) };
            turn = unstartable(plan, after);
        }
        let stuck = (turn.rule == Rule::UnstartableHalts).then(|| plan.unstartable.as_ref()?.parse().ok()).flatten();
        if let Some(phase) = stuck {
            let found = self.lay.get(&format!("{phase}.yaml")).cloned();
            self.ending = Some(Ending { phase, may_say: &[1, 2], found });
        }
        self.rests(number, plan, seen, &turn, stuck.or(last))
    }

    /// Whether every phase that is done had its checkpoint when this attempt started.
    fn is_written(&mut self, number: usize, attempt: &AttemptSeen, phase: Phase) -> GoOn {
        let mut done = self.done.difference(&self.skipped).filter(|done| **done != phase).peekable();
        if done.peek().is_none() {
            return Some(());
        }
        let missing = done.find(|done| !attempt.checkpoints.contains_key(&format!("{done}.yaml"))).copied();
        let expected = format!("a checkpoint of each phase that is done when {phase} starts");
        let observed = missing.map_or("they are there".to_owned(), |missing| format!("there is none of {missing}"));
        self.find(Rule::CheckpointFirst, missing.is_none(), number, Some(attempt.started), expected, observed);
        missing.is_none().then_some(())
    }

    /// The rule by which a human is called during this attempt, whatever it ends with; what happened before in the step is
    /// not asked again.
    fn calls(&self, is_halted: bool, attempt: &AttemptSeen, before: Option<Rule>) -> Option<Rule> {
        let acts = acts(&self.script, attempt);
        let outlasts = |act: &Act| matches!(act, Act::Sleep(millis) if self.time.is_some_and(|time| *millis > time));
        if before.is_some() {
            None
        } else if is_halted {
            Some(Rule::HaltCalls)
        } else if full_in_a_row(acts, HARD_LIMIT) > MOST_FULL {
            Some(Rule::OverflowCalls)
        } else if acts.iter().any(outlasts) {
            Some(Rule::TimeCalls)
        } else {
            None
        }
    }

    /// The rule that the start of a phase breaks.
    fn broken_by(&self, phase: Phase, turn: &Turn, before: &BTreeSet<Phase>) -> Rule {
        match turn.not {
            Some((other, rule)) if other == phase => rule,
            // Instead of a phase that cannot be started, one that is done.
            _ if turn.rule == Rule::UnstartableHalts && before.contains(&phase) => Rule::StaysDone,
            _ if turn.rule == Rule::UnstartableHalts && self.done.contains(&phase) => Rule::DoneOnce,
            // Whatever starts now, what counts is that nothing may.
            _ if turn.may_start.is_empty() && self.next().is_some() && turn.rule != Rule::SkippedPassed => turn.rule,
            _ if before.contains(&phase) => Rule::StaysDone,
            _ if self.done.contains(&phase) => Rule::DoneOnce,
            _ => turn.rule,
        }
    }

    /// What may follow the end of an attempt; `None` when its end was not seen.
    fn ended(&mut self, phase: Phase, attempt: &AttemptSeen) -> Option<Turn> {
        attempt.ended?;
        let turn = match (attempt.exit, &attempt.signal) {
            (_, Some(_)) => Turn { not: Some((phase, Rule::SignalHalts)), ..Turn::must_end(Rule::SignalHalts) },
            (Some(0), _) => {
                self.failed = (0, 0);
                self.done.insert(phase);
                return Some(match self.next() {
                    Some(next) => Turn::must_start(next, Rule::GoesOn),
                    None => Turn { not: Some((phase, Rule::DoneOnce)), ..Turn::must_end(Rule::GoesOn) },
                });
            }
            (Some(1), _) => return Some(self.failed(phase)),
            (Some(2), _) => Turn { not: Some((phase, Rule::BlockedOnce)), ..Turn::must_end(Rule::BlockedHalts) },
            (Some(_), _) => Turn { not: Some((phase, Rule::UnknownOnce)), ..Turn::must_end(Rule::UnknownHalts) },
            (None, None) => return None,
        };
        self.failed = (0, 0);
        Some(turn)
    }

    /// What may follow a phase that ended with 1.
    fn failed(&mut self, phase: Phase) -> Turn {
        self.failed = (self.failed.0 + 1, self.failed.1 + 1);
        let (now, ever) = self.failed;
        let rule = if ever < FEWEST_STARTS { Rule::Retries } else { Rule::StopsRetrying };
        let turn = if now >= MOST_STARTS { Turn::must_end(rule) } else { Turn::must_start(phase, rule) };
        let turn = Turn { may_end: ever >= FEWEST_STARTS, not: Some((phase, Rule::StopsRetrying)), ..turn };
        if phase != Phase::Audit {
            return turn;
        }
        self.audits = (self.audits.0 + 1, self.audits.1 + 1);
        if self.audits.0 >= MOST_AUDITS {
            return Turn::must_end(Rule::RemediationEnds);
        }
        let may_end = turn.may_end || self.audits.1 >= FEWEST_AUDITS;
        Turn { may_start: vec![Phase::Audit, Phase::Implementation], may_end, ..turn }
    }

    /// The runtime was killed while the phase ran, or the judge saw no end of it.
    fn cut_off(&mut self, phase: Phase, seen: &StepSeen) -> GoOn {
        if seen.end != ProcessEnd::KilledAsPlanned {
            return None;
        }
        self.rest = Rest::Killed(Some(phase));
        Some(())
    }

    /// The step is over: whether it might be, and what is left on the disk.
    fn rests(&mut self, number: usize, plan: &Drive, seen: &StepSeen, turn: &Turn, last: Option<Phase>) -> GoOn {
        if seen.end == ProcessEnd::KilledAsPlanned {
            self.rest = Rest::Killed(None);
            return Some(());
        }
        let (ProcessEnd::Exited(_) | ProcessEnd::Waiting) = seen.end else { return None };
        let observed = match seen.end {
            ProcessEnd::Exited(code) => format!("the runtime ended with {code}"),
            _ => "the runtime waits for a human".to_owned(),
        };
        let failed = seen.end != ProcessEnd::Exited(0);
        if !failed && self.open.is_some_and(|open| !self.others_remain(open)) {
            // It was the last phase, and ended well: the run may be over.
            return None;
        }
        // Time that ran out early, on a busy machine, and a runtime that looks before it starts anything.
        let is_over = self.time.is_some_and(|time| seen.ended - self.begun.unwrap_or_default() >= time);
        let looked_first = plan.unstartable.is_some() && last.is_none();
        if failed && !turn.may_end && (is_over || looked_first) {
            return None;
        }
        let calls_still = matches!(turn.rule, Rule::UnstartableHalts | Rule::UnansweredStays);
        if !turn.may_end || calls_still && !failed {
            self.find(turn.rule, false, number, Some(seen.ended), turn.in_words(), observed);
            return None;
        }
        if let Some(trigger) = trigger(turn.rule) {
            let said: Vec<&Value> = seen.reports.iter().filter_map(|report| report.document.get("trigger")).collect();
            let (expected, kept) =
                (format!("a report with the trigger {trigger}"), said.iter().any(|it| **it == trigger));
            if !kept && is_over && said.iter().any(|it| **it == "timeout") {
                return None;
            }
            let observed = said.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let observed = if observed.is_empty() { "no report names one".to_owned() } else { observed };
            self.find(turn.rule, kept, number, Some(seen.ended), expected, observed);
            if !kept {
                return None;
            }
        }
        if let Some(last) = last.filter(|_| failed && turn.rule != Rule::AbortFinal) {
            self.reported(number, seen, last)?;
        }
        for rule in BTreeSet::from([Some(turn.rule), turn.not.map(|(_, rule)| rule)]).into_iter().flatten() {
            self.find(rule, true, number, Some(seen.ended), turn.in_words(), observed.clone());
        }
        if self.rest == Rest::Aborted {
            return Some(());
        }
        if last.is_none() && turn.rule == Rule::UnansweredStays {
            return Some(());
        }
        let Some(last) = last else {
            // A finished run stays finished; what a refusal leaves is not known.
            return self.next().is_none().then(|| self.finished());
        };
        if let Some(ending) = self.ending.as_mut().filter(|_| is_over) {
            ending.is_out_of_time();
        }
        self.left(number, seen, last)?;
        let is_exhausted =
            plan.unstartable.is_none() && self.failed.1 > 0 && turn.not == Some((last, Rule::StopsRetrying));
        let is_used_up = is_exhausted || plan.unstartable.is_none() && turn.rule == Rule::RemediationEnds;
        if is_used_up && !is_over {
            self.exhausted(number, seen, last)?;
        }
        if self.open.is_none() && self.next().is_none() {
            let ok = seen.end == ProcessEnd::Exited(0);
            self.find(
                Rule::EndsWithZero,
                ok,
                number,
                Some(seen.ended),
                "the runtime to end with 0".to_owned(),
                observed,
            );
            return ok.then(|| self.finished());
        }
        self.rest = Rest::Called(last, None);
        if failed { self.calls_with_two(number, seen, observed) } else { Some(()) }
    }

    fn finished(&mut self) {
        self.rest = Rest::Done;
    }

    fn kept(&mut self, rule: Rule, step: usize, at: Millis, expected: &str, phase: Phase) {
        self.find(rule, true, step, Some(at), expected.to_owned(), format!("{phase} started"));
    }

    pub(super) fn find(
        &mut self,
        rule: Rule,
        kept: bool,
        step: usize,
        at: Option<Millis>,
        expected: String,
        observed: String,
    ) {
        self.findings.push(Finding { rule, kept, step, at, expected, observed });
    }
}
