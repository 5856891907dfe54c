//! `loa-conform`: judges runtimes, and shows what they are judged by.

mod args;
mod baseline;
mod bundle;
mod candidates;
mod compare;
mod data;
mod decision;
mod doctor;
mod explain;
mod explore;
mod main;
mod measured;
mod model;
mod mutants;
mod new;
mod pages;
mod progress;
mod readme;
mod report;
mod repro;
mod score;
mod skeleton;
mod stability;
mod stored;
mod suite;
mod trace;
mod variants;

pub use main::judge;
