//! Where the state of a workspace's executions lies, and which workspace is which.
//!
//! The state lies where neither git nor a phase cleans up: under the folder that `runtime.state` or `LOA_RUN_STATE` names,
//! else under `$XDG_STATE_HOME/loa-run/`, or under `$GIT_DIR/loa-run/` where the home does not outlive a restart and the
//! repository does. In it every workspace has a folder named after the workspace's id.
//!
//! The id stands in `$GIT_DIR/loa-run-id` of a repository or worktree, elsewhere in `.loa-run/id`. The rule, in order:
//!
//! 1. A state folder that knows this very folder (its device, inode and time of birth) is its own, whatever the id says.
//! 2. An id whose state folder knows a folder that is still there, elsewhere, was copied: this folder gets an id of its own.
//! 3. An id whose state folder knows a folder that is gone is that of a workspace that moved to another disk or came back
//!    from a backup: it is found again.
//! 4. Otherwise the workspace has no state here. An id that it brought along is kept.
//!
//! Where the state was put elsewhere by name, the folder that the workspace would have otherwise says where
//! ([`Place::recorded`]), so that an unfinished execution is found also when that name is gone from a configuration that
//! phases may write.
//!
//! So a second worktree, a clone at the same path and a copy are told apart, and a workspace that was moved is found.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StoreError;
use super::format::bytes;
use crate::contract::{ExecutionId, Phase};
use crate::system::disk::{self, Disk, Kind};
use crate::system::files::{self, FolderIdentity, Privacy};
use crate::system::{env, ids};

/// The newest version of `workspace.json`.
const PLACE_VERSION: u32 = 1;

/// Why the state lies where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// `runtime.state` or `LOA_RUN_STATE` says so.
    Named,
    /// The folder for the state of the user's programs.
    Home,
    /// The repository, because the home does not outlive a restart.
    Repository,
    /// The workspace itself, for want of a home and a repository.
    Workspace,
}

impl Basis {
    /// In words, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Named => "as `runtime.state` or LOA_RUN_STATE says",
            Self::Home => "in the folder for the state of your programs",
            Self::Repository => "in the repository's own folder, because the home does not outlive a restart",
            Self::Workspace => "in the workspace, for want of a home and a repository: `git clean` would delete it",
        }
    }
}

/// The state of one workspace: its paths. Nothing is made before [`Place::establish`].
#[derive(Debug, Clone)]
pub struct Place {
    disk: Arc<dyn Disk>,
    workspace: PathBuf,
    base: PathBuf,
    basis: Basis,
    id: String,
    identity: FolderIdentity,
    moved_from: Option<PathBuf>,
    /// The folder that the configuration names.
    named: Option<PathBuf>,
}

/// `workspace.json`: which workspace a state folder belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    version: u32,
    id: String,
    path: PathBuf,
    folder: FolderIdentity,
    /// The folder of all workspaces' state that is used instead of this one, when it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<PathBuf>,
}

impl Place {
    /// Finds the state of a workspace, or where it would be. `named` is the folder that the configuration names.
    ///
    /// # Errors
    /// [`StoreError`] when a file cannot be read.
    pub fn find(workspace: &Path, named: Option<&Path>) -> Result<Self, StoreError> {
        Self::find_on(disk::host(), workspace, named)
    }

    /// The same on a disk that need not be this host's.
    ///
    /// # Errors
    /// As [`Place::find`].
    pub fn find_on(disk: Arc<dyn Disk>, workspace: &Path, named: Option<&Path>) -> Result<Self, StoreError> {
        let base = base(disk.as_ref(), workspace, named);
        Self::find_in(disk, workspace, base, named)
    }

    /// Where it would be if nothing were known of it: for whoever says why it cannot be found.
    ///
    /// # Errors
    /// [`StoreError`] when the workspace itself cannot be looked at.
    pub fn assumed(workspace: &Path, named: Option<&Path>) -> Result<Self, StoreError> {
        let disk = disk::host();
        let (base, basis) = base(disk.as_ref(), workspace, named);
        let identity = disk.identity(workspace)?;
        let id = read_id(disk.as_ref(), workspace).unwrap_or_default();
        let (workspace, named) = (workspace.to_path_buf(), named.map(Path::to_path_buf));
        Ok(Self { disk, workspace, base, basis, id, identity, moved_from: None, named })
    }

