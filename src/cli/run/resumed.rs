//! What an execution goes on with: what it began with, or what somebody wants instead and nobody has to be asked about.

use std::collections::BTreeSet;
use std::path::Path;

use super::args::{LoaRun, Which};
use super::given::{Here, bounds, given, origin, planned, recorded_origin, selection};
use super::pinned::Files;
use super::refusal::of_run;
use crate::cli::{ExitStatus, Failure};
use crate::config::{Explained, SEARCH_PATH, Settings};
use crate::contract::Phase;
use crate::events::{PinnedFile, PinnedRole, RunOrigin, State};
use crate::runner::{
    Asked, Differences, NotRecorded, Notification, PinnedText, Plan, RunError, Selection, Stage, ask_about_weaker,
    differences, notify_files, prompt_files, recorded_files, weaker,
};
use crate::system::env;
use crate::text::shell_word;

/// How many keys of a changed configuration are named.
const NAMED: usize = 5;

/// Which configuration and plan somebody wants an execution to go on with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wish<'a> {
    /// The plan, when it moved.
    pub(super) plan: Option<&'a Path>,
    pub(super) which: Which,
    /// The code of what is weaker, and wanted all the same.
    pub(super) weaker: Option<&'a str>,
    /// Nobody is asked anything: whoever wishes this only looks.
    pub(super) only_looks: bool,
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
    let again = again(args, wish);
    let question = Question { state: state.as_ref(), code: wish.weaker, again: &again, asks: !wish.only_looks };
    let files = match Files::of(here, state.as_ref()) {
        Err(_) if wish.which == Which::New => return anew(here, args, origin, phases, question),
        files => files?,
    };
    if !files.are_pinned() {
        let (settings, plan) = planned(here, args, &origin, phases, &files)?;
        let pinned = all_taken(here, &files, &plan, &settings)?;
        return Ok(Resumed { origin, settings, plan, pinned, notices: Vec::new() });
    }
    if wish.which == Which::Pinned
        && let Some(path) = files.search_path()
    {
        env::search_by(&path);
    }
    let begun = Begun::of(here, args, &before, state.as_ref(), files.without_flags())?;
    let is_as_begun = wish.which == Which::Pinned && origin == before;
    if is_as_begun && given(args).next().is_none() {
        let notices = begun.notices(here, args)?;
        let Begun { settings, plan, .. } = begun;
        return Ok(Resumed { origin, settings, plan, pinned: Vec::new(), notices });
    }
    let now = match wish.which {
        Which::New => Files::on_disk(here),
        Which::Pinned if is_as_begun => Files::of(here, state.as_ref())?,
        Which::Pinned => Files::of(here, state.as_ref())?.with_plan_of_disk(),
    };
    compared(here, args, &begun, (&now, is_as_begun), origin, question)
}

/// What an execution goes on with where that is not just what it began with, if nothing of it is weaker or somebody agreed.
fn compared(
    here: &Here,
    args: &LoaRun,
    begun: &Begun<'_>,
    (now, is_as_begun): (&Files, bool),
    origin: RunOrigin,
    question: Question<'_>,
) -> Result<Resumed, Failure> {
    let phases = question.state.map_or(Selection::All, |state| Selection::OfChanged(&state.phases));
    let (settings, plan) = planned(here, args, &origin, phases, now)?;
    let [was, is] = [bounds(here, &begun.settings), bounds(here, &settings)];
    let mut weaker = weaker(
        Asked { plan: &begun.plan, bounds: &was, settings: &begun.settings },
        Asked { plan: &plan, bounds: &is, settings: &settings },
    );
    let protects = begun.settings.protects();
    if is_as_begun && plan == begun.plan && settings.protects() == protects {
        // The same files as before: they stay as they were recorded.
        let mut notices = begun.notices(here, args)?;
        notices.extend(agreed(here, &weaker, &[], question)?);
        return Ok(Resumed { origin, settings, plan, pinned: Vec::new(), notices });
    }
    let pinned = all_taken(here, now, &plan, &settings)?;
    // By what was recorded: what the new one protects no more, or starts no more, is compared too.
    weaker.extend(begun.differences(here)?.weaker);
    if begun.files.search_path().is_some_and(|path| now.search_path_taken() != Some(path)) {
        weaker.extend(gates_by_another_path(&begun.plan));
    }
    let gone = protects.iter().filter(|glob| !settings.protects().contains(glob));
    weaker.extend(gone.map(|glob| format!("{glob} is not protected any more")));
    let notices = agreed(here, &weaker, &pinned, question)?;
    Ok(Resumed { origin, settings, plan, pinned, notices })
}

/// What an execution began with.
struct Begun<'a> {
    files: Files,
    settings: Settings,
    plan: Plan,
    recorded: &'a [PinnedFile],
    origin: &'a RunOrigin,
    phases: Selection<'a>,
}

impl<'a> Begun<'a> {
    fn of(
        here: &Here,
        args: &LoaRun,
        origin: &'a RunOrigin,
        state: Option<&'a State>,
        files: Files,
    ) -> Result<Self, Failure> {
        let (phases, recorded) = (selection(state), state.map_or(&[][..], |state| &state.pinned));
        let (settings, plan) = planned(here, args, origin, phases, &files)?;
        Ok(Self { files, settings, plan, recorded, origin, phases })
    }

