//! Every expectation, held against observations that keep it, break it, and do not show it.

mod checkpoints;
mod context;
mod endings;
mod features;
mod phases;
mod reports;
mod rules;
mod scene;
