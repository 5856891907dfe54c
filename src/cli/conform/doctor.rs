//! `loa-conform doctor`: tries a manifest before it is scored.

use std::fmt::Write as _;

use clap::Args;
use serde_json::json;

use super::candidates::Candidates;
use super::suite;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::conform::observe::{Health, Interruption, RigOptions, Symptom, checkup, identify, observe, trials};
use crate::conform::spec::RuntimeProfile;
use crate::system::env;
use crate::text::line;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Doctor {
    /// A manifest of yours, or the name of a bundled runtime
    #[arg(value_name = "MANIFEST|NAME")]
    runtime: String,
    /// Keep the folders of the two trials, and say where
    #[arg(long)]
    keep: bool,
    /// Print one JSON document, for machines
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  loa-conform doctor my-runtime.yaml
  loa-conform doctor my-runtime.yaml --keep --json

0: the manifest can be scored. 1: the manifest, or the adapter that it starts, is
at fault; each line says what to do. It runs the plan twice: once nothing goes
wrong, once a phase asks for a second attempt. It judges no clause.";

pub(super) fn doctor(wish: &Doctor) -> Result<ExitStatus, Failure> {
    let suite = suite::open::<RuntimeProfile>(None)?;
    let candidates = Candidates::gather(&suite, std::slice::from_ref(&wish.runtime))?;
    let candidate = candidates.all.first().expect("one was asked for, and there was no failure");
    let judge = env::current_exe().map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let interruption = Interruption::listen();
    let identity = identify(&candidate.manifest, &candidate.dir, &judge);
    let options = RigOptions { keep: wish.keep, stop: interruption.stop(), ..RigOptions::new(1, judge) };
    let seen = identity
        .problem
        .is_none()
        .then(|| trials(&candidate.manifest).map(|case| observe(&case, &candidate.manifest, &candidate.dir, &options)));
    let symptoms = checkup(&candidate.manifest, &identity, seen.as_ref());
    let faults = symptoms.iter().filter(|symptom| symptom.health == Health::Fault).count();
    let status = if faults == 0 { ExitStatus::Success } else { ExitStatus::NotConforming };
    let kept: Vec<String> = seen.iter().flatten().filter_map(|seen| seen.kept.clone()).collect();
    if wish.json {
        let document = json!({ "runtime": candidate.manifest.runtime, "symptoms": symptoms, "kept": kept,
            "exit_code": status.code() });
        print(&format!("{document:#}\n"))?;
    } else {
        print(&told(&symptoms, &kept, faults, status))?;
    }
    Ok(status)
}

fn told(symptoms: &[Symptom], kept: &[String], faults: usize, status: ExitStatus) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for Symptom { what, health, seen, remedy } in symptoms {
        let _ = writeln!(text, "{health:5} {what}: {}", line(seen));
        if !remedy.is_empty() {
            let _ = writeln!(text, "      -> {remedy}");
        }
    }
    for folder in kept {
        let _ = writeln!(text, "kept: {}", line(folder));
    }
    let verdict = match faults {
        0 => "it can be scored".to_owned(),
        1 => "the adapter has a fault; scoring it would blame the runtime for it".to_owned(),
        faults => format!("the adapter has {faults} faults; scoring it would blame the runtime for them"),
    };
    let _ = writeln!(text, "{verdict} (exit code {})", status.code());
    text
}
