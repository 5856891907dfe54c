//! The scratch place: a repository with a task, a scripted agent and a configuration, and the state of its runs beside it.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cli::{ExitStatus, Failure};
use crate::config::FILE_NAME;
use crate::system::scratch::{self, ScratchError};
use crate::system::{env, files};

const CONFIG: &str = include_str!("config.yaml");
const TASK: &str = "Write greet.sh. `sh ./greet.sh Ada` prints: Hello, Ada!\n";
/// Beside the configuration, whose state folder is known only now.
const FILES: [(&str, &str); 4] = [
    ("TASK.md", TASK),
    ("agent.sh", include_str!("agent.sh")),
    ("check.sh", include_str!("check.sh")),
    (".gitignore", ".loa-checkpoint/\n.loa-run/\n"),
];

/// Where it all happens.
pub(super) struct Place {
    folder: PathBuf,
    /// Removed with everything in it, unless it is kept.
    temporary: Option<TempDir>,
}

impl Place {
    /// A folder below the host's for temporary files, or the one that is named, which must be new or empty.
    pub(super) fn make(named: Option<&Path>, keep: bool) -> Result<Self, Failure> {
        let failed = |error: ScratchError| Failure::new(ExitStatus::WriteFailed, error);
        let Some(named) = named else {
            let elsewhere = "make the folder that TMPDIR names, or name another; or `loa-run try --into DIR`";
            let made = scratch::folder("loa-run-try-");
            let temporary = made.map_err(|error| failed(error).hint(elsewhere))?;
            let folder = temporary.path().to_path_buf();
            let mut place = Self { folder, temporary: Some(temporary) };
            if keep {
                place.keep();
            }
            return Ok(place);
        };
        let in_the_way = named.exists() && !(named.is_dir() && files::list(named).is_ok_and(|there| there.is_empty()));
        if in_the_way {
            let failure = Failure::new(ExitStatus::Usage, InTheWay(named.display().to_string()));
            return Err(failure.hint("name a folder that does not exist yet: nothing is overwritten"));
        }
        files::ensure_folder(named).map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
        let folder = named.canonicalize().unwrap_or_else(|_| named.to_path_buf());
        Ok(Self { folder, temporary: None })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The repository.
    pub(super) fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// What its commands see in place of the user's own: nobody's hooks are called, and no run of theirs is met.
    pub(super) fn environment(&self) -> (Vec<String>, [(&'static str, PathBuf); 2]) {
        let foreign = |name: &String| ["LOA_", "CONTEXT_", "GIT_"].iter().any(|prefix| name.starts_with(prefix));
        let left_out = env::vars().into_keys().filter(foreign).collect();
        (left_out, [("XDG_CONFIG_HOME", self.folder.join("config")), ("XDG_STATE_HOME", self.folder.join("state"))])
    }

    /// Lays the files of the repository.
    pub(super) fn lay(&self) -> Result<(), Failure> {
        let state = serde_json::json!(self.folder.join("state")).to_string();
        let config = CONFIG.replace("{state}", &state);
        let all = FILES.into_iter().chain([(FILE_NAME, config.as_str())]);
        for (name, text) in all {
            let laid = scratch::lay(&self.project().join(name), text.as_bytes());
            laid.map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
        }
        Ok(())
    }

    pub(super) fn is_kept(&self) -> bool {
        self.temporary.is_none()
    }

    pub(super) fn keep(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            self.folder = temporary.keep();
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0} is there already, and is not an empty folder")]
struct InTheWay(String);
