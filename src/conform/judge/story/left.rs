//! What the model says of the documents that a runtime leaves: checkpoints, and the report by which it calls a human.

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::{GoOn, Walk};
use crate::conform::observe::StepSeen;
use crate::conform::spec::Rule;
use crate::contract::Phase;
use crate::diag::{Budget, Format, documents};

impl Walk {
    /// What the checkpoints say.
    pub(super) fn left(&mut self, number: usize, seen: &StepSeen, last: Phase) -> GoOn {
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
            self.keeps(number, seen, phase, &documents[&phase]);
        }
        // What was done once may have its checkpoint still, where a blocked phase has none.
        let has_failed = !self.done.contains(&last) && self.open != Some(last) && last != Phase::Implementation;
        if let Some(code) = documents.get(&last).and_then(|it| it.get("exit_code")).filter(|_| has_failed) {
            let (expected, observed) =
                (format!("{last}, which failed, not to say exit_code 0"), format!("it says {code}"));
            self.find(Rule::LatestCheckpoint, *code != 0, number, Some(seen.ended), expected, observed);
        }
        for (phase, document) in documents {
            let is_of_now = self.done.contains(&phase) || last == phase && says_failure(&document);
            let Some(named) = document.get("execution_id").filter(|_| is_of_now) else { continue };
            let known = self.execution.get_or_insert_with(|| named.clone()).clone();
            let (expected, observed) = (format!("{phase} to name the execution {known}"), format!("it names {named}"));
            self.find(Rule::OneExecution, *named == known, number, Some(seen.ended), expected, observed);
        }
        self.findings.iter().all(|finding| finding.kept).then_some(())
    }

    /// What the phase supplied stands in its checkpoint.
    fn keeps(&mut self, number: usize, seen: &StepSeen, phase: Phase, document: &Value) {
        let Some(supplied) = self.supplied.get(&phase).filter(|supplied| !supplied.is_empty()) else { return };
        let told = document.get("decisions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let same = |one: &Value, key: &str, other: &Value| one.get(key) == other.get(key);
        let is_told = |decision: &&Value| {
            told.iter().any(|one| ["id", "description", "reasoning"].iter().all(|key| same(one, key, decision)))
        };
        let missing = supplied.iter().find(|decision| !is_told(decision)).cloned();
        let expected = format!("the {} decisions that {phase} supplied in its checkpoint", supplied.len());
        let observed = missing.as_ref().map_or("they are there".to_owned(), |it| format!("it lacks {it}"));
        self.find(Rule::ResultKept, missing.is_none(), number, Some(seen.ended), expected, observed);
    }

    /// A phase failed to the end: a report says so, and its checkpoint says 1.
    pub(super) fn exhausted(&mut self, number: usize, seen: &StepSeen, last: Phase) -> GoOn {
        let calls = !seen.reports.is_empty();
        let observed = if calls { "there is one" } else { "there is none" };
        let expected = format!("a report when the retries of {last} are used up");
        self.find(Rule::ExhaustedCalls, calls, number, Some(seen.ended), expected, observed.to_owned());
        let file = seen.checkpoints.get(&format!("{last}.yaml"));
        let code = file.and_then(|file| document(&file.text)).and_then(|document| document.get("exit_code").cloned());
        // Its type is for others to say.
        let kept = file.is_some() && code.as_ref().is_none_or(|code| *code == 1 || !code.is_u64());
        let observed = match (file, code) {
            (None, _) => "there is none".to_owned(),
            (_, code) => format!("it says {}", code.unwrap_or_default()),
        };
        let expected = format!("a checkpoint of {last} that says exit_code 1");
        self.find(Rule::ExhaustedCheckpoint, kept, number, Some(seen.ended), expected, observed);
        (calls && kept).then_some(())
    }

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
        self.is_of_the_execution(number, seen, report, last)?;
        self.is_true(number, seen, report, &named)
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

    /// Those that are done are said to be, and no others are, as far as both are known.
    fn is_true(&mut self, number: usize, seen: &StepSeen, report: &Value, called: &[Phase]) -> GoOn {
        // That it tells of them is for others to say.
        let Some(told) = report.pointer("/state/phases").and_then(Value::as_array) else { return Some(()) };
        let status = |phase: Phase| {
            let of = |it: &&Value| it.get("phase").is_some_and(|named| *named == phase.as_str());
            told.iter().find(of).and_then(|it| it.get("status")?.as_str())
        };
        let is_wrong = |phase: &Phase| match (self.done.contains(phase), called.contains(phase)) {
            (true, false) => !self.skipped.contains(phase) && status(*phase) != Some("completed"),
            (true, true) => false,
            (false, _) => self.open != Some(*phase) && status(*phase) == Some("completed"),
        };
        let wrong = Phase::ALL.iter().find(|phase| is_wrong(phase)).copied();
        let expected = "a report that says of each phase whether it is done".to_owned();
        let observed = wrong
            .map_or("it does".to_owned(), |phase| format!("of {phase} it says {}", status(phase).unwrap_or("nothing")));
        self.find(Rule::ReportIsTrue, wrong.is_none(), number, Some(seen.ended), expected, observed);
        wrong.is_none().then_some(())
    }
}

/// Whether a checkpoint says that its phase failed: one that says otherwise may be left of an execution that is over.
fn says_failure(checkpoint: &Value) -> bool {
    checkpoint.get("exit_code").is_some_and(|code| *code != 0)
}

fn document(text: &str) -> Option<Value> {
    let read = documents(text.as_bytes(), Format::Yaml, &Budget::default()).next()?;
    read.ok().map(|document| document.to_json())
}
