//! What a runtime in memory leaves behind: checkpoints, reports, and what is seen of a step.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::Player;
use crate::conform::judge::story::documents::{Checkpoint, Report, forgetful, inventive, misdated, spoil};
use crate::conform::judge::story::words::{Cause, Deed, Field};
use crate::conform::observe::{FileSeen, OutputLine, ProcessEnd, ReportSeen, StepSeen};
use crate::conform::spec::Rule;
use crate::contract::Phase;

/// The rules of the model about a report, and the field that each is about.
const REPORT_RULES: [(Rule, Field); 3] = [
    (Rule::ReportNamesPhase, Field::ReportPhase),
    (Rule::ReportNamesExecution, Field::ReportExecution),
    (Rule::ReportIsTrue, Field::Phases),
];

/// What is wrong with a checkpoint that lies on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoilt {
    Missing,
    /// It is written when the next phase has ended.
    Late,
    Code,
    Execution,
    /// The last decision that the phase supplied is not there.
    Decisions,
    /// Something else is wrong with a field.
    Field(Field, Deed),
}

/// How a human is called.
#[derive(Debug, Default)]
pub(super) struct Call {
    report: Option<Value>,
    says: Vec<String>,
    /// The state, where the runtime is asked for it.
    state: Option<Value>,
    /// The code that it ends with, where that is wrong.
    pub(super) code: Option<i32>,
}

