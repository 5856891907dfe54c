//! Loa's runtime contract, executed, validated and measured.

pub mod cli;
pub mod config;
pub mod conform;
pub mod contract;
pub mod diag;
pub mod policy;
pub mod report;
pub mod runner;
pub mod schema;
pub mod store;
pub mod system;
