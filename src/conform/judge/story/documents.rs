//! The documents that a runtime in memory leaves, and what a mutant makes of them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::words::{Deed, Field};
use crate::contract::Phase;

/// What a checkpoint says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checkpoint {
    pub(super) phase: Phase,
    pub(super) execution: String,
    pub(super) code: i64,
    /// When it was written, on the clock of the runtime in memory.
    pub(super) at: u64,
    pub(super) decisions: Vec<Value>,
}

impl Checkpoint {
    pub(super) fn document(&self) -> Value {
        let summary = if self.code == 0 { "done" } else { "not done" };
        json!({
            "execution_id": self.execution,
            "phase": self.phase,
            "created_at": time(self.at),
            "exit_code": self.code,
            "summary": format!("{} is {summary}", self.phase),
            "decisions": self.decisions,
        })
    }
}

/// What a report says.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) execution: String,
    pub(super) trigger: &'a str,
    pub(super) phase: Phase,
    pub(super) at: u64,
    pub(super) done: Vec<Phase>,
    /// What the last audit found.
    pub(super) findings: Vec<Value>,
    /// The checkpoints, the newest last.
    pub(super) checkpoints: Vec<Value>,
}

impl Report<'_> {
    pub(super) fn document(&self) -> Value {
        let standing = |phase: &Phase| match () {
            () if self.done.contains(phase) => json!({ "phase": phase, "status": "completed", "exit_code": 0 }),
            () if *phase == self.phase => json!({ "phase": phase, "status": "failed", "exit_code": 2 }),
            () => json!({ "phase": phase, "status": "pending" }),
        };
        json!({
            "execution_id": self.execution,
            "session_id": "session",
            "trigger": self.trigger,
            "phase": self.phase,
            "timestamp": time(self.at),
            "state": {
                "phases": Phase::ALL.iter().map(standing).collect::<Vec<_>>(),
                "last_checkpoint": self.checkpoints.last(),
                "remaining_findings": self.findings,
            },
            "context": {
                "last_decisions": self.checkpoints.last().map_or(json!([]), |last| last["decisions"].clone()),
                "remediation_attempts": 0,
                "suggested_actions": [format!("mend {}", self.phase)],
            },
        })
    }
}

/// The same with a time in it at which nothing was written.
pub(super) fn misdated(mut report: Value) -> Value {
    report["timestamp"] = json!("2020-01-01T00:00:00Z");
    report
}

/// The same with a decision that nobody made.
pub(super) fn inventive(mut report: Value) -> Value {
    let invented = json!({ "id": "D-001", "description": "invented", "reasoning": "none", "timestamp": time(0) });
    report["context"]["last_decisions"] = json!([invented]);
    report
}

/// The same without what the audit found.
pub(super) fn forgetful(mut report: Value) -> Value {
    report["state"]["remaining_findings"] = json!([]);
    report
}

/// The same with something wrong in one field. Where the field has nothing that could be so wrong it stays as it is.
pub(super) fn spoil(mut document: Value, field: Field, deed: Deed) -> Value {
    let path = field.pointer();
    if deed == Deed::Lacks {
        let (parent, key) = path.rsplit_once('/').unwrap_or_default();
        if let Some(Value::Object(fields)) = document.pointer_mut(parent) {
            fields.remove(key);
        }
        return document;
    }
    if let Some(value) = document.pointer_mut(path) {
        let wrong = wrong(value, field, deed);
        *value = wrong;
    }
    document
}

fn wrong(value: &Value, field: Field, deed: Deed) -> Value {
    match (deed, value) {
        (Deed::OtherType, Value::String(_)) => json!(7),
        (Deed::OtherType, Value::Number(number)) => json!(number.to_string()),
        (Deed::OtherType, _) => json!("none"),
        (Deed::OfAnother, Value::Array(standings)) => Value::Array(standings.iter().map(turned).collect()),
        (Deed::OfAnother, Value::Object(fields)) => {
            let mut fields = fields.clone();
            fields.insert("phase".to_owned(), json!("another"));
            Value::Object(fields)
        }
        (Deed::OfAnother, _) if field.is_a_phase() => {
            json!(if *value == json!(Phase::Preflight) { Phase::Learning } else { Phase::Preflight })
        }
        (Deed::OfAnother, _) if field == Field::Compaction => {
            json!(if *value == json!("standard") { "emergency" } else { "standard" })
        }
        (Deed::OfAnother, Value::Number(code)) => json!(if code.as_i64() == Some(0) { 2 } else { 0 }),
        (Deed::OfAnother, _) => json!("another"),
        (Deed::WrongValue, Value::Array(standings)) => Value::Array(standings.iter().map(waiting).collect()),
        (Deed::WrongValue, Value::Number(_)) if field == Field::Attempts => json!(-1),
        (Deed::WrongValue, Value::Number(_)) => json!(7),
        (Deed::WrongValue, _) if field.may_not_be_empty() => json!(""),
        (Deed::WrongValue, _) => json!("yesterday"),
        _ => value.clone(),
    }
}

/// How a phase stands, said the other way round.
fn turned(standing: &Value) -> Value {
    let mut turned = standing.clone();
    turned["status"] = if standing["status"] == "completed" { json!("pending") } else { json!("completed") };
    turned
}

/// How a phase stands, in a word that the contract does not have.
fn waiting(standing: &Value) -> Value {
    let mut waiting = standing.clone();
    waiting["status"] = json!("waiting");
    waiting
}

fn time(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}
