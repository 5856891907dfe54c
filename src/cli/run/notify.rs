//! `loa-run notify`, and what every command that opens a run delivers besides: messages that nobody has taken yet.

use std::path::Path;

use serde_json::json;
use tokio::runtime::Runtime;

use super::args::{LoaRun, Which};
use super::commands::runtime;
use super::given::{Here, bounds, settings, settings_again, settings_of_the_execution, settings_to_tell_by};
use super::refusal::of_run;
use super::service::has_service;
use super::show::{print_json, undelivered_line};
use crate::backend::every_backend;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::config::{NotifyOn, Settings};
use crate::events::{Message, News};
use crate::runner::{Answering, Delivered, Deliverer, Notification, Outcome, RunError, Undelivered, notice_death};
use crate::store::StoreError;
use crate::system::lock::LockError;
use crate::system::process::Interrupts;
use crate::system::{clock, env, ids};
use crate::text::shell_word;

#[derive(Debug, thiserror::Error)]
#[error("nobody is to be told: `runtime.notify` names no receiver")]
struct Nobody;

/// Whoever delivers for this workspace, as the settings say.
pub(super) fn deliverer(here: &Here, settings: &Settings) -> Deliverer {
    deliverer_of(here, settings, false)
}

/// The same for a process that waits for the answer, and goes on by itself.
pub(super) fn deliverer_that_waits(here: &Here, settings: &Settings) -> Deliverer {
    deliverer_of(here, settings, true)
}

fn deliverer_of(here: &Here, settings: &Settings, is_awaited: bool) -> Deliverer {
    let withheld = every_backend(settings).withheld_from(None);
    let bounds = bounds(here, settings);
    Deliverer::new(&here.layout, &here.place, &bounds, answering(here, &bounds.notification, is_awaited), &withheld)
}

/// What a person types to answer, from a shell that need not have our environment.
/// `is_awaited`: a process of ours waits for the answer, and goes on by itself.
pub(super) fn answering(here: &Here, notification: &Notification, is_awaited: bool) -> Answering {
    let word = |path: &Path| shell_word(&path.to_string_lossy());
    let program = notification.answer_with.clone().unwrap_or_else(|| {
        let program = env::current_exe().map_or_else(|_| "loa-run".to_owned(), |path| word(&path));
        // Where the state lies by our environment alone, nobody else would find it.
        let by_environment = env::var("LOA_RUN_STATE").or_else(|| env::var("XDG_STATE_HOME")).is_some();
        let state = by_environment.then(|| format!("LOA_RUN_STATE={} ", word(here.place.base())));
        format!("{}{program} --workspace {}", state.unwrap_or_default(), word(here.layout.workspace()))
    });
    Answering { program, goes_on: if has_service(here) { "service start" } else { "resume" }, is_awaited }
}

/// Delivers what is queued, and says who was not told. Never a reason for a command to fail.
pub(super) fn tell(deliverer: Deliverer, runtime: &Runtime) {
    match run(deliverer, runtime, false) {
        Ok(told) => told.left.iter().filter(|it| it.tries > 0).for_each(warn),
        // Whoever works on it delivers it.
        Err(RunError::Store(StoreError::Lock(LockError::Held { .. }))) => {}
        Err(error) => say(format_args!("loa-run: nobody else was told: {}", of_run(error).text())),
    }
}

/// The same for a command that needs no configuration itself: where nothing is queued, none is read. A session that died is
/// told of, too.
pub(super) fn tell_what_is_left(here: &Here, args: &LoaRun) -> Result<(), Failure> {
    notice_a_death(here, args);
    let state = here.present().ok().flatten();
    if state.and_then(|state| state.outbox).is_none_or(|outbox| outbox.messages.is_empty()) {
        return Ok(());
    }
    match settings_again(here, args) {
        Ok(settings) => tell(deliverer(here, &settings), &runtime()?),
        Err(failure) => say(format_args!("loa-run: nobody else was told: {}", failure.text())),
    }
    Ok(())
}

/// Tells of a session that died, before anybody goes on from it.
pub(super) fn tell_of_a_death(here: &Here, args: &LoaRun) -> Result<(), Failure> {
    if notice_a_death(here, args) { tell_what_is_left(here, args) } else { Ok(()) }
}

/// Whether a death is new, and somebody wants to hear of it. What keeps it from being recorded is for whoever works on the
/// execution to complain about.
fn notice_a_death(here: &Here, args: &LoaRun) -> bool {
    let is_untold = here.present().ok().flatten().is_some_and(|state| state.untold_death().is_some());
    let settings = is_untold.then(|| settings_of_the_execution(here, args)).flatten();
    let receivers = settings.as_ref().map(Notification::from).unwrap_or_default().receivers;
    let are_told = receivers.iter().any(|receiver| receiver.on.contains(&NotifyOn::Failed));
    are_told && notice_death(&here.layout, &here.place).unwrap_or(false)
}

/// Tells of the error that ended a session.
pub(super) fn tell_of_failure(here: &Here, deliverer: Deliverer, runtime: &Runtime, error: &str) {
    let state = here.again().and_then(|here| here.present()).ok().flatten();
    let is_failure = |message: &Message| matches!(message.news, News::Failed { .. });
    if state.and_then(|state| state.outbox).is_some_and(|outbox| outbox.messages.iter().any(is_failure)) {
        return tell(deliverer, runtime);
    }
    tell_unrecorded(&deliverer, runtime, error);
}

