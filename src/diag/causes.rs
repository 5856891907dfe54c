//! An error and what caused it.

use std::error::Error;
use std::iter::successors;

/// An error with its causes, in one line.
#[must_use]
pub fn in_one_line(error: &dyn Error) -> String {
    let causes = successors(Some(error), |&error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ").split_whitespace().collect::<Vec<_>>().join(" ")
}
