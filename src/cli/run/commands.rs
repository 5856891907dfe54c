//! Does what the command line says.

use std::path::PathBuf;

use serde_json::json;

use tokio::runtime::Runtime;

use super::agent::agent;
use super::answer::{answer, resolution, wait};
use super::args::{LoaRun, Verb};
use super::backends;
use super::doctor::doctor;
use super::explain::config;
use super::given::{
    Here, bounds, credentials, origin, overrides, planned, settings, settings_of_the_execution, tell_unheeded,
};
use super::halt::ask_to_halt;
use super::init::init;
use super::journal::journal;
use super::log::withhold;
use super::logs::logs;
use super::notify::{
    answering, listening, notify, tell, tell_of_a_death, tell_of_failure, tell_what_is_left, try_receivers,
};
use super::pinned::Files;
use super::refusal::{of_prompt, of_run};
use super::report::{escalations, report};
use super::resumed::{Resumed, Wish, all_taken, of_missing_scripts, planned_for_resume};
use super::runs::{prune, runs};
use super::service::service;
use super::show::{plan_json, plan_text, print_json};
use super::terminal::Terminal;
use super::try_out::try_out;
use super::usage::usage;
use super::watch::{looked, show_status};
use super::workspace::workspace;
use crate::backend::backends;
use crate::cli::console::{print, say};
use crate::cli::defect::guarded;
use crate::cli::{ExitStatus, Failure, finish, parse};
use crate::events::RunEnd;
use crate::runner::{Call, Deliverer, Ended, Engine, Mode, Plan, Remedy, Request, refuse_foreign, state};
use crate::store::Layout;
use crate::system::process::{Interrupt, Interrupts};
use crate::system::{boundary, env, guard, keys, sweep};

/// Runs `loa-run` on the process's own arguments.
#[must_use]
pub fn run() -> ExitStatus {
    guarded(|| {
        let mut arguments = std::env::args_os().skip(1);
        let first = arguments.next().unwrap_or_default();
        if first == sweep::GUARD {
            guard::serve(&arguments.map(|argument| argument.to_string_lossy().into_owned()).collect::<Vec<_>>());
            return ExitStatus::Success;
        }
        if first == boundary::BOUNDARY {
            boundary::keep();
            return ExitStatus::Success;
        }
        if let Err(error) = keys::take_up() {
            return finish(Err(Failure::new(ExitStatus::Internal, error)));
        }
        match parse::<LoaRun>() {
            Ok(args) => {
                let _log = args.log.begin();
                finish(command(&args))
            }
            Err(status) => status,
        }
    })
}

pub(super) fn command(args: &LoaRun) -> Result<ExitStatus, Failure> {
    // It happens in a folder of its own, whatever the current one is.
    if let Verb::Try(wish) = &args.command {
        return try_out(wish, args.json);
    }
    let layout = Layout::new(workspace(args.workspace.as_deref())?);
    if let Verb::Doctor { plan, phases } = &args.command {
        let (here, unreadable) = Here::find_or_assume(layout, args)?;
        return doctor((&here, unreadable), plan.as_deref(), phases, args);
    }
    let here = Here::find(layout, args)?;
    if matches!(args.command, Verb::Run { dry_run: false, .. } | Verb::Resume { .. } | Verb::Agent { .. }) {
        take_out_keys(&here, args);
    }
    let elsewhere = here.elsewhere();
    done(here, args).map_err(|failure| {
        let is_about_state = matches!(failure.status, ExitStatus::NoInput | ExitStatus::HumanNeeded);
        let hint = elsewhere.filter(|_| is_about_state);
        hint.into_iter().fold(failure, Failure::hint)
    })
}

/// Takes the keys of agents out of our environment, where what we start could read them. Where there are some, all begins anew.
fn take_out_keys(here: &Here, args: &LoaRun) {
    if let Err(error) = keys::take_out(&credentials(here, args)) {
        say(format_args!(
            "loa-run: keys stay in the environment of this process, where phases that have no boundary can read them: {error}"
        ));
    }
}

