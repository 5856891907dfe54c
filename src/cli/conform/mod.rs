//! `loa-conform`: judges runtimes, and shows what they are judged by.

mod args;
mod bundle;
mod data;
mod decision;
mod main;
mod model;
mod progress;
mod readme;
mod score;
mod stored;
mod suite;
mod trace;

pub use main::judge;
