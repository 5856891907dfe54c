//! Section `runtime.backends.<name>.docker`: the container that an agent runs in.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Section `runtime.backends.<name>.docker`. The container is there and runs, and the workspace is mounted in it: at its own path
/// where the agent is to find the files by which a stage speaks to the run (`LOA_RESULT_FILE` and its like).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DockerSection {
    /// The container, by name or id.
    #[schemars(length(min = 1))]
    pub container: String,
    /// The user in the container; the container's own without it.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The folder in the container to work in; by default it has the workspace's path.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// The client, by path or by a name to look up in `PATH`; `docker` by default, and `podman` takes the same arguments.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

impl DockerSection {
    /// The client that is started.
    #[must_use]
    pub fn program(&self) -> &str {
        self.program.as_deref().unwrap_or("docker")
    }

    /// The folder in the container to work in.
    #[must_use]
    pub fn workdir<'a>(&'a self, workspace: &'a Path) -> &'a Path {
        self.workdir.as_deref().map_or(workspace, Path::new)
    }
}
