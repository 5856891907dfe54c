//! `loa-run report` and `loa-run escalations`: what happened to an execution, the present one or one that was put aside.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::given::Here;
use super::refusal::of_run;
use super::show::{UNGUARDED, print_json};
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::draw::moment;
use crate::report::run::{Call, RunReport, Seen, fold, html};
use crate::runner::{RunError, story};
use crate::store::{Layout, RunStore};
use crate::system::clock;
use crate::system::files::{self, Privacy};
use crate::text::sanitized;

/// Writes the page, or prints the report as JSON.
pub(super) fn report(
    here: &Here,
    execution: Option<&str>,
    output: Option<&Path>,
    json: bool,
) -> Result<ExitStatus, Failure> {
    let report = read(here, execution)?;
    if json && output.is_none() {
        return print_json(&report).map(|()| ExitStatus::Success);
    }
    let path = output.map_or_else(|| default_output(&here.layout, execution), Path::to_path_buf);
    if let (None, Some(folder)) = (output, path.parent()) {
        files::ensure_folder(folder).map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    }
    // What phases wrote about themselves is nobody else's business.
    let written = files::write_durably(&path, html(&report).as_bytes(), Privacy::Private);
    written.map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    let told = if json { print_json(&report) } else { print(&format!("wrote {}\n", path.display())) };
    told.map(|()| ExitStatus::Success)
}

fn default_output(layout: &Layout, execution: Option<&str>) -> PathBuf {
    execution.map_or_else(|| layout.run(), |name| layout.archived(name)).join("report.html")
}

fn read(here: &Here, execution: Option<&str>) -> Result<RunReport, Failure> {
    let story = story(&here.store, &here.layout, execution).map_err(of_run)?;
    let Some(story) = story else {
        let workspace = here.layout.workspace().to_path_buf();
        return Err(match execution {
            Some(name) => unknown(name, &names(here)?),
            None => of_run(RunError::NoExecution { workspace }),
        });
    };
    let is_present = here.present()?.is_some_and(|state| state.execution_id == story.state.execution_id);
    let seen = Seen { now: clock::now().wall(), working: is_present && here.holder()?.is_some() };
    let id = &story.state.execution_id;
    // Logs of an earlier program lie in the workspace, beside what was put aside of it.
    let folders = [here.place.logs(id), here.layout.archived(&id.file_name()).join("logs"), here.layout.logs()];
    let count = if is_present { folders.len() } else { folders.len() - 1 };
    let folders: Vec<&Path> = folders[..count].iter().map(PathBuf::as_path).collect();
    Ok(fold(&story, &here.layout, &folders, seen))
}

/// The executions that a name could mean.
pub(super) fn names(here: &Here) -> Result<Vec<String>, Failure> {
    let known = here.store.executions().map_err(|error| of_run(error.into()))?;
    let archived = files::list(&here.layout.archive()).map_err(|error| of_run(error.into()))?;
    let archived = archived.iter().filter(|folder| folder.join("run.yaml").is_file());
    let archived = archived.filter_map(|folder| Some(folder.file_name()?.to_str()?.to_owned()));
    let past = known.into_iter().filter(|summary| !summary.is_current);
    Ok(past.map(|summary| summary.execution.to_string()).chain(archived).collect())
}

#[derive(Debug, thiserror::Error)]
#[error("there is no execution `{0}` in this workspace")]
struct Unknown(String);

pub(super) fn unknown(name: &str, archived: &[String]) -> Failure {
    let failure = Failure::new(ExitStatus::NoInput, Unknown(name.to_owned()));
    match archived {
        [] => failure.hint("no execution was put aside here yet"),
        names => failure.hint(format!("put aside are: {}", names.join(", "))),
    }
}

/// Lists every report of an execution and whether it was answered.
pub(super) fn escalations(here: &Here, execution: Option<&str>, json: bool) -> Result<ExitStatus, Failure> {
    let report = read(here, execution)?;
    if json {
        return print_json(&json!({ "execution_id": report.execution_id, "escalations": report.calls }))
            .map(|()| ExitStatus::Success);
    }
    let mut text = String::new();
    let is_present = here.present()?.is_some_and(|state| state.execution_id == report.execution_id);
    for call in &report.calls {
        // Writing to a String cannot fail.
        let _ = write_call(&mut text, call, is_present);
    }
    if report.calls.is_empty() {
        text = format!("{}: no human was called\n", report.execution_id);
    }
    print(&sanitized(text)).map(|()| ExitStatus::Success)
}

fn write_call(text: &mut String, call: &Call, is_present: bool) -> std::fmt::Result {
    writeln!(
        text,
        "{}  {}  {} in {}: {}",
        call.number,
        moment(call.at),
        call.trigger.explained(),
        call.phase,
        call.reason.line()
    )?;
    writeln!(text, "   report: {}", call.report.display())?;
    match &call.answer {
        Some(answer) => {
            let notes = answer.notes.as_ref().map(|notes| format!(": {}", notes.line())).unwrap_or_default();
            let mark = if answer.unguarded { UNGUARDED } else { "" };
            writeln!(text, "   answered {}: {}{notes}{mark}", moment(answer.at), answer.action)
        }
        None if !is_present => writeln!(text, "   was not answered before the execution was put aside"),
        None => {
            let id = &call.id;
            writeln!(
                text,
                "   waits for an answer: loa-run resolve fix_and_resume --call {id}    (or skip_phase, reset, abort)"
            )
        }
    }
}
