//! Checkpoints as the runtime left them (Checkpoint Schema; Checkpoint File Format).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::document::{clip, read, show};
use super::matcher::{Fields, Scene};
use super::{Evidence, phases};
use crate::conform::judge::{Check, Outcome};
use crate::conform::observe::FileSeen;
use crate::conform::spec::{Moment, Reason, Step};
use crate::contract::Phase;

/// The files of one moment.
type Files = BTreeMap<String, FileSeen>;

/// What is asked of a checkpoint.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) at: &'a Moment,
    pub(super) present: bool,
    pub(super) or_absent: Option<&'a str>,
    pub(super) fields: &'a Fields,
}

/// Whether a file of the folder is the checkpoint of one of the eight phases.
pub(super) fn is_of_a_phase(name: &str) -> bool {
    name.strip_suffix(".yaml").is_some_and(|stem| stem.parse::<Phase>().is_ok())
}

/// One phase's checkpoint, or that of every phase that ended.
pub(super) fn checkpoint(evidence: &Evidence<'_>, phase: &str, asked: &Asked<'_>) -> Check {
    if phase != "all" {
        return one(evidence, &evidence.text(phase), asked);
    }
    let workspace = evidence.seen.steps.last().map(|step| step.workspace);
    let ended = evidence.seen.attempts.iter().filter(|attempt| attempt.ended.is_some());
    let phases: BTreeSet<_> =
        ended.filter(|attempt| Some(attempt.workspace) == workspace).map(|attempt| attempt.phase.as_str()).collect();
    let checks = phases.into_iter().map(|phase| one(evidence, phase, asked));
    let none = || Check::fail(Reason::NeverEnded, "a checkpoint of every phase that ended", "no phase ended");
    worst(checks).unwrap_or_else(none)
}

/// The check that came out worst; the first of equals.
fn worst(checks: impl Iterator<Item = Check>) -> Option<Check> {
    checks.reduce(|worst, check| {
        let worse = Outcome::worst([worst.outcome, check.outcome]) != Some(worst.outcome);
        if worse { check } else { worst }
    })
}

fn one(evidence: &Evidence<'_>, phase: &str, asked: &Asked<'_>) -> Check {
    let name = format!("{phase}.yaml");
    let expected = if asked.present { format!("a checkpoint of {phase}") } else { format!("no checkpoint of {phase}") };
    let check = match files_at(evidence, phase, asked.at) {
        None => Check::fail(Reason::NoSuchMoment, expected, "the moment to look at it never came"),
        Some(_) if !has_cause(evidence, phase) => {
            Check::fail(Reason::NeverStarted, expected, format!("{phase} never started"))
        }
        Some(files) => match (files.get(&name), asked.present) {
            (None, false) => Check::pass(expected, "there is none"),
            (Some(file), false) => {
                Check::fail(Reason::UnexpectedCheckpoint, expected, super::document::clip(&file.text))
            }
            (None, true) => missing(evidence, expected, asked.or_absent),
            (Some(file), true) => inside(evidence, files, file, asked.fields, &expected),
        },
    };
    check.in_file(format!(".loa-checkpoint/{name}"))
}

fn missing(evidence: &Evidence<'_>, expected: String, or_absent: Option<&str>) -> Check {
    let observed = "there is none";
    let Some(reading) = or_absent else {
        return Check::fail(Reason::NoCheckpoint, expected, observed);
    };
    let outcome = if evidence.warns(reading) { Outcome::Warn } else { Outcome::Pass };
    Check { readings: vec![reading.to_owned()], ..Check::new(outcome, Reason::AnotherReading, expected, observed) }
}

fn inside(evidence: &Evidence<'_>, files: &Files, file: &FileSeen, fields: &Fields, expected: &str) -> Check {
    let document = match read(&file.text) {
        Ok(document) => document,
        Err(why) => return Check::fail(Reason::Unreadable, "one YAML document", why),
    };
    match (Scene { evidence, checkpoints: files }).fields(fields, &document) {
        Ok(taken) => taken.into_check(evidence, expected, &show(&document)),
        Err(mismatch) => mismatch.into_check(),
    }
}

