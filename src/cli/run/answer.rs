//! `loa-run resolve`: a human's answer, from the command line, a file or the environment; and the wait for one.

use std::path::Path;

use camino::Utf8Path;
use serde_json::json;
use tokio::runtime::Runtime;

use super::args::LoaRun;
use super::given::{Here, bounds, settings, settings_of_the_execution};
use super::notify::{deliverer_that_waits, listen, tell_what_is_left};
use super::refusal::of_run;
use super::show::print_json;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::contract::{Resolution, ResolutionAction};
use crate::diag::Budget;
use crate::diag::render::all;
use crate::events::RunStatus;
use crate::policy::Redactor;
use crate::runner::{Awaited, RESOLUTION, ResolutionDocument, await_resolution_telling, resolve};
use crate::schema::Checker;
use crate::system::process::{Interrupt, Interrupts};
use crate::system::{env, files};

/// The variables that answer when neither the command line nor a file does.
const VARIABLES: [&str; 2] = ["LOA_RESOLUTION", "LOA_RESOLUTION_NOTES"];

#[derive(Debug, thiserror::Error)]
#[error("no answer was given")]
struct NoAnswer;

/// The answer: an action on the command line goes before a file, that before the environment.
pub(super) fn resolution(
    action: Option<ResolutionAction>,
    file: Option<&Path>,
    notes: Option<&str>,
) -> Result<Resolution, Failure> {
    let with_notes = |action, other: Option<String>| Resolution { action, notes: notes.map(str::to_owned).or(other) };
    if let Some(action) = action {
        return Ok(with_notes(action, None));
    }
    if let Some(file) = file {
        let read = from_file(file)?;
        return Ok(with_notes(read.action, read.notes));
    }
    let Some(word) = env::var(VARIABLES[0]) else {
        let hint = format!("one of {}; or --file FILE; or {}", ResolutionAction::WORDS.join(", "), VARIABLES[0]);
        return Err(Failure::new(ExitStatus::Usage, NoAnswer).hint(hint));
    };
    let action = word.parse().map_err(|error: crate::contract::UnknownWord| Failure::new(ExitStatus::Usage, error));
    Ok(with_notes(action?, env::var(VARIABLES[1])))
}

fn from_file(path: &Path) -> Result<ResolutionDocument, Failure> {
    let budget = Budget::default();
    let bytes = files::read(path, budget.bytes).map_err(|error| Failure::new(ExitStatus::NoInput, error))?;
    let name = path.display().to_string();
    let read = Checker::new(&RESOLUTION).read(&bytes, Utf8Path::new(&name), &budget);
    read.map_err(|findings| {
        let text = format!("{name} holds no answer:\n{}", all(&name, &bytes, &findings));
        Failure::new(ExitStatus::Config, text)
    })
}

/// Records the answer.
pub(super) fn answer(
    here: &Here,
    resolution: &Resolution,
    call: Option<&str>,
    args: &LoaRun,
) -> Result<ExitStatus, Failure> {
    // What must not be written down stands in the configuration; an answer without a word needs none.
    let redactor = match resolution.notes {
        Some(_) => bounds(here, &settings(here, args)?).redactor,
        None => Redactor::default(),
    };
    let resolved = resolve(&here.layout, &here.place, resolution, call, &redactor).map_err(of_run)?;
    tell_what_is_left(here, args)?;
    if args.json {
        let resumable = resolved.resumable;
        print_json(&json!({ "execution_id": resolved.execution, "phase": resolved.phase, "resumable": resumable }))?;
    } else if resolved.resumable {
        print(&format!("recorded: {} for {}; `loa-run resume` goes on\n", resolution.action, resolved.phase))?;
    } else {
        print("recorded: the execution is ended, and what is there was kept; `loa-run run --fresh` begins another\n")?;
    }
    Ok(ExitStatus::Success)
}

/// Waits for an answer to the call that a session ended with. `None`: there is one, and the execution can go on.
/// Whoever is to hear of the call is told meanwhile, as often as it takes.
pub(super) fn wait(
    here: &Here,
    args: &LoaRun,
    runtime: &Runtime,
    interrupts: &mut Interrupts,
) -> Result<Option<ExitStatus>, Failure> {
    say("loa-run: waiting for an answer from another shell; Ctrl-C ends the wait and loses nothing");
    let deliverer = settings_of_the_execution(here, args).map(|settings| deliverer_that_waits(here, &settings));
    let awaited = runtime.block_on(await_resolution_telling(&here.layout, &here.store, deliverer, interrupts, listen));
    let awaited = awaited.map_err(of_run)?;
    Ok(match awaited {
        Awaited::Answered => None,
        Awaited::Over(RunStatus::Completed) => Some(ExitStatus::Success),
        Awaited::Over(_) => Some(ExitStatus::HumanNeeded),
        Awaited::Interrupted(Interrupt::Interrupt) => Some(ExitStatus::Interrupted),
        Awaited::Interrupted(Interrupt::Terminate) => Some(ExitStatus::Terminated),
    })
}
