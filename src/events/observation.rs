//! What is seen while a stage runs and is not journaled.

use serde::Serialize;

use super::AgentActivity;
use crate::contract::Phase;
use crate::system::process::Piece;

/// Something seen while a stage runs. It is not journaled: the log of the attempt holds the output, and the stream of
/// observations the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "observation", rename_all = "snake_case")]
pub enum Observation {
    /// A stage wrote something, without its secrets.
    Output {
        /// The phase.
        phase: Phase,
        /// What it wrote, and where.
        #[serde(skip)]
        piece: Piece,
    },
    /// The stage or its agent said how many tokens its context holds.
    Usage {
        /// The phase.
        phase: Phase,
        /// Tokens in its context.
        tokens: u64,
    },
    /// The agent of a phase did something that decides nothing: `turn`, `said` or `retrying`.
    Agent {
        /// The phase.
        phase: Phase,
        /// What it did.
        agent: AgentActivity,
    },
}
