//! Renderers: one value, one file a format.
//!
//! What was found in a file is a [`Checked`]; a [`Shape`] names a format and makes its [`Renderer`], which is handed one
//! file after the other and then the [`Summary`]. A renderer only formats: it knows no terminal, no file and no exit code.
//! Whatever comes from a document is made harmless first, so that a key that holds an escape sequence or a line end writes
//! into nobody's terminal and nobody's log.

mod concise;
mod full;
mod github;
mod json;
mod json_lines;
mod junit;
mod renderer;
mod sarif;
mod shape;
mod source;
mod text;

pub use full::{all, full};
pub use github::annotation;
pub use json::json;
pub use renderer::{Checked, Renderer, RuleWords, Summary, Tool, Unread};
pub use shape::Shape;
pub use source::Source;

#[cfg(test)]
mod tests;
