//! Kinds of documents, their schemas, and the check of a document against its kind.
//!
//! A [`Kind`] is a value: a name, a type to generate the schema from, a format, examples and lint rules. The modules that
//! own the types own the kinds; here are those of the contract ([`contract_kinds`]). A [`Checker`] is a kind made ready: it
//! reads, checks by schema, then by rules, and maps every finding to its place in the file. Schema first and types second:
//! a typed read alone accepts what the contract forbids, such as `exit_code: "0"`.

mod check;
mod contract;
mod expect;
mod explain;
mod forms;
mod generate;
mod kind;
mod lint;

pub use check::Checker;
pub use contract::{
    CHECKPOINT, CONTEXT_STATE, ESCALATION_REPORT, EXECUTION_STATE, OPERATOR_TYPE, PHASE_RESULT, SIGNAL, contract_kinds,
};
pub use generate::schema_id;
pub use kind::{Kind, Rule, Subject};

#[cfg(test)]
mod tests;
