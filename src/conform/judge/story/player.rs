//! A lawful runtime that is played in memory: what would be seen of it in a story. With a fault it is the judge's own test:
//! what it does wrong must be found.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::mutant::{Cause, Deed, Mutant};
use crate::conform::observe::{AttemptSeen, FileSeen, Observation, ProcessEnd, ReportSeen, StepSeen};
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

/// What is wrong with a runtime in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It breaks this rule once, after it kept it so often.
    Slip(Rule, usize),
    /// It does this when it comes up.
    Mutant(Mutant),
    /// It does everything that this rule is about, whenever it can.
    Compound(Rule),
}

/// A runtime in memory, which is told a story and leaves what would have been seen of it.
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(super) struct Player {
    reading: Reading,
    fault: Option<Fault>,
    /// Whether its fault came up.
    pub(super) slipped: bool,
    /// How often what its mutant is about came up.
    came_up: usize,
    /// What any mutant could have done here, of a runtime without a fault.
    pub(super) chances: BTreeSet<(Deed, Cause, Phase)>,
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
    /// Time ran out: what happens then is not known.
    over: bool,
    supplied: BTreeMap<Phase, Vec<Value>>,
    /// Why a human was called in this step.
    trigger: Option<&'static str>,
    audits: usize,
    pub(super) seen: Observation,
    now: u64,
}

