//! A lawful runtime that is played in memory: what would be seen of it in a story. With a fault it is the judge's own test:
//! what it does wrong must be found.

mod context;
mod fault;
mod leaves;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use self::context::Context;
pub(super) use self::fault::Fault;
use self::leaves::{Call, Spoilt};
use super::mutant::Chance;
use super::script::full_in_a_row;
use super::words::{Cause, Deed};
use crate::conform::observe::{AttemptSeen, Observation, ProcessEnd};
use crate::conform::spec::{Act, Case, Drive, Knob, Rule, Step};
use crate::contract::{Phase, ResolutionAction};

/// The most starts in one step: a mutant may go round for ever, and no lawful runtime starts half as many.
const MOST_STARTS: usize = 60;

/// What the contract leaves open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// How often a phase that ends with 1 is started in a row.
    pub(super) starts: usize,
    /// Whether the implementation is done again before another audit.
    pub(super) remediates: bool,
    /// Whether an answer begins the run again, without a resume.
    pub(super) begins_when_answered: bool,
    /// Whether a phase may end by itself while a human is called for another reason.
    pub(super) lets_it_end: bool,
}

impl Reading {
    /// The one that most runtimes take.
    pub(super) const USUAL: Self =
        Self { starts: 4, remediates: true, begins_when_answered: false, lets_it_end: false };
}

/// A runtime in memory, which is told a story and leaves what would have been seen of it.
pub(super) struct Player {
    reading: Reading,
    fault: Option<Fault>,
    /// Whether its fault came up.
    pub(super) slipped: bool,
    /// How often what its mutant is about came up.
    came_up: usize,
    /// What any mutant could have done here, of a runtime without a fault, and how often.
    pub(super) chances: BTreeMap<Chance, usize>,
    /// The checkpoints that lie on the disk, where a mutant has others there than the runtime believes.
    spoilt: BTreeMap<Phase, Spoilt>,
    /// Whether a phase hangs in which nobody kills the runtime, or the other way round: it left the path of the story.
    lost: bool,
    script: BTreeMap<String, Vec<Vec<Act>>>,
    attempts: BTreeMap<Phase, u32>,
    /// What it wrote down of each phase.
    codes: BTreeMap<Phase, i64>,
    /// Done because a human said so.
    skipped: BTreeSet<Phase>,
    execution: u32,
    called: Option<Phase>,
    answered: Option<ResolutionAction>,
    aborted: bool,
    interrupted: Option<Phase>,
    /// How long a run may take.
    time: Option<u64>,
    /// The phase that a human was called in for another reason than its end.
    open: Option<Phase>,
    /// What the last audit found, and the one before it.
    found: Vec<Value>,
    found_before: Vec<Value>,
    supplied: BTreeMap<Phase, Vec<Value>>,
    /// When the checkpoint of each phase was written.
    written: BTreeMap<Phase, u64>,
    /// How a human was called in this step.
    call: Call,
    audits: usize,
    context: Context,
    pub(super) seen: Observation,
    now: u64,
}

