//! `loa-run backends`: which agents there are and what each can do, whether they would work, and a section for another.

use std::path::Path;

use clap::Subcommand;
use serde_json::{Value, json};

use super::args::LoaRun;
use super::backends_doctor::examine;
use super::given::{Here, settings};
use super::locate::locate;
use super::show::print_json;
use crate::backend::every_backend;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::config::{BackendSettings, FILE_NAME, NotAdded, Settings, backend_section, built_in, with_backend};
use crate::runner::{Backend, Backends};
use crate::system::files::{self, FileError, Privacy};

#[derive(Debug, Subcommand)]
pub(super) enum BackendsVerb {
    /// Show every agent and what it can do (the default)
    List,
    /// Try each: its program, its version, its keys, its settings
    #[command(after_help = DOCTOR_HELP)]
    Doctor {
        /// These alone; by default every one
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Add a section for another program to .loa.config.yaml
    #[command(after_help = NEW_HELP)]
    New {
        /// Its name: letters, digits, - and _
        #[arg(value_name = "NAME", value_parser = backend_name)]
        name: String,
    },
}

pub(super) const BACKENDS_HELP: &str = "\
Examples:
  loa-run backends                 which agents there are, and what each can do
  loa-run backends --json | jq .default
  loa-run backends doctor          is each there? has it a key?
  loa-run backends doctor codex
  loa-run backends new mine        a section for another program";

const DOCTOR_HELP: &str = "\
Examples:
  loa-run backends doctor          every agent
  loa-run backends doctor codex    one

Exit codes:
  0    every agent that was asked about, or that the configuration names,
       would work
  2    one would not
  and those of `loa-run --help`";

const NEW_HELP: &str = "\
Example:
  loa-run backends new mine
  loa-run agent run --backend mine \"Say hello.\"

Nothing that stands in the file is touched. Where a section cannot be added
safely, it is printed, nothing is written, and the exit code is 74.";

fn backend_name(word: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match word {
        "" => Err("a name is not empty".to_owned()),
        _ if !word.chars().all(plain) => Err("a name has letters, digits, - and _".to_owned()),
        _ if built_in().any(|name| name == word) => Err(format!("`{word}` is built in and needs no section")),
        _ => Ok(word.to_owned()),
    }
}

/// Does what the command line says.
pub(super) fn backends(here: &Here, verb: Option<&BackendsVerb>, args: &LoaRun) -> Result<ExitStatus, Failure> {
    match verb {
        None | Some(BackendsVerb::List) => list(here, &settings(here, args)?, args.json),
        Some(BackendsVerb::Doctor { names }) => examine(here, names, args),
        Some(BackendsVerb::New { name }) => new(here, name, args.json),
    }
}

/// One agent, and where its program lies.
struct Row<'a> {
    settings: BackendSettings,
    backend: &'a dyn Backend,
    found: Option<String>,
}

fn list(here: &Here, settings: &Settings, json: bool) -> Result<ExitStatus, Failure> {
    let backends = every_backend(settings);
    let rows = rows(here, settings, &backends);
    let origin = settings.origin("runtime.backend").to_string();
    if json {
        let default = json!({ "backend": settings.default_backend(), "origin": origin });
        print_json(&json!({ "default": default, "backends": rows.iter().map(document).collect::<Vec<_>>() }))?;
    } else {
        print(&format!(
            "{}\n{}\ndefault: {}  # {origin}\n",
            programs(&rows),
            matrix(&rows),
            settings.default_backend()
        ))?;
    }
    Ok(ExitStatus::Success)
}

fn rows<'a>(here: &Here, settings: &Settings, backends: &'a Backends) -> Vec<Row<'a>> {
    let row = |backend: &'a dyn Backend| {
        let settings = settings.backend(backend.name())?;
        let found = locate(&settings, here.layout.workspace()).ok();
        Some(Row { settings, backend, found })
    };
    backends.iter().filter_map(row).collect()
}

