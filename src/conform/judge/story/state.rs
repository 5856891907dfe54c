//! What the model says of the state that a runtime tells when it stands still.

use std::collections::BTreeSet;

use serde_json::Value;

use super::left::document;
use super::model::{GoOn, Rest, Walk};
use crate::conform::observe::{ProcessEnd, StepSeen};
use crate::conform::spec::Rule;
use crate::contract::Phase;

impl Walk {
    /// The phases that are done, the one that comes next, the execution, and a checkpoint that is there.
    pub(super) fn told_state(&mut self, number: usize, seen: &StepSeen) -> GoOn {
        // Who cannot tell says nothing wrong; of a runtime that was killed between two phases it is not known what it knows.
        if seen.end == ProcessEnd::NoVerb || self.rest == Rest::Killed(None) {
            return Some(());
        }
        let ProcessEnd::Exited(code) = seen.end else { return None };
        let answer: Option<Value> = (code == 0).then(|| serde_json::from_str(&seen.stdout()).ok()).flatten();
        let wrong = match &answer {
            None => Some("it tells nothing".to_owned()),
            Some(state) => self.wrong_state(state, seen),
        };
        let expected =
            "a state that tells the execution, the phases that are done, the next one and the last checkpoint";
        let observed = wrong.clone().unwrap_or_else(|| "it does".to_owned());
        self.find(Rule::StateIsTrue, wrong.is_none(), number, Some(seen.ended), expected.to_owned(), observed);
        wrong.is_none().then_some(())
    }

    fn wrong_state(&self, state: &Value, seen: &StepSeen) -> Option<String> {
        let told = state.get("completed_phases").and_then(Value::as_array);
        let told = told.into_iter().flatten().map(|phase| phase.as_str()?.parse().ok());
        let Some(told) = told.collect::<Option<Vec<Phase>>>() else {
            return Some(format!("completed_phases are {}", state["completed_phases"]));
        };
        let completed: BTreeSet<Phase> = told.iter().copied().collect();
        let is_wrong = |phase: &Phase| {
            let may_be_either = self.open == Some(*phase) || self.skipped.contains(phase);
            !may_be_either && completed.contains(phase) != self.done.contains(phase)
        };
        if let Some(phase) = Phase::ALL.iter().find(|phase| is_wrong(phase)) {
            let word = if completed.contains(phase) { "completed" } else { "not completed" };
            return Some(format!("it tells {phase} to be {word}"));
        }
        let current = state.get("current_phase").unwrap_or(&Value::Null);
        // Of a phase that may be done the one after it may be meant; when all are, the contract names none.
        let mut open = Phase::ALL.iter().filter(|phase| !self.done.contains(phase));
        let next = open.next();
        let after = open.next().filter(|_| self.open.is_some());
        let is_known = next.is_some() && (self.open.is_none() || after.is_some());
        if is_known && !next.into_iter().chain(after).any(|phase| *current == phase.as_str()) {
            return Some(format!("it tells {current} to be the current phase"));
        }
        let execution = state.get("execution_id");
        if self.execution.is_some() && execution != self.execution.as_ref() {
            return Some(format!("it tells the execution {}", execution.unwrap_or(&Value::Null)));
        }
        self.wrong_checkpoint(state, seen)
    }

    /// The last checkpoint is one that is there.
    fn wrong_checkpoint(&self, state: &Value, seen: &StepSeen) -> Option<String> {
        self.done.difference(&self.skipped).next()?;
        let told = state.get("last_checkpoint").unwrap_or(&Value::Null);
        let same =
            |file: &Value| ["phase", "execution_id", "exit_code"].iter().all(|key| file.get(key) == told.get(key));
        let is_there = seen.checkpoints.values().filter_map(|file| document(&file.text)).any(|file| same(&file));
        (!is_there).then(|| format!("the last checkpoint that it tells is {told}"))
    }
}