/// How a phase ended.
enum End {
    Code(i32),
    Signal,
    /// The runtime was killed in it.
    Cut,
    /// A human is called in it, by this rule and with this trigger.
    Met(Rule, &'static str),
}

impl Player {
    /// Plays a story.
    ///
    /// # Panics
    /// For a step that no story has.
    pub(super) fn plays(case: &Case, reading: Reading, fault: Option<Fault>) -> Self {
        let mut player = Self {
            lost: false,
            reading,
            fault,
            slipped: false,
            came_up: 0,
            chances: BTreeMap::new(),
            spoilt: BTreeMap::new(),
            script: case.phases.clone(),
            attempts: BTreeMap::new(),
            codes: BTreeMap::new(),
            skipped: BTreeSet::new(),
            execution: 1,
            called: None,
            answered: None,
            aborted: false,
            interrupted: None,
            time: case.knobs.get(&Knob::RunTimeout).copied(),
            open: None,
            found: Vec::new(),
            found_before: Vec::new(),
            supplied: BTreeMap::new(),
            written: BTreeMap::new(),
            call: Call::default(),
            audits: 0,
            context: Context::of(case),
            seen: Observation { initial_backoff: case.knobs.get(&Knob::InitialBackoff).copied(), ..<_>::default() },
            now: 0,
        };
        for (number, step) in case.steps.iter().enumerate() {
            let (verb, end) = match step {
                Step::Run(drive) => ("run", player.drive(number, drive)),
                Step::Resume(drive) => ("resume", player.drive(number, drive)),
                Step::Resolve(answer) => ("resolve", player.resolve(number, answer)),
                Step::State => ("state", player.tells_state()),
                other => panic!("{other:?}"),
            };
            player.step(verb, if player.lost { ProcessEnd::OutOfBudget } else { end });
            if player.lost {
                break;
            }
        }
        player
    }

    fn is_done(&self, phase: Phase) -> bool {
        self.codes.get(&phase) == Some(&0)
    }

    fn next(&self) -> Option<Phase> {
        Phase::ALL.iter().copied().find(|phase| !self.is_done(*phase))
    }

    fn done(&self) -> Option<Phase> {
        Phase::ALL.iter().copied().find(|phase| self.is_done(*phase))
    }

    fn resolve(&mut self, number: usize, answer: &str) -> ProcessEnd {
        let Some(phase) = self.called else { return ProcessEnd::Exited(66) };
        let answer: ResolutionAction = answer.parse().expect("a resolution");
        match answer {
            ResolutionAction::SkipPhase => {
                self.codes.insert(phase, 0);
                self.written.insert(phase, self.now);
                self.spoilt.remove(&phase);
                self.skipped.insert(phase);
            }
            ResolutionAction::Reset => {
                self.codes.clear();
                self.spoilt.clear();
                self.skipped.clear();
                self.execution += 1;
                self.open = None;
            }
            ResolutionAction::Abort => {
                self.aborted = true;
                let first = self.codes.keys().next().copied().filter(|_| self.slips(Rule::AbortKeeps));
                self.spoilt.extend(first.map(|first| (first, Spoilt::Code)));
            }
            ResolutionAction::FixAndResume => {}
        }
        self.answered = Some(answer);
        if self.reading.begins_when_answered && answer != ResolutionAction::Abort {
            self.drive(number, &Drive::default());
        }
        ProcessEnd::Exited(0)
    }

    /// Where it begins, and why there.
    fn begins(&mut self, drive: &Drive) -> Option<Phase> {
        let cause = match (self.aborted, self.answered, self.interrupted) {
            (true, ..) | (_, Some(ResolutionAction::Abort), _) => Cause::Aborted,
            (_, Some(ResolutionAction::FixAndResume), _) => Cause::Fixed,
            (_, Some(ResolutionAction::SkipPhase), _) => Cause::Skipped,
            (_, Some(ResolutionAction::Reset), _) => Cause::Reset,
            (.., Some(_)) => Cause::Killed,
            _ if self.next().is_none() => Cause::Over,
            _ => Cause::Begun,
        };
        let about = self.called.or(self.interrupted);
        let lawful = self.first(drive);
        let about = about.or(lawful).unwrap_or(Phase::Learning);
        self.follows(cause, about, lawful)
    }

