//! What the model says of the report by which a runtime calls a human.

use jiff::Timestamp;
use serde_json::Value;

use super::left::{document, same, says_failure};
use super::model::{GoOn, Walk};
use crate::conform::observe::{ProcessEnd, StepSeen};
use crate::conform::spec::Rule;
use crate::contract::Phase;
use crate::system::clock::Millis;

/// How far the time of a report may lie from what is known, in milliseconds.
const SLACK: Millis = 60_000;

impl Walk {
    /// What the report says by which a human is called for this phase. That there is one is for others to say.
    pub(super) fn reported(&mut self, number: usize, seen: &StepSeen, last: Phase) -> GoOn {
        if seen.reports.is_empty() {
            return Some(());
        }
        let mut named = vec![last];
        // It ended while the human was called: the next one may be meant.
        named.extend(self.open.and_then(|open| Phase::ALL.iter().find(|it| !self.done.contains(it) && **it != open)));
        // What failed is the work that was audited.
        named.extend((last == Phase::Audit).then_some(Phase::Implementation));
        let words: Vec<&str> = named.iter().map(|phase| phase.as_str()).collect();
        let phase = |document: &Value| document.get("phase").cloned().unwrap_or_default();
        // Without a word for the reason it is no report.
        let has_trigger = |it: &Value| it.get("trigger").and_then(Value::as_str).is_some_and(|word| !word.is_empty());
        let is_meant = |it: &&Value| has_trigger(it) && words.iter().any(|word| phase(it) == *word);
        let found = seen.reports.iter().map(|report| &report.document).find(is_meant);
        let observed =
            seen.reports.iter().map(|report| phase(&report.document).to_string()).collect::<Vec<_>>().join(", ");
        let expected = format!("a report that names {}", words.join(" or "));
        let observed = format!("it names {observed}");
        self.find(Rule::ReportNamesPhase, found.is_some(), number, Some(seen.ended), expected, observed);
        let report = found?;
        // Each thing that it says is true or not by itself.
        let said = [
            self.is_of_the_execution(number, seen, report, last),
            self.is_true(number, seen, report, &named),
            self.is_dated(number, seen, report),
            self.tells_decisions(number, seen, report),
            self.tells_findings(number, seen, report, last),
        ];
        said.into_iter().collect()
    }

    fn is_of_the_execution(&mut self, number: usize, seen: &StepSeen, report: &Value, last: Phase) -> GoOn {
        let of = |phase: &Phase| document(&seen.checkpoints.get(&format!("{phase}.yaml"))?.text);
        let failed = of(&last).filter(says_failure);
        let mut documents = self.done.iter().filter_map(of).chain(failed);
        let named = || documents.find_map(|document| document.get("execution_id").cloned());
        let Some(known) = self.execution.clone().or_else(named) else { return Some(()) };
        let said = report.get("execution_id").cloned().unwrap_or_default();
        // That it says something is for others to say.
        if said.as_str().is_none_or(str::is_empty) {
            return Some(());
        }
        let (expected, observed) = (format!("a report that names the execution {known}"), format!("it names {said}"));
        self.find(Rule::ReportNamesExecution, said == known, number, Some(seen.ended), expected, observed);
        (said == known).then_some(())
    }

    /// Each phase is told of: those that are done are said to be, no others are, and what never began is pending.
    fn is_true(&mut self, number: usize, seen: &StepSeen, report: &Value, called: &[Phase]) -> GoOn {
        // That it tells of them is for others to say.
        let Some(told) = report.pointer("/state/phases").and_then(Value::as_array) else { return Some(()) };
        let status = |phase: Phase| {
            let of = |it: &&Value| it.get("phase").is_some_and(|named| *named == phase.as_str());
            told.iter().find(of).and_then(|it| it.get("status")?.as_str())
        };
        let is_wrong = |phase: &Phase| match (self.done.contains(phase), called.contains(phase)) {
            (true, false) => !self.skipped.contains(phase) && status(*phase) != Some("completed"),
            (true, true) => status(*phase).is_none(),
            (false, true) => self.open != Some(*phase) && status(*phase).is_none_or(|it| it == "completed"),
            (false, false) if self.begun_phases.contains(phase) => status(*phase).is_none_or(|it| it == "completed"),
            (false, false) => status(*phase) != Some("pending"),
        };
        let wrong = Phase::ALL.iter().find(|phase| is_wrong(phase)).copied();
        let wrong = wrong.map(|phase| format!("of {phase} it says {}", status(phase).unwrap_or("nothing")));
        let wrong = wrong.or_else(|| self.false_code(told, called));
        let expected = "a report that says of each of the eight phases how it stands".to_owned();
        let observed = wrong.clone().unwrap_or_else(|| "it does".to_owned());
        self.find(Rule::ReportIsTrue, wrong.is_none(), number, Some(seen.ended), expected, observed);
        wrong.is_none().then_some(())
    }