/// What is wrong with a checkpoint that lies on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoilt {
    Missing,
    /// It is written when the next phase has ended.
    Late,
    Code,
    Execution,
    /// The last decision that the phase supplied is not there.
    Decisions,
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
            chances: BTreeSet::new(),
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
            over: false,
            supplied: BTreeMap::new(),
            trigger: None,
            audits: 0,
            seen: Observation::default(),
            now: 0,
        };
        for (number, step) in case.steps.iter().enumerate() {
            let (verb, end) = match step {
                Step::Run(drive) => ("run", player.drive(number, drive)),
                Step::Resume(drive) => ("resume", player.drive(number, drive)),
                Step::Resolve(answer) => ("resolve", player.resolve(number, answer)),
                other => panic!("{other:?}"),
            };
            player.step(verb, if player.lost { ProcessEnd::OutOfBudget } else { end });
            if player.lost {
                break;
            }
        }
        player
    }

    /// Whether it breaks the rule now.
    fn slips(&mut self, rule: Rule) -> bool {
        match &mut self.fault {
            Some(Fault::Slip(which, times)) if *which == rule && !self.slipped && !self.over => {
                self.slipped = *times == 0;
                *times = times.saturating_sub(1);
                self.slipped
            }
            _ => false,
        }
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
                self.skipped.insert(phase);
            }
            ResolutionAction::Reset => {
                self.codes.clear();
                self.skipped.clear();
                self.execution += 1;
                self.open = None;
            }
            ResolutionAction::Abort => self.aborted = true,
            ResolutionAction::FixAndResume => {}
        }
        self.answered = Some(answer);
        if self.reading.begins_when_answered && answer != ResolutionAction::Abort {
            self.drive(number, &Drive::default());
        }
        ProcessEnd::Exited(0)
    }

    /// Whether its mutant does this here.
    fn does(&mut self, deed: Deed, cause: Cause, phase: Phase) -> bool {
        if self.fault.is_none() && !self.over {
            self.chances.insert((deed, cause, phase));
        }
        let does = match self.fault {
            Some(Fault::Mutant(mutant)) if !self.over && mutant.is_about(deed, cause, phase) => {
                self.came_up += 1;
                mutant.which.holds(self.came_up)
            }
            Some(Fault::Compound(rule)) => !self.over && Mutant::is_of(rule, deed, cause),
            _ => false,
        };
        self.slipped |= does;
        does
    }

    /// What follows in a mutant, where `lawful` would: the phase that starts, if any does.
    fn follows(&mut self, cause: Cause, phase: Phase, lawful: Option<Phase>) -> Option<Phase> {
        match lawful {
            Some(_) if self.does(Deed::Stops, cause, phase) => None,
            Some(right) if right != Phase::Preflight && self.does(Deed::FromStart, cause, phase) => {
                Some(Phase::Preflight)
            }
            Some(right) if right != phase && self.does(Deed::Again, cause, phase) => Some(phase),
            Some(right) => match right.next() {
                Some(other) if self.does(Deed::Skips, cause, phase) => Some(other),
                _ => lawful,
            },
            None if self.does(Deed::Again, cause, phase) => Some(phase),
            None if self.does(Deed::FromStart, cause, phase) => Some(Phase::Preflight),
            None => phase.next().filter(|_| self.does(Deed::GoesOn, cause, phase)),
        }
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
        if self.called.is_some() && self.answered.is_none() {
            return ProcessEnd::Exited(2);
        }
        let mut failures = 0;
        self.audits = 0;
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
                    Some(again) if again == phase => return self.calls(phase, 127),
                    None => return self.calls(phase, 127),
                    other => other,
                };
                continue;
            }
            let end = self.attempt(number, phase, drive);
            let (cause, next, code) = match end {
                End::Met(rule, trigger) => match self.met(phase, rule, trigger) {
                    None => return ProcessEnd::Exited(2),
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
            if at.is_none() && code != 0 {
                return self.calls(phase, code);
            }
            if at.is_none() && next.is_some() {
                return ProcessEnd::Exited(2);
            }
        }
        if self.next().is_some() || self.aborted { ProcessEnd::Exited(2) } else { self.ends() }
    }

    /// A human is called in the phase: what starts all the same.
    fn met(&mut self, phase: Phase, rule: Rule, trigger: &'static str) -> Option<Phase> {
        (self.trigger, self.open) = (Some(trigger), Some(phase));
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
        if self.does(Deed::NoReport, cause, phase) {
            self.trigger = None;
        }
        if self.does(Deed::WrongTrigger, cause, phase) {
            self.trigger = Some("same_issue");
        }
        self.over |= rule == Rule::TimeCalls;
        self.called = Some(phase);
        None
    }

    /// The phase is done, and its checkpoint is written.
    fn concludes(&mut self, phase: Phase) {
        self.spoilt.remove(&phase);
        let deeds =
            [Deed::NoCheckpoint, Deed::WrongCode, Deed::OtherExecution, Deed::LosesDecision, Deed::LateCheckpoint];
        let done = deeds.into_iter().find(|deed| self.does(*deed, Cause::Done, phase));
        // What was late is written by now.
        self.spoilt.retain(|_, spoilt| *spoilt != Spoilt::Late);
        let spoilt = match done {
            Some(Deed::NoCheckpoint) => Some(Spoilt::Missing),
            Some(Deed::LateCheckpoint) => Some(Spoilt::Late),
            Some(Deed::WrongCode) => Some(Spoilt::Code),
            Some(Deed::OtherExecution) => Some(Spoilt::Execution),
            Some(_) => Some(Spoilt::Decisions),
            None => None,
        };
        self.spoilt.extend(spoilt.map(|spoilt| (phase, spoilt)));
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

    fn calls(&mut self, phase: Phase, code: i64) -> ProcessEnd {
        self.codes.insert(phase, code);
        self.called = Some(phase);
        ProcessEnd::Exited(2)
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
        let full = acts.iter().filter(|act| matches!(act, Act::Usage(150_000..))).count() > 3;
        let slow = |act: &Act| matches!(act, Act::Sleep(millis) if self.time.is_some_and(|time| *millis > time));
        let met = match () {
            () if halted => Some(End::Met(Rule::HaltCalls, "manual")),
            () if full => Some(End::Met(Rule::OverflowCalls, "context_overflow")),
            () if acts.iter().any(slow) => Some(End::Met(Rule::TimeCalls, "timeout")),
            () => None,
        };
        let decisions = acts.iter().filter_map(|act| match act {
            Act::Result(result) => result["decisions"].as_array().cloned(),
            _ => None,
        });
        self.supplied.insert(phase, decisions.flatten().collect());
        let (exit, signal) = match acts.last().expect("each attempt ends") {
            Act::Exit(code) => (Some(i32::try_from(code.as_i64().expect("a number")).expect("a code")), None),
            Act::Die(signal) => (None, Some(signal.clone())),
            Act::Hang => (None, None),
            other => panic!("{other:?}"),
        };
        self.lost |= killed != (exit.is_none() && signal.is_none());
        let exit = exit.filter(|_| met.is_none() || self.reading.lets_it_end);
        self.now += 2;
        let checkpoints = self.found(phase);
        self.seen.attempts.push(AttemptSeen {
            phase: phase.to_string(),
            attempt: number,
            step,
            workspace: 0,
            started: self.now - 1,
            ended: Some(self.now),
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

    /// The checkpoints that a phase finds when it starts.
    fn found(&mut self, phase: Phase) -> BTreeMap<String, FileSeen> {
        let mut found = self.on_disk(self.codes.clone(), &self.supplied, &BTreeSet::new());
        let is_asked = |done: &Phase| *done != phase && self.open != Some(*done) && !self.skipped.contains(done);
        let done = Phase::ALL.iter().copied().filter(|done| self.is_done(*done)).find(is_asked);
        if let Some(done) = done.filter(|_| self.slips(Rule::CheckpointFirst)) {
            found.remove(&format!("{done}.yaml"));
        }
        found
    }

    /// The checkpoints that lie on the disk, where these codes and decisions are known, and these phases name another execution.
    fn on_disk(
        &self,
        mut codes: BTreeMap<Phase, i64>,
        supplied: &BTreeMap<Phase, Vec<Value>>,
        others: &BTreeSet<Phase>,
    ) -> BTreeMap<String, FileSeen> {
        let is = |phase: &Phase, spoilt: Spoilt| self.spoilt.get(phase) == Some(&spoilt);
        codes.retain(|phase, _| !is(phase, Spoilt::Missing) && !is(phase, Spoilt::Late));
        let file = |(phase, code): (Phase, i64)| {
            let is_other = others.contains(&phase) || is(&phase, Spoilt::Execution);
            let execution = if is_other { format!("other-{phase}") } else { self.execution.to_string() };
            let mut decisions = supplied.get(&phase).cloned().unwrap_or_default();
            if is(&phase, Spoilt::Decisions) {
                decisions.pop();
            }
            let code = if is(&phase, Spoilt::Code) { 2 } else { code };
            let fields =
                json!({ "phase": phase, "exit_code": code, "execution_id": execution, "decisions": decisions });
            (format!("{phase}.yaml"), FileSeen { text: fields.to_string(), modified: 0 })
        };
        codes.into_iter().map(file).collect()
    }

    /// The step is over, and leaves its checkpoints.
    fn step(&mut self, verb: &str, end: ProcessEnd) {
        let is_looked_at = self.seen.attempts.last().is_some_and(|it| it.step == self.seen.steps.len())
            && matches!(end, ProcessEnd::Exited(_))
            && !self.over;
        let done: Vec<Phase> = Phase::ALL.iter().copied().filter(|phase| self.is_done(*phase)).collect();
        let ran: BTreeSet<&str> = self.seen.attempts.iter().map(|it| it.phase.as_str()).collect();
        let ran: Vec<Phase> =
            done.into_iter().filter(|phase| ran.contains(phase.as_str()) && !self.skipped.contains(phase)).collect();
        let ran: Vec<Phase> = ran.into_iter().filter(|phase| self.open != Some(*phase)).collect();
        let mut codes = self.codes.clone();
        let (mut others, mut supplied) = (BTreeSet::new(), self.supplied.clone());
        if let Some(phase) = ran.iter().find(|phase| !supplied.get(phase).is_none_or(Vec::is_empty))
            && is_looked_at
            && !self.aborted
            && self.slips(Rule::ResultKept)
        {
            supplied.entry(*phase).or_default().pop();
        }
        if let Some(phase) = ran.last().copied().filter(|_| is_looked_at && !self.aborted) {
            if self.slips(Rule::EachCheckpoint) {
                codes.remove(&phase);
            }
            if self.slips(Rule::LatestCheckpoint) {
                codes.insert(phase, 2);
            }
            if ran.len() > 1 && self.slips(Rule::OneExecution) {
                others.insert(phase);
            }
        }
        let checkpoints = self.on_disk(codes, &supplied, &others);
        let (argv, output) = Default::default();
        let report =
            |trigger: &str| ReportSeen { path: String::new(), document: json!({ "trigger": trigger }), at: self.now };
        let reports = self.trigger.take().map(report).into_iter().collect();
        let (started, ended, verb) = (self.now, self.now + 1, verb.to_owned());
        let (laid, edited, workspace) = (BTreeMap::new(), None, 0);
        self.now += 1;
        self.seen.steps.push(StepSeen {
            verb,
            argv,
            started,
            ended,
            end,
            output,
            workspace,
            checkpoints,
            reports,
            laid,
            edited,
        });
    }
}
