//! Pictures as SVG, from plain values.
//!
//! Level 1 of the house: it knows nothing of the contract. A picture is a value; drawing it is a pure function of it.
//! Colours are named by classes and come from [`STYLE`], which knows a light and a dark form of each.

mod scale;
mod text;
mod timeline;

pub use text::{moment, span};
pub use timeline::{Bar, Break, Lane, Link, Mark, Timeline, Tone};

/// The style sheet that every picture needs: one rule a class, light by default and dark where the reader prefers it.
pub const STYLE: &str = include_str!("style.css");
