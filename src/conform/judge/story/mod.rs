//! Stories: whole nights that are drawn under the seed, in which several things go wrong one after the other, and a small
//! model of the contract that says what a lawful runtime may do next. A case of the suite asks one thing of one scene; a
//! story asks everything that the model knows of whatever came up.

mod broken;
mod deeds;
mod documents;
mod guide;
mod jury;
mod left;
mod model;
mod mutant;
mod player;
mod report;
mod script;
mod shrink;
mod state;
#[cfg(test)]
mod tests;
mod turn;
mod words;

pub use broken::Broken;
pub use guide::Guide;
pub use jury::{Caught, Fate, Jury};
pub(super) use model::{Finding, findings};
pub use mutant::{Mutant, Story};
pub use shrink::shrunk;
pub use words::{Cause, Deed, Field, Which};
