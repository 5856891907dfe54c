//! Trying a manifest before it is scored: what is wrong with the adapter is said as the adapter's fault, with a remedy, before
//! a hundred cases say it in their own words.

use regex::Regex;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Identity, Observation, ProcessEnd};
use crate::conform::spec::{Argv, Case, Knob, Manifest, Sight, UsageWay, Verb};
use crate::contract::{Phase, vocabulary};
use crate::text::Untrusted;

vocabulary! {
    /// How something of a manifest is.
    pub enum Health ("health") {
        /// As it should be.
        Well = "ok",
        /// Nothing wrong, but less will be observed.
        Remark = "note",
        /// The manifest, or the adapter that it starts, is at fault.
        Fault = "fault",
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Symptom {
    /// What, in a word or two.
    pub what: &'static str,
    /// How it is.
    pub health: Health,
    /// What was seen.
    pub seen: String,
    /// What to do about it; empty when nothing is to be done.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub remedy: &'static str,
}

/// The initial backoff that the second trial asks for, in milliseconds.
const BACKOFF: u64 = 100;
/// A retry that takes longer than this has not heard of the knob, in milliseconds.
const UNHEARD: u64 = 2_000;
/// A phase and a trigger that nobody has.
const NOBODY: &str = "\u{e000}";
/// What may stand in braces.
const PLACES: [&str; 5] = ["plan", "workspace", "dir", "judge_dir", "action"];

/// What is done to a runtime: one run in which nothing goes wrong, and one in which a phase wants a second attempt.
///
/// # Panics
/// Never: both are constants that a test reads.
#[must_use]
pub fn trials(manifest: &Manifest) -> [Case; 2] {
    let usage = manifest.usage.as_ref().map(|_| json!({ "usage": 1000 }));
    let state = manifest.offers(Verb::State).then(|| json!("state"));
    let steps: Vec<Value> = [json!({ "run": {} })].into_iter().chain(state).collect();
    let acts: Vec<Value> = usage.into_iter().collect();
    let plain = json!({ "id": "doctor-plain", "clause": "DOCTOR", "title": "Nothing goes wrong",
        "phases": { "design": [acts] }, "steps": steps, "expect": [] });
    let again = json!({ "id": "doctor-retry", "clause": "DOCTOR", "title": "A phase wants a second attempt",
        "knobs": { "initial_backoff": BACKOFF, "max_backoff": BACKOFF },
        "phases": { "design": [[{ "exit": 1 }], [{ "exit": 0 }]] }, "steps": [{ "run": {} }], "expect": [] });
    [plain, again].map(|case| serde_json::from_value(case).expect("a case by its own types"))
}

/// What there is to say about a manifest: of the words in it, of the program, and of the two trials, where they were made.
#[must_use]
pub fn checkup(manifest: &Manifest, identity: &Identity, seen: Option<&[Observation; 2]>) -> Vec<Symptom> {
    let mut all = words(manifest);
    all.extend(program(identity));
    let Some([plain, again]) = seen else { return all };
    if let Some(symptom) = unusable(plain).or_else(|| adapter(&[plain, again])) {
        all.push(symptom);
        return all;
    }
    all.push(phases(plain));
    all.push(ending(plain));
    if plain.attempts.is_empty() {
        return all;
    }
    all.push(checkpoints(plain));
    all.extend(files(manifest, plain));
    all.extend(state(plain));
    all.push(knobs(manifest, again));
    all.extend(left(plain));
    all.extend(signs(manifest, plain));
    all.extend(surface(manifest, &[plain, again]));
    all
}

fn well(what: &'static str, seen: impl Into<String>) -> Symptom {
    Symptom { what, health: Health::Well, seen: seen.into(), remedy: "" }
}

fn remark(what: &'static str, seen: impl Into<String>, remedy: &'static str) -> Symptom {
    Symptom { what, health: Health::Remark, seen: seen.into(), remedy }
}

fn fault(what: &'static str, seen: impl Into<String>, remedy: &'static str) -> Symptom {
    Symptom { what, health: Health::Fault, seen: seen.into(), remedy }
}

/// Placeholders that nobody fills in, and a plan that nobody hands over.
fn words(manifest: &Manifest) -> Vec<Symptom> {
    let verbs: Vec<(&str, &Argv)> = manifest.commands().collect();
    let mut all = Vec::new();
    for (verb, argv) in &verbs {
        let strangers = argv.iter().flat_map(|text| braces(text)).filter(|name| !PLACES.contains(&name.as_str()));
        all.extend(strangers.map(|name| {
            let seen = format!("`{verb}` has {{{name}}}, which nobody fills in");
            fault("placeholders", seen, "use {plan}, {workspace}, {dir}, {judge_dir}, or {action} in `resolve`")
        }));
    }
    all.extend(adapter_words(manifest));
    let hands = |(name, argv): &(&str, &Argv)| {
        matches!(*name, "run" | "prepare") && argv.iter().any(|word| word.contains("{plan}"))
    };
    if !manifest.asks(Verb::Run) && !verbs.iter().any(hands) {
        let seen = "neither `run` nor `prepare` has {plan}, so the runtime cannot know its phases";
        all.push(fault("plan", seen, "add \"{plan}\" to `run`"));
    }
    if manifest.resolve.as_ref().is_some_and(|argv| !argv.iter().any(|word| word.contains("{action}"))) {
        all.push(fault(
            "resolve",
            "`resolve` has no {action}, so it cannot know the decision",
            "add \"{action}\" to it",
        ));
    }
    all
}

/// What stands in the words of an adapter and differs from ask to ask.
fn adapter_words(manifest: &Manifest) -> Vec<Symptom> {
    let words = manifest.adapter.iter().flatten().flat_map(|text| braces(text));
    let of_an_ask = words.filter(|name| matches!(name.as_str(), "workspace" | "action"));
    let seen = |name| format!("`adapter` has {{{name}}}, which differs from ask to ask");
    of_an_ask.map(|name| fault("placeholders", seen(name), "read it in each ask, which names it")).collect()
}

/// Words in braces that look like placeholders.
fn braces(text: &str) -> Vec<String> {
    let parts = text.split('{').skip(1).filter_map(|part| part.split_once('}'));
    let names = parts
        .map(|(name, _)| name)
        .filter(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
    names.map(str::to_owned).collect()
}

fn program(identity: &Identity) -> Vec<Symptom> {
    let Some(program) = &identity.program else {
        let seen = identity.problem.as_ref().map_or_else(|| "there is none".to_owned(), Untrusted::line);
        return vec![fault("program", seen, "install it, name it by its path, or add `build` to the manifest")];
    };
    let found = well("program", program.display().to_string());
    let version = match (&identity.problem, &identity.version) {
        (Some(problem), _) => fault("version", problem.line(), "make `version` print one line and end with 0"),
        (None, Some(version)) => well("version", version.line()),
        (None, None) => remark("version", "it printed nothing", "have it print one: every row of a report names it"),
    };
    vec![found, version]
}

/// Why nothing that was seen counts.
fn unusable(plain: &Observation) -> Option<Symptom> {
    if let Some(why) = &plain.rig_error {
        return Some(fault(
            "manifest",
            why.clone(),
            "if it names a pattern, mend that pattern; else it is a defect of ours",
        ));
    }
    let unstarted = plain.steps.iter().find_map(|step| match &step.end {
        ProcessEnd::NotStarted(why) => Some(format!("{}: {why}", step.verb)),
        _ => None,
    });
    unstarted.map(|why| fault("start", why, "start that command by hand in an empty folder, with an empty environment"))
}

/// What the adapter did wrong, if it did.
fn adapter(trials: &[&Observation]) -> Option<Symptom> {
    let fault_in = |seen: &&Observation| {
        seen.steps.iter().find_map(|step| match &step.end {
            ProcessEnd::AdapterFailed(why) => Some(format!("`{}`: {why}", step.verb)),
            _ => None,
        })
    };
    let remedy =
        "answer each ask by lines of JSON and nothing else, each sent at once; `loa-validate schema adapter-answer`";
    trials.iter().find_map(fault_in).map(|why| fault("adapter", why, remedy))
}

fn phases(plain: &Observation) -> Symptom {
    let started: Vec<&str> = plain.attempts.iter().map(|attempt| attempt.phase.as_str()).collect();
    let said = || {
        let lines = plain.steps.first().map(|step| step.output.as_slice()).unwrap_or_default();
        lines.last().map_or_else(String::new, |line| format!("; its last words: {}", line.text))
    };
    if started.is_empty() {
        let seen = format!("`run` started no phase{}", said());
        return fault("phases", seen, "start each `command` of the plan: a program and its arguments, no shell");
    }
    if started == Phase::WORDS {
        return well("phases", "all eight were started, once each and in order");
    }
    let seen = format!("started: {}{}", started.join(", "), said());
    fault("phases", seen, "start every phase of the plan once, in its order, when each ends with 0")
}

fn ending(plain: &Observation) -> Symptom {
    let Some(run) = plain.steps.first() else { return fault("end", "nothing was run", "report this") };
    let took = run.ended.saturating_sub(run.started);
    match &run.end {
        ProcessEnd::Exited(0) => well("end", format!("`run` ended by itself with 0 after {took} ms")),
        ProcessEnd::Exited(code) => {
            let seen = format!("`run` ended with {code}, although nothing went wrong");
            fault("end", seen, "look at what it says; no case passes before this does")
        }
        ProcessEnd::OutOfBudget => {
            let seen = format!("`run` had not ended after {took} ms, and was ended");
            fault("end", seen, "have it end when the last phase has, or raise `budget_seconds`")
        }
        end => fault("end", format!("`run`: {end:?}"), "have it end by itself, when the last phase has"),
    }
}

fn checkpoints(plain: &Observation) -> Symptom {
    let left = plain.steps.last().map(|step| step.checkpoints.len()).unwrap_or_default();
    if left == 0 {
        let seen = "no .loa-checkpoint/ in the workspace";
        return remark("checkpoints", seen, "write .loa-checkpoint/<phase>.yaml below the working directory of `run`");
    }
    well("checkpoints", format!(".loa-checkpoint/ has {left} files"))
}

/// The offers that a phase found in its environment, held against what the manifest says.
fn files(manifest: &Manifest, plain: &Observation) -> Vec<Symptom> {
    let set = |name: &str| plain.attempts.iter().all(|attempt| attempt.env.contains_key(name));
    let mut all = Vec::new();
    if set("LOA_RESULT_FILE") {
        all.push(well("results", "every phase has a LOA_RESULT_FILE"));
    } else {
        let remedy = "set it for each attempt to a path at which no file is yet";
        all.push(remark("results", "no LOA_RESULT_FILE, so what phases hand over is not observed", remedy));
    }
    match (&manifest.usage, set("LOA_SIGNAL_FILE")) {
        (Some(UsageWay::SignalFile), false) => {
            let seen = "`usage: signal_file`, but a phase has no LOA_SIGNAL_FILE";
            all.push(fault("usage", seen, "set it for every phase, or take `usage` out"));
        }
        (Some(_), _) => all.push(well("usage", "it can learn how full the context is")),
        (None, _) => {
            let seen = "the manifest has no `usage`, so context signals are not observed";
            all.push(remark("usage", seen, "add `usage: signal_file` once the runtime reads LOA_SIGNAL_FILE"));
        }
    }
    all
}

fn state(plain: &Observation) -> Option<Symptom> {
    let step = plain.steps.iter().find(|step| step.verb == "state" && step.end != ProcessEnd::NoVerb)?;
    let said: Vec<&str> = step.output.iter().filter(|it| it.stream == "stdout").map(|it| it.text.as_str()).collect();
    let keys = ["execution_id", "current_phase", "completed_phases", "last_checkpoint"];
    let remedy = "print one JSON object with execution_id, current_phase, completed_phases, last_checkpoint";
    Some(match serde_json::from_str::<Value>(&said.join("\n")) {
        Ok(Value::Object(object)) if keys.iter().all(|key| object.contains_key(*key)) => {
            well("state", "`state` prints what is asked for")
        }
        Ok(_) => fault("state", "`state` prints JSON that lacks a key", remedy),
        Err(error) => fault("state", format!("`state` prints no JSON: {error}"), remedy),
    })
}

fn knobs(manifest: &Manifest, again: &Observation) -> Symptom {
    let mut design = again.attempts.iter().filter(|attempt| attempt.phase == "design");
    let ended = design.next().and_then(|first| first.ended);
    let gap = ended.map(|ended| (ended, design.next().map(|second| second.started)));
    let knob = manifest.knobs.contains_key(&Knob::InitialBackoff);
    match (gap, knob) {
        (Some((ended, Some(started))), true) if started.saturating_sub(ended) > UNHEARD => {
            let waited = started.saturating_sub(ended);
            let seen = format!("asked to wait {BACKOFF} ms before a retry, it waited {waited} ms");
            fault("knobs", seen, "check the name of the knob `initial_backoff`, and its unit: `per`")
        }
        (Some((_, Some(_))), true) => well("knobs", "`initial_backoff` is heard"),
        (Some((_, Some(_))), false) => {
            let seen = "no knob `initial_backoff`, so cases wait as long as the runtime does";
            remark("knobs", seen, "name a variable or a key by which the first backoff can be shortened")
        }
        _ => remark("knobs", "a phase that ended with 1 was not started again", "EXIT-003 asks for it; see `explain`"),
    }
}

/// Signs that are there although nothing happened: they would let anything pass, so the judge does not believe them.
fn signs(manifest: &Manifest, plain: &Observation) -> Vec<Symptom> {
    let mut all = Vec::new();
    let reports: Vec<&str> = plain.steps.iter().flat_map(|step| &step.reports).map(|it| it.path.as_str()).collect();
    if let Some(path) = reports.first() {
        let seen = format!("{path} looks like a report, although no human was called");
        all.push(fault("report", seen, "write reports where nothing else lies, and name that place in `report`"));
    }
    for (what, sight) in [("warn", &manifest.warn), ("compact", &manifest.compact)] {
        let Some(Sight::Output(pattern)) = sight else { continue };
        let Ok(pattern) = Regex::new(pattern) else { continue };
        let mut lines = plain.steps.iter().flat_map(|step| &step.output);
        if let Some(line) = lines.find(|line| pattern.is_match(&line.text)) {
            let seen = format!("its pattern matches `{}`, although nothing was to be said", line.text);
            all.push(fault(what, seen, "have the pattern match that message and nothing else"));
        }
    }
    all
}

/// How the pattern of `surface` tells one call from another, and from none.
fn surface(manifest: &Manifest, trials: &[&Observation]) -> Option<Symptom> {
    let pattern = manifest.surface.as_deref()?;
    let regex = Regex::new(&Manifest::surfaced(pattern, NOBODY, NOBODY)).ok()?;
    let mut lines = trials.iter().flat_map(|seen| &seen.steps).flat_map(|step| &step.output);
    if let Some(line) = lines.find(|line| regex.is_match(&line.text)) {
        let seen = format!("its pattern matches `{}`, although no human was called", line.text);
        return Some(fault("surface", seen, "have the pattern match that call and nothing else"));
    }
    let lacks = |place: &&str| manifest.surface.as_deref().is_some_and(|pattern| !pattern.contains(place));
    if let Some(place) = ["{phase}", "{trigger}"].into_iter().find(lacks) {
        let seen = format!("its pattern lacks {place}, so it matches the report of another as well");
        return Some(remark("surface", seen, "have the pattern name the phase and the trigger"));
    }
    None
}

fn left(plain: &Observation) -> Option<Symptom> {
    let first = plain.orphans.first()?;
    let seen = format!("after `run` had ended, {} was still there", first.command);
    Some(fault("processes", seen, "wait for what you start, or end it"))
}

#[cfg(test)]
mod tests;
