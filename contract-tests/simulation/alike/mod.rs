//! The simulated ports do what the host's do: whatever is done to both, both say the same.

mod disk;
mod process;
