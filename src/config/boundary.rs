//! Section `runtime.boundary`: what keeps stages from the state of runs and from the processes of the host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Section `runtime.boundary`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BoundarySection {
    /// Whether stages run behind a boundary, where the state of runs is not there and no process of the host can be seen:
    /// `auto` where the host can make one, `required` or not at all, `strict` without known
    /// ways out besides, `off` without one.
    pub mode: BoundaryMode,
    /// How long what a stage leaves running may live: until the `stage` ends, or the `run`.
    pub lifetime: Lifetime,
    /// The network of stages: that of the `host`, `none` but a loopback of their own, or besides that a `gateway` alone. Where it
    /// cannot be had, nothing runs.
    pub network: Network,
    /// Where the gateway is: `unix:` and the absolute path of a socket, or an address of loopback with its port, such as
    /// `127.0.0.1:8080`. Stages reach it as the proxy that `HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY` name.
    #[schemars(regex(pattern = GATEWAY))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
}

/// What an address of a gateway looks like.
const GATEWAY: &str = r"^(unix:/.+|127\.[0-9.]+:[0-9]{1,5}|\[::1\]:[0-9]{1,5})$";

/// What network there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// One of its own, with a loopback and nothing else.
    None,
    /// The same, and one way out: the gateway that the configuration names.
    Gateway,
    /// That of the host.
    #[default]
    Host,
}

impl Network {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gateway => "gateway",
            Self::Host => "host",
        }
    }
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
    /// The same, and known ways out of it are taken away: the buses of the system and of the user, the sockets of docker and
    /// podman, of tmux, screen and editors, displays, and the spools of cron and at.
    Strict,
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
