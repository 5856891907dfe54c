//! Every kind of document that the programs know; each module that owns a type lists its kinds here, in one line.

use crate::config;
use crate::schema::{Kind, contract_kinds};

/// Every kind of document, in the order in which `loa-validate list` shows them.
#[must_use]
pub fn kinds() -> Vec<Kind> {
    let mut kinds = contract_kinds();
    kinds.push(config::CONFIG);
    kinds
}
