//! Every kind of document that the programs know; each module that owns a type lists its kinds here, in one line.

use crate::conform::score::conform_kinds;
use crate::schema::{Kind, contract_kinds};
use crate::{config, events, runner};

/// Every kind of document, in the order in which `loa-validate list` shows them.
#[must_use]
pub fn kinds() -> Vec<Kind> {
    [contract_kinds(), vec![config::CONFIG, runner::PLAN, runner::RESOLUTION, events::AGENT_EVENT], conform_kinds()]
        .concat()
}
