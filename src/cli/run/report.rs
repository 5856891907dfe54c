//! `loa-run report` and `loa-run escalations`: what happened to an execution, the present one or one that was put aside.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::refusal::of_run;
use super::show::print_json;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::report::run::{Call, RunReport, Seen, fold, html};
use crate::runner::RunError;
use crate::store::{Layout, StoreError, archived_names, read_past};
use crate::system::clock;
use crate::system::files::{self, Privacy};
use crate::system::lock::Lock;

/// Writes the page, or prints the report as JSON.
pub(super) fn report(
    layout: &Layout,
    execution: Option<&str>,
    output: Option<&Path>,
    json: bool,
) -> Result<ExitStatus, Failure> {
    let report = read(layout, execution)?;
    if json {
        print_json(&report)?;
        if output.is_none() {
            return Ok(ExitStatus::Success);
        }
    }
    let path = output.map_or_else(|| default_output(layout, execution), Path::to_path_buf);
    // What phases wrote about themselves is nobody else's business.
    let written = files::write_durably(&path, html(&report).as_bytes(), Privacy::Private);
    written.map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    if !json {
        print(&format!("wrote {}\n", path.display()))?;
    }
    Ok(ExitStatus::Success)
}

fn default_output(layout: &Layout, execution: Option<&str>) -> PathBuf {
    execution.map_or_else(|| layout.run(), |name| layout.archived(name)).join("report.html")
}

fn read(layout: &Layout, execution: Option<&str>) -> Result<RunReport, Failure> {
    let none = || of_run(RunError::NoExecution { workspace: layout.workspace().to_path_buf() });
    let store = |error: StoreError| of_run(error.into());
    let archived = archived_names(layout).map_err(store)?;
    let present = read_past(layout, None).map_err(store)?;
    let is_present = |name: &str| {
        let record = present.as_ref().and_then(|past| past.record.as_ref());
        record.is_some_and(|record| record.execution_id.as_str() == name)
    };
    let archived = match execution {
        Some(name) if is_present(name) => None,
        Some(name) if archived.iter().any(|known| known == name) => Some(name),
        Some(name) => return Err(unknown(name, &archived)),
        None => None,
    };
    let past = if archived.is_some() { read_past(layout, archived).map_err(store)? } else { present };
    let holder = Lock::holder(&layout.lock()).map_err(|error| of_run(error.into()))?;
    let seen = Seen { now: clock::now().wall(), working: archived.is_none() && holder.is_some() };
    past.and_then(|past| fold(&past, seen)).ok_or_else(none)
}

#[derive(Debug, thiserror::Error)]
#[error("there is no execution `{0}` in this workspace")]
struct Unknown(String);

fn unknown(name: &str, archived: &[String]) -> Failure {
    let failure = Failure::new(ExitStatus::NoInput, Unknown(name.to_owned()));
    match archived {
        [] => failure.hint("no execution was put aside here yet"),
        names => failure.hint(format!("put aside are: {}", names.join(", "))),
    }
}

/// Lists every report of an execution and whether it was answered.
pub(super) fn escalations(layout: &Layout, execution: Option<&str>, json: bool) -> Result<ExitStatus, Failure> {
    let report = read(layout, execution)?;
    if json {
        return print_json(&json!({ "execution_id": report.execution_id, "escalations": report.calls }))
            .map(|()| ExitStatus::Success);
    }
    let mut text = String::new();
    for call in &report.calls {
        // Writing to a String cannot fail.
        let _ = write_call(&mut text, call);
    }
    if report.calls.is_empty() {
        text = format!("{}: no human was called\n", report.execution_id);
    }
    print(&text).map(|()| ExitStatus::Success)
}

fn write_call(text: &mut String, call: &Call) -> std::fmt::Result {
    writeln!(text, "{}  {}  {} in {}: {}", call.number, call.at, call.trigger, call.phase, call.reason)?;
    writeln!(text, "   report: {}", call.report.display())?;
    match &call.answer {
        Some(answer) => {
            let notes = answer.notes.as_ref().map(|notes| format!(": {notes}")).unwrap_or_default();
            writeln!(text, "   answered {}: {}{notes}", answer.at, answer.action)
        }
        None => {
            writeln!(text, "   waits for an answer: loa-run resolve fix_and_resume    (or skip_phase, reset, abort)")
        }
    }
}
