//! Does what the command line says.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{LoaRun, Verb};
use super::refusal::{of_config, of_run};
use super::show::{plan_json, plan_text, print_json, status_text};
use super::terminal::{Terminal, surfaced};
use crate::cli::console::{print, say};
use crate::cli::defect::guarded;
use crate::cli::{ExitStatus, Failure, finish, parse};
use crate::config::{FILE_NAME, Settings, TEMPLATE, from_environment, load};
use crate::contract::Resolution;
use crate::diag::render::all;
use crate::runner::{
    Bounds, Call, End, Engine, Halted, Mode, Plan, Request, RunError, Selection, halt, read_plan, resolve, state,
    status,
};
use crate::store::{Layout, OriginKind, RunOrigin, read_record};
use crate::system::files::{self, FileError, Privacy};
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
        Verb::Run { plan, phase, from, dry_run, fresh } => {
            let selection = match (phase, from) {
                (Some(phase), _) => Selection::Only(*phase),
                (None, Some(phase)) => Selection::From(*phase),
                (None, None) => Selection::All,
            };
            let origin = origin(plan.as_deref())?;
            let settings = settings(&layout, args)?;
            let plan = planned(&origin, &settings).and_then(|plan| Ok(plan.select(selection)?)).map_err(of_run)?;
            if *dry_run {
                return dry(&plan, args.json);
            }
            let mode = if *fresh { Mode::Fresh } else { Mode::New };
            execute(args, Request { layout, plan, origin, bounds: Bounds::from(&settings), mode, program: program()? })
        }
        Verb::Resume { plan } => {
            let origin = match plan {
                Some(plan) => origin(Some(plan))?,
                None => recorded_origin(&layout)?,
            };
            let settings = settings(&layout, args)?;
            let plan = planned(&origin, &settings).map_err(of_run)?;
            let (bounds, mode) = (Bounds::from(&settings), Mode::Resume);
            execute(args, Request { layout, plan, origin, bounds, mode, program: program()? })
        }
        Verb::Status => show_status(&layout, args.json),
        Verb::State => print_json(&state(&layout).map_err(of_run)?).map(|()| ExitStatus::Success),
        Verb::Halt => ask_to_halt(&layout, args.json),
        Verb::Resolve { action, notes } => {
            answer(&layout, &Resolution { action: *action, notes: notes.clone() }, args.json)
        }
        Verb::Init => init(&layout, args.json),
    }
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

fn settings(layout: &Layout, args: &LoaRun) -> Result<Settings, Failure> {
    let mut overrides = from_environment(&env::vars());
    overrides.extend(args.overrides.iter().cloned());
    let path = layout.workspace().join(FILE_NAME);
    let settings = load(&path, overrides).map_err(of_config)?;
    warn(&path, &settings);
    Ok(settings)
}

/// Shows what in the configuration is allowed and still worth a look.
fn warn(path: &Path, settings: &Settings) {
    if settings.warnings().is_empty() {
        return;
    }
    let bytes = files::read(path, u64::MAX).unwrap_or_default();
    say(all(&path.display().to_string(), &bytes, settings.warnings()));
}

fn origin(plan: Option<&Path>) -> Result<RunOrigin, Failure> {
    let Some(plan) = plan else { return Ok(RunOrigin { kind: OriginKind::Config, path: None }) };
    let missing = |source| FileError { action: "read", path: plan.to_path_buf(), source };
    let path = plan.canonicalize().map_err(|error| Failure::new(ExitStatus::NoInput, missing(error)))?;
    Ok(RunOrigin { kind: OriginKind::Plan, path: Some(path) })
}

fn recorded_origin(layout: &Layout) -> Result<RunOrigin, Failure> {
    let record = read_record(layout).map_err(|error| of_run(error.into()))?;
    Ok(record.map_or(RunOrigin { kind: OriginKind::Config, path: None }, |record| record.origin))
}

