//! `loa-run config`: the values in force, and where each comes from.

use serde_json::{Value, json};

use super::show::print_json;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::config::{Explained, Settings};

/// Prints every value in force; with `explain`, its origin beside it.
pub(super) fn config(settings: &Settings, explain: bool, json: bool) -> Result<ExitStatus, Failure> {
    let values = settings.explain();
    let printed = match (json, explain) {
        (true, true) => print_json(&values.iter().map(with_origin).collect::<Vec<_>>()),
        (true, false) => print_json(
            &values.iter().map(|one| (one.key.clone(), one.value.clone())).collect::<serde_json::Map<_, _>>(),
        ),
        (false, _) => print(&lines(&values, explain)),
    };
    printed.map(|()| ExitStatus::Success)
}

fn with_origin(one: &Explained) -> Value {
    json!({ "key": one.key, "value": one.value, "origin": one.origin.to_string() })
}

fn lines(values: &[Explained], explain: bool) -> String {
    let written = |one: &Explained| format!("{} = {}", one.key, one.value);
    let width = values.iter().map(|one| written(one).chars().count()).max().unwrap_or(0).min(WIDEST);
    let line = |one: &Explained| {
        if explain { format!("{:<width$}  # {}\n", written(one), one.origin) } else { format!("{}\n", written(one)) }
    };
    values.iter().map(line).collect()
}

/// Where the origins stand at the latest, in columns; a longer value pushes its own further.
const WIDEST: usize = 72;
