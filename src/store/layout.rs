//! Every path under a workspace, named once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::contract::{ExecutionId, Phase};
use crate::system::disk::{self, Disk};

/// The paths of one workspace. `.loa-checkpoint/` is the contract's, `.loa-run/` is ours; in both lies nothing that
/// could not be made again.
#[derive(Debug, Clone)]
pub struct Layout {
    workspace: PathBuf,
    disk: Arc<dyn Disk>,
}

impl Layout {
    /// Folders that belong to the run and not to the work.
    pub const OWN: &'static [&'static str] = &[".loa-checkpoint", ".loa-run"];

    /// The paths under `workspace`, which should be absolute: stages are told them.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self::on(disk::host(), workspace)
    }

    /// The paths under a workspace on a disk that need not be this host's.
    pub fn on(disk: Arc<dyn Disk>, workspace: impl Into<PathBuf>) -> Self {
        Self { workspace: workspace.into(), disk }
    }

    /// The disk that the workspace lies on.
    #[must_use]
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The folder that the phases work in.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// `.loa-checkpoint/`.
    #[must_use]
    pub fn checkpoints(&self) -> PathBuf {
        self.workspace.join(".loa-checkpoint")
    }

    /// `.loa-checkpoint/<phase>.yaml`.
    #[must_use]
    pub fn checkpoint(&self, phase: Phase) -> PathBuf {
        self.checkpoints().join(format!("{phase}.yaml"))
    }

    /// `.loa-checkpoint/context-state.yaml`.
    #[must_use]
    pub fn context_state(&self) -> PathBuf {
        self.checkpoints().join("context-state.yaml")
    }

    /// `.loa-checkpoint/operator-type.yaml`.
    #[must_use]
    pub fn operator(&self) -> PathBuf {
        self.checkpoints().join("operator-type.yaml")
    }

    /// `.loa-checkpoint/escalations/`.
    #[must_use]
    pub fn escalations(&self) -> PathBuf {
        self.checkpoints().join("escalations")
    }

    /// `.loa-checkpoint/escalations/<execution>-<n>.<extension>`.
    #[must_use]
    pub fn escalation(&self, execution: &ExecutionId, number: u32, extension: &str) -> PathBuf {
        self.escalations().join(format!("{}.{extension}", execution.call(number)))
    }

    /// `.loa-run/`.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.workspace.join(".loa-run")
    }

    /// `.loa-run/lock`: held while a run works in the workspace, and names who does.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.run().join("lock")
    }

    /// `.loa-run/memories.json`: the memories that the stages of this session are given.
    #[must_use]
    pub fn memories(&self) -> PathBuf {
        self.run().join("memories.json")
    }

    /// `.loa-run/logs/`: copies of what the attempts wrote.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.run().join("logs")
    }

    /// `.loa-run/logs/<phase>-<attempt>.log`.
    #[must_use]
    pub fn log(&self, phase: Phase, attempt: u32) -> PathBuf {
        self.logs().join(format!("{phase}-{attempt}.log"))
    }

    /// `.loa-run/stages/<phase>-<attempt>/`: the files that one attempt of an agent exchanges with us.
    #[must_use]
    pub fn stage(&self, phase: Phase, attempt: u32) -> PathBuf {
        self.run().join("stages").join(format!("{phase}-{attempt}"))
    }

    /// `.loa-run/archive/`: what lay in the workspace of executions that are over.
    #[must_use]
    pub fn archive(&self) -> PathBuf {
        self.run().join("archive")
    }

    /// `.loa-run/archive/<name>/`: what lay in the workspace of one of them.
    #[must_use]
    pub fn archived(&self, name: &str) -> PathBuf {
        self.archive().join(name)
    }
}
