//! The suite: ledger, claims, cases and bundled runtimes, embedded in the program or read from a folder, checked against
//! their schemas and against one another before anything is run.

mod bundle;
mod candidate;
mod kinds;
mod lint;
mod load;

pub(super) use bundle::hash_of;
pub use bundle::{Files, SuiteReadError, line_hash};
pub use candidate::{Candidate, CandidateError};
pub use kinds::{
    AGENT_CASE, AGENT_MANIFEST, CONFORMANCE_REPORT, CONTRACT_CASE, CONTRACT_CLAIMS, CONTRACT_DEFECTS, CONTRACT_LEDGER,
    Defects, RUNTIME_MANIFEST, conform_kinds,
};
pub use load::{Finding, Suite};