    fn find_in(
        disk: Arc<dyn Disk>,
        workspace: &Path,
        (base, basis): (PathBuf, Basis),
        named: Option<&Path>,
    ) -> Result<Self, StoreError> {
        let identity = disk.identity(workspace)?;
        let told = read_id(disk.as_ref(), workspace);
        let (id, moved_from) = recognise(disk.as_ref(), &base, (workspace, identity), told)?;
        let (workspace, named) = (workspace.to_path_buf(), named.map(Path::to_path_buf));
        Ok(Self { disk, workspace, base, basis, id, identity, moved_from, named })
    }

    /// Where the last execution of the workspace put its state, whatever is named now; `None` when none is known.
    ///
    /// # Errors
    /// As [`Place::find`].
    pub fn recorded(&self) -> Result<Option<Self>, StoreError> {
        let usual = Self::find_on(self.disk.clone(), &self.workspace, None)?;
        match read_known(self.disk.as_ref(), &usual.folder())? {
            Some(Known { state: Some(named), .. }) => {
                Ok(Some(Self::find_on(self.disk.clone(), &self.workspace, Some(&named))?))
            }
            known => Ok(known.map(|_| usual)),
        }
    }

    /// Finds it again: another process may have begun here since.
    ///
    /// # Errors
    /// As [`Place::find`].
    pub fn found_again(&self) -> Result<Self, StoreError> {
        Self::find_on(self.disk.clone(), &self.workspace, self.named.as_deref())
    }

    /// Makes the folder, and writes down which workspace it belongs to. Only for the holder of the workspace's lock. Returns
    /// where the workspace was before, when it moved.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// # Panics
    /// Never: what is written is plain data.
    pub fn establish(&mut self) -> Result<Option<PathBuf>, StoreError> {
        // The id first: whoever dies before the folder is there begins again under the same one.
        let disk = self.disk.as_ref();
        if read_id(disk, &self.workspace).as_ref() != Some(&self.id) {
            write_id(disk, &self.workspace, &self.id)?;
        }
        disk.ensure_private_folder(&self.folder())?;
        self.write_known(None)?;
        if self.basis == Basis::Named {
            // A courtesy to whoever looks where nothing is named; that folder need not be writable.
            let _ = self.point_from_the_usual_place();
        }
        Ok(self.moved_from.take())
    }

    fn point_from_the_usual_place(&self) -> Result<(), StoreError> {
        let usual = Self::find_on(self.disk.clone(), &self.workspace, None)?;
        if usual.base == self.base {
            return Ok(());
        }
        self.disk.ensure_private_folder(&usual.folder())?;
        usual.write_known(Some(self.base.clone()))
    }

    fn write_known(&self, state: Option<PathBuf>) -> Result<(), StoreError> {
        let (version, id, disk) = (PLACE_VERSION, self.id.clone(), self.disk.as_ref());
        let known = Known { version, id, path: self.workspace.clone(), folder: self.identity, state };
        if read_known(disk, &self.folder())?.as_ref() != Some(&known) {
            let text = serde_json::to_string_pretty(&known).expect("plain data") + "\n";
            disk.write_durably(&self.folder().join("workspace.json"), text.as_bytes(), Privacy::Private)?;
        }
        Ok(())
    }

    /// Whether the workspace has an id that was given to it where some state of it lies, and that is not here: whoever began
    /// there had the state put elsewhere.
    #[must_use]
    pub fn is_known_elsewhere(&self) -> bool {
        let is_here = || read_known(self.disk.as_ref(), &self.folder()).is_ok_and(|known| known.is_some());
        read_id(self.disk.as_ref(), &self.workspace).is_some() && !is_here()
    }

    /// Where the workspace was before, when it moved and nobody worked on it since.
    #[must_use]
    pub fn moved_from(&self) -> Option<&Path> {
        self.moved_from.as_deref()
    }

    /// The disk that the state lies on.
    #[must_use]
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The workspace.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The folder of all workspaces' state.
    #[must_use]
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Why it lies there.
    #[must_use]
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// What stands directly in the workspace and holds the state, where it was put there.
    #[must_use]
    pub fn name_in_workspace(&self) -> Option<String> {
        let inside = self.base.strip_prefix(&self.workspace).ok()?;
        Some(inside.components().next()?.as_os_str().to_string_lossy().into_owned())
    }

