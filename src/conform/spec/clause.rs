//! One row of the ledger: a normative sentence of the contract, in our words, with its level and its legal readings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contract::vocabulary;

vocabulary! {
    /// A column of a matrix. The first four are the contract's Compatibility Matrix, `features` stands beside it; the last
    /// four are the agent profile's. Which profile a column belongs to: [`Column::profile`].
    pub enum Column ("column") {
        /// Exit Codes.
        ExitCodes = "exit-codes",
        /// Checkpoints.
        Checkpoints = "checkpoints",
        /// Context Signals.
        ContextSignals = "context-signals",
        /// Escalation.
        Escalation = "escalation",
        /// Anthropic Context Features: scored, but no column of the matrix.
        Features = "features",
        /// Agents: what their end says.
        ExitStatus = "exit-status",
        /// Agents: whether a run can be found again.
        Sessions = "sessions",
        /// Agents: whether it can be told how full the context is.
        Context = "context",
        /// Agents: whether whoever started it stays its master.
        Control = "control",
    }
}

vocabulary! {
    /// What is judged, at which boundary. Two profiles never stand in one table.
    pub enum ProfileName ("profile") {
        /// Anything that executes phases, by the runtime contract.
        Runtime = "runtime",
        /// A coding agent's command line, at its own boundary.
        Agent = "agent",
    }
}

impl Column {
    /// The profile that it belongs to.
    #[must_use]
    pub fn profile(self) -> ProfileName {
        match self {
            Self::ExitCodes | Self::Checkpoints | Self::ContextSignals | Self::Escalation | Self::Features => {
                ProfileName::Runtime
            }
            Self::ExitStatus | Self::Sessions | Self::Context | Self::Control => ProfileName::Agent,
        }
    }

    /// The columns of a profile's matrix, in order; features are scored beside it.
    pub fn of(profile: ProfileName) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |column| column.profile() == profile && *column != Self::Features)
    }
}

vocabulary! {
    /// How binding a clause is. The contract has no such words: levels are ours.
    pub enum Level ("level") {
        /// Tables, checklists and required fields.
        Must = "MUST",
        /// "Should", and rows whose only source is an example implementation.
        Should = "SHOULD",
        /// "May".
        May = "MAY",
        /// Our reading of a gap; scored apart from the contract's own sentences.
        Ext = "EXT",
    }
}

vocabulary! {
    /// Where in the contract a clause stands.
    pub enum Source ("source") {
        /// A table.
        Table = "table",
        /// The Implementation Checklist.
        Checklist = "checklist",
        /// A type definition.
        Type = "type",
        /// Running text.
        Prose = "prose",
        /// An example implementation or an example document.
        Example = "example",
        /// Nowhere: a gap that somebody must read somehow.
        Gap = "gap",
        /// Nowhere in the contract: this project's own demand on coding agents.
        Profile = "profile",
    }
}

vocabulary! {
    /// When a clause binds at all.
    pub enum Condition ("condition") {
        /// Always.
        Always = "always",
        /// Once the runtime emits the thing.
        Emitted = "emitted",
        /// Once the manifest claims the feature.
        Claimed = "claimed",
    }
}

/// A row of `contract-tests/ledger/<column>.yaml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clause {
    /// Identifier, such as `EXIT-004`; never reused.
    pub id: String,
    /// The column that it counts for.
    pub column: Column,
    /// How binding it is.
    pub level: Level,
    /// When it binds.
    #[serde(default = "always")]
    pub when: Condition,
    /// Where it stands; the first is the strongest.
    pub source: Vec<Source>,
    /// Headings of the contract under which it stands.
    pub sections: Vec<String>,
    /// The clause, in our words.
    pub text: String,
    /// SHA-256 in hex of each line of the contract that it rests on, white space folded; empty for gaps.
    #[serde(default)]
    pub lines: Vec<String>,
    /// What counts as keeping it where the text can be read in more than one way.
    #[serde(default)]
    pub readings: Vec<Reading>,
    /// Clauses without which this one cannot be judged.
    #[serde(default)]
    pub presupposes: Vec<String>,
    /// How it is tested; exactly one of `how` and `untested` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// Why no case tests it yet, or ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
}

/// A legal reading of an ambiguous clause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Identifier of the contradiction, such as `C-01`, with a letter where it has several readings: `C-01b`.
    pub id: String,
    /// The reading, in our words.
    pub text: String,
    /// Whether `loa-run` reads it so.
    #[serde(default)]
    pub ours: bool,
    /// Whether a runtime that reads it so gets a warning beside its pass.
    #[serde(default)]
    pub warns: bool,
}

fn always() -> Condition {
    Condition::Always
}
