//! The judge: drives any runtime as a black box and scores it, clause by clause.
//!
//! Level 6 of the house, but it may name only `text`, `contract`, `diag`, `draw`, `schema` and `system`: it shares the contract's
//! words with the runner, never its rules, its configuration, its store or its code.
//!
//! Six rooms, each of which names only those above it in this list:
//!
//! - [`model`]: a scripted model, for agents to talk to.
//! - [`spec`]: what is judged.
//! - [`suite`]: ledger, cases and candidates, read and checked.
//! - [`observe`]: a case is run, and what is seen of it.
//! - [`judge`]: what that proves.
//! - [`score`]: what all of it comes to.

pub mod judge;
pub mod model;
pub mod observe;
pub mod score;
pub mod spec;
pub mod suite;
