//! Documents with spans, diagnostics about them, and one renderer a format.
//!
//! Level 1 of the house: it reads YAML and JSON, and knows nothing of the contract or of any schema. A document is read
//! into a tree whose every value and key knows where it stands ([`Document`]), under a [`Budget`] that bounds what a
//! hostile file can cost. What is wrong with a document is a [`Diagnostic`]: a value without the text, so that one finding
//! can be printed for people ([`render::full`]) and for machines ([`render::json`]).

mod budget;
mod causes;
mod diagnostic;
mod document;
mod fix;
mod node;
mod place;
mod read;
pub mod render;
mod suggest;

pub use budget::{Budget, Limit};
pub use causes::in_one_line;
pub use diagnostic::{Diagnostic, Related, Severity};
pub use document::{Document, Format, tokens};
pub use fix::{Edit, Fix};
pub use node::{Entry, Node, Value};
pub use place::{Place, Span};
pub use read::{Read, documents};
pub use suggest::closest;
