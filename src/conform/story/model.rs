//! The model: what was seen of a story, held against what a lawful runtime may do. It looks at what the phases themselves
//! told the judge, and believes nothing that the runtime says of itself. Where a reading of the contract leaves a choice the
//! model follows the runtime; where something is not known it stops asking.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Rule;
use crate::conform::{AttemptSeen, Millis, Observation, ProcessEnd, Step, StepSeen};
use crate::contract::{Phase, ResolutionAction};
use crate::diag::{Budget, Format, documents};

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
pub(in crate::conform) fn findings(steps: &[Step], seen: &Observation) -> Vec<Finding> {
    let mut walk = Walk::default();
    for (number, (step, seen_step)) in steps.iter().zip(&seen.steps).enumerate() {
        let attempts: Vec<&AttemptSeen> = seen.attempts.iter().filter(|it| it.step == number).collect();
        if walk.step(number, step, seen_step, &attempts).is_none() {
            break;
        }
    }
    walk.findings
}

/// Nothing more is asked: something is not known, or the runtime left the path.
type GoOn = Option<()>;

/// Three retries, so four starts.
const MOST_STARTS: u32 = 4;
/// The reading that retries least stops after two starts.
const FEWEST_STARTS: u32 = 2;

/// What may come next.
#[derive(Debug, Clone, PartialEq)]
struct Turn {
    /// The phases of which one may start.
    may_start: Vec<Phase>,
    /// Whether the runtime may end instead.
    may_end: bool,
    rule: Rule,
    /// The rule that is broken by starting this phase, where it is another one.
    not: Option<(Phase, Rule)>,
}

impl Turn {
    fn must_start(phase: Phase, rule: Rule) -> Self {
        Self { may_start: vec![phase], may_end: false, rule, not: None }
    }

    fn must_end(rule: Rule) -> Self {
        Self { may_start: Vec::new(), may_end: true, rule, not: None }
    }

    fn in_words(&self) -> String {
        let phases: Vec<&str> = self.may_start.iter().map(|phase| phase.as_str()).collect();
        match (phases.is_empty(), self.may_end) {
            (true, _) => "no phase to start".to_owned(),
            (false, true) => format!("{} to start, or the runtime to end", phases.join(" or ")),
            (false, false) => format!("{} to start", phases.join(" or ")),
        }
    }
}

/// Why the runtime stood still at the end of a step.
#[derive(Debug, Clone, Default, PartialEq)]
enum Rest {
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
struct Walk {
    findings: Vec<Finding>,
    done: BTreeSet<Phase>,
    /// Done because a human said so.
    skipped: BTreeSet<Phase>,
    /// Starts of the phase at work that ended with 1, in this life of the runtime and in all.
    failed: (u32, u32),
    rest: Rest,
    /// The execution that all checkpoints name.
    execution: Option<Value>,
}

impl Walk {
    fn step(&mut self, number: usize, step: &Step, seen: &StepSeen, attempts: &[&AttemptSeen]) -> GoOn {
        match step {
            Step::Run(_) | Step::Resume(_) => {
                let turn = self.begin()?;
                self.drive(number, seen, attempts, turn)
            }
            Step::Resolve(answer) => {
                let Rest::Called(phase, _) = self.rest else { return None };
                if seen.end != ProcessEnd::Exited(0) {
                    return None;
                }
                self.rest = Rest::Called(phase, Some(answer.parse().ok()?));
                // A runtime may begin at once when it is answered.
                if attempts.is_empty() {
                    return Some(());
                }
                let turn = self.begin()?;
                self.drive(number, seen, attempts, turn)
            }
            // Somebody else changes what the runtime knows.
            _ => None,
        }
    }

    /// What may come first in a run or resume.
    fn begin(&mut self) -> Option<Turn> {
        self.failed.0 = 0;
        let next = self.next();
        Some(match std::mem::take(&mut self.rest) {
            Rest::Fresh => Turn::must_start(Phase::Preflight, Rule::GoesOn),
            Rest::Killed(phase) => Turn::must_start(phase.or(next)?, Rule::ResumesThere),
            Rest::Called(_, None) => return None,
            Rest::Called(phase, Some(answer)) => self.answered(phase, answer),
            Rest::Done => Turn::must_end(Rule::StaysDone),
            Rest::Aborted => {
                self.rest = Rest::Aborted;
                Turn::must_end(Rule::AbortFinal)
            }
        })
    }

    fn answered(&mut self, phase: Phase, answer: ResolutionAction) -> Turn {
        self.failed = (0, 0);
        match answer {
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
                (self.done, self.skipped, self.execution) = Default::default();
                // It may also refuse, and ask for a new run.
                Turn { may_end: true, ..Turn::must_start(Phase::Preflight, Rule::ResetFromStart) }
            }
            ResolutionAction::Abort => {
                self.rest = Rest::Aborted;
                Turn::must_end(Rule::AbortFinal)
            }
        }
    }

    /// The first phase that is not done.
    fn next(&self) -> Option<Phase> {
        Phase::ALL.iter().copied().find(|phase| !self.done.contains(phase))
    }

