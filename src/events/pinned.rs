//! What an execution was begun with, and goes on with whatever phases write.

use std::path::{Path, PathBuf};

use base16ct::lower::encode_string;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A file that the settings or the plan of an execution come from, as it was when it was taken for this execution. What
/// stood in it may hold secrets, and is kept with the state, not here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFile {
    /// What it is to the run.
    pub role: PinnedRole,
    /// Where it was: relative to the workspace, when it lay there.
    pub path: PathBuf,
    /// The digest of what stood in it, as [`PinnedFile::digest`] makes it; absent where there was no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// What a file is to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinnedRole {
    /// The workspace's configuration.
    Configuration,
    /// The user's own configuration.
    UserConfiguration,
    /// The file of an older program's home.
    OldHome,
    /// The file of an older program in the workspace.
    OldProject,
    /// The plan.
    Plan,
    /// A script that the command of a phase starts.
    Command,
    /// A script that a gate starts.
    Gate,
    /// A file that is named by `runtime.protects`.
    Protected,
    /// Something that a newer program pins.
    #[serde(other)]
    Other,
}

/// Whether an execution may go on with a configuration that asks for less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeakerQuestion {
    /// What names exactly that configuration.
    pub code: String,
    /// Somebody agreed to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agreed: bool,
}

impl PinnedFile {
    /// SHA-256 of a text, in hexadecimal digits.
    #[must_use]
    pub fn digest(text: impl AsRef<[u8]>) -> String {
        encode_string(&Sha256::digest(text))
    }

    /// Whether settings or a plan are read from it, so that an execution goes on with what stood in it. Of other files it is
    /// only said when they change.
    #[must_use]
    pub fn is_read(&self) -> bool {
        !matches!(self.role, PinnedRole::Command | PinnedRole::Gate | PinnedRole::Protected)
    }

    /// Where it is now, for a workspace that may have moved.
    #[must_use]
    pub fn place(&self, workspace: &Path) -> PathBuf {
        workspace.join(&self.path)
    }
}
