//! An evidence bundle: a report, everything that was seen, and what it was judged by, so that every verdict can be computed
//! again offline.
//!
//! A bundle is a folder: `contents.json` (a hash for every other file), `report.json`, `suite/` (ledger, claims and cases),
//! `manifests/<name>.yaml`, and `evidence/<name>/<case>-<n>.json`, the n-th time that a scenario was done. Redaction comes
//! before judging, so that what is stored is what was judged.

mod contents;
mod discrepancy;
mod exhibit;
mod recorder;
mod replay;
#[cfg(test)]
mod tests;
mod verification;

pub use contents::{Bundle, BundleError};
pub use discrepancy::{Discrepancy, Flaw};
pub use exhibit::Exhibit;
pub use recorder::Recorder;
pub use verification::{Verification, verify};
