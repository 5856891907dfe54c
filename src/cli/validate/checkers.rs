//! The checkers of one call: each kind is made ready when its first document comes.

use std::sync::OnceLock;

use crate::schema::{Checker, Kind, Reading};

/// Kinds and, once they were asked for, their checkers.
#[derive(Debug)]
pub(super) struct Checkers {
    kinds: Vec<Kind>,
    ready: Vec<OnceLock<Checker>>,
    reading: Reading,
}

impl Checkers {
    pub(super) fn new(kinds: &[Kind], reading: Reading) -> Self {
        Self { kinds: kinds.to_vec(), ready: kinds.iter().map(|_| OnceLock::new()).collect(), reading }
    }

    pub(super) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The checker of a kind by its name.
    pub(super) fn of(&self, name: &str) -> &Checker {
        let at = self.kinds.iter().position(|kind| kind.name() == name).expect("only kinds of the list are asked for");
        self.ready[at].get_or_init(|| Checker::new(&self.kinds[at]).reading(self.reading))
    }
}
