//! The files that settings and plan come from: those that the execution began with, or those that lie there now.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::args::{LoaRun, Which};
use super::given::{Here, bounds, given, origin, planned, recorded_origin, selection};
use super::refusal::of_run;
use crate::cli::{ExitStatus, Failure};
use crate::config::{ConfigFiles, Explained, FileRole, OnDisk, Settings, Source, lasting, with_lasting};
use crate::contract::ExecutionId;
use crate::diag::Budget;
use crate::events::{PinnedFile, PinnedRole, RunOrigin, RunStatus, State};
use crate::runner::{
    Asked, Differences, NotRecorded, PinnedText, Plan, Selection, ask_about_weaker, differences, read_now,
    recorded_files, shell_word, weaker,
};
use crate::store::RunStore;
use crate::system::env;
use crate::system::files::{self, FileError};

/// How many keys of a changed configuration are named.
const NAMED: usize = 5;

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

    /// Those that an unfinished execution began with; those that lie there now where none were pinned.
    pub(super) fn of(here: &Here, state: Option<&State>) -> Result<Self, Failure> {
        let open = state.filter(|state| !matches!(state.status, RunStatus::Completed | RunStatus::Aborted));
        let text = |execution: &ExecutionId, file: &PinnedFile| {
            let Some(digest) = &file.sha256 else { return Ok(None) };
            let kept = here.store.kept(execution, digest).map_err(|error| of_run(error.into()))?;
            kept.map(|text| Some(text.into_bytes())).ok_or_else(|| gone(file))
        };
        let pinned = open.into_iter().flat_map(|state| state.pinned.iter().map(|file| (&state.execution_id, file)));
        let pinned = pinned.filter(|(_, file)| file.is_read());
        let pinned =
            pinned.map(|(execution, file)| Ok(PinnedText { file: file.clone(), text: text(execution, file)? }));
        Ok(Self { pinned: pinned.collect::<Result<_, Failure>>()?, ..Self::on_disk(here) })
    }

    /// The same with the plan as it lies there now.
    fn with_plan_of_disk(mut self) -> Self {
        self.pinned.retain(|pinned| pinned.file.role != PinnedRole::Plan);
        self
    }

    /// The same without what this command line says.
    fn without_flags(self) -> Self {
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

    /// The variables that say something else now than they did.
    fn changed_variables(&self) -> Vec<String> {
        let Some(began) = self.variables_at_the_start() else { return Vec::new() };
        let now = lasting(&env::vars());
        let names: BTreeSet<&String> = began.keys().chain(now.keys()).collect();
        names.into_iter().filter(|name| began.get(*name) != now.get(*name)).cloned().collect()
    }

    /// What was read, to be pinned.
    pub(super) fn taken(&self) -> Vec<PinnedText> {
        self.read.borrow().clone()
    }

    /// The variables alone.
    fn environment(&self) -> Vec<PinnedText> {
        let variables = self.pinned.iter().filter(|pinned| pinned.file.role == PinnedRole::Environment);
        variables.cloned().collect()
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

    /// The files that are not as they were pinned.
    fn changed(&self) -> Vec<&PinnedFile> {
        let is_changed = |file: &&PinnedFile| read_now(&self.workspace, file).sha256 != file.sha256;
        let files = self.pinned.iter().map(|pinned| &pinned.file);
        files.filter(|file| file.role != PinnedRole::Environment).filter(is_changed).collect()
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

/// Which configuration and plan somebody wants an execution to go on with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wish<'a> {
    /// The plan, when it moved.
    pub(super) plan: Option<&'a Path>,
    pub(super) which: Which,
    /// The code of what is weaker, and wanted all the same.
    pub(super) weaker: Option<&'a str>,
}

/// What an execution goes on with.
pub(super) struct Resumed {
    pub(super) origin: RunOrigin,
    pub(super) settings: Settings,
    pub(super) plan: Plan,
    /// The files, where it did not begin with them.
    pub(super) pinned: Vec<PinnedText>,
    /// What there is to say about that.
    pub(super) notices: Vec<String>,
}

/// The settings and the plan for a `resume`.
pub(super) fn planned_for_resume(here: &Here, args: &LoaRun, wish: Wish<'_>) -> Result<Resumed, Failure> {
    let state = here.present()?;
    let before = recorded_origin(here)?;
    let origin = wish.plan.map_or_else(|| Ok(before.clone()), |plan| origin(Some(plan)))?;
    let phases = selection(state.as_ref());
    let began = match Files::of(here, state.as_ref()) {
        Err(_) if wish.which == Which::New => {
            let again = again(args, wish);
            return anew(
                here,
                args,
                origin,
                phases,
                Question { state: state.as_ref(), code: wish.weaker, again: &again },
            );
        }
        began => began?,
    };
    if !began.are_pinned() {
        let (settings, plan) = planned(here, args, &origin, phases, &began)?;
        let pinned = all_taken(here, &began, &plan, &settings)?;
        return Ok(Resumed { origin, settings, plan, pinned, notices: Vec::new() });
    }
    let before_files = state.as_ref().map_or(&[][..], |state| &state.pinned);
    let began = began.without_flags();
    let (settings, plan) = planned(here, args, &before, phases, &began)?;
    let is_plain = wish.which == Which::Pinned && origin == before;
    if is_plain && given(args).next().is_none() {
        let notices = notices(here, args, &began, (&settings, before_files), (&origin, phases))?;
        return Ok(Resumed { origin, settings, plan, pinned: Vec::new(), notices });
    }
    let now = match wish.which {
        Which::New => Files::on_disk(here),
        Which::Pinned if is_plain => Files::of(here, state.as_ref())?,
        Which::Pinned => Files::of(here, state.as_ref())?.with_plan_of_disk(),
    };
    let changed = state.as_ref().map_or(Selection::All, |state| Selection::OfChanged(&state.phases));
    let (new_settings, new_plan) = planned(here, args, &origin, changed, &now)?;
    let [was, is] = [bounds(here, &settings), bounds(here, &new_settings)];
    let mut weaker = weaker(
        Asked { plan: &plan, bounds: &was, settings: &settings },
        Asked { plan: &new_plan, bounds: &is, settings: &new_settings },
    );
    let again = again(args, wish);
    let what = Question { state: state.as_ref(), code: wish.weaker, again: &again };
    if is_plain && new_plan == plan && new_settings.protects() == settings.protects() {
        // The same files as before: they stay as they were recorded.
        let mut notices = notices(here, args, &began, (&settings, before_files), (&origin, phases))?;
        notices.extend(agreed(here, &weaker, &[], what)?);
        return Ok(Resumed { origin, settings: new_settings, plan: new_plan, pinned: Vec::new(), notices });
    }
    let pinned = all_taken(here, &now, &new_plan, &new_settings)?;
    // By what was recorded: what the new one protects no more, or starts no more, is compared too.
    let files = differences(here.layout.workspace(), before_files, settings.protects()).map_err(not_recorded)?;
    weaker.extend(files.weaker);
    let gone = settings.protects().iter().filter(|glob| !new_settings.protects().contains(glob));
    weaker.extend(gone.map(|glob| format!("{glob} is not protected any more")));
    let notices = agreed(here, &weaker, &pinned, what)?;
    Ok(Resumed { origin, settings: new_settings, plan: new_plan, pinned, notices })
}

/// What to say of files and variables that an execution which goes on with what it began with does not go on with.
fn notices(
    here: &Here,
    args: &LoaRun,
    began: &Files,
    (settings, pinned): (&Settings, &[PinnedFile]),
    (origin, phases): (&RunOrigin, Selection<'_>),
) -> Result<Vec<String>, Failure> {
    let changed = began.changed();
    let now = (!changed.is_empty()).then(|| {
        let on_disk = Files { pinned: began.environment(), ..Files::on_disk(here) };
        planned(here, args, origin, phases, &on_disk.without_flags()).ok()
    });
    let now = now.flatten().map(|(settings, _)| settings);
    let files = differences(here.layout.workspace(), pinned, settings.protects()).map_err(not_recorded)?;
    let variables = of_variables(&began.changed_variables());
    Ok(difference(&changed, settings, now.as_ref()).into_iter().chain(variables).chain(of_files(&files)).collect())
}

/// What stands behind `loa-run resume` to ask for the same again. What a secret flag said is not shown.
fn again(args: &LoaRun, wish: Wish<'_>) -> String {
    let config = (wish.which == Which::New).then(|| "--config new".to_owned());
    let plan = wish.plan.map(|plan| format!("--plan {}", shell_word(&plan.display().to_string())));
    let flags = given(args).map(|flag| {
        let said = flag.origin.to_string();
        said.split_once(' ').map_or(said.clone(), |(flag, value)| format!("{flag} {}", shell_word(value)))
    });
    config.into_iter().chain(plan).chain(flags).collect::<Vec<_>>().join(" ")
}

/// The files of the disk for an execution of which nobody can tell any more what it began with.
fn anew(
    here: &Here,
    args: &LoaRun,
    origin: RunOrigin,
    phases: Selection<'_>,
    question: Question<'_>,
) -> Result<Resumed, Failure> {
    let now = Files::on_disk(here);
    let (settings, plan) = planned(here, args, &origin, phases, &now)?;
    let unknown = ["nobody can tell what it asked for: what stood in its files is gone from the state".to_owned()];
    let pinned = all_taken(here, &now, &plan, &settings)?;
    let notices = agreed(here, &unknown, &pinned, question)?;
    Ok(Resumed { origin, settings, plan, pinned, notices })
}

/// All that an execution records that begins with these files and this plan.
pub(super) fn all_taken(
    here: &Here,
    files: &Files,
    plan: &Plan,
    settings: &Settings,
) -> Result<Vec<PinnedText>, Failure> {
    let of_workspace = recorded_files(here.layout.workspace(), plan, settings.protects()).map_err(not_recorded)?;
    Ok(files.taken().into_iter().chain(of_workspace).collect())
}

fn not_recorded(error: NotRecorded) -> Failure {
    Failure::new(ExitStatus::Config, error).hint("name fewer or smaller files under `runtime.protects`")
}

/// What to say of scripts and protected files that are not as they were recorded.
fn of_files(differences: &Differences) -> Option<String> {
    let lines = &differences.lines;
    let more = lines.len().saturating_sub(NAMED);
    let named = lines[..lines.len() - more].join("; ");
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    (!lines.is_empty()).then(|| {
        format!(
            "{named}{more}, since this execution began. Where a script of a gate or a protected file changed, a person is asked before the gate; \
             `loa-run resume --config new` takes the files as they are"
        )
    })
}

/// Without what it began with, nobody can say what the execution was to do.
fn gone(file: &PinnedFile) -> Failure {
    let error = format!("what stood in {} when this execution began is gone from its state", file.path.display());
    Failure::new(ExitStatus::Config, error).hint("`loa-run resume --config new` goes on with what lies there now")
}

/// Who asks whether something weaker is taken, and how.
#[derive(Debug, Clone, Copy)]
struct Question<'a> {
    state: Option<&'a State>,
    /// The code that was named.
    code: Option<&'a str>,
    /// What stands behind `loa-run resume`.
    again: &'a str,
}

/// A configuration that asks for less than the one before is taken when somebody names exactly that one.
fn agreed(
    here: &Here,
    weaker: &[String],
    files: &[PinnedText],
    question: Question<'_>,
) -> Result<Vec<String>, Failure> {
    let Question { state, code, again } = question;
    let digests = files.iter().filter_map(|pinned| pinned.file.sha256.as_deref()).collect::<Vec<_>>().join(" ");
    let expected = PinnedFile::digest(format!("{}\n{digests}\n{again}", weaker.join("\n")))[..8].to_owned();
    if weaker.is_empty() {
        let taken = "the configuration was taken anew; no gate, approval or bound got weaker by it";
        return Ok((!files.is_empty()).then(|| taken.to_owned()).into_iter().collect());
    }
    let answered = state.and_then(|state| state.weaker.as_ref()).filter(|question| question.agreed);
    if code == Some(&expected) || answered.is_some_and(|question| question.code == expected) {
        return Ok(vec![format!(
            "the configuration was taken anew, and somebody agreed to this: {}",
            weaker.join("; ")
        )]);
    }
    // It waits for its answer as every call does, and keeps nobody from going on with what the execution began with.
    ask_about_weaker((&here.layout, &here.place), weaker, (&expected, again)).map_err(of_run)?;
    let list = weaker.join("\n  ");
    let error = format!("the new configuration asks for less than the one that this execution began with:\n  {list}");
    Err(Failure::new(ExitStatus::HumanNeeded, error)
        .hint(format!("if that is wanted: `loa-run resume {again} --weaker {expected}`"))
        .hint(format!("or `loa-run resolve fix_and_resume`, and then `loa-run resume {again}`"))
        .hint("`loa-run resume` goes on with the configuration that it began with"))
}

/// What to say of variables that an execution does not go on with.
fn of_variables(names: &[String]) -> Option<String> {
    let is = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| {
        format!(
            "{} in the environment {is} not what this execution began with: it goes on with what it began with. \
             `loa-run resume --config new` takes the new one",
            names.join(" and ")
        )
    })
}

/// What to say of files that an execution does not go on with: their names, and which values of the configuration differ.
/// The values themselves may be secrets.
fn difference(changed: &[&PinnedFile], pinned: &Settings, now: Option<&Settings>) -> Option<String> {
    if changed.is_empty() {
        return None;
    }
    let names: Vec<String> = changed.iter().map(|file| file.path.display().to_string()).collect();
    let keys = match now {
        Some(now) => keys_that_differ(&pinned.explain(), &now.explain()),
        None => " (what it says now is not valid)".to_owned(),
    };
    let (names, is) = (names.join(" and "), if names.len() == 1 { "is" } else { "are" });
    Some(format!(
        "{names} {is} not what this execution began with{keys}: it goes on with what it began with. `loa-run resume --config new` \
         takes the new one"
    ))
}

fn keys_that_differ(before: &[Explained], now: &[Explained]) -> String {
    let others = |some: &[Explained], others: &[Explained]| -> Vec<String> {
        let known = |one: &&Explained| !others.iter().any(|other| other.key == one.key && other.value == one.value);
        some.iter().filter(known).map(|one| one.key.clone()).collect()
    };
    let keys: BTreeSet<String> = others(before, now).into_iter().chain(others(now, before)).collect();
    let more = keys.len().saturating_sub(NAMED);
    let named: Vec<String> = keys.into_iter().take(NAMED).collect();
    match (named.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(" ({})", named.join(", ")),
        (false, more) => format!(" ({} and {more} more)", named.join(", ")),
    }
}