    fn differences(&self, here: &Here) -> Result<Differences, Failure> {
        differences(here.layout.workspace(), &self.plan, self.recorded, self.settings.protects()).map_err(not_recorded)
    }

    /// What to say of files and variables that differ, where it goes on with what it began with.
    fn notices(&self, here: &Here, args: &LoaRun) -> Result<Vec<String>, Failure> {
        let changed = self.files.changed();
        let on_disk = || Files::on_disk(here).with_variables_of(&self.files).without_flags();
        let now = (!changed.is_empty()).then(|| planned(here, args, self.origin, self.phases, &on_disk()).ok());
        let now = now.flatten().map(|(settings, _)| settings);
        let files = difference(&changed, &self.settings, now.as_ref());
        let variables = of_variables(&self.files.changed_variables());
        let secrets = self.files.secrets_gone().into_iter().map(|name| {
            format!("{name} was set when this execution began, and is not set now: what it said is written down nowhere, and counts no more")
        });
        Ok(files.into_iter().chain(variables).chain(secrets).chain(of_files(&self.differences(here)?)).collect())
    }
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
    let prompts = prompt_files(here.layout.workspace(), plan, settings);
    let telling = notify_files(here.layout.workspace(), &Notification::from(settings));
    Ok(files.taken().into_iter().chain(of_workspace).chain(prompts).chain(telling).collect())
}

/// What to say of scripts that gates start and that are not there when an execution begins.
pub(super) fn of_missing_scripts(pinned: &[PinnedText]) -> Option<String> {
    let is_missing = |file: &&PinnedFile| file.role == PinnedRole::Gate && file.sha256.is_none();
    let names: Vec<String> = pinned
        .iter()
        .map(|pinned| &pinned.file)
        .filter(is_missing)
        .map(|file| file.path.display().to_string())
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "gates start what is not there: {}. Before such a script decides anything, a person is asked",
            names.join(", ")
        )
    })
}

fn not_recorded(error: NotRecorded) -> Failure {
    of_run(RunError::NotRecorded(error))
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

/// Who asks whether something weaker is taken, and how.
#[derive(Debug, Clone, Copy)]
struct Question<'a> {
    state: Option<&'a State>,
    /// The code that was named.
    code: Option<&'a str>,
    /// What stands behind `loa-run resume`.
    again: &'a str,
    /// Whether a human is called.
    asks: bool,
}

/// A configuration that asks for less than the one before is taken when somebody names exactly that one.
fn agreed(
    here: &Here,
    weaker: &[String],
    files: &[PinnedText],
    question: Question<'_>,
) -> Result<Vec<String>, Failure> {
    let Question { state, code, again, asks } = question;
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
    if asks {
        ask_about_weaker((&here.layout, &here.place), weaker, (&expected, again)).map_err(of_run)?;
    }
    let list = weaker.join("\n  ");
    let error = format!("the new configuration asks for less than the one that this execution began with:\n  {list}");
    Err(Failure::new(ExitStatus::HumanNeeded, error)
        .hint(format!("if that is wanted: `loa-run resume {again} --weaker {expected}`"))
        .hint(format!("or `loa-run resolve fix_and_resume`, and then `loa-run resume {again}`"))
        .hint("`loa-run resume` goes on with the configuration that it began with"))
}

/// What is weaker where programs are found by another `PATH`: which program a gate is may depend on it.
fn gates_by_another_path(plan: &Plan) -> Option<String> {
    let asks = |stage: &&Stage| !stage.skip && (stage.verify.is_some() || stage.phase == Phase::Audit);
    // A stage that is given a PATH of its own finds its programs by that.
    let by_ours = |stage: &&Stage| !stage.env.contains_key(SEARCH_PATH);
    let phases = plan.stages().iter().filter(asks).filter(by_ours).map(|stage| stage.phase.as_str());
    let phases = phases.collect::<Vec<_>>().join(", ");
    (!phases.is_empty()).then(|| format!("the gates of {phases} find their programs by another PATH"))
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
fn difference(changed: &[PinnedFile], pinned: &Settings, now: Option<&Settings>) -> Option<String> {
    if changed.is_empty() {
        return None;
    }
    let names = |files: &[PinnedFile]| {
        let names: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
        (names.join(" and "), if names.len() == 1 { "is" } else { "are" })
    };
    let (gone, changed): (Vec<PinnedFile>, Vec<PinnedFile>) =
        changed.iter().cloned().partition(|file| file.sha256.is_none());
    let keys = match now {
        Some(now) => keys_that_differ(&pinned.explain(), &now.explain()),
        None => " (what it says now is not valid)".to_owned(),
    };
    let ((gone_names, gone_is), (names, is)) = (names(&gone), names(&changed));
    let gone = (!gone.is_empty()).then(|| format!("{gone_names} {gone_is} not there any more"));
    let changed = (!changed.is_empty()).then(|| format!("{names} {is} not what this execution began with{keys}"));
    let what = gone.into_iter().chain(changed).collect::<Vec<_>>().join(", and ");
    Some(format!("{what}: it goes on with what it began with. `loa-run resume --config new` takes what lies there now"))
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