fn planned(origin: &RunOrigin, settings: &Settings) -> Result<Plan, RunError> {
    Ok(match &origin.path {
        Some(path) => Plan::from_document(&read_plan(path)?, settings)?,
        None => Plan::from_settings(settings)?,
    })
}

fn program() -> Result<PathBuf, Failure> {
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

fn execute(args: &LoaRun, request: Request) -> Result<ExitStatus, Failure> {
    let internal = |error| Failure::new(ExitStatus::Internal, error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(internal)?;
    let layout = request.layout.clone();
    let mut terminal = Terminal::new(args.json);
    let interrupts = {
        let _entered = runtime.enter();
        Interrupts::listen().map_err(internal)?
    };
    let engine = {
        let _entered = runtime.enter();
        Engine::begin(request, interrupts, &mut terminal).map_err(of_run)?
    };
    let end = runtime.block_on(engine.run()).map_err(of_run)?;
    if let End::Escalated(call) = &end {
        terminal.surface(call);
    }
    // All of it is shown before anything else is said.
    drop(terminal);
    if args.json {
        print_json(&json!({ "end": word(&end), "call": call(&end), "status": status(&layout).map_err(of_run)? }))?;
    }
    Ok(match end {
        End::Completed => ExitStatus::Success,
        End::Escalated(_) => ExitStatus::HumanNeeded,
        End::Interrupted(Interrupt::Interrupt) => ExitStatus::Interrupted,
        End::Interrupted(Interrupt::Terminate) => ExitStatus::Terminated,
    })
}

fn word(end: &End) -> &'static str {
    match end {
        End::Completed => "completed",
        End::Escalated(_) => "escalated",
        End::Interrupted(_) => "interrupted",
    }
}

fn call(end: &End) -> Option<serde_json::Value> {
    let End::Escalated(call) = end else { return None };
    Some(call_json(call))
}

fn call_json(call: &Call) -> serde_json::Value {
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

fn ask_to_halt(layout: &Layout, json: bool) -> Result<ExitStatus, Failure> {
    let halted = halt(layout).map_err(of_run)?;
    let (document, text) = match &halted {
        Halted::Asked(holder) => (
            json!({ "halt": "asked", "pid": holder.pid }),
            format!("asked process {} to halt; it ends its stage and writes the report\n", holder.pid),
        ),
        Halted::Done(call) => {
            say(surfaced(call));
            (json!({ "halt": "done", "call": call_json(call) }), String::new())
        }
    };
    if json { print_json(&document) } else { print(&text) }?;
    Ok(ExitStatus::Success)
}

fn answer(layout: &Layout, resolution: &Resolution, json: bool) -> Result<ExitStatus, Failure> {
    let resolved = resolve(layout, resolution).map_err(of_run)?;
    if json {
        let resumable = resolved.resumable;
        print_json(&json!({ "execution_id": resolved.execution, "phase": resolved.phase, "resumable": resumable }))?;
    } else if resolved.resumable {
        print(&format!("recorded: {} for {}; `loa-run resume` goes on\n", resolution.action, resolved.phase))?;
    } else {
        print("recorded: the execution is ended; what is there was kept\n")?;
    }
    Ok(ExitStatus::Success)
}

fn init(layout: &Layout, json: bool) -> Result<ExitStatus, Failure> {
    let path = layout.workspace().join(FILE_NAME);
    let written = files::create_durably(&path, TEMPLATE.as_bytes(), Privacy::Shared);
    written.map_err(|error| {
        let exists = error.source.kind() == std::io::ErrorKind::AlreadyExists;
        let failure = Failure::new(ExitStatus::WriteFailed, error);
        if exists { failure.hint("a configuration is there already, and is never overwritten") } else { failure }
    })?;
    if json { print_json(&json!({ "written": path })) } else { print(&format!("wrote {}\n", path.display())) }?;
    Ok(ExitStatus::Success)
}
