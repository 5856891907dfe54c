//! `loa-conform`: judges runtimes, and shows what they are judged by.

mod args;
mod baseline;
mod bundle;
mod candidates;
mod compare;
mod data;
mod decision;
mod doctor;
mod main;
mod model;
mod progress;
mod readme;
mod repro;
mod score;
mod skeleton;
mod stability;
mod stored;
mod suite;
mod trace;

pub use main::judge;
