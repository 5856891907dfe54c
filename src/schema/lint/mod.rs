//! Rules that a schema cannot say, of the contract's own documents.

mod checkpoint;
mod execution;
mod ids;
mod memory;
mod message;
mod trajectory;

pub(super) use checkpoint::{EXIT_CODE_AGAINST_ERRORS, PHASE_PREFIX, SKIP_WITHOUT_DECISION, STEM_EQUALS_PHASE};
pub(super) use execution::ONE_EXECUTION;
pub(super) use ids::IDS_UNIQUE;
pub(super) use memory::{MEMORY_CONFIDENCE, MEMORY_DATE, MEMORY_FILE, MEMORY_LIFETIME};
pub(super) use message::{MESSAGE_ORDER, PARTIAL_RANGE};
pub(super) use trajectory::TIME_ORDER;
