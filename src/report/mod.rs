//! Renderers: one report value, one file a format, for what the judge measured; `run` is the report of an execution. They only
//! format; nothing is judged, counted anew or printed here.

mod json;
mod markdown;
pub mod run;
mod table;
mod terminal;
#[cfg(test)]
mod tests;

pub use json::json;
pub use markdown::{README_BLOCKS, markdown, readme, readme_block};
pub use terminal::{red, terminal};
