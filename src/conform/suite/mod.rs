//! The suite: ledger, claims, cases and bundled runtimes, embedded in the program or read from a folder, checked against
//! their schemas and against one another before anything is run.

mod advice;
mod bundle;
mod candidate;
mod kinds;
mod lint;
mod load;

pub use advice::FILL_IN;
pub use bundle::{Files, SuiteReadError, line_hash, variant_folder};
pub(super) use bundle::{Limits, hash_of, sha256, walk};
pub use candidate::{Candidate, CandidateError};
pub use kinds::{
    ADAPTER_ANSWER, ADAPTER_ASK, AGENT_CASE, AGENT_MANIFEST, BASELINE, CONFORMANCE_REPORT, CONTRACT_CASE,
    CONTRACT_CLAIMS, CONTRACT_DEFECTS, CONTRACT_LEDGER, Defects, RUNTIME_MANIFEST, conform_kinds,
};
pub(super) use load::matches;
pub use load::{Finding, Suite};
