//! The kinds of documents that a suite is made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::conform::spec::{Claims, Clause, Defect};
use crate::schema::{Kind, Marks};

/// The rows of one column of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Ledger")]
#[serde(transparent)]
pub(super) struct Ledger(pub(super) Vec<Clause>);

/// Where the contract contradicts itself, or leaves open what a runtime must decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Defects of the contract")]
#[serde(transparent)]
pub struct Defects(pub Vec<Defect>);

/// Clauses of the contract, or of the agent profile.
pub const CONTRACT_LEDGER: Kind = Kind::of::<Ledger>("contract-ledger", ledgers)
    .place("contract-tests/ledger/*.yaml, contract-tests/agent/ledger/*.yaml")
    .known_by(Marks { paths: &[], keys: &["id", "column", "level", "source"] });

/// The contract's own matrix and checklist.
pub const CONTRACT_CLAIMS: Kind = Kind::of::<Claims>("contract-claims", claims)
    .place("contract-tests/claims.yaml")
    .known_by(Marks { paths: &[], keys: &["edition", "claims", "checklist"] });

/// Where the contract contradicts itself.
pub const CONTRACT_DEFECTS: Kind = Kind::of::<Defects>("contract-defects", defects)
    .place("contract-tests/defects.yaml")
    .known_by(Marks { paths: &[], keys: &["id", "problem", "cost", "proposal"] });

/// A row of a ledger, as an example.
pub(in crate::conform) fn clause() -> Value {
    json!({
        "id": "EXIT-003",
        "column": "exit-codes",
        "level": "MUST",
        "source": ["table"],
        "sections": ["Standard Exit Codes"],
        "text": "A phase that ends with 1 is started again.",
        "how": "A drawn phase ends with 1, then 0."
    })
}

fn ledgers() -> Vec<Value> {
    vec![json!([clause()])]
}

fn claims() -> Vec<Value> {
    let claim = json!({"runtime": "Somebody's", "cells": {"exit-codes": "Full", "escalation": "Manual"}});
    let item = json!({"section": "exit-codes", "item": "Code 1 is retried", "clauses": ["EXIT-003"]});
    vec![json!({"edition": "runtime contract 1.13.0", "claims": [claim], "checklist": [item]})]
}

fn defects() -> Vec<Value> {
    vec![json!([{
        "id": "C-01",
        "title": "Three retries, or three attempts",
        "sections": ["Standard Exit Codes"],
        "problem": "The table counts retries, the example attempts.",
        "cost": "One start more or less.",
        "proposal": "At most three retries, which makes four starts."
    }])]
}
