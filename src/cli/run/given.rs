//! What a run is given: the command line, the environment, the files, and what an earlier command line of it said.

use std::collections::BTreeSet;
use std::path::Path;

use super::args::{LoaRun, Verb};
use super::pinned::Files;
use super::refusal::{of_config, of_run};
use crate::backend::{every_backend, unheeded};
use crate::cli::console::say;
use crate::cli::{ExitStatus, Failure};
use crate::config::{
    ConfigError, FILE_NAME, NamedState, Origin, Override, Problems, Settings, Source, USER_FILE, from_environment,
    load, named_state, read_old_names,
};
use crate::diag::render::all;
use crate::events::{OriginKind, RecordedOverride, RunOrigin, RunStatus, State};
use crate::runner::{Bounds, Plan, PlanDocument, PlanError, Selection, present, read_plan};
use crate::store::{FileStore, Layout, Place, RunStore, StoreError};
use crate::system::env;
use crate::system::files::{self, FileError};
use crate::system::lock::Holder;

/// A workspace, and where the state of its runs is.
#[derive(Debug)]
pub(super) struct Here {
    pub(super) layout: Layout,
    pub(super) place: Place,
    pub(super) store: FileStore,
}

impl Here {
    /// Finds the state of a workspace. Nothing is made.
    pub(super) fn find(layout: Layout, args: &LoaRun) -> Result<Self, Failure> {
        let named = state_named(&layout, args);
        let failed = |error: StoreError| of_run(error.into());
        let folder = named.as_ref().map(|named| named.folder.as_path());
        let mut place = Place::find(layout.workspace(), folder).map_err(failed)?;
        let is_new = |state: &State| match args.command {
            Verb::Run { fresh, .. } => fresh || matches!(state.status, RunStatus::Completed | RunStatus::Aborted),
            _ => false,
        };
        if !named.is_some_and(|named| named.by_word) {
            place = with_the_execution(place, &layout, is_new).map_err(failed)?;
        }
        let store = FileStore::new(place.clone(), layout.clone());
        Ok(Self { layout, place, store })
    }

    /// The same for whoever says what is wrong with that state, and why it could not be found.
    pub(super) fn find_or_assume(layout: Layout, args: &LoaRun) -> Result<(Self, Option<Failure>), Failure> {
        let failure = match Self::find(layout.clone(), args) {
            Ok(here) => return Ok((here, None)),
            Err(failure) => failure,
        };
        let named = state_named(&layout, args).map(|named| named.folder);
        let Ok(place) = Place::assumed(layout.workspace(), named.as_deref()) else { return Err(failure) };
        let store = FileStore::new(place.clone(), layout.clone());
        Ok((Self { layout, place, store }, Some(failure)))
    }

    /// The same workspace, looked at again: a first run gives it its id.
    pub(super) fn again(&self) -> Result<Self, Failure> {
        let place = self.place.found_again().map_err(|error| of_run(error.into()))?;
        let store = FileStore::new(place.clone(), self.layout.clone());
        Ok(Self { layout: self.layout.clone(), place, store })
    }

    /// What to say where the state of this workspace's runs lies elsewhere than where was looked.
    pub(super) fn elsewhere(&self) -> Option<String> {
        let looked = self.place.base().display();
        self.place.is_known_elsewhere().then(|| {
            format!(
                "runs of this workspace have their state elsewhere, not in {looked}: say what they were begun with, XDG_STATE_HOME, \
                 LOA_RUN_STATE or runtime.state"
            )
        })
    }

    /// Who works here.
    pub(super) fn holder(&self) -> Result<Option<Holder>, Failure> {
        self.store.holder().map_err(|error| of_run(error.into()))
    }

    /// What is known of the execution; `None` where there is none.
    pub(super) fn present(&self) -> Result<Option<State>, Failure> {
        present(&self.store, &self.layout).map_err(of_run)
    }
}

