//! One line of a trajectory, Loa's log of what its agents did. Loa describes it in three ways that exclude each other; a
//! line is right here when it is right by any of them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::vocabulary;

/// A line of `grimoires/loa/a2a/trajectory/*.jsonl`: what an agent did, or an event that a script wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Trajectory line")]
#[serde(untagged)]
pub enum TrajectoryLine {
    /// What an agent did.
    Entry(TrajectoryEntry),
    /// What a script saw.
    Event(TrajectoryEvent),
}

/// What an agent did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrajectoryEntry {
    /// When, RFC 3339.
    pub ts: Timestamp,
    /// Who.
    #[schemars(length(min = 1))]
    pub agent: String,
    /// What.
    #[schemars(length(min = 1))]
    pub action: String,
    /// In which phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<TrajectoryPhase>,
    /// How far, as the autonomous agent writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TrajectoryStatus>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TrajectoryOutcome>,
}

/// A phase of the method: by its name, or by its number as the autonomous agent writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TrajectoryPhase {
    /// By number.
    Number(u32),
    /// By name.
    Name(TrajectoryPhaseName),
}

// By hand: one list of types explains itself better than a choice of two schemas.
impl JsonSchema for TrajectoryPhase {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TrajectoryPhase".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let words = TrajectoryPhaseName::WORDS.join("|");
        schemars::json_schema!({
            "type": ["string", "integer"],
            "description": "A phase of the method, by name or by number",
            "pattern": format!("^({words})$"),
            "minimum": 0,
            "maximum": u32::MAX,
        })
    }
}

vocabulary! {
    /// Phases as the trajectory names them; not the contract's eight.
    pub enum TrajectoryPhaseName ("trajectory phase") {
        /// Before any work.
        Init = "init",
        /// What is to be built.
        Discovery = "discovery",
        /// How.
        Design = "design",
        /// In which steps.
        Planning = "planning",
        /// The work itself.
        Implementation = "implementation",
        /// The first look at it.
        Review = "review",
        /// The second.
        Audit = "audit",
        /// Bringing it to its users.
        Deployment = "deployment",
        /// Putting it together.
        Synthesis = "synthesis",
        /// All done.
        Complete = "complete",
        /// Something broke.
        Error = "error",
    }
}

vocabulary! {
    /// How far an action got, as the autonomous agent writes it.
    pub enum TrajectoryStatus ("trajectory status") {
        /// It began.
        Started = "started",
        /// It is done.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// A human was called.
        Escalated = "escalated",
    }
}

/// How an action ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrajectoryOutcome {
    /// In one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TrajectoryResult>,
}

vocabulary! {
    /// How an action ended, in one word.
    pub enum TrajectoryResult ("trajectory outcome") {
        /// Well.
        Success = "success",
        /// In part.
        Partial = "partial",
        /// Not well.
        Failed = "failed",
        /// It could not go on.
        Blocked = "blocked",
        /// It has not ended.
        Pending = "pending",
    }
}

/// What a script saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrajectoryEvent {
    /// When, RFC 3339.
    pub timestamp: Timestamp,
    /// What.
    #[schemars(length(min = 1))]
    pub event: String,
    /// Which family of events.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
}
