//! Does what the command line says.

use std::path::{Path, PathBuf};

use serde_json::json;

use tokio::runtime::Runtime;

use super::agent::agent;
use super::answer::{answer, resolution, wait};
use super::args::{LoaRun, Verb};
use super::backends;
use super::doctor::doctor;
use super::explain::config;
use super::given::{bounds, origin, overrides, planned, recorded_origin, settings, tell_unheeded};
use super::halt::ask_to_halt;
use super::init::init;
use super::logs::logs;
use super::refusal::{of_prompt, of_run};
use super::report::{escalations, report};
use super::show::{plan_json, plan_text, print_json, status_text};
use super::terminal::Terminal;
use super::usage::usage;
use crate::backend::backends;
use crate::cli::console::print;
use crate::cli::defect::guarded;
use crate::cli::{ExitStatus, Failure, finish, parse};
use crate::runner::{Call, End, Engine, Mode, Plan, Recorder, Request, Selection, state, status};
use crate::store::Layout;
use crate::system::files::FileError;
use crate::system::process::{Interrupt, Interrupts};
use crate::system::{env, guard};

/// Runs `loa-run` on the process's own arguments.
#[must_use]
pub fn run() -> ExitStatus {
    guarded(|| {
        let mut arguments = std::env::args_os().skip(1);
        if arguments.next().is_some_and(|argument| argument == guard::ARGUMENT) {
            guard::serve(&arguments.map(|argument| argument.to_string_lossy().into_owned()).collect::<Vec<_>>());
            return ExitStatus::Success;
        }
        match parse::<LoaRun>() {
            Ok(args) => finish(command(&args)),
            Err(status) => status,
        }
    })
}

fn command(args: &LoaRun) -> Result<ExitStatus, Failure> {
    let layout = Layout::new(workspace(args.workspace.as_deref())?);
    match &args.command {
        Verb::Run { plan, phase, from, until, skip: _, dry_run, fresh, wait } => {
            let selection = match (phase, from) {
                (Some(phase), _) => Selection::Only(*phase),
                (None, None) if until.is_none() => Selection::All,
                (None, from) => Selection::Between(*from, *until),
            };
            let origin = origin(plan.as_deref())?;
            let settings = settings(&layout, args)?;
            let whole = planned(&origin, &settings).map_err(of_run)?;
            let plan = whole.clone().select(selection).map_err(|error| of_run(error.into()))?;
            if *dry_run {
                return dry(&plan, args.json);
            }
            let mode = if *fresh { Mode::Fresh } else { Mode::New };
            // What is not asked for now has its agents too, and their keys are theirs.
            let backends = backends(&whole, &settings, layout.workspace()).map_err(of_prompt)?;
            tell_unheeded(&settings, agents_of(&plan));
            let bounds = bounds(&settings);
            let (overrides, program) = (overrides(&layout, args), program()?);
            let request = Request { layout, plan, backends, origin, overrides, bounds, mode, program };
            execute_and_wait(args, request, *wait)
        }
        Verb::Resume { plan, wait } => execute_and_wait(args, resumption(args, layout, plan.as_deref())?, *wait),
        Verb::Status => show_status(&layout, args.json),
        Verb::State => print_json(&state(&layout).map_err(of_run)?).map(|()| ExitStatus::Success),
        Verb::Halt => ask_to_halt(&layout, args),
        Verb::Resolve { action, file, notes } => {
            answer(&layout, &resolution(*action, file.as_deref(), notes.as_deref())?, args)
        }
        Verb::Logs { phase, attempt, follow } => logs(&layout, *phase, *attempt, *follow, args.json),
        Verb::Doctor { plan } => doctor(&layout, plan.as_deref(), args),
        Verb::Usage => usage(&settings(&layout, args)?, layout.workspace(), args.json),
        Verb::Config { explain } => config(&settings(&layout, args)?, *explain, args.json),
        Verb::Report { output, execution } => report(&layout, execution.as_deref(), output.as_deref(), args.json),
        Verb::Escalations { execution } => escalations(&layout, execution.as_deref(), args.json),
        Verb::Agent { verb } => agent(&layout, verb, args),
        Verb::Backends { verb } => backends::backends(&layout, verb.as_ref(), args),
        Verb::Init { ignore, backend } => init(&layout, *ignore, backend.as_deref(), args.json),
    }
}

