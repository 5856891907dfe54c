//! The files and variables that settings and plan come from: those that the execution began with, or those of now.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::given::Here;
use super::refusal::of_run;
use crate::cli::{ExitStatus, Failure};
use crate::config::{ConfigFiles, FileRole, OnDisk, SEARCH_PATH, Source, lasting, with_lasting};
use crate::contract::ExecutionId;
use crate::diag::Budget;
use crate::events::{Outbox, PinnedFile, PinnedRole, RunStatus, State};
use crate::runner::{PinnedText, read_now};
use crate::store::RunStore;
use crate::system::env;
use crate::system::files::{self, FileError};

/// Reads the files, and keeps what was read.
#[derive(Debug)]
pub(super) struct Files {
    workspace: PathBuf,
    pinned: Vec<PinnedText>,
    read: RefCell<Vec<PinnedText>>,
    hear_flags: bool,
}

impl Files {
    /// Those that lie there now.
    pub(super) fn on_disk(here: &Here) -> Self {
        let (workspace, pinned, read) = (here.layout.workspace().to_path_buf(), Vec::new(), RefCell::default());
        Self { workspace, pinned, read, hear_flags: true }
    }

    /// Those that an execution began with that is not over, or of whose end somebody is still to be told; those that lie there
    /// now where none were pinned.
    pub(super) fn of(here: &Here, state: Option<&State>) -> Result<Self, Failure> {
        let is_open = |state: &&State| {
            !matches!(state.status, RunStatus::Completed | RunStatus::Aborted)
                || state.outbox.as_ref().is_some_and(Outbox::is_untold)
        };
        let open = state.filter(is_open);
        let text = |execution: &ExecutionId, file: &PinnedFile| {
            let Some(digest) = &file.sha256 else { return Ok(None) };
            let kept = here.store.kept(execution, digest).map_err(|error| of_run(error.into()))?;
            let kept = kept.map(String::into_bytes).or_else(|| unchanged(here, file, digest));
            kept.map(Some).ok_or_else(|| gone(file))
        };
        let pinned = open.into_iter().flat_map(|state| state.pinned.iter().map(|file| (&state.execution_id, file)));
        let pinned = pinned.filter(|(_, file)| file.is_read());
        let pinned =
            pinned.map(|(execution, file)| Ok(PinnedText { file: file.clone(), text: text(execution, file)? }));
        Ok(Self { pinned: pinned.collect::<Result<_, Failure>>()?, ..Self::on_disk(here) })
    }

    /// For whoever has to tell that what an execution began with is gone: what can still be had of it. Nothing where what names
    /// the receivers is gone, too, and another one lies in its place: a phase may have written that.
    pub(super) fn left_of(here: &Here, state: &State) -> Option<Self> {
        let files = state.pinned.iter().filter(|file| file.is_read());
        let texts = files.map(|file| {
            let Some(digest) = &file.sha256 else { return Some(PinnedText { file: file.clone(), text: None }) };
            let kept = here.store.kept(&state.execution_id, digest).ok().flatten().map(String::into_bytes);
            let text = kept.or_else(|| unchanged(here, file, digest));
            let names_receivers = !matches!(file.role, PinnedRole::Plan | PinnedRole::Environment);
            (text.is_some() || !names_receivers).then(|| PinnedText { file: file.clone(), text })
        });
        let pinned = texts.collect::<Option<Vec<PinnedText>>>()?;
        Some(Self { pinned, ..Self::on_disk(here) })
    }

    /// The same with the plan as it lies there now.
    pub(super) fn with_plan_of_disk(mut self) -> Self {
        self.pinned.retain(|pinned| pinned.file.role != PinnedRole::Plan);
        self
    }

    /// The same without what this command line says.
    pub(super) fn without_flags(self) -> Self {
        Self { hear_flags: false, ..self }
    }

    /// Whether what this command line says counts.
    pub(super) fn hear_flags(&self) -> bool {
        self.hear_flags
    }

    /// Whether an execution goes on with what it began with.
    pub(super) fn are_pinned(&self) -> bool {
        self.pinned.iter().any(|pinned| pinned.file.role != PinnedRole::Environment)
    }

    /// What stands in the plan's file.
    pub(super) fn plan(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        let bytes = match self.pinned_text(PinnedRole::Plan) {
            Some(text) => text,
            None => files::read(path, Budget::default().bytes)?,
        };
        self.keep(PinnedRole::Plan, path, Some(&bytes));
        Ok(bytes)
    }