fn capabilities(row: &Row<'_>) -> Vec<(String, Value)> {
    let value = serde_json::to_value(row.backend.capabilities()).expect("a matrix is plain data");
    value.as_object().into_iter().flatten().map(|(name, can)| (name.clone(), can.clone())).collect()
}

fn document(row: &Row<'_>) -> Value {
    json!({
        "name": row.settings.name,
        "kind": row.settings.kind,
        "built_in": built_in().any(|name| name == row.settings.name),
        "program": row.settings.program(),
        "found": row.found,
        "credentials": row.backend.credentials(),
        "capabilities": row.backend.capabilities(),
    })
}

fn programs(rows: &[Row<'_>]) -> String {
    let width = rows.iter().map(|row| row.settings.name.len()).max().unwrap_or(0);
    let line = |row: &Row<'_>| {
        let found = row.found.as_deref().unwrap_or("not found");
        format!("{:<width$}  {}: {found}\n", row.settings.name, row.settings.program())
    };
    rows.iter().map(line).collect()
}

/// What each can do: a column an agent.
fn matrix(rows: &[Row<'_>]) -> String {
    let columns: Vec<Vec<(String, Value)>> = rows.iter().map(capabilities).collect();
    let names: Vec<String> = columns.first().into_iter().flatten().map(|(name, _)| name.replace('_', " ")).collect();
    let widest = names.iter().map(String::len).max().unwrap_or(0);
    let width = |row: &Row<'_>| row.settings.name.len().max(3);
    let line = |name: &str, cells: Vec<String>| {
        let cells = rows.iter().zip(cells).map(|(row, cell)| format!("  {cell:<width$}", width = width(row)));
        format!("{}\n", format!("{name:<widest$}{}", cells.collect::<String>()).trim_end())
    };
    let head = line("", rows.iter().map(|row| row.settings.name.clone()).collect());
    let word = |value: &Value| match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.as_str().map_or_else(|| other.to_string(), str::to_owned),
    };
    let body = names
        .iter()
        .enumerate()
        .map(|(index, name)| line(name, columns.iter().map(|column| word(&column[index].1)).collect()));
    head + &body.collect::<String>()
}

/// Adds a section to the workspace's configuration, or prints it where that cannot be done safely.
fn new(here: &Here, name: &str, json: bool) -> Result<ExitStatus, Failure> {
    let path = here.layout.workspace().join(FILE_NAME);
    let failed = |error: FileError| Failure::new(ExitStatus::WriteFailed, error);
    let before = match files::read(&path, 16 << 20) {
        Err(error) if error.is_not_found() => None,
        text => Some(String::from_utf8(text.map_err(failed)?).map_err(|_| unsafe_to(name, &path))?),
    };
    let after = with_backend(before.as_deref().unwrap_or_default(), name).map_err(|error| match error {
        NotAdded::Taken => {
            Failure::new(ExitStatus::WriteFailed, NotWritten { path: path.display().to_string(), error })
        }
        NotAdded::Unsafe => unsafe_to(name, &path),
    })?;
    if before.is_some() {
        files::write_durably(&path, after.as_bytes(), Privacy::Shared).map_err(failed)?;
    } else {
        files::create_durably(&path, after.as_bytes(), Privacy::Shared).map_err(failed)?;
    }
    if json {
        print_json(&json!({ "written": path, "key": format!("runtime.backends.{name}") }))?;
    } else {
        print(&format!("added runtime.backends.{name} to {}; say under `run` how it is started\n", path.display()))?;
    }
    Ok(ExitStatus::Success)
}

#[derive(Debug, thiserror::Error)]
#[error("nothing was added to {path}")]
struct NotWritten {
    path: String,
    #[source]
    error: NotAdded,
}

fn unsafe_to(name: &str, path: &Path) -> Failure {
    let error = NotWritten { path: path.display().to_string(), error: NotAdded::Unsafe };
    let hint = format!("put this under runtime.backends yourself:\n{}", backend_section(name, 0));
    Failure::new(ExitStatus::WriteFailed, error).hint(hint)
}
