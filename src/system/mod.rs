//! The only door to the host: clock, environment, ids, files, locks, processes, git.
//!
//! Level 1 of the house: everything above asks here, so that a decision never reads a clock and a write never forgets
//! to reach the disk. It knows nothing of the contract. Clippy refuses the host's own functions everywhere else.

pub mod beneath;
pub mod boundary;
pub mod clock;
pub mod disk;
pub mod env;
pub mod file_watch;
pub mod files;
pub mod git;
pub mod guard;
pub mod ids;
pub mod isolation;
pub mod keys;
pub mod load;
pub mod lock;
pub mod orphans;
pub mod output;
pub mod pipe;
pub mod process;
pub mod rewrite;
pub mod scratch;
pub mod service_manager;
pub mod signals;
pub mod sleep;
pub mod sweep;
pub mod tree;
pub mod usage;
pub mod webhook;