fn done(here: Here, args: &LoaRun) -> Result<ExitStatus, Failure> {
    match &args.command {
        Verb::Try(wish) => try_out(wish, args.json),
        Verb::Run { plan, phases, dry_run, fresh, wait } => {
            let origin = origin(plan.as_deref())?;
            let files = Files::on_disk(&here);
            let (settings, plan) = planned(&here, args, &origin, phases.selection(), &files)?;
            if *dry_run {
                return dry(&plan, args.json);
            }
            // Of a run before this one: nothing else would be told before this one ends.
            tell_what_is_left(&here, args)?;
            let mode = if *fresh { Mode::Fresh } else { Mode::New };
            if mode == Mode::New {
                // Checkpoints of another runtime: only a human can say whether they count.
                refuse_foreign(&here.layout, &here.store, None).map_err(of_run)?;
            }
            let backends = backends(&plan, &settings, here.layout.workspace()).map_err(of_prompt)?;
            tell_unheeded(&settings, agents_of(&plan));
            let bounds = bounds(&here, &settings);
            let (overrides, program) = (overrides(&here, args), program()?);
            let (layout, place) = (here.layout.clone(), here.place.clone());
            let pinned = all_taken(&here, &files, &plan, &settings)?;
            let notices = of_missing_scripts(&pinned).into_iter().collect();
            let request =
                Request { layout, place, plan, backends, origin, overrides, pinned, notices, bounds, mode, program };
            execute_and_wait(args, &here, request, *wait)
        }
        Verb::Resume { plan, remedy, config, weaker, wait } => {
            tell_of_a_death(&here, args)?;
            let wish = Wish { plan: plan.as_deref(), which: *config, weaker: weaker.as_deref(), only_looks: false };
            let request = resumption(args, &here, wish, remedy.remedy()).or_else(|failure| {
                // What it could not go on for may be a call that was just made.
                let calls = failure.status == ExitStatus::HumanNeeded;
                if calls { tell_what_is_left(&here, args).and(Err(failure)) } else { Err(failure) }
            })?;
            execute_and_wait(args, &here, request, *wait)
        }
        Verb::Status { watch } => show_status(&here, *watch, args),
        Verb::State => print_json(&state(&here.layout, &here.store).map_err(of_run)?).map(|()| ExitStatus::Success),
        Verb::Halt => ask_to_halt(&here, args),
        Verb::Resolve { action, file, call, notes } => {
            let resolution = resolution(*action, file.as_deref(), notes.as_deref())?;
            answer(&here, &resolution, call.as_deref(), args)
        }
        Verb::Notify { test: true, .. } => try_receivers(&here, args),
        Verb::Notify { retry, config, .. } => notify(&here, args, *retry, *config),
        Verb::Logs { phase, attempt, follow } => logs(&here, *phase, *attempt, *follow, args.json),
        Verb::Doctor { plan, phases } => doctor((&here, None), plan.as_deref(), phases, args),
        Verb::Usage => usage(&settings(&here, args)?, here.layout.workspace(), args.json),
        Verb::Config { explain } => config(&settings(&here, args)?, *explain, args.json),
        Verb::Report { output, execution } => report(&here, execution.as_deref(), output.as_deref(), args.json),
        Verb::Escalations { execution } => escalations(&here, execution.as_deref(), args.json),
        Verb::Runs => runs(&here, args.json),
        Verb::Prune { older_than, keep, dry_run } => prune(here, *older_than, *keep, *dry_run, args.json),
        Verb::Journal { execution, head } => journal(&here, execution.as_deref(), head.as_deref(), args.json),
        Verb::Service { verb } => service(&here, verb, args),
        Verb::Agent { verb } => agent(&here, verb, args),
        Verb::Backends { verb } => backends::backends(&here, verb.as_ref(), args),
        Verb::Init { ignore, backend } => init(&here, *ignore, backend.as_deref(), args),
    }
}

/// What it takes to go on with the execution that is there.
fn resumption(args: &LoaRun, here: &Here, wish: Wish<'_>, remedy: Option<Remedy>) -> Result<Request, Failure> {
    // Where there is nothing, nobody wants to hear what is wrong with the configuration.
    state(&here.layout, &here.store).map_err(of_run)?;
    // Nor what it would be continued with, before a human says that it is to be.
    refuse_foreign(&here.layout, &here.store, remedy).map_err(of_run)?;
    let Resumed { origin, settings, plan, pinned, notices } = planned_for_resume(here, args, wish)?;
    let backends = backends(&plan, &settings, here.layout.workspace()).map_err(of_prompt)?;
    tell_unheeded(&settings, agents_of(&plan));
    let (bounds, mode) = (bounds(here, &settings), Mode::Resume(remedy));
    let (overrides, program) = (overrides(here, args), program()?);
    let (layout, place) = (here.layout.clone(), here.place.clone());
    Ok(Request { layout, place, plan, backends, origin, overrides, pinned, notices, bounds, mode, program })
}

