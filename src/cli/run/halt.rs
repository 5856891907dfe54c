//! `loa-run halt`: asks whoever works on the execution to stop, or stops it where nobody does.

use serde_json::json;

use super::args::LoaRun;
use super::commands::{call_json, runtime};
use super::given::{Here, bounds, planned_again, recorded_origin};
use super::refusal::{of_prompt, of_run};
use super::show::print_json;
use super::terminal::surfaced;
use crate::backend::backends;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::contract::ExecutionId;
use crate::events::Event;
use crate::runner::{Call, Halted, Notifier, halt};

pub(super) fn ask_to_halt(here: &Here, args: &LoaRun) -> Result<ExitStatus, Failure> {
    let halted = halt(&here.layout, &here.place).map_err(of_run)?;
    let (document, text) = match &halted {
        Halted::Asked(holder) => (
            json!({ "halt": "asked", "pid": holder.pid }),
            format!("asked process {} to halt; it ends its stage and writes the report\n", holder.pid),
        ),
        Halted::Done { execution, call } => {
            say(surfaced(call));
            tell(here, args, execution, call)?;
            (json!({ "halt": "done", "call": call_json(call) }), String::new())
        }
    };
    if args.json { print_json(&document) } else { print(&text) }?;
    Ok(ExitStatus::Success)
}

/// Nobody works on the execution, so whoever is to hear of a call hears of it from here. The report is written by now.
fn tell(here: &Here, args: &LoaRun, execution: &ExecutionId, call: &Call) -> Result<(), Failure> {
    let known =
        recorded_origin(here).and_then(|origin| planned_again(here, args, &origin)).and_then(|(settings, plan)| {
            let backends = backends(&plan, &settings, here.layout.workspace()).map_err(of_prompt)?;
            Ok((bounds(&settings), backends.withheld_from(None)))
        });
    match known {
        Err(failure) => say(format_args!("loa-run: nobody else was told: {}", failure.text())),
        Ok((bounds, withheld)) => {
            let notifier = Notifier { layout: &here.layout, execution, bounds: &bounds, withheld: &withheld };
            for event in runtime()?.block_on(notifier.tell(call)) {
                if let Event::Notified { means, failed: Some(why) } = event {
                    say(format_args!("loa-run: nobody was told by the {means}: {why}"));
                }
            }
        }
    }
    Ok(())
}
