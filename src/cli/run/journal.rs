//! `loa-run journal`: the events of an execution, checked against their hashes.

use serde_json::json;

use super::given::Here;
use super::refusal::of_run;
use super::report::{names, unknown};
use super::show::print_json;
use crate::cli::console::{pass_on, print};
use crate::cli::{ExitStatus, Failure};
use crate::config::is_secret;
use crate::runner::{RunError, present};
use crate::store::{Recorded, RunStore, StoreError};

#[derive(Debug, thiserror::Error)]
#[error("the journal does not hold this head: what led to it was edited, or it belongs to another execution")]
struct NotHeld;

/// Prints the events, or says whether a head is still held.
pub(super) fn journal(
    here: &Here,
    execution: Option<&str>,
    head: Option<&str>,
    json: bool,
) -> Result<ExitStatus, Failure> {
    let recorded = recorded(here, execution)?;
    let Some(head) = head else { return shown(&recorded, json) };
    let place = recorded.heads.iter().position(|known| known.as_str() == head);
    match place {
        None => Err(Failure::new(ExitStatus::HumanNeeded, NotHeld)
            .hint("`loa-run runs` lists the executions; --execution ID chooses another one")),
        Some(index) => {
            let since = recorded.heads.len() - index - 1;
            if json {
                print_json(&json!({ "held": true, "events": index + 1, "since": since }))?;
            } else {
                print(&format!("held: {} events led to it, {since} came since\n", index + 1))?;
            }
            Ok(ExitStatus::Success)
        }
    }
}

fn recorded(here: &Here, execution: Option<&str>) -> Result<Recorded, Failure> {
    let failed = |error: StoreError| of_run(error.into());
    let none = || of_run(RunError::NoExecution { workspace: here.layout.workspace().to_path_buf() });
    let known = here.store.executions().map_err(failed)?;
    let chosen = match execution {
        Some(name) => known.iter().find(|summary| summary.is_named(name)),
        None => known.iter().find(|summary| summary.is_current),
    };
    let Some(summary) = chosen else {
        // Of an execution of an earlier program there is no journal before it goes on.
        let earlier = present(&here.store, &here.layout).map_err(of_run)?;
        let failure = none();
        return Err(match (execution, earlier) {
            (Some(name), earlier) if earlier.as_ref().is_none_or(|state| state.execution_id.as_str() != name) => {
                unknown(name, &names(here)?)
            }
            (_, Some(_)) => {
                failure.hint("an earlier program recorded it without a journal: `loa-run report` tells its story")
            }
            (_, None) => failure,
        });
    };
    here.store.read(&summary.execution).map_err(failed)?.ok_or_else(none)
}

fn shown(recorded: &Recorded, json: bool) -> Result<ExitStatus, Failure> {
    for envelope in &recorded.envelopes {
        let mut value = serde_json::to_value(envelope).expect("an event is plain data with text keys");
        hide_secrets(&mut value);
        let line = if json { value.to_string() } else { line(value) };
        if !pass_on(format!("{line}\n").as_bytes())? {
            return Ok(ExitStatus::Success);
        }
    }
    if !json {
        print(&format!("head {}\n", recorded.head.as_str()))?;
    }
    Ok(ExitStatus::Success)
}

/// Takes out what a flag said that is a secret: the journal keeps it to go on with it, and shows it to nobody.
fn hide_secrets(event: &mut serde_json::Value) {
    let overrides = event.get_mut("overrides").and_then(serde_json::Value::as_array_mut);
    for said in overrides.into_iter().flatten() {
        if said["key"].as_str().is_some_and(is_secret) {
            said["value"] = json!("(set, and not shown)");
        }
    }
}

/// An event in one line for people: its number, its time, what it is, and the rest as it was written.
fn line(mut value: serde_json::Value) -> String {
    let mut take = |key: &str| {
        let taken = value.as_object_mut().and_then(|object| object.shift_remove(key)).unwrap_or_default();
        taken.as_str().map_or_else(|| taken.to_string(), str::to_owned)
    };
    let (seq, at, epoch, event) = (take("seq"), take("at"), take("epoch"), take("event"));
    let _ = take("version");
    format!("{seq:>5}  {at}  {epoch}  {event:<20} {value}")
}