/// The folder that something names for the state.
fn state_named(layout: &Layout, args: &LoaRun) -> Option<NamedState> {
    let mut overrides = from_environment(&env::vars());
    overrides.extend(args.overrides.iter().cloned());
    let path = layout.workspace().join(FILE_NAME);
    let user = env::config_home().map(|folder| folder.join(USER_FILE));
    named_state(&path, user.as_deref(), &overrides, env::home().as_deref())
}

/// The state with the execution in it, whatever a file names now, unless a new one begins: phases may write that file.
fn with_the_execution(named: Place, layout: &Layout, is_new: impl FnOnce(&State) -> bool) -> Result<Place, StoreError> {
    let Some(recorded) = named.recorded()?.filter(|recorded| recorded.base() != named.base()) else { return Ok(named) };
    let current = FileStore::new(recorded.clone(), layout.clone()).current()?;
    if current.is_none_or(|current| is_new(&current.state)) {
        return Ok(named);
    }
    say(format_args!(
        "loa-run: the state of this execution is in {}; the configuration names {} now, which counts for the next one",
        recorded.base().display(),
        named.base().display()
    ));
    Ok(recorded)
}

/// The configuration, all of it right.
pub(super) fn settings(here: &Here, args: &LoaRun) -> Result<Settings, Failure> {
    let settings = read_settings(here, args, &Files::on_disk(here)).map_err(of_config)?;
    warn(here, &settings);
    let findings = settings.unknown_agents();
    if findings.is_empty() {
        return Ok(settings);
    }
    let path = here.layout.workspace().join(FILE_NAME);
    let in_file = findings.iter().any(|finding| finding.span.is_some());
    let source = in_file.then(|| Source { bytes: files::read(&path, u64::MAX).unwrap_or_default(), path });
    Err(of_config(ConfigError::Invalid { problems: vec![Problems { source, findings }], rest: None }))
}

/// What the execution that is there goes on with; nothing where that cannot be read, which is for others to complain about.
pub(super) fn settings_of_the_execution(here: &Here, args: &LoaRun) -> Option<Settings> {
    let state = here.present().ok()?;
    read_settings(here, args, &Files::of(here, state.as_ref()).ok()?).ok()
}

/// What names those who are to hear that the execution cannot go on, also where what it goes on with is gone.
pub(super) fn settings_to_tell_by(here: &Here, args: &LoaRun) -> Option<Settings> {
    let state = here.present().ok()?;
    let files = match Files::of(here, state.as_ref()) {
        Ok(files) => files,
        Err(_) => Files::left_of(here, state.as_ref()?)?,
    };
    read_settings(here, args, &files).ok()
}

fn read_settings(here: &Here, args: &LoaRun, files: &Files) -> Result<Settings, ConfigError> {
    let layout = &here.layout;
    let variables = files.variables();
    let old = read_old_names(files, layout.workspace(), env::home().as_deref(), &variables);
    let mut overrides = from_environment(&variables);
    let earlier =
        if files.are_pinned() || !files.hear_flags() { said_before(here) } else { remembered(here, &args.command) };
    overrides.extend(earlier.into_iter().map(remembered_override));
    // What is never written down has to be told again, and is no change.
    overrides.extend(given(args).filter(|flag| files.hear_flags() || !flag.may_be_kept()));
    let path = layout.workspace().join(FILE_NAME);
    let user = env::config_home().map(|folder| folder.join(USER_FILE));
    let loaded = load(files, (&path, user.as_deref()), overrides, old.as_deref().unwrap_or_default());
    let settings = match (loaded, old) {
        (Ok(settings), Ok(_)) => settings,
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => return Err(error),
        (Err(error), Err(old)) => return Err(error.and(old)),
    };
    Ok(settings)
}

/// The variables with keys of agents: of those that are configured now, and of those that the execution goes on with.
pub(super) fn credentials(here: &Here, args: &LoaRun) -> Vec<String> {
    let now = read_settings(here, args, &Files::on_disk(here)).ok();
    let goes_on = matches!(args.command, Verb::Resume { .. });
    let began = goes_on.then(|| settings_of_the_execution(here, args)).flatten();
    now.iter().chain(&began).flat_map(|settings| every_backend(settings).withheld_from(None)).collect()
}

