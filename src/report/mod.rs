//! Renderers: one report value, one file a format, for what the judge measured; `run` is the report of an execution. They only
//! format; nothing is judged, counted anew or printed here.

mod badge;
mod defects;
mod github;
mod html;
mod json;
mod json_lines;
mod junit;
mod markdown;
pub mod run;
mod summary;
mod table;
mod terminal;
#[cfg(test)]
mod tests;

pub use badge::{Badge, Freshness, badges};
pub use defects::defects;
pub use github::github;
pub use html::{Chapter, html, page};
pub use json::json;
pub use json_lines::json_lines;
pub use junit::junit;
pub use markdown::{README_BLOCKS, markdown, readme, readme_block};
pub use summary::summary;
pub use terminal::{red, terminal};