/// What it takes to go on with the execution that is there.
fn resumption(args: &LoaRun, layout: Layout, plan: Option<&Path>) -> Result<Request, Failure> {
    // Where there is nothing, nobody wants to hear what is wrong with the configuration.
    state(&layout).map_err(of_run)?;
    let origin = match plan {
        Some(plan) => origin(Some(plan))?,
        None => recorded_origin(&layout)?,
    };
    let settings = settings(&layout, args)?;
    let plan = planned(&origin, &settings).map_err(of_run)?;
    let backends = backends(&plan, &settings, layout.workspace()).map_err(of_prompt)?;
    tell_unheeded(&settings, agents_of(&plan));
    let (bounds, mode) = (bounds(&settings), Mode::Resume);
    let (overrides, program) = (overrides(&layout, args), program()?);
    Ok(Request { layout, plan, backends, origin, overrides, bounds, mode, program })
}

fn agents_of(plan: &Plan) -> impl Iterator<Item = &str> {
    plan.stages().iter().filter(|stage| !stage.skip).filter_map(|stage| Some(stage.agent()?.backend.as_str()))
}

/// Runs a session, and with `wait` another after each answer, in one process.
fn execute_and_wait(args: &LoaRun, request: Request, waits: bool) -> Result<ExitStatus, Failure> {
    let runtime = runtime()?;
    let mut request = request;
    loop {
        let layout = request.layout.clone();
        let status = execute(args, request, &runtime)?;
        if !waits || status != ExitStatus::HumanNeeded {
            return Ok(status);
        }
        if let Some(over) = wait(&layout, &runtime)? {
            return Ok(over);
        }
        request = resumption(args, layout, None)?;
    }
}

pub(super) fn runtime() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| Failure::new(ExitStatus::Internal, error))
}

fn workspace(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    let missing = |path: &Path, source| {
        let path = path.to_path_buf();
        Failure::new(ExitStatus::NoInput, FileError { action: "use the workspace", path, source })
    };
    let path = match asked {
        Some(path) => path.to_path_buf(),
        None => env::current_dir().map_err(|error| missing(Path::new("."), error))?,
    };
    let absolute = path.canonicalize().map_err(|error| missing(&path, error))?;
    if absolute.is_dir() { Ok(absolute) } else { Err(missing(&path, std::io::ErrorKind::NotADirectory.into())) }
}

pub(super) fn program() -> Result<PathBuf, Failure> {
    env::current_exe().map_err(|error| Failure::new(ExitStatus::Internal, error))
}

fn dry(plan: &Plan, json: bool) -> Result<ExitStatus, Failure> {
    if json {
        print_json(&plan_json(plan))?;
    } else {
        print(&plan_text(plan))?;
    }
    Ok(ExitStatus::Success)
}

fn execute(args: &LoaRun, request: Request, runtime: &Runtime) -> Result<ExitStatus, Failure> {
    let internal = |error| Failure::new(ExitStatus::Internal, error);
    let layout = request.layout.clone();
    let mut terminal = Terminal::new(args.json);
    let mut recorder = Recorder::new(&layout, &mut terminal);
    let interrupts = {
        let _entered = runtime.enter();
        Interrupts::listen().map_err(internal)?
    };
    let engine = {
        let _entered = runtime.enter();
        Engine::begin(request, interrupts, &mut recorder).map_err(of_run)?
    };
    let end = runtime.block_on(engine.run()).map_err(of_run)?;
    terminal.part(&end);
    // All of it is shown before anything else is said.
    drop(terminal);
    if args.json {
        print_json(&json!({ "end": end.word(), "call": call(&end), "status": status(&layout).map_err(of_run)? }))?;
    }
    Ok(match end {
        End::Completed => ExitStatus::Success,
        End::Escalated(_) => ExitStatus::HumanNeeded,
        End::Paused(_) => ExitStatus::TryAgain,
        End::Interrupted(Interrupt::Interrupt) => ExitStatus::Interrupted,
        End::Interrupted(Interrupt::Terminate) => ExitStatus::Terminated,
    })
}

fn call(end: &End) -> Option<serde_json::Value> {
    let End::Escalated(call) = end else { return None };
    Some(call_json(call))
}

pub(super) fn call_json(call: &Call) -> serde_json::Value {
    json!({ "trigger": call.trigger, "phase": call.phase, "reason": call.reason, "report": call.report.yaml })
}

fn show_status(layout: &Layout, json: bool) -> Result<ExitStatus, Failure> {
    let status = status(layout).map_err(of_run)?;
    if json {
        print_json(&status)?;
    } else {
        print(&status_text(&status))?;
    }
    Ok(ExitStatus::Success)
}
