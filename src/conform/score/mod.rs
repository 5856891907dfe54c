//! From verdicts to a report: who is run when, what a column earns, what is compared with what, and how somebody else can
//! check it. The highest room, which may name all others.

mod baseline;
mod bundle;
mod cell;
mod comparison;
mod conformance;
mod kinds;
mod lane;
mod mutation;
mod proof;
mod proving;
mod reproducer;
mod survey;
mod watched;

pub use baseline::{Baseline, Complaint, KnownRed, Staleness};
pub use bundle::{Bundle, BundleError, Discrepancy, Exhibit, Flaw, Recorder, Verification, verify};
pub use cell::Cell;
pub use comparison::{CellChange, ClauseChange, Comparison, Direction, UnionError};
pub use conformance::{CaseReport, ClauseReport, ConformanceReport, Host, HostLoad, RuntimeReport};
pub use kinds::{BASELINE, CONFORMANCE_REPORT, conform_kinds};
pub use mutation::{Carrier, MutatedClause, Mutation, MutationOptions, Ran, mutate};
pub use proof::{RedCase, Row, differences, shortcomings, table};
pub use proving::{Proof, ProofOptions, ProvingError, Tried, prove};
pub use reproducer::{Dir, Reproducer};
pub use survey::{Listener, Progress, Rig, SurveyOptions, survey};
pub use watched::{Watch, Watched};