    /// The variables of the environment: those that the execution began with, as far as they are written down.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        let now = env::vars();
        let variables = match self.variables_at_the_start() {
            Some(began) => with_lasting(&now, &began),
            None => now,
        };
        let text = serde_json::to_vec(&lasting(&variables)).expect("texts with text keys");
        self.keep(PinnedRole::Environment, Path::new("environment"), Some(&text));
        variables
    }

    /// What is written down of them; `None` where an earlier program wrote nothing of them down.
    fn variables_at_the_start(&self) -> Option<BTreeMap<String, String>> {
        serde_json::from_slice(&self.pinned_text(PinnedRole::Environment)?).ok()
    }

    /// The `PATH` that the execution began with; `None` where an earlier program wrote none down.
    pub(super) fn search_path(&self) -> Option<String> {
        self.variables_at_the_start()?.remove(SEARCH_PATH)
    }

    /// The `PATH` that an execution begins with that takes these files.
    pub(super) fn search_path_taken(&self) -> Option<String> {
        self.search_path().or_else(|| env::vars().remove(SEARCH_PATH))
    }

    /// The variables that say something else now than they did.
    pub(super) fn changed_variables(&self) -> Vec<String> {
        let Some(began) = self.variables_at_the_start() else { return Vec::new() };
        let mut now = lasting(&env::vars());
        if !began.contains_key(SEARCH_PATH) {
            now.remove(SEARCH_PATH);
        }
        let is_secret = |name: &String| [&began, &now].iter().any(|some| some.get(name).is_some_and(String::is_empty));
        let names: BTreeSet<&String> = began.keys().chain(now.keys()).filter(|name| !is_secret(name)).collect();
        names.into_iter().filter(|name| began.get(*name) != now.get(*name)).cloned().collect()
    }

    /// The variables with a secret that were set when the execution began, and are not now.
    pub(super) fn secrets_gone(&self) -> Vec<String> {
        let (began, now) = (self.variables_at_the_start().unwrap_or_default(), env::vars());
        let secrets = began.into_iter().filter(|(_, value)| value.is_empty()).map(|(name, _)| name);
        secrets.filter(|name| now.get(name).is_none_or(String::is_empty)).collect()
    }

    /// What was read, to be pinned.
    pub(super) fn taken(&self) -> Vec<PinnedText> {
        self.read.borrow().clone()
    }

    /// The same with the variables that an execution began with.
    pub(super) fn with_variables_of(mut self, began: &Self) -> Self {
        let variables = began.pinned.iter().filter(|pinned| pinned.file.role == PinnedRole::Environment);
        self.pinned.extend(variables.cloned());
        self
    }

    fn pinned_text(&self, role: PinnedRole) -> Option<Vec<u8>> {
        self.pinned.iter().find(|pinned| pinned.file.role == role)?.text.clone()
    }

    fn keep(&self, role: PinnedRole, path: &Path, bytes: Option<&[u8]>) {
        let path = path.strip_prefix(&self.workspace).unwrap_or(path).to_path_buf();
        let text = bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned().into_bytes());
        let sha256 = text.as_deref().map(PinnedFile::digest);
        let mut read = self.read.borrow_mut();
        read.retain(|known| known.file.role != role);
        read.push(PinnedText { file: PinnedFile { role, path, sha256 }, text });
    }

    /// The files that are not as they were pinned, as they are now.
    pub(super) fn changed(&self) -> Vec<PinnedFile> {
        let files = self.pinned.iter().map(|pinned| &pinned.file).filter(|file| file.role != PinnedRole::Environment);
        let now = files.map(|file| (file, read_now(&self.workspace, file)));
        now.filter(|(began, now)| began.sha256 != now.sha256).map(|(_, now)| now).collect()
    }
}

impl ConfigFiles for Files {
    fn read(&self, role: FileRole, path: &Path) -> Result<Option<Source>, FileError> {
        let pinned_role = match role {
            FileRole::Workspace => PinnedRole::Configuration,
            FileRole::User => PinnedRole::UserConfiguration,
            FileRole::OldHome => PinnedRole::OldHome,
            FileRole::OldProject => PinnedRole::OldProject,
        };
        let source = if self.are_pinned() {
            let text = self.pinned_text(pinned_role);
            text.map(|text| Source { path: path.to_path_buf(), bytes: text })
        } else {
            OnDisk.read(role, path)?
        };
        self.keep(pinned_role, path, source.as_ref().map(|source| &source.bytes[..]));
        Ok(source)
    }
}

/// What lies there now of a file whose text is gone from the state, where it is what the execution began with.
fn unchanged(here: &Here, file: &PinnedFile, digest: &str) -> Option<Vec<u8>> {
    let bytes = match file.role {
        PinnedRole::Environment => serde_json::to_vec(&lasting(&env::vars())).ok()?,
        _ => files::read(&file.place(here.layout.workspace()), Budget::default().bytes).ok()?,
    };
    Some(bytes).filter(|bytes| PinnedFile::digest(bytes) == digest)
}

/// Without what it began with, nobody can say what the execution was to do.
fn gone(file: &PinnedFile) -> Failure {
    let error = format!("what stood in {} when this execution began is gone from its state", file.path.display());
    Failure::new(ExitStatus::Config, error).hint("`loa-run resume --config new` goes on with what lies there now")
}
