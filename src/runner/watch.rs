//! What can stop a run from outside while it waits: signals, a request to halt, its own time.

use std::time::Duration;

use jiff::Timestamp;

use crate::system::process::{Interrupt, Interrupts};

/// How often a waiting run looks at its files and clocks.
pub(super) const TICK: Duration = Duration::from_millis(20);

/// Why a run stops in the middle of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// A signal came.
    Interrupted(Interrupt),
    /// Somebody asked for it from another process.
    Halted,
    /// The run took as long as it may.
    RunTimeout,
    /// The context stayed at its hard limit.
    Overflow,
    /// A provider's limit is reached, and waiting for its reset would take longer than the run may wait.
    OutOfPatience(Option<Timestamp>),
    /// Somebody stopped the agent.
    Cancelled,
}

/// Waits for a signal or for the next tick, at most `left`.
pub(super) async fn signal_or_tick(interrupts: &mut Interrupts, left: Duration) -> Option<Stop> {
    tokio::select! {
        interrupt = interrupts.next() => Some(Stop::Interrupted(interrupt)),
        () = tokio::time::sleep(TICK.min(left)) => None,
    }
}