    /// Where a report tells a phase's exit code, a phase that is done ended with 0, and one for which a human is called did not.
    fn false_code(&self, told: &[Value], called: &[Phase]) -> Option<String> {
        let code = |phase: Phase| {
            let of = |it: &&Value| it.get("phase").is_some_and(|named| *named == phase.as_str());
            told.iter().find(of)?.get("exit_code")?.as_i64()
        };
        let is_false = |phase: Phase, code: i64| match (self.done.contains(&phase), called.contains(&phase)) {
            (true, false) => code != 0 && !self.skipped.contains(&phase),
            (false, true) => code == 0 && self.open != Some(phase),
            _ => false,
        };
        let told = Phase::ALL.iter().filter_map(|phase| Some((*phase, code(*phase)?)));
        let (phase, code) = told.into_iter().find(|(phase, code)| is_false(*phase, *code))?;
        Some(format!("of {phase} it says exit_code {code}"))
    }

    /// Where a report tells its time as the contract's own documents do, it was made after the newest checkpoint, and before
    /// the story ended. It may also be any other text.
    fn is_dated(&mut self, number: usize, seen: &StepSeen, report: &Value) -> GoOn {
        let said = report.get("timestamp").and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok());
        let newest =
            Phase::ALL.iter().filter_map(|phase| Some(seen.checkpoints.get(&format!("{phase}.yaml"))?.modified));
        let (Some(said), Some(newest)) = (said, newest.max()) else { return Some(()) };
        let at = said.as_millisecond().unsigned_abs();
        let took = seen.ended.saturating_sub(self.begun.unwrap_or_default());
        let kept = (newest.saturating_sub(SLACK)..=newest + took + SLACK).contains(&at);
        let (expected, observed) = ("a report that tells when it was made".to_owned(), format!("it says {said}"));
        self.find(Rule::ReportDated, kept, number, Some(seen.ended), expected, observed);
        kept.then_some(())
    }

    /// The last decisions are decisions that were made: they stand in a checkpoint, or a phase supplied them; and the newest
    /// of the last checkpoint is among them.
    fn tells_decisions(&mut self, number: usize, seen: &StepSeen, report: &Value) -> GoOn {
        let in_file = |phase: &Phase| document(&seen.checkpoints.get(&format!("{phase}.yaml"))?.text);
        let made: Vec<Value> =
            Phase::ALL.iter().filter_map(in_file).flat_map(|it| entries(&it, "/decisions")).collect();
        let supplied = self.supplied.values().flat_map(|it| it.decisions.iter().chain(&it.earlier));
        let made: Vec<&Value> = made.iter().chain(supplied).collect();
        let told = entries(report, "/context/last_decisions");
        let invented = told.iter().find(|it| !made.iter().any(|one| same(one, it)));
        let newest = entries(report, "/state/last_checkpoint/decisions").pop();
        let lacking = newest.filter(|it| !told.iter().any(|one| same(one, it)));
        if told.is_empty() && lacking.is_none() {
            return Some(());
        }
        let expected = "last decisions that were made, the newest of the last checkpoint among them".to_owned();
        let (kept, observed) = match (invented, &lacking) {
            (Some(it), _) => (false, format!("nobody made {it}")),
            (None, Some(it)) => (false, format!("it lacks {it}")),
            (None, None) => (true, format!("it tells of {}", told.len())),
        };
        self.find(Rule::ReportDecisions, kept, number, Some(seen.ended), expected, observed);
        kept.then_some(())
    }

    /// Whoever calls a human ends with 2, or waits.
    pub(super) fn calls_with_two(&mut self, number: usize, seen: &StepSeen, observed: String) -> GoOn {
        let kept = matches!(seen.end, ProcessEnd::Exited(2) | ProcessEnd::Waiting);
        let expected = "the runtime to end with 2, or to wait for its human".to_owned();
        self.find(Rule::CallsWithTwo, kept, number, Some(seen.ended), expected, observed);
        kept.then_some(())
    }

    /// Where the audit failed by itself, what it found remains.
    fn tells_findings(&mut self, number: usize, seen: &StepSeen, report: &Value, last: Phase) -> GoOn {
        let found = self.supplied.get(&Phase::Audit).map_or(&[][..], |it| it.findings.as_slice());
        let is_of_it = self.ending.as_ref().is_some_and(|it| it.phase == last && it.may_say.len() == 1);
        if last != Phase::Audit || !is_of_it || found.is_empty() {
            return Some(());
        }
        let told = entries(report, "/state/remaining_findings");
        let id = |it: &Value| it.get("id").cloned().unwrap_or_default();
        let has = |all: &[Value], one: &Value| all.iter().any(|it| id(it) == id(one));
        let kept = told.len() == found.len() && found.iter().all(|it| has(&told, it));
        let expected = format!("a report with the {} findings of the last audit", found.len());
        let observed = format!("it tells of {}", Value::Array(told));
        self.find(Rule::ReportFindings, kept, number, Some(seen.ended), expected, observed);
        kept.then_some(())
    }
}

/// The entries of a list in a document; none where there is no list.
fn entries(document: &Value, pointer: &str) -> Vec<Value> {
    document.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default()
}