    /// The first phase that is not done, unless it breaks a rule there.
    fn first(&mut self, drive: &Drive) -> Option<Phase> {
        if self.aborted {
            return self.slips(Rule::AbortFinal).then(|| self.next()).flatten();
        }
        let next = self.next();
        let was_interrupted = self.interrupted.take();
        if drive.unstartable.is_some() {
            // Where it may begin is another rule's, and it slips there.
            (self.answered, self.called, self.open) = (None, None, None);
            return next;
        }
        let after = next.and_then(Phase::next);
        // The phase that a human has passed over is another rule's.
        let passed = self.called.filter(|_| self.answered == Some(ResolutionAction::SkipPhase));
        match (self.answered.take(), self.called.take()) {
            (Some(ResolutionAction::FixAndResume), phase)
                if after.is_some() && self.open.is_none() && self.slips(Rule::FixedFirst) =>
            {
                self.codes.insert(phase?, 0);
                return self.next();
            }
            (Some(ResolutionAction::SkipPhase), Some(phase)) if self.slips(Rule::SkippedPassed) => return Some(phase),
            (Some(ResolutionAction::Reset), _) if self.slips(Rule::ResetFromStart) => return Some(Phase::Audit),
            _ => {}
        }
        if was_interrupted.is_some() && after.is_some() && self.slips(Rule::ResumesThere) {
            return after;
        }
        let is_first = self.seen.steps.is_empty();
        let open = self.open.take();
        match self.done().filter(|done| !is_first && passed != Some(*done) && open != Some(*done)) {
            Some(done) if self.slips(Rule::StaysDone) => Some(done),
            _ => next,
        }
    }

    fn drive(&mut self, number: usize, drive: &Drive) -> ProcessEnd {
        if self.is_unanswered() {
            return ProcessEnd::Exited(2);
        }
        let mut failures = 0;
        self.audits = 0;
        self.context.begins();
        let mut at = self.begins(drive);
        let before = self.seen.attempts.len();
        while let Some(phase) = at {
            if self.seen.attempts.len() - before > MOST_STARTS {
                return ProcessEnd::Exited(2);
            }
            if drive.unstartable.as_deref() == Some(phase.as_str()) {
                let lawful = phase.next().filter(|_| self.slips(Rule::UnstartableHalts));
                at = match lawful.or_else(|| self.follows(Cause::Unstartable, phase, None)) {
                    // It cannot be started, however often.
                    Some(again) if again == phase => return self.calls(Cause::Unstartable, phase, 2),
                    None => return self.calls(Cause::Unstartable, phase, 2),
                    other => other,
                };
                continue;
            }
            let end = self.attempt(number, phase, drive);
            let (cause, next, code) = match end {
                End::Met(rule, trigger) => match self.met(phase, rule, trigger) {
                    None => return ProcessEnd::Exited(self.call.code.unwrap_or(2)),
                    other => {
                        at = other;
                        continue;
                    }
                },
                End::Cut => {
                    self.interrupted = Some(phase);
                    return ProcessEnd::KilledAsPlanned;
                }
                End::Code(0) => {
                    failures = 0;
                    self.concludes(phase);
                    (Cause::Done, self.succeeded(phase, drive), 0)
                }
                End::Code(1) => {
                    failures += 1;
                    let again = self.failed(phase, failures);
                    (if again.is_some() { Cause::Failed } else { Cause::Exhausted }, again, 1)
                }
                End::Code(2) => (Cause::Blocked, self.halts(phase, Rule::BlockedOnce, Rule::BlockedHalts), 2),
                End::Code(_) => (Cause::Unknown, self.halts(phase, Rule::UnknownOnce, Rule::UnknownHalts), 2),
                End::Signal => (Cause::Signal, self.halts(phase, Rule::SignalHalts, Rule::SignalHalts), 2),
            };
            at = self.follows(cause, phase, next);
            if (cause, phase, at) == (Cause::Exhausted, Phase::Audit, None) {
                at = self.never_passes();
            }
            match (at, next) {
                // It stops, and calls nobody.
                (None, Some(_)) => return ProcessEnd::Exited(2),
                (None, None) if code != 0 => return self.calls(cause, phase, code),
                _ => {}
            }
        }
        if self.next().is_some() || self.aborted { ProcessEnd::Exited(2) } else { self.ends() }
    }