/// What this command line says over the configuration.
pub(super) fn given(args: &LoaRun) -> impl Iterator<Item = Override> {
    let agent = if let Verb::Agent { verb } = &args.command { verb.backend() } else { None };
    skipped(&args.command).into_iter().chain(args.overrides.iter().cloned()).chain(agent)
}

/// The bounds of a run. No agent's key is written down, whoever's it is.
pub(super) fn bounds(here: &Here, settings: &Settings) -> Bounds {
    Bounds::of(settings, &every_backend(settings).withheld_from(None), here.layout.workspace())
}

/// Says which settings of these agents change nothing: whoever wrote them counts on them.
pub(super) fn tell_unheeded<'a>(settings: &Settings, agents: impl IntoIterator<Item = &'a str>) {
    for known in agents.into_iter().collect::<BTreeSet<_>>().into_iter().filter_map(|name| settings.backend(name)) {
        for (key, remedy) in unheeded(&known) {
            say(format_args!("loa-run: runtime.backends.{}.{key} changes nothing: {remedy}", known.name));
        }
    }
}

/// What to keep of the command lines of an execution, this one included.
pub(super) fn overrides(here: &Here, args: &LoaRun) -> Vec<RecordedOverride> {
    let (kept, left): (Vec<_>, Vec<_>) = given(args).partition(Override::may_be_kept);
    for secret in left {
        say(format_args!("loa-run: {} is not written down: a resume has to be told it again", secret.origin));
    }
    let now: Vec<_> = kept.iter().map(recorded).collect();
    let mut kept = remembered(here, &args.command);
    kept.retain(|earlier| !now.iter().any(|one| one.key == earlier.key));
    kept.extend(now);
    kept
}

/// What the command lines of the execution at hand said, unless it is over, a new one is asked for, or none is meant.
fn remembered(here: &Here, verb: &Verb) -> Vec<RecordedOverride> {
    if matches!(verb, Verb::Run { .. } | Verb::Agent { .. } | Verb::Backends { .. }) {
        return Vec::new();
    }
    said_before(here)
}

/// What the command lines of the execution that is there said, while it is not over.
fn said_before(here: &Here) -> Vec<RecordedOverride> {
    // A journal that cannot be read is for whoever needs it to complain about.
    let state = here.present().ok().flatten();
    let open = state.filter(|state| !matches!(state.status, RunStatus::Completed | RunStatus::Aborted));
    open.map(|state| state.overrides).unwrap_or_default()
}

fn remembered_override(earlier: RecordedOverride) -> Override {
    Override { key: earlier.key, value: earlier.value, origin: Origin::Remembered(earlier.flag) }
}

fn recorded(now: &Override) -> RecordedOverride {
    RecordedOverride { key: now.key.clone(), value: now.value.clone(), flag: now.origin.to_string() }
}

/// The phases that the command line passes over, as values of the configuration.
fn skipped(verb: &Verb) -> Vec<Override> {
    let (Verb::Run { phases, .. } | Verb::Doctor { phases, .. }) = verb else { return Vec::new() };
    let over = |phase: &crate::contract::Phase| Override {
        key: format!("runtime.phases.{phase}.skip"),
        value: "true".to_owned(),
        origin: Origin::Flag(format!("--skip {phase}")),
    };
    phases.skip.iter().map(over).collect()
}

/// Shows what in the configuration is allowed and still worth a look.
fn warn(here: &Here, settings: &Settings) {
    if settings.warnings().is_empty() {
        return;
    }
    let path = here.layout.workspace().join(FILE_NAME);
    let bytes = files::read(&path, u64::MAX).unwrap_or_default();
    say(all(&path.display().to_string(), &bytes, settings.warnings()));
}