/// Whether a checkpoint of the phase can mean anything: the phase was started, or the judge itself laid the file.
fn has_cause(evidence: &Evidence<'_>, phase: &str) -> bool {
    let path = format!(".loa-checkpoint/{phase}.yaml");
    let written = evidence.case.steps.iter().filter_map(|step| match step {
        Step::Write { path, .. } => Some(path),
        _ => None,
    });
    evidence.seen.attempts.iter().any(|attempt| attempt.phase == phase)
        || written.chain(evidence.case.files.keys()).any(|laid| evidence.text(laid) == path)
}

fn files_at<'a>(evidence: &Evidence<'a>, phase: &str, at: &Moment) -> Option<&'a Files> {
    let seen = evidence.seen;
    let own = || seen.attempts.iter().position(|attempt| attempt.phase == phase);
    match at {
        Moment::End => seen.steps.last().map(|step| &step.checkpoints),
        Moment::Step(step) => seen.steps.get(*step).map(|step| &step.checkpoints),
        Moment::OwnStart => own().map(|own| &seen.attempts[own].checkpoints),
        Moment::NextStart => {
            let next = seen.attempts[own()?..].iter().find(|attempt| attempt.phase != phase);
            next.map(|next| &next.checkpoints)
        }
    }
}

/// The folder is there and holds something.
pub(super) fn folder(evidence: &Evidence<'_>) -> Check {
    let expected = "a folder with at least one file";
    let held = evidence.seen.steps.last().map_or(0, |step| step.checkpoints.len());
    let check = match held {
        0 => Check::fail(Reason::NoCheckpoint, expected, "no folder, or an empty one"),
        files => Check::pass(expected, format!("{files} files")),
    };
    check.in_file(".loa-checkpoint/")
}

/// The folder holds the checkpoints of exactly these phases, under exactly these names.
pub(super) fn files(evidence: &Evidence<'_>, phases: &[String]) -> Check {
    let wanted: BTreeSet<String> = phases.iter().map(|phase| format!("{}.yaml", evidence.text(phase))).collect();
    let expected = wanted.iter().cloned().collect::<Vec<_>>().join(", ");
    let Some(step) = evidence.seen.steps.last() else {
        return Check::fail(Reason::NoSuchMoment, expected, "no step ended");
    };
    let found = step.checkpoints.iter().filter(|(name, file)| is_of_a_phase(name) || looks_like_one(name, &file.text));
    let found: BTreeSet<String> = found.map(|(name, _)| name.clone()).collect();
    let listing = found.iter().cloned().collect::<Vec<_>>().join(", ");
    let observed = if listing.is_empty() { "nothing".to_owned() } else { listing };
    let check = if wanted.iter().any(|name| !found.contains(name)) {
        Check::fail(Reason::NoCheckpoint, expected, observed)
    } else if found.len() > wanted.len() {
        Check::fail(Reason::UnexpectedCheckpoint, expected, observed)
    } else {
        Check::pass(expected, observed)
    };
    check.in_file(".loa-checkpoint/")
}

/// Whether a file under another name is a checkpoint all the same.
fn looks_like_one(name: &str, text: &str) -> bool {
    let Ok(document) = read(text) else { return false };
    name != "context-state.yaml" && document.get("phase").is_some() && document.get("exit_code").is_some()
}

