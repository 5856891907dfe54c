//! `loa-run halt`: asks whoever works on the execution to stop, or stops it where nobody does.

use serde_json::json;

use super::args::LoaRun;
use super::commands::call_json;
use super::given::Here;
use super::notify::tell_what_is_left;
use super::refusal::of_run;
use super::show::print_json;
use super::terminal::surfaced;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::runner::{Halted, halt};

pub(super) fn ask_to_halt(here: &Here, args: &LoaRun) -> Result<ExitStatus, Failure> {
    let halted = halt(&here.layout, &here.place).map_err(of_run)?;
    let (document, text) = match &halted {
        Halted::Asked(holder) => (
            json!({ "halt": "asked", "pid": holder.pid }),
            format!("asked process {} to halt; it ends its stage and writes the report\n", holder.pid),
        ),
        Halted::Done { call, .. } => {
            say(surfaced(call));
            // Nobody works on the execution, so whoever is to hear of a call hears of it from here.
            tell_what_is_left(here, args)?;
            (json!({ "halt": "done", "call": call_json(call) }), String::new())
        }
    };
    if args.json { print_json(&document) } else { print(&text) }?;
    Ok(ExitStatus::Success)
}
