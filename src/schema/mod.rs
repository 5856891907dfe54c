//! Kinds of documents, their schemas, and the check of a document against its kind.
//!
//! A [`Kind`] is a value: a name, a type to generate the schema from, a format, examples and lint rules. The modules that
//! own the types own the kinds; here are those of the contract ([`contract_kinds`]). A [`Checker`] is a kind made ready: it
//! reads, checks by schema, then by rules, and maps every finding to its place in the file. Schema first and types second:
//! a typed read alone accepts what the contract forbids, such as `exit_code: "0"`.

mod artifacts;
mod check;
mod contract;
mod expect;
mod explain;
mod foreign;
mod forms;
mod generate;
mod instance;
mod kind;
mod lint;
mod mend;
mod recognise;
mod rule;
mod rulebook;
mod strangers;
mod together;

pub use check::{Checker, Examined, Reading};
pub use contract::{
    CHECKPOINT, CONTEXT_STATE, ESCALATION_REPORT, EXECUTION_STATE, MEMORY, MESSAGES, OPERATOR_TYPE, PHASE_RESULT,
    RESOLUTION, SIGNAL, TRAJECTORY, contract_kinds,
};
pub use foreign::Foreign;
pub use generate::schema_id;
pub use kind::Kind;
pub use recognise::{Marks, by_content, by_path};
pub use rule::{Example, Explanation, Rule, Sequence, SequenceRule, Subject};
pub use rulebook::schema_rules;
pub use strangers::misspelt_keys;
pub use together::{Trace, together};

#[cfg(test)]
mod tests;
