//! What the model says of the checkpoints that a runtime leaves.

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::{GoOn, Walk};
use super::script::Supplied;
use crate::conform::observe::{AttemptSeen, FileSeen, StepSeen};
use crate::conform::spec::Rule;
use crate::contract::Phase;
use crate::diag::{Budget, Format, documents};

/// How a phase ended that did not end with 0.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) phase: Phase,
    /// The codes that its checkpoint may say, by any reading.
    pub(super) may_say: &'static [i64],
    /// The checkpoint that lay there before.
    pub(super) found: Option<FileSeen>,
}

impl Ending {
    /// How this attempt ended; whatever it was told to end with after a human was called says nothing.
    pub(super) fn of(phase: Phase, attempt: &AttemptSeen, is_met: bool) -> Option<Self> {
        let may_say: &[i64] = match (attempt.exit, is_met) {
            (Some(0), _) | (Some(_), true) => return None,
            (Some(1), _) => &[1],
            (Some(2), _) => &[2],
            // What the contract has no code for.
            _ => &[1, 2],
        };
        Some(Self { phase, may_say, found: attempt.checkpoints.get(&format!("{phase}.yaml")).cloned() })
    }

    /// The time of the run was over before the phase could be started again: it ended with 1, or it was given up.
    pub(super) fn is_out_of_time(&mut self) {
        if self.may_say == [1] {
            self.may_say = &[1, 2];
        }
    }
}

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
        self.is_true_of(number, seen, documents.get(&last));
        for (phase, document) in documents {
            let is_of_now = self.done.contains(&phase) || last == phase && says_failure(&document);
            let Some(named) = document.get("execution_id").filter(|_| is_of_now) else { continue };
            let known = self.execution.get_or_insert_with(|| named.clone()).clone();
            let (expected, observed) = (format!("{phase} to name the execution {known}"), format!("it names {named}"));
            self.find(Rule::OneExecution, *named == known, number, Some(seen.ended), expected, observed);
        }
        self.findings.iter().all(|finding| finding.kept).then_some(())
    }

    /// The checkpoint of a phase that did not end with 0 says how it ended, by any reading. One that lay there before says
    /// nothing of this end: a blocked phase may have none.
    fn is_true_of(&mut self, number: usize, seen: &StepSeen, document: Option<&Value>) {
        let Some(Ending { phase, may_say, found }) = &self.ending else { return };
        let file = seen.checkpoints.get(&format!("{phase}.yaml"));
        // Its type is for others to say.
        let code = document.and_then(|it| it.get("exit_code")?.as_i64());
        let Some(code) = code.filter(|_| file != found.as_ref()) else { return };
        let words = may_say.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
        let (expected, observed) = (format!("{phase} to say exit_code {words}"), format!("it says {code}"));
        self.find(Rule::CodeIsTrue, may_say.contains(&code), number, Some(seen.ended), expected, observed);
    }

    /// The decisions that the phase supplied stand in its checkpoint, and none beside them.
    fn keeps(&mut self, number: usize, seen: &StepSeen, phase: Phase, document: &Value) {
        let Some(Supplied { decisions, earlier, .. }) = self.supplied.get(&phase) else { return };
        if decisions.is_empty() && earlier.is_empty() {
            return;
        }
        let told = document.get("decisions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let has = |all: &[Value], one: &Value| all.iter().any(|other| same(one, other));
        let missing = decisions.iter().find(|it| !has(told, it)).map(|it| format!("it lacks {it}"));
        let is_added = |one: &Value| if decisions.is_empty() { has(earlier, one) } else { !has(decisions, one) };
        let added = told.iter().find(|it| is_added(it)).map(|it| format!("it adds {it}"));
        let again =
            (!decisions.is_empty() && told.len() > decisions.len()).then(|| format!("{} stand there", told.len()));
        let wrong = missing.or(added).or(again);
        let expected = format!("the {} decisions that {phase} supplied at last in its checkpoint", decisions.len());
        let observed = wrong.clone().unwrap_or_else(|| "they are there".to_owned());
        self.find(Rule::ResultKept, wrong.is_none(), number, Some(seen.ended), expected, observed);
    }

    /// A run that is given up leaves every checkpoint as it was.
    pub(super) fn keeps_what_is_there(&mut self, number: usize, seen: &StepSeen) -> GoOn {
        let text = |of: &BTreeMap<String, FileSeen>, name: &str| of.get(name).map(|file| file.text.clone());
        let names: Vec<String> = Phase::ALL.iter().map(|phase| format!("{phase}.yaml")).collect();
        let changed = names.iter().find(|name| text(&self.lay, name) != text(&seen.checkpoints, name));
        let observed = changed.map_or("they are".to_owned(), |name| format!("{name} is not"));
        let expected = "every checkpoint to be as it was before the run was given up".to_owned();
        let kept = changed.is_none();
        self.find(Rule::AbortKeeps, kept, number, Some(seen.ended), expected, observed);
        kept.then_some(())
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
}

/// Whether two decisions are one.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    ["id", "description", "reasoning"].iter().all(|key| one.get(key) == other.get(key))
}

/// Whether a checkpoint says that its phase failed: one that says otherwise may be left of an execution that is over.
pub(super) fn says_failure(checkpoint: &Value) -> bool {
    checkpoint.get("exit_code").is_some_and(|code| *code != 0)
}

pub(super) fn document(text: &str) -> Option<Value> {
    let read = documents(text.as_bytes(), Format::Yaml, &Budget::default()).next()?;
    read.ok().map(|document| document.to_json())
}