impl Player {
    /// The phase is done, and its checkpoint is written.
    pub(super) fn concludes(&mut self, phase: Phase) {
        self.spoilt.remove(&phase);
        self.written.insert(phase, self.now);
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
            None => self.spoils_checkpoint(Cause::Done, phase),
        };
        self.spoilt.extend(spoilt.map(|spoilt| (phase, spoilt)));
    }

    pub(super) fn spoils_checkpoint(&mut self, cause: Cause, phase: Phase) -> Option<Spoilt> {
        let code = self.codes.get(&phase).copied().unwrap_or_default();
        let document = self.checkpoint(phase, code, Vec::new()).document();
        self.spoils("checkpoint", &document, cause, phase).map(|(field, deed)| Spoilt::Field(field, deed))
    }

    fn checkpoint(&self, phase: Phase, code: i64, decisions: Vec<Value>) -> Checkpoint {
        let at = self.written.get(&phase).copied().unwrap_or_default();
        Checkpoint { phase, execution: self.execution.to_string(), code, at, decisions }
    }

    /// Calls a human, as far as its mutant does.
    pub(super) fn call(&mut self, cause: Cause, phase: Phase, trigger: &'static str) {
        if self.does(Deed::NoReport, cause, phase) || cause == Cause::Exhausted && self.slips(Rule::ExhaustedCalls) {
            return;
        }
        let trigger = if self.does(Deed::WrongTrigger, cause, phase) { "same_issue" } else { trigger };
        let mut written: Vec<(u64, Checkpoint)> = Vec::new();
        for (phase, code) in self.codes.clone() {
            let decisions = self.supplied.get(&phase).cloned().unwrap_or_default();
            let checkpoint = self.checkpoint(phase, code, decisions);
            written.push((checkpoint.at, checkpoint));
        }
        written.sort_by_key(|(at, _)| *at);
        let report = Report {
            execution: self.execution.to_string(),
            trigger,
            phase,
            at: self.now,
            done: Phase::ALL.iter().copied().filter(|done| self.is_done(*done)).collect(),
            findings: self.found.clone(),
            checkpoints: written.iter().map(|(_, checkpoint)| checkpoint.document()).collect(),
        };
        let mut document = report.document();
        for (rule, field) in REPORT_RULES {
            if self.slips(rule) {
                document = spoil(document, field, Deed::OfAnother);
            }
        }
        let tells_findings = phase == Phase::Audit && matches!(cause, Cause::Blocked | Cause::Exhausted);
        if tells_findings && !self.found.is_empty() && self.slips(Rule::ReportFindings) {
            document = forgetful(document);
        }
        if let Some(told) = self.wrong_findings(cause, phase) {
            document["state"]["remaining_findings"] = Value::Array(told);
        }
        if self.slips(Rule::ReportDated) {
            document = misdated(document);
        }
        if self.slips(Rule::ReportDecisions) {
            document = inventive(document);
        }
        if let Some((field, deed)) = self.spoils("report", &document, cause, phase) {
            document = spoil(document, field, deed);
        }
        if let [.., older, newest] = report.checkpoints.as_slice()
            && older != newest
            && self.does_to(Some(Field::LastCheckpoint), Deed::Stale, cause, phase)
        {
            document["state"]["last_checkpoint"] = older.clone();
        }
        let told = match self.unknown_code(cause, phase) {
            Some(code) => {
                let told = code + i32::from(self.does(Deed::NamesAnother, cause, phase));
                format!("{phase} needs a human: {trigger}, unknown exit code {told}")
            }
            None => format!("{phase} needs a human: {trigger}"),
        };
        let says = (!self.does(Deed::TellsNobody, cause, phase)).then_some(told);
        let breaks = self.does(Deed::BreaksDown, cause, phase);
        let breakdown = breaks.then(|| "Traceback (most recent call last):".to_owned());
        let ends_wrong = self.does(Deed::EndsWrong, cause, phase) || self.slips(Rule::CallsWithTwo);
        let code = ends_wrong.then_some(1);
        let says = says.into_iter().chain(breakdown).collect();
        self.call = Call { report: Some(document), says, state: None, code };
    }

    /// What its mutant tells in place of what the audit found.
    fn wrong_findings(&mut self, cause: Cause, phase: Phase) -> Option<Vec<Value>> {
        let is_told = phase == Phase::Audit && matches!(cause, Cause::Blocked | Cause::Exhausted);
        let (_, earlier) = self.found.split_last().filter(|_| is_told)?;
        let (earlier, before) = (earlier.to_vec(), self.found_before.clone());
        let mut more = self.found.clone();
        more.push(json!({ "id": "invented", "severity": "low", "category": "security", "description": "invented" }));
        let wrong = [(Deed::LosesLast, earlier), (Deed::Invents, more), (Deed::Stale, before)];
        let differs = |told: &[Value]| told != self.found;
        let wrong: Vec<_> = wrong.into_iter().filter(|(_, told)| differs(told)).collect();
        wrong
            .into_iter()
            .find_map(|(deed, told)| self.does_to(Some(Field::Findings), deed, cause, phase).then_some(told))
    }

    /// Tells its state to whoever asks.
    pub(super) fn tells_state(&mut self) -> ProcessEnd {
        let mut completed: Vec<Phase> = Phase::ALL.iter().copied().filter(|phase| self.is_done(*phase)).collect();
        let newest = self.codes.iter().max_by_key(|(phase, _)| self.written.get(*phase).copied());
        let last = newest.map(|(phase, code)| self.checkpoint(*phase, *code, Vec::new()).document());
        let next = self.next();
        let can_be_wrong = self.open.is_none() && self.skipped.is_empty() && self.interrupted.is_none();
        if can_be_wrong && self.slips(Rule::StateIsTrue) && completed.pop().is_none() {
            completed.push(Phase::Preflight);
        }
        let current = next.unwrap_or(Phase::Learning);
        let told = self.wrong_completed(&completed, current);
        let state = json!({
            "execution_id": self.execution.to_string(),
            "current_phase": current,
            "completed_phases": told.as_ref().unwrap_or(&completed),
            "last_checkpoint": last,
        });
        self.call.state = Some(self.wrong_state(state, !completed.is_empty(), next));
        ProcessEnd::Exited(0)
    }

    /// The phases that its mutant tells to be done.
    fn wrong_completed(&mut self, completed: &[Phase], current: Phase) -> Option<Vec<Phase>> {
        let field = Some(Field::Completed);
        if let Some((_, earlier)) = completed.split_last()
            && self.does_to(field, Deed::LosesLast, Cause::Asked, current)
        {
            return Some(earlier.to_vec());
        }
        let other = Phase::ALL.iter().rev().find(|phase| !completed.contains(phase))?;
        let invents = self.does_to(field, Deed::Invents, Cause::Asked, current);
        invents.then(|| completed.iter().chain([other]).copied().collect())
    }

    /// The state as its mutant tells it. Before anything is done little is known of it, and when everything is, no phase comes
    /// next.
    fn wrong_state(&mut self, state: Value, is_any_done: bool, next: Option<Phase>) -> Value {
        let mut known = state.clone();
        let of_what_is_done = ["execution_id", "completed_phases", "last_checkpoint"].into_iter();
        let unknown = of_what_is_done.filter(|_| !is_any_done).chain(next.is_none().then_some("current_phase"));
        unknown.for_each(|key| known[key] = Value::Null);
        let spoilt = self.spoils("state", &known, Cause::Asked, next.unwrap_or(Phase::Learning));
        match spoilt {
            Some((field, deed)) => spoil(state, field, deed),
            None => state,
        }
    }

    fn unknown_code(&self, cause: Cause, phase: Phase) -> Option<i32> {
        let ended = self.seen.attempts.last().filter(|it| cause == Cause::Unknown && it.phase == phase.as_str());
        ended.and_then(|it| it.exit)
    }

    /// Writes the checkpoint of a phase that is not done.
    pub(super) fn notes_failure(&mut self, phase: Phase, code: i64) {
        self.codes.insert(phase, code);
        self.now += 1;
        self.written.insert(phase, self.now);
        self.spoilt.remove(&phase);
        if self.slips(Rule::CodeIsTrue) {
            self.spoilt.insert(phase, Spoilt::Code);
        }
    }

    /// The checkpoints that a phase finds when it starts.
    pub(super) fn found(&mut self, phase: Phase) -> BTreeMap<String, FileSeen> {
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
            let mut decisions = supplied.get(&phase).cloned().unwrap_or_default();
            if is(&phase, Spoilt::Decisions) {
                decisions.pop();
            }
            let code = match code {
                0 if is(&phase, Spoilt::Code) => 2,
                _ if is(&phase, Spoilt::Code) => 0,
                code => code,
            };
            let mut checkpoint = self.checkpoint(phase, code, decisions);
            if others.contains(&phase) || is(&phase, Spoilt::Execution) {
                checkpoint.execution = format!("other-{phase}");
            }
            let document = match self.spoilt.get(&phase) {
                Some(Spoilt::Field(field, deed)) => spoil(checkpoint.document(), *field, *deed),
                _ => checkpoint.document(),
            };
            (format!("{phase}.yaml"), FileSeen { text: document.to_string(), modified: checkpoint.at * 1000 })
        };
        codes.into_iter().map(file).collect()
    }

    /// The step is over, and leaves its checkpoints.
    pub(super) fn step(&mut self, verb: &str, end: ProcessEnd) {
        let is_looked_at = self.seen.attempts.last().is_some_and(|it| it.step == self.seen.steps.len())
            && matches!(end, ProcessEnd::Exited(_));
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
        let argv = Vec::new();
        let call = std::mem::take(&mut self.call);
        let says = |stream: &str, text: String| OutputLine { at: self.now, stream: stream.to_owned(), text };
        let told = call.says.into_iter().map(|text| says("stderr", text));
        let output = told.chain(call.state.map(|state| says("stdout", state.to_string()))).collect();
        let report = |document: Value| ReportSeen { path: "report.yaml".to_owned(), document, at: self.now };
        let reports = call.report.map(report).into_iter().collect();
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
