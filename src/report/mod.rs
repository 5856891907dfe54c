//! Renderers: one report value, one file a format. They only format; nothing is judged, counted anew or printed here.

mod json;
mod markdown;
mod table;
mod terminal;
#[cfg(test)]
mod tests;

pub use json::json;
pub use markdown::{README_BLOCKS, markdown, readme, readme_block};
pub use terminal::{red, terminal};
