//! Section `runtime.boundary`: what keeps stages from the state of runs and from the processes of the host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Section `runtime.boundary`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BoundarySection {
    /// Whether stages run behind a boundary, where the state of runs is not there and no process of the host can be seen:
    /// `auto` where the host can make one, `required` or not at all, `off` without one.
    pub mode: BoundaryMode,
    /// How long what a stage leaves running may live: until the `stage` ends, or the `run`.
    pub lifetime: Lifetime,
}

/// Whether there is a boundary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BoundaryMode {
    /// There is none.
    Off,
    /// Where the host can make one; else the run says that there is none.
    #[default]
    Auto,
    /// Where the host cannot make one, nothing runs.
    Required,
}

/// How long what a stage leaves running may live.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Lifetime {
    /// Until its attempt is over.
    #[default]
    Stage,
    /// Until the session of the run is over: a database that `preflight` starts for later phases.
    Run,
}