/// Tells of an error that kept a service from working, before there was a session that could tell of it.
pub(super) fn tell_of_refusal(here: &Here, args: &LoaRun, error: &str) -> Result<(), Failure> {
    let Some(settings) = settings_to_tell_by(here, args) else {
        say(format_args!("loa-run: nobody else was told: who is to be told cannot be read"));
        return Ok(());
    };
    tell_unrecorded(&deliverer(here, &settings), &runtime()?, error);
    Ok(())
}

/// Tells of an error that the journal does not hold: once, for nothing remembers that.
fn tell_unrecorded(deliverer: &Deliverer, runtime: &Runtime, error: &str) {
    let id = format!("unrecorded-{}", ids::execution(clock::now().wall()));
    for (receiver, outcome) in runtime.block_on(deliverer.tell_unrecorded(&id, error)) {
        if let Some(reason) = outcome.reason() {
            say(format_args!(
                "loa-run: nobody was told by the {receiver}: {}; the journal does not hold it, so nobody tries again",
                reason.line()
            ));
        }
    }
}

fn warn(left: &Undelivered) {
    say(format_args!("loa-run: {}", undelivered_line(left)));
}

fn run(deliverer: Deliverer, runtime: &Runtime, insists: bool) -> Result<Delivered, RunError> {
    let interrupts = {
        let _entered = runtime.enter();
        listen()?
    };
    runtime.block_on(deliverer.deliver(insists, interrupts))
}

/// Begins to listen for signals.
pub(super) fn listening(runtime: &Runtime) -> Result<Interrupts, Failure> {
    let _entered = runtime.enter();
    listen().map_err(of_run)
}

pub(super) fn listen() -> Result<Interrupts, RunError> {
    let interrupts = Interrupts::listen().and_then(Interrupts::outliving_the_terminal);
    interrupts.map_err(|source| RunError::Host { what: "listen for signals", source })
}

/// `loa-run notify --test`.
pub(super) fn try_receivers(here: &Here, args: &LoaRun) -> Result<ExitStatus, Failure> {
    try_out(&deliverer(here, &settings(here, args)?), args.json)
}

/// `loa-run notify`. A phase may have written the configuration that lies there now: only whoever types so has it say who hears.
pub(super) fn notify(here: &Here, args: &LoaRun, retry: bool, which: Which) -> Result<ExitStatus, Failure> {
    let none = || RunError::NoExecution { workspace: here.layout.workspace().to_path_buf() };
    here.present()?.ok_or_else(none).map_err(of_run)?;
    notice_a_death(here, args);
    let settings = match which {
        Which::Pinned => settings_again(here, args)?,
        Which::New => settings(here, args)?,
    };
    let queue = deliverer(here, &settings);
    has_receivers(&queue)?;
    let delivered = run(queue, &runtime()?, retry).map_err(of_run)?;
    if args.json {
        let taken = delivered.taken.iter().map(|(receiver, id)| json!({ "receiver": receiver, "message": id }));
        print_json(&json!({ "taken": taken.collect::<Vec<_>>(), "left": delivered.left }))?;
    } else {
        let told = delivered.taken.iter().map(|(receiver, id)| format!("told by the {receiver}: {id}\n"));
        let nothing = delivered.taken.is_empty() && delivered.left.is_empty();
        print(&told.chain(nothing.then(|| "nothing is left to tell\n".to_owned())).collect::<String>())?;
        delivered.left.iter().for_each(warn);
    }
    Ok(match delivered.left.iter().map(|left| left.refused).max() {
        None => ExitStatus::Success,
        Some(false) => ExitStatus::TryAgain,
        Some(true) => ExitStatus::HumanNeeded,
    })
}

fn has_receivers(deliverer: &Deliverer) -> Result<(), Failure> {
    if !deliverer.notification.receivers.is_empty() {
        return Ok(());
    }
    let hint = "name one under runtime.notify.receivers in .loa.config.yaml, such as { kind: ntfy, url: https://ntfy.sh/TOPIC }";
    Err(Failure::new(ExitStatus::Config, Nobody).hint(hint))
}

/// Sends a test message to everybody.
fn try_out(deliverer: &Deliverer, json: bool) -> Result<ExitStatus, Failure> {
    has_receivers(deliverer)?;
    let id = format!("test-{}", ids::execution(clock::now().wall()));
    let outcomes = runtime()?.block_on(deliverer.test(&id));
    let word = |outcome: &Outcome| match outcome {
        Outcome::Taken => "taken",
        Outcome::Later { .. } => "later",
        Outcome::Never { .. } => "refused",
    };
    if json {
        let tried = outcomes.iter().map(
            |(receiver, outcome)| json!({ "receiver": receiver, "outcome": word(outcome), "reason": outcome.reason() }),
        );
        print_json(&json!({ "message": id, "tried": tried.collect::<Vec<_>>() }))?;
    } else {
        let line = |(receiver, outcome): &(String, Outcome)| match outcome.reason() {
            None => format!("{receiver} has taken the test message\n"),
            Some(reason) => format!("{receiver} has not taken the test message: {}\n", reason.line()),
        };
        print(&outcomes.iter().map(line).collect::<String>())?;
    }
    let is_refused = outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Never { .. }));
    let is_taken = outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Taken);
    Ok(match (is_taken, is_refused) {
        (true, _) => ExitStatus::Success,
        (false, false) => ExitStatus::TryAgain,
        (false, true) => ExitStatus::HumanNeeded,
    })
}
