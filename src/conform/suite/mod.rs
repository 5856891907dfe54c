//! The suite: ledger, claims, cases and bundled runtimes, embedded in the program or read from a folder, checked against
//! their schemas and against one another before anything is run.

mod advice;
mod bundle;
mod candidate;
mod kinds;
mod lint;
mod load;
mod selection;
mod variant;

pub use advice::FILL_IN;
pub use bundle::{Files, SuiteReadError, line_hash, variant_folder};
pub(super) use bundle::{Limits, hash_of, sha256, walk};
pub use candidate::{Candidate, CandidateError};
pub(super) use kinds::clause;
pub use kinds::{CONTRACT_CLAIMS, CONTRACT_DEFECTS, CONTRACT_LEDGER, Defects};
pub(super) use load::matches;
pub use load::{Finding, Suite};
pub use selection::Selection;
pub use variant::{Change, Kill, Variant, VariantError};