fn agents_of(plan: &Plan) -> impl Iterator<Item = &str> {
    plan.stages().iter().filter(|stage| !stage.skip).filter_map(|stage| Some(stage.agent()?.backend.as_str()))
}

/// Runs a session, and with `wait` another after each answer, in one process.
fn execute_and_wait(args: &LoaRun, here: &Here, request: Request, waits: bool) -> Result<ExitStatus, Failure> {
    let runtime = runtime()?;
    // From here on: a signal that comes while an end is told ends the wait behind it, too.
    let mut interrupts = waits.then(|| listening(&runtime)).transpose()?;
    let mut request = request;
    loop {
        let status = execute(args, here, request, (&runtime, waits))?;
        let Some(interrupts) = interrupts.as_mut().filter(|_| status == ExitStatus::HumanNeeded) else {
            return Ok(status);
        };
        let here = here.again()?;
        if let Some(over) = wait(&here, args, &runtime, interrupts)? {
            return Ok(over);
        }
        request = resumption(args, &here, Wish::default(), None)?;
    }
}

pub(super) fn runtime() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| Failure::new(ExitStatus::Internal, error))
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

/// Runs a session; `waits` says that we wait for the answer where it asks for one.
fn execute(
    args: &LoaRun,
    here: &Here,
    request: Request,
    (runtime, waits): (&Runtime, bool),
) -> Result<ExitStatus, Failure> {
    withhold(&request.bounds.redactor);
    let internal = |error| Failure::new(ExitStatus::Internal, error);
    let mut terminal = Terminal::new(&here.layout, args.json);
    let interrupts = {
        let _entered = runtime.enter();
        Interrupts::listen().and_then(Interrupts::outliving_the_terminal).map_err(internal)?
    };
    // Of every agent, as with those that tell later: none of them is a program that tells people.
    let withheld = credentials(here, args);
    let answering = answering(here, &request.bounds.notification, waits);
    let deliverer = Deliverer::new(&here.layout, &here.place, &request.bounds, answering, &withheld);
    let engine = {
        let _entered = runtime.enter();
        Engine::begin(request, interrupts, &mut terminal)
    };
    let has_begun = engine.is_ok();
    let ended = engine.and_then(|engine| runtime.block_on(engine.run()));
    if let Ok(Ended { end, .. }) = &ended {
        terminal.part(end);
    }
    // All of it is shown before anything else is said.
    drop(terminal);
    let ended = ended.map_err(of_run);
    match &ended {
        // Whoever interrupted a run at its terminal knows of it, and wants to get away.
        Ok(Ended { end: RunEnd::Interrupted { by: Interrupt::Interrupt }, .. }) => {}
        Err(failure) if has_begun => tell_of_failure(here, deliverer, runtime, &failure.with_causes()),
        _ => tell(deliverer, runtime),
    }
    let Ended { end, state } = ended?;
    if args.json {
        let call = Call::pending(&state, &here.layout).as_ref().map(call_json);
        let here = here.again()?;
        let status = looked(&here, settings_of_the_execution(&here, args).as_ref())?;
        print_json(&json!({ "end": end.word(), "call": call, "status": status }))?;
    }
    Ok(match end {
        RunEnd::Completed => ExitStatus::Success,
        RunEnd::Escalated => ExitStatus::HumanNeeded,
        RunEnd::Paused { .. } => ExitStatus::TryAgain,
        RunEnd::Interrupted { by: Interrupt::Interrupt } => ExitStatus::Interrupted,
        RunEnd::Interrupted { by: Interrupt::Terminate } => ExitStatus::Terminated,
        RunEnd::Failed { .. } | RunEnd::Other => ExitStatus::Internal,
    })
}

pub(super) fn call_json(call: &Call) -> serde_json::Value {
    json!({ "id": call.id, "trigger": call.trigger, "phase": call.phase, "reason": call.reason, "report": call.report.yaml })
}