    /// What happened in a step in which the runtime was at work.
    fn drive(&mut self, number: usize, seen: &StepSeen, attempts: &[&AttemptSeen], mut turn: Turn) -> GoOn {
        let mut before: BTreeSet<Phase> = self.done.clone();
        let resumes = turn.rule != Rule::GoesOn;
        for (position, attempt) in attempts.iter().enumerate() {
            let phase: Phase = attempt.phase.parse().ok()?;
            if !turn.may_start.contains(&phase) {
                let rule = self.broken_by(phase, &turn, &before);
                let observed = format!("{phase} started");
                self.find(rule, false, number, Some(attempt.started), turn.in_words(), observed);
                return None;
            }
            self.kept(turn.rule, number, attempt.started, &turn.in_words(), phase);
            if position == 0 && resumes && !before.is_empty() {
                self.kept(Rule::StaysDone, number, attempt.started, "no phase that is done to start", phase);
            }
            // Remediation: what is done again is not done.
            self.done.remove(&phase);
            self.skipped.remove(&phase);
            before.remove(&phase);
            let Some(after) = self.ended(phase, attempt) else { return self.cut_off(phase, seen) };
            turn = after;
        }
        self.rests(number, seen, &turn, attempts.last().copied())
    }

    /// The rule that the start of a phase breaks.
    fn broken_by(&self, phase: Phase, turn: &Turn, before: &BTreeSet<Phase>) -> Rule {
        match turn.not {
            Some((other, rule)) if other == phase => rule,
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
        match phase {
            Phase::Audit => Turn { may_start: vec![Phase::Audit, Phase::Implementation], ..turn },
            _ => turn,
        }
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
    fn rests(&mut self, number: usize, seen: &StepSeen, turn: &Turn, last: Option<&AttemptSeen>) -> GoOn {
        if seen.end == ProcessEnd::KilledAsPlanned {
            self.rest = Rest::Killed(None);
            return Some(());
        }
        let (ProcessEnd::Exited(_) | ProcessEnd::Waiting) = seen.end else { return None };
        let observed = match seen.end {
            ProcessEnd::Exited(code) => format!("the runtime ended with {code}"),
            _ => "the runtime waits for a human".to_owned(),
        };
        if !turn.may_end {
            self.find(turn.rule, false, number, Some(seen.ended), turn.in_words(), observed);
            return None;
        }
        for rule in BTreeSet::from([Some(turn.rule), turn.not.map(|(_, rule)| rule)]).into_iter().flatten() {
            self.find(rule, true, number, Some(seen.ended), turn.in_words(), observed.clone());
        }
        if self.rest == Rest::Aborted {
            return Some(());
        }
        let Some(last) = last else {
            // A finished run stays finished; what a refusal leaves is not known.
            return self.next().is_none().then(|| self.finished());
        };
        self.left(number, seen)?;
        if self.next().is_none() {
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
        self.rest = Rest::Called(last.phase.parse().ok()?, None);
        Some(())
    }

    fn finished(&mut self) {
        self.rest = Rest::Done;
    }

    /// What the checkpoints say.
    fn left(&mut self, number: usize, seen: &StepSeen) -> GoOn {
        let mut documents: BTreeMap<Phase, Value> = BTreeMap::new();
        for &phase in Phase::ALL {
            let file = seen.checkpoints.get(&format!("{phase}.yaml"));
            documents.extend(file.and_then(|file| Some((phase, document(&file.text)?))));
        }
        for phase in self.done.difference(&self.skipped).copied().collect::<Vec<_>>() {
            let expected = format!("a checkpoint of {phase}, which is done");
            let there = seen.checkpoints.contains_key(&format!("{phase}.yaml"));
            let observed = if there { "it is there" } else { "there is none" };
            self.find(Rule::EachCheckpoint, there, number, Some(seen.ended), expected, observed.to_owned());
            let code = documents.get(&phase).and_then(|document| document.get("exit_code"));
            // What is no document is for others to say.
            let code = code.filter(|_| there)?;
            let (expected, observed) =
                (format!("{phase}, which is done, to say exit_code 0"), format!("it says {code}"));
            self.find(Rule::LatestCheckpoint, *code == 0, number, Some(seen.ended), expected, observed);
        }
        for (phase, document) in documents {
            let Some(named) = document.get("execution_id").filter(|_| self.done.contains(&phase)) else { continue };
            let known = self.execution.get_or_insert_with(|| named.clone()).clone();
            let (expected, observed) = (format!("{phase} to name the execution {known}"), format!("it names {named}"));
            self.find(Rule::OneExecution, *named == known, number, Some(seen.ended), expected, observed);
        }
        self.findings.iter().all(|finding| finding.kept).then_some(())
    }

    fn kept(&mut self, rule: Rule, step: usize, at: Millis, expected: &str, phase: Phase) {
        self.find(rule, true, step, Some(at), expected.to_owned(), format!("{phase} started"));
    }

    fn find(&mut self, rule: Rule, kept: bool, step: usize, at: Option<Millis>, expected: String, observed: String) {
        self.findings.push(Finding { rule, kept, step, at, expected, observed });
    }
}

fn document(text: &str) -> Option<Value> {
    let read = documents(text.as_bytes(), Format::Yaml, &Budget::default()).next()?;
    read.ok().map(|document| document.to_json())
}
