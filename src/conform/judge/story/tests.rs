//! The model on trial: a lawful runtime that is played in memory, in every reading, breaks nothing in any story; one that
//! slips once, wherever that is, is found, and for the right rule.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::findings;
use crate::conform::observe::{AttemptSeen, FileSeen, Observation, ProcessEnd, ReportSeen, StepSeen};
use crate::conform::spec::{Act, Case, Drive, Knob, Plot, Rule, Step};
use crate::contract::{Phase, ResolutionAction};

/// What the contract leaves open.
#[derive(Debug, Clone, Copy)]
struct Reading {
    starts: usize,
    remediates: bool,
    begins_when_answered: bool,
    /// Whether a phase may end by itself while a human is called for another reason.
    lets_it_end: bool,
}

/// A runtime in memory.
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
struct Player {
    reading: Reading,
    /// The rule that it breaks, and how often it keeps it before.
    slip: Option<(Rule, usize)>,
    slipped: bool,
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
    seen: Observation,
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
    fn plays(case: &Case, reading: Reading, slip: Option<(Rule, usize)>) -> Self {
        let mut player = Self {
            lost: false,
            reading,
            slip,
            slipped: false,
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
        match &mut self.slip {
            Some((which, times)) if *which == rule && !self.slipped && !self.over => {
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

    /// Where it begins.
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
        let mut at = self.first(drive);
        while let Some(phase) = at {
            if drive.unstartable.as_deref() == Some(phase.as_str()) {
                match phase.next().filter(|_| self.slips(Rule::UnstartableHalts)) {
                    None => return self.calls(phase, 127),
                    other => at = other,
                }
                continue;
            }
            at = match self.attempt(number, phase, drive) {
                End::Met(rule, trigger) => {
                    (self.trigger, self.open) = (Some(trigger), Some(phase));
                    if let Some(other) = phase.next().filter(|_| self.slips(rule)) {
                        at = Some(other);
                        continue;
                    }
                    self.over |= rule == Rule::TimeCalls;
                    self.called = Some(phase);
                    return ProcessEnd::Exited(2);
                }
                End::Cut => {
                    self.interrupted = Some(phase);
                    return ProcessEnd::KilledAsPlanned;
                }
                End::Code(0) => {
                    failures = 0;
                    self.succeeded(phase, drive)
                }
                End::Code(1) => {
                    failures += 1;
                    match self.failed(phase, failures) {
                        Some(again) => Some(again),
                        None => return self.calls(phase, 1),
                    }
                }
                End::Code(2) => match self.halts(phase, Rule::BlockedOnce, Rule::BlockedHalts) {
                    None => return self.calls(phase, 2),
                    other => other,
                },
                End::Code(_) => match self.halts(phase, Rule::UnknownOnce, Rule::UnknownHalts) {
                    None => return self.calls(phase, 2),
                    other => other,
                },
                End::Signal => match self.halts(phase, Rule::SignalHalts, Rule::SignalHalts) {
                    None => return self.calls(phase, 2),
                    other => other,
                },
            };
        }
        if self.next().is_some() || self.aborted { ProcessEnd::Exited(2) } else { self.ends() }
    }

    fn ends(&mut self) -> ProcessEnd {
        let last = self.seen.attempts.last().is_some_and(|it| it.step == self.seen.steps.len());
        ProcessEnd::Exited(i32::from(last && self.slips(Rule::EndsWithZero)))
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
        let script = &self.script[phase.as_str()];
        let acts = &script[(*number as usize - 1).min(script.len() - 1)];
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
        self.seen.attempts.push(AttemptSeen {
            phase: phase.to_string(),
            attempt: *number,
            step,
            workspace: 0,
            started: self.now - 1,
            ended: Some(self.now),
            exit,
            signal: signal.clone(),
            cwd: String::new(),
            env: BTreeMap::from([("LOA_RESULT_FILE".to_owned(), "result.json".to_owned())]),
            memories: None,
            checkpoints: BTreeMap::new(),
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
        let (mut other, mut supplied) = (None, self.supplied.clone());
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
                other = Some(phase);
            }
        }
        let file = |(phase, code): (Phase, i64)| {
            let execution = if other == Some(phase) { 0 } else { self.execution };
            let decisions = supplied.get(&phase).cloned().unwrap_or_default();
            let fields =
                json!({ "phase": phase, "exit_code": code, "execution_id": execution, "decisions": decisions });
            let text = fields.to_string();
            (format!("{phase}.yaml"), FileSeen { text, modified: 0 })
        };
        let checkpoints = codes.into_iter().map(file).collect();
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

fn readings() -> impl Iterator<Item = Reading> {
    let all = (2..=4).flat_map(|starts| [false, true].map(|remediates| (starts, remediates)));
    all.flat_map(|(starts, remediates)| {
        [(false, false), (false, true), (true, false)].map(|(begins_when_answered, lets_it_end)| Reading {
            starts,
            remediates,
            begins_when_answered,
            lets_it_end,
        })
    })
}

#[test]
fn a_lawful_runtime_breaks_nothing_in_any_reading() {
    let mut kept: BTreeMap<Rule, usize> = BTreeMap::new();
    for number in 1..=240 {
        let case = Plot::of(11, number).case("story");
        for reading in readings() {
            let player = Player::plays(&case, reading, None);
            for finding in findings(&case, &player.seen) {
                assert!(finding.kept, "story {number}, {reading:?}: {finding:?}\n{}", case.title);
                *kept.entry(finding.rule).or_default() += 1;
            }
        }
    }
    let rare: Vec<&Rule> = Rule::ALL.iter().filter(|rule| kept.get(rule).copied().unwrap_or_default() < 30).collect();
    assert!(rare.is_empty(), "these rules hardly ever apply: {rare:?}");
}

/// Each rule is broken the first time that it applies, the second and so on, in every story in which it applies so often.
#[test]
fn a_runtime_that_slips_once_is_found_for_the_right_rule() {
    let reading = Reading { starts: 4, remediates: true, begins_when_answered: false, lets_it_end: false };
    for rule in Rule::ALL.iter().copied() {
        let mut found = 0;
        for number in 1..=200 {
            let case = Plot::of(12, number).case("story");
            for times in 0..4 {
                let player = Player::plays(&case, reading, Some((rule, times)));
                let broken: Vec<_> = findings(&case, &player.seen).into_iter().filter(|it| !it.kept).collect();
                let rules: Vec<Rule> = broken.iter().map(|it| it.rule).collect();
                let expected: &[Rule] = if player.slipped { &[rule] } else { &[] };
                assert_eq!(rules, expected, "story {number}, slip {times}: {broken:?}\n{}", case.title);
                found += usize::from(player.slipped);
            }
        }
        assert!(found >= 5, "{rule} was broken in {found} stories alone");
    }
}
