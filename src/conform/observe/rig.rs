//! The rig: from a case and a manifest to an observation. It judges nothing.

use std::io;
use std::path::{Path, PathBuf};

use tokio::runtime::{Builder, Runtime};

use super::driver::{self, Identity, RigOptions};
use super::{AgentObservation, Observation, Seen};
use crate::conform::spec::{AgentCase, AgentManifest, Case, Manifest};

/// Does what a case says to the runtime of a manifest, and says what was seen. `dir` is the manifest's own folder.
///
/// Blocks until the case is over and everything that it started has ended; may be called on several threads at once. Never
/// fails: a fault of the rig itself is [`Observation::rig_error`].
#[must_use]
pub fn observe(case: &Case, manifest: &Manifest, dir: &Path, options: &RigOptions) -> Observation {
    match runtime() {
        Ok(runtime) => runtime.block_on(driver::trial(case, manifest, dir, options)),
        Err(problem) => Observation { rig_error: Some(problem), ..Observation::default() },
    }
}

/// Which program a manifest stands for: looks it up beside the judge and on PATH, makes it by the manifest's `build` when
/// it is nowhere, and asks for its version. Blocks; once a runtime is enough.
#[must_use]
pub fn identify(manifest: &Manifest, dir: &Path, judge: &Path) -> Identity {
    match runtime() {
        Ok(runtime) => runtime.block_on(driver::identify(manifest, dir, judge)),
        Err(problem) => Identity { problem: Some(problem.into()), ..Identity::default() },
    }
}

/// How cases are run against agents.
#[derive(Debug, Clone)]
pub struct AgentRig {
    /// As for runtimes; every step has a limit of its own instead of the budget.
    pub options: RigOptions,
    /// The folder that is looked into for an agent's program, before PATH.
    pub programs: PathBuf,
}

impl AgentRig {
    /// The rig with these options and this folder of programs.
    #[must_use]
    pub fn new(options: RigOptions, programs: PathBuf) -> Self {
        Self { options, programs }
    }

    /// Does what a case says to the agent of a manifest, and says what was seen; as [`observe`].
    #[must_use]
    pub fn observe(&self, case: &AgentCase, manifest: &AgentManifest, dir: &Path) -> AgentObservation {
        match runtime() {
            Ok(runtime) => runtime.block_on(driver::errands(case, manifest, dir, &self.options, &self.programs)),
            Err(problem) => AgentObservation::broken(&problem),
        }
    }

    /// Which program a manifest stands for, and its version; as [`identify`].
    #[must_use]
    pub fn identify(&self, manifest: &AgentManifest, dir: &Path) -> Identity {
        match runtime() {
            Ok(runtime) => runtime.block_on(driver::identify_agent(manifest, dir, &self.options.judge, &self.programs)),
            Err(problem) => Identity { problem: Some(problem.into()), ..Identity::default() },
        }
    }
}

/// Takes the judge into a network of its own, where agents and scripted models meet and nobody else is: becomes the same
/// program inside. Returns when that has happened, or when it cannot; the rows then say which.
///
/// # Errors
/// When the network is ours, but its loopback device cannot be switched on.
pub fn withdraw() -> io::Result<()> {
    match runtime() {
        Ok(runtime) => runtime.block_on(driver::withdraw()),
        Err(problem) => Err(io::Error::other(problem)),
    }
}

fn runtime() -> Result<Runtime, String> {
    Builder::new_current_thread().enable_all().build().map_err(|error| format!("cannot wait for anything: {error}"))
}