    /// What starts all the same when an audit was remediated as often as it may be.
    fn never_passes(&mut self) -> Option<Phase> {
        let (cause, phase) = (Cause::NeverPasses, Phase::Audit);
        let mends = self.does(Deed::Mends, cause, phase).then_some(Phase::Implementation);
        mends.or_else(|| self.follows(cause, phase, None))
    }

    /// Whether nothing starts because nobody has answered.
    fn is_unanswered(&mut self) -> bool {
        let Some(phase) = self.called.filter(|_| self.answered.is_none()) else { return false };
        let goes_on = phase.next().is_some() && self.open.is_none() && self.slips(Rule::UnansweredStays);
        if goes_on {
            self.codes.insert(phase, 0);
            self.called = None;
        }
        !goes_on
    }

    /// A human is called in the phase: what starts all the same.
    fn met(&mut self, phase: Phase, rule: Rule, trigger: &'static str) -> Option<Phase> {
        // What was not let to its end is not done.
        self.open = self.reading.lets_it_end.then_some(phase);
        let cause = match rule {
            Rule::HaltCalls => Cause::Halted,
            Rule::OverflowCalls => Cause::Overflow,
            _ => Cause::Timeout,
        };
        if let Some(other) = phase.next().filter(|_| self.slips(rule)) {
            return Some(other);
        }
        if let Some(other) = self.follows(cause, phase, None) {
            return Some(other);
        }
        if !self.reading.lets_it_end {
            self.notes_failure(phase, 2);
        }
        self.call(cause, phase, trigger);
        self.called = Some(phase);
        None
    }

    fn ends(&mut self) -> ProcessEnd {
        let last = self.seen.attempts.last().is_some_and(|it| it.step == self.seen.steps.len());
        let fails =
            last && (self.slips(Rule::EndsWithZero) || self.does(Deed::EndsWrong, Cause::Done, Phase::Learning));
        ProcessEnd::Exited(i32::from(fails))
    }

    fn succeeded(&mut self, phase: Phase, drive: &Drive) -> Option<Phase> {
        let next = self.next().filter(|next| drive.unstartable.as_deref() != Some(next.as_str()));
        let after = next.and_then(Phase::next);
        if after.is_some() && self.slips(Rule::GoesOn) {
            return after;
        }
        // What was done before a resume is another rule's.
        if self.began_here(phase) && self.slips(Rule::DoneOnce) {
            return Some(phase);
        }
        self.next()
    }

    /// Whether the phase was not done before this step.
    fn began_here(&self, phase: Phase) -> bool {
        let before = self.seen.attempts.iter().rev().filter(|it| it.step < self.seen.steps.len());
        !before.into_iter().any(|it| it.phase == phase.as_str() && it.exit == Some(0)) && self.next().is_some()
    }

    fn failed(&mut self, phase: Phase, failures: usize) -> Option<Phase> {
        self.codes.insert(phase, 1);
        let audits = phase == Phase::Audit;
        if !audits && failures == 1 && self.slips(Rule::Retries) {
            return None;
        }
        if !audits && failures >= self.reading.starts {
            let after = self.next().and_then(Phase::next)?;
            return self.slips(Rule::StopsRetrying).then_some(after);
        }
        self.audits += usize::from(audits);
        let most = if self.reading.remediates { self.reading.starts.max(3) } else { self.reading.starts };
        if audits && self.audits >= most && !self.slips(Rule::RemediationEnds) {
            return None;
        }
        if audits && self.reading.remediates {
            self.codes.insert(Phase::Implementation, 1);
            return Some(Phase::Implementation);
        }
        Some(phase)
    }

    /// What it wrongly starts after a phase that needs a human.
    fn halts(&mut self, phase: Phase, once: Rule, halts: Rule) -> Option<Phase> {
        self.codes.insert(phase, 2);
        if self.slips(once) {
            return Some(phase);
        }
        phase.next().filter(|_| self.slips(halts))
    }

