//! What Loa remembers between sessions (Memory Schema): entries in `grimoires/loa/memory/`, which a runtime may read.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::vocabulary;

/// A file of memories: one entry, or a list of entries as the five files of the folder hold them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Memory")]
#[serde(untagged)]
pub enum MemoryDocument {
    /// A list of entries.
    Entries(Vec<MemoryEntry>),
    /// One entry.
    Entry(Box<MemoryEntry>),
}

vocabulary! {
    /// What kind of memory it is.
    pub enum MemoryCategory ("memory category") {
        /// Something that holds.
        Fact = "fact",
        /// Something that was decided.
        Decision = "decision",
        /// Something that was learnt.
        Learning = "learning",
        /// Something that went wrong.
        Error = "error",
        /// Something that somebody prefers.
        Preference = "preference",
    }
}

impl MemoryCategory {
    /// The file of the folder that holds the entries of this category.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Fact => "facts",
            Self::Decision => "decisions",
            Self::Learning => "learnings",
            Self::Error => "errors",
            Self::Preference => "preferences",
        }
    }

    /// The least confidence that an entry of this category has, from 0 to 1.
    #[must_use]
    pub fn least_confidence(self) -> f64 {
        match self {
            Self::Decision => 0.9,
            Self::Fact => 0.8,
            Self::Learning => 0.7,
            Self::Error => 0.6,
            Self::Preference => 0.5,
        }
    }
}

vocabulary! {
    /// Why an entry was put away.
    pub enum ArchiveReason ("archive reason") {
        /// Its time was over.
        Expired = "expired",
        /// Another entry took its place.
        Superseded = "superseded",
        /// Somebody wanted it.
        Manual = "manual",
        /// It did not help.
        Ineffective = "ineffective",
    }
}

/// One memory. Unknown keys are tolerated: the format is Loa's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryEntry {
    /// `MEM-`, the date, and a number of that day.
    #[schemars(regex(pattern = "^MEM-[0-9]{8}-[0-9]{3}$"))]
    pub id: String,
    /// What kind of memory.
    pub category: MemoryCategory,
    /// What is remembered.
    #[schemars(length(min = 1, max = 2000))]
    pub content: String,
    /// The same in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub summary: Option<String>,
    /// How sure, from 0 to 1; 0.8 when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub confidence: Option<f64>,
    /// Where it comes from.
    pub source: MemorySource,
    /// How long it is kept: days with a `d`, or `permanent`; 30 days when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^([0-9]+d|permanent)$"))]
    pub ttl: Option<String>,
    /// When it stops to hold, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The entry that it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^MEM-[0-9]{8}-[0-9]{3}$"))]
    pub supersedes: Option<String>,
    /// The entry that replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^MEM-[0-9]{8}-[0-9]{3}$"))]
    pub superseded_by: Option<String>,
    /// Entries that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = "^MEM-[0-9]{8}-[0-9]{3}$")))]
    pub related_memories: Vec<String>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = "^[a-z0-9-]+$")))]
    pub tags: Vec<String>,
    /// How often it helped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effectiveness: Option<MemoryEffectiveness>,
    /// Whether it was put away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// When it was put away, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
    /// Why it was put away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive_reason: Option<ArchiveReason>,
}

/// Where a memory comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemorySource {
    /// The session.
    pub session_id: String,
    /// When, RFC 3339.
    pub timestamp: Timestamp,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// In which phase; Loa's own words, which are not the contract's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// From which file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    /// From which lines of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9]+-[0-9]+$"))]
    pub line_range: Option<String>,
}

/// How often a memory helped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryEffectiveness {
    /// How often it was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applications: Option<u64>,
    /// How often that went well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successes: Option<u64>,
    /// From 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub score: Option<f64>,
    /// When it was applied last, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied: Option<Timestamp>,
}
