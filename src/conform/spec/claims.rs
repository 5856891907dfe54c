//! The contract's own word on who keeps it: its Compatibility Matrix and its Implementation Checklist, as data
//! (`contract-tests/claims.yaml`). Every report sets them beside what was measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Column;
use crate::contract::vocabulary;

/// `contract-tests/claims.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Claims of the contract")]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The edition of the contract that ledger, claims and checklist are about.
    pub edition: String,
    /// The rows of the Compatibility Matrix.
    pub claims: Vec<Claim>,
    /// The boxes of the Implementation Checklist.
    pub checklist: Vec<ChecklistItem>,
}

/// One row of the Compatibility Matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The runtime, as the contract names it.
    pub runtime: String,
    /// The manifest whose row is set beside it; absent while nothing can be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// What the contract says.
    pub cells: BTreeMap<Column, ClaimWord>,
}

/// One box of the Implementation Checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChecklistItem {
    /// The column whose heading it stands under.
    pub section: Column,
    /// The item, in our words.
    pub item: String,
    /// The clauses that must all have passed for a tick.
    #[schemars(length(min = 1))]
    pub clauses: Vec<String>,
}

vocabulary! {
    /// A word of the contract's Compatibility Matrix.
    pub enum ClaimWord ("claim") {
        /// All of it.
        Full = "Full",
        /// Some of it.
        Partial = "Partial",
        /// By hand.
        Manual = "Manual",
        /// Nothing.
        None = "None",
        /// No claim: left to whoever builds it.
        Implement = "Implement",
    }
}
