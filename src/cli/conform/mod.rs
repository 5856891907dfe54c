//! `loa-conform`: judges runtimes, and shows what they are judged by.

mod args;
mod data;
mod decision;
mod main;
mod measured;
mod model;
mod pages;
mod progress;
mod readme;
mod report;
mod score;
mod suite;

pub use main::judge;