pub(super) fn origin(plan: Option<&Path>) -> Result<RunOrigin, Failure> {
    let Some(plan) = plan else { return Ok(RunOrigin::config()) };
    let missing = |source| FileError { action: "read", path: plan.to_path_buf(), source };
    let path = plan.canonicalize().map_err(|error| Failure::new(ExitStatus::NoInput, missing(error)))?;
    if path.to_str().is_none() {
        let error = std::io::Error::new(std::io::ErrorKind::InvalidInput, "its path is not UTF-8; rename it");
        return Err(Failure::new(ExitStatus::NoInput, missing(error)));
    }
    Ok(RunOrigin { kind: OriginKind::Plan, path: Some(path) })
}

pub(super) fn recorded_origin(here: &Here) -> Result<RunOrigin, Failure> {
    let mut origin = here.present()?.map_or_else(RunOrigin::config, |state| state.origin);
    // A plan that lay in the workspace moved with it.
    if let (Some(path), Some(from)) = (&origin.path, here.place.moved_from())
        && let Ok(inside) = path.strip_prefix(from)
    {
        origin.path = Some(here.layout.workspace().join(inside));
    }
    Ok(origin)
}

/// The settings and what they have those phases do that are asked for; all that is wrong with either.
pub(super) fn planned(
    here: &Here,
    args: &LoaRun,
    origin: &RunOrigin,
    selection: Selection<'_>,
    files: &Files,
) -> Result<(Settings, Plan), Failure> {
    let read = |path: &Path| read_plan(path, &files.plan(path).map_err(PlanError::from)?);
    let document = origin.path.as_deref().map(read).transpose().map_err(|error| of_run(error.into()));
    match read_settings(here, args, files) {
        Ok(settings) => {
            warn(here, &settings);
            plan(document, &settings, selection).map(|plan| (settings, plan))
        }
        // What else is wrong is seen by what the rest of the configuration says.
        Err(ConfigError::Invalid { problems, rest }) => {
            let else_wrong = match (document, rest) {
                (Ok(document), Some(rest)) => made(document.as_ref(), &rest, selection)
                    .err()
                    .and_then(PlanError::beside_a_broken_configuration)
                    .map(|error| of_run(error.into())),
                (document, _) => document.err(),
            };
            let failure = of_config(ConfigError::Invalid { problems, rest: None });
            Err(else_wrong.into_iter().fold(failure, Failure::and))
        }
        Err(error) => Err(of_config(error)),
    }
}

/// The phases of a plan that as a whole could not run, those of them that could; `None` where the settings are wrong.
pub(super) fn sound(
    here: &Here,
    args: &LoaRun,
    origin: &RunOrigin,
    selection: Selection<'_>,
    files: &Files,
) -> Option<(Settings, Plan)> {
    let read = |path: &Path| read_plan(path, &files.plan(path).ok()?).ok();
    let document = origin.path.as_deref().and_then(read);
    let settings = read_settings(here, args, files).ok()?;
    let plan = Plan::of_the_sound(document.as_ref(), &settings, selection);
    Some((settings, plan))
}

fn plan(
    document: Result<Option<PlanDocument>, Failure>,
    settings: &Settings,
    selection: Selection<'_>,
) -> Result<Plan, Failure> {
    made(document?.as_ref(), settings, selection).map_err(|error| of_run(error.into()))
}

fn made(document: Option<&PlanDocument>, settings: &Settings, selection: Selection<'_>) -> Result<Plan, PlanError> {
    match document {
        Some(document) => Plan::from_document(document, settings, selection),
        None => Plan::from_settings(settings, selection),
    }
}

/// The settings of the execution that is there: those that it began with while it is not over.
pub(super) fn settings_again(here: &Here, args: &LoaRun) -> Result<Settings, Failure> {
    let state = here.present()?;
    read_settings(here, args, &Files::of(here, state.as_ref())?).map_err(of_config)
}

/// The phases of the execution that is there; all where there is none.
pub(super) fn selection(state: Option<&State>) -> Selection<'_> {
    state.map_or(Selection::All, |state| Selection::Of(&state.phases))
}
