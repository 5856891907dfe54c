//! An event with its place among the others.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Event;

/// The newest version of the events, carried by every envelope. Version 1 was the history of the first programs.
pub const EVENT_VERSION: u32 = 2;

/// An event, when it happened, and where it stands in the journal of its execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Version of the vocabulary: 2.
    pub version: u32,
    /// Its number within the execution, from 1, without gaps.
    pub seq: u64,
    /// When it happened. Within an execution times never go back.
    pub at: Timestamp,
    /// The epoch of its writer: it rises with every claim on the execution.
    pub epoch: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// An event that was recorded before there was a journal: it has a time and no number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dated {
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}