/// All checkpoints of a run carry one id and, where asked, two runs carry two.
pub(super) fn one_execution(evidence: &Evidence<'_>, unique_across_runs: bool) -> Check {
    let mut ids: BTreeMap<Run, Vec<(String, Option<String>)>> = BTreeMap::new();
    for (number, step) in evidence.seen.steps.iter().enumerate() {
        let found = step.checkpoints.iter().filter(|(name, _)| is_of_a_phase(name));
        let found = found.map(|(name, file)| (name.clone(), id_of(&file.text))).collect();
        ids.insert(run_of(evidence, number), found);
    }
    let expected = "one execution_id in all checkpoints of a run";
    for documents in ids.values() {
        let distinct: BTreeSet<_> = documents.iter().map(|(_, id)| id).collect();
        let listing: Vec<_> =
            documents.iter().map(|(name, id)| format!("{name}: {}", id.as_deref().unwrap_or("none"))).collect();
        if distinct.contains(&None) {
            return Check::fail(Reason::FieldMissing, expected, listing.join(", ")).at_pointer("/execution_id");
        }
        if documents.len() < 2 && !unique_across_runs || documents.is_empty() {
            return Check::fail(Reason::TooFewDocuments, expected, format!("{} checkpoints", documents.len()));
        }
        if distinct.len() > 1 {
            return Check::fail(Reason::IdDiffers, expected, listing.join(", ")).at_pointer("/execution_id");
        }
    }
    if unique_across_runs && ids.len() == 1 && evidence.seen.steps.len() > 1 {
        let observed = "the second run started nothing";
        return Check::new(Outcome::NotApplicable, Reason::NoOccasion, "another run", observed);
    }
    if unique_across_runs { unique(&ids) } else { Check::pass(expected, "one") }
}

/// A run: its workspace, and which of those that were begun there it is. One in which nothing starts is none.
type Run = (usize, usize);

/// The run that a step belongs to.
fn run_of(evidence: &Evidence<'_>, step: usize) -> Run {
    let (steps, attempts) = (&evidence.seen.steps, &evidence.seen.attempts);
    let workspace = steps[step].workspace;
    let begins = |number: &usize| {
        let is_run = steps[*number].verb == "run" && steps[*number].workspace == workspace;
        is_run && attempts.iter().any(|attempt| attempt.step == *number)
    };
    (workspace, (0..=step).filter(begins).count().max(1))
}

fn unique(ids: &BTreeMap<Run, Vec<(String, Option<String>)>>) -> Check {
    let expected = "another execution_id in another run";
    let firsts: Vec<_> = ids.values().filter_map(|documents| documents.first()?.1.clone()).collect();
    let distinct: BTreeSet<_> = firsts.iter().collect();
    match firsts.len() {
        0 | 1 => Check::fail(Reason::TooFewDocuments, expected, format!("ids of {} runs", firsts.len())),
        runs if distinct.len() < runs => Check::fail(Reason::IdReused, expected, firsts.join(", ")),
        _ => Check::pass(expected, firsts.join(", ")),
    }
}

/// The id as a non-empty text; a number is none.
fn id_of(text: &str) -> Option<String> {
    match read(text).ok()?.get("execution_id")? {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        _ => None,
    }
}

/// What must be in every checkpoint.
const REQUIRED: [&str; 5] = ["execution_id", "phase", "created_at", "exit_code", "summary"];

/// What the step before left of a checkpoint when it was cut short is whole, or was not taken for whole.
pub(super) fn not_torn(evidence: &Evidence<'_>, phase: &str, step: usize) -> Check {
    let named = evidence.text(phase);
    let expected = format!("half a checkpoint of {named} not to be taken for a whole one");
    let cut = step.checked_sub(1).and_then(|before| evidence.seen.steps.get(before));
    let Some(file) = cut.and_then(|cut| cut.checkpoints.get(&format!("{named}.yaml"))) else {
        return Check::fail(Reason::NoCheckpoint, expected, "nothing ever appeared where it belongs");
    };
    let document = read(&file.text).ok();
    let whole = document.is_some_and(|document| REQUIRED.iter().all(|key| document.get(key).is_some()));
    let check = match whole || phases::reopened(evidence, phase, None, step).outcome.is_green() {
        true if whole => Check::pass(expected, "it was whole"),
        true => Check::pass(expected, "it was found out"),
        false => Check::fail(Reason::Unreadable, expected, clip(&file.text)),
    };
    check.in_step(step).in_file(format!(".loa-checkpoint/{named}.yaml"))
}
