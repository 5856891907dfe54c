//! Every rule that decides: what an exit means, how long to wait, when the context is too full, when to call a human.
//!
//! Level 2 of the house, and pure: no clock, no environment, no I/O, no waiting. What changes (time, counts, random
//! numbers) comes in as arguments, so each rule is a table in a test. The runner acts on the answers; the judge must
//! not know them.

mod backoff;
mod context;
mod effort;
mod execution;
mod exit;
mod invocation;
mod limits;
mod operator;
mod outage;
mod quota;
mod redaction;
mod signature;
mod triggers;

pub use backoff::Backoff;
pub use context::{ContextTracker, NearLimit, Observation, check_limits, percent_of_hard};
pub use effort::effort;
pub use execution::Execution;
pub use exit::StageOutcome;
pub use invocation::{Class, ClassName, Consequence, Repeat, Repeats, next_look};
pub use limits::{Exceeded, Limits, Resource, Taken};
pub use operator::{Surroundings, operator};
pub use outage::{is_outage_code, next_probe};
pub use quota::{Answers, Tally, Usage, Window};
pub use redaction::{RedactedStream, Redactor};
pub use signature::Signature;
pub use triggers::{TriggerCounters, TriggerLimits, trigger_for_failure};