    fn calls(&mut self, cause: Cause, phase: Phase, code: i64) -> ProcessEnd {
        self.notes_failure(phase, code);
        let is_missing = cause == Cause::Exhausted
            && (self.does(Deed::NoCheckpoint, cause, phase) || self.slips(Rule::ExhaustedCheckpoint));
        let spoilt = if is_missing { Some(Spoilt::Missing) } else { self.spoils_checkpoint(cause, phase) };
        self.spoilt.extend(spoilt.map(|spoilt| (phase, spoilt)));
        self.call(cause, phase, if cause == Cause::Exhausted { "no_progress" } else { "manual" });
        self.called = Some(phase);
        ProcessEnd::Exited(self.call.code.unwrap_or(2))
    }

    fn attempt(&mut self, step: usize, phase: Phase, drive: &Drive) -> End {
        let number = self.attempts.entry(phase).or_default();
        *number += 1;
        let number = *number;
        let script = &self.script[phase.as_str()];
        let acts = &script[(number as usize - 1).min(script.len() - 1)];
        let meant = |other: &Option<String>| other.as_deref() == Some(phase.as_str());
        let (killed, halted) = (meant(&drive.kill_during), meant(&drive.halt_during));
        self.lost |= halted != acts.contains(&Act::UntilHalted);
        let full = full_in_a_row(acts, 150_000) > 3;
        let slow = |act: &Act| matches!(act, Act::Sleep(millis) if self.time.is_some_and(|time| *millis > time));
        let met = match () {
            () if halted => Some(End::Met(Rule::HaltCalls, "manual")),
            () if full => Some(End::Met(Rule::OverflowCalls, "context_overflow")),
            () if acts.iter().any(slow) => Some(End::Met(Rule::TimeCalls, "timeout")),
            () => None,
        };
        let results: Vec<&Value> =
            acts.iter().filter_map(|act| if let Act::Result(result) = act { Some(result) } else { None }).collect();
        let all = |key: &str| results.iter().filter_map(|it| it[key].as_array()).flatten().cloned().collect::<Vec<_>>();
        let (decisions, found) = (all("decisions"), all("findings"));
        if phase == Phase::Audit {
            self.found_before = std::mem::replace(&mut self.found, found);
        }
        self.supplied.insert(phase, decisions);
        let used: Vec<u64> =
            acts.iter().filter_map(|act| if let Act::Usage(tokens) = act { Some(*tokens) } else { None }).collect();
        let (exit, signal) = match acts.last().expect("each attempt ends") {
            Act::Exit(code) => (Some(i32::try_from(code.as_i64().expect("a number")).expect("a code")), None),
            Act::Die(signal) => (None, Some(signal.clone())),
            Act::Hang => (None, None),
            other => panic!("{other:?}"),
        };
        self.lost |= killed != (exit.is_none() && signal.is_none());
        let exit = exit.filter(|_| met.is_none() || self.reading.lets_it_end);
        self.now += 1;
        let started = self.now;
        let checkpoints = self.found(phase);
        for tokens in used {
            if self.uses(phase, tokens) && !self.reading.lets_it_end {
                break;
            }
        }
        self.now += 1;
        self.seen.attempts.push(AttemptSeen {
            phase: phase.to_string(),
            attempt: number,
            step,
            workspace: 0,
            started,
            ended: Some(self.now),
            told: None,
            exit,
            signal: signal.clone(),
            cwd: String::new(),
            env: BTreeMap::from([("LOA_RESULT_FILE".to_owned(), "result.json".to_owned())]),
            memories: None,
            checkpoints,
        });
        self.skipped.remove(&phase);
        if let Some(code) = exit {
            self.codes.insert(phase, code.into());
        }
        match (exit, signal) {
            _ if self.lost => End::Cut,
            _ if met.is_some() => met.expect("just seen"),
            (Some(code), _) => End::Code(code),
            (None, Some(_)) => End::Signal,
            (None, None) => End::Cut,
        }
    }
}