    /// The folder of this workspace's state.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.base.join(&self.id)
    }

    /// `lock`: held while somebody works on the workspace.
    pub(super) fn lock(&self) -> PathBuf {
        self.folder().join("lock")
    }

    /// `current`: the name of the execution that the workspace works on.
    pub(super) fn current(&self) -> PathBuf {
        self.folder().join("current")
    }

    /// `halt`: there while somebody asks the running process to stop.
    #[must_use]
    pub fn halt_request(&self) -> PathBuf {
        self.folder().join("halt")
    }

    /// `runs/`: the executions.
    pub(super) fn runs(&self) -> PathBuf {
        self.folder().join("runs")
    }

    /// `runs/<execution>/`.
    #[must_use]
    pub fn run(&self, execution: &ExecutionId) -> PathBuf {
        self.runs().join(execution.file_name())
    }

    /// `runs/<execution>/journal.jsonl`.
    pub(super) fn journal(&self, execution: &ExecutionId) -> PathBuf {
        self.run(execution).join("journal.jsonl")
    }

    /// `runs/<execution>/observations.jsonl`: what was seen while stages ran.
    #[must_use]
    pub fn observations(&self, execution: &ExecutionId) -> PathBuf {
        self.run(execution).join("observations.jsonl")
    }

    /// `runs/<execution>/logs/`: what the attempts wrote.
    #[must_use]
    pub fn logs(&self, execution: &ExecutionId) -> PathBuf {
        self.run(execution).join("logs")
    }

    /// `runs/<execution>/stages/`: what the attempts of commands exchange with us.
    fn stages(&self, execution: &ExecutionId) -> PathBuf {
        self.run(execution).join("stages")
    }

    /// Makes the folder of what the attempts of commands exchange with us, and says where it is.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn make_stages(&self, execution: &ExecutionId) -> Result<PathBuf, StoreError> {
        let stages = self.stages(execution);
        self.disk.ensure_private_folder(&stages)?;
        Ok(stages)
    }

    /// Every folder that a state of runs may lie in, this one's among them: what no stage is to reach. Where all of the state is
    /// kept in a folder that the workspace lies in, this workspace's alone.
    #[must_use]
    pub fn of_states(&self) -> Vec<PathBuf> {
        let home = env::state_home().map(|home| home.join("loa-run"));
        let repository = git_folder(self.disk.as_ref(), &self.workspace).map(|folder| folder.join("loa-run"));
        let all = [Some(self.base.clone()), home, repository].into_iter().flatten();
        let mut all: Vec<PathBuf> =
            all.map(|base| if self.workspace.starts_with(&base) { base.join(&self.id) } else { base }).collect();
        all.sort();
        all.dedup();
        all
    }

    /// `runs/<execution>/stages/<phase>-<attempt>/`: the files that one attempt of a command exchanges with us.
    #[must_use]
    pub fn stage(&self, execution: &ExecutionId, phase: Phase, attempt: u32) -> PathBuf {
        self.stages(execution).join(format!("{phase}-{attempt}"))
    }

    /// `runs/<execution>/logs/<phase>-<attempt>.log`.
    #[must_use]
    pub fn log(&self, execution: &ExecutionId, phase: Phase, attempt: u32) -> PathBuf {
        self.logs(execution).join(format!("{phase}-{attempt}.log"))
    }
}

fn base(disk: &dyn Disk, workspace: &Path, named: Option<&Path>) -> (PathBuf, Basis) {
    if let Some(named) = named {
        return (workspace.join(named), Basis::Named);
    }
    let home = env::state_home().map(|home| home.join("loa-run"));
    let repository = git_folder(disk, workspace).map(|folder| folder.join("loa-run"));
    choose(home, repository, workspace, files::is_volatile)
}

/// Chooses between the home, the repository and the workspace by what outlives a restart.
fn choose(
    home: Option<PathBuf>,
    repository: Option<PathBuf>,
    workspace: &Path,
    is_volatile: impl Fn(&Path) -> Option<bool>,
) -> (PathBuf, Basis) {
    let is_lost = |path: &Path| is_volatile(path) == Some(true);
    match (home, repository) {
        (Some(home), Some(repository)) if is_lost(&home) && !is_lost(&repository) => (repository, Basis::Repository),
        (Some(home), _) => (home, Basis::Home),
        (None, Some(repository)) => (repository, Basis::Repository),
        (None, None) => (workspace.join(".loa-run/state"), Basis::Workspace),
    }
}

