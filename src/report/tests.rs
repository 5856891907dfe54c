//! Snapshots of every format.