/// The repository's own folder, for a workspace that is the top of a repository or of a worktree.
fn git_folder(disk: &dyn Disk, workspace: &Path) -> Option<PathBuf> {
    let dot_git = workspace.join(".git");
    if disk.is_folder(&dot_git) {
        return Some(dot_git);
    }
    let text = String::from_utf8(disk.read(&dot_git, 4096).ok()?).ok()?;
    let folder = workspace.join(text.strip_prefix("gitdir:")?.trim());
    disk.is_folder(&folder).then_some(folder)
}

fn id_file(disk: &dyn Disk, workspace: &Path) -> PathBuf {
    git_folder(disk, workspace).map_or_else(|| workspace.join(".loa-run/id"), |folder| folder.join("loa-run-id"))
}

fn read_id(disk: &dyn Disk, workspace: &Path) -> Option<String> {
    let path = id_file(disk, workspace);
    let is_file = disk.kind(&path) == Some(Kind::File);
    let text = is_file.then(|| disk.read(&path, 100).ok()).flatten()?;
    let text = String::from_utf8(text).ok()?;
    let id = text.trim();
    let is_id = id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_id.then(|| id.to_owned())
}

fn write_id(disk: &dyn Disk, workspace: &Path, id: &str) -> Result<(), StoreError> {
    let path = id_file(disk, workspace);
    disk.ensure_folder(path.parent().unwrap_or(workspace))?;
    // What cannot be written here is found by the folder's own identity next time.
    match disk.write_durably(&path, format!("{id}\n").as_bytes(), Privacy::Shared) {
        Err(error) if error.source.kind() == std::io::ErrorKind::PermissionDenied => Ok(()),
        written => Ok(written?),
    }
}

/// The id of a workspace by the rule above, and where it was when it moved.
fn recognise(
    disk: &dyn Disk,
    base: &Path,
    (workspace, identity): (&Path, FolderIdentity),
    told: Option<String>,
) -> Result<(String, Option<PathBuf>), StoreError> {
    let by_id = told.as_ref().map(|id| read_known(disk, &base.join(id))).transpose()?.flatten();
    let is_this = |known: &Known| {
        // Without a time of birth a number may have passed to another folder.
        known.folder == identity && (identity.born.is_some() || known.path == workspace)
    };
    let found = match by_id.clone().filter(is_this) {
        Some(known) => Some(known),
        None => all_known(disk, base)?.into_iter().find(is_this),
    };
    if let Some(known) = found {
        return Ok((known.id, (known.path != workspace).then_some(known.path)));
    }
    match (told, by_id) {
        (Some(_), Some(known)) if is_still_there(disk, &known) => Ok((fresh_id(), None)),
        (Some(id), Some(known)) => Ok((id, (known.path != workspace).then_some(known.path))),
        (Some(id), None) => Ok((id, None)),
        (None, _) => Ok((fresh_id(), None)),
    }
}

fn is_still_there(disk: &dyn Disk, known: &Known) -> bool {
    disk.identity(&known.path).is_ok_and(|now| now == known.folder)
}

fn fresh_id() -> String {
    ids::uuid().replace('-', "")
}

fn read_known(disk: &dyn Disk, folder: &Path) -> Result<Option<Known>, StoreError> {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    let path = folder.join("workspace.json");
    let Some(bytes) = bytes(disk, &path)? else { return Ok(None) };
    let head = serde_json::from_slice::<Head>(&bytes).ok();
    if let Some(newer) = head.filter(|head| head.version > u64::from(PLACE_VERSION)) {
        return Err(StoreError::Newer { path, found: newer.version, known: PLACE_VERSION });
    }
    // One that a power cut tore names no workspace; the next owner writes it again.
    Ok(serde_json::from_slice(&bytes).ok())
}

/// The workspaces whose state lies under a folder. What else lies there, or belongs to a newer program, is somebody else's.
fn all_known(disk: &dyn Disk, base: &Path) -> Result<Vec<Known>, StoreError> {
    let folders = disk.list(base)?;
    let folders = folders.iter().filter(|folder| disk.is_folder(folder));
    let known = folders.filter_map(|folder| read_known(disk, folder).ok().flatten());
    Ok(known.collect())
}

#[cfg(test)]
mod tests;
