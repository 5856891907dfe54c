//! How the runtime and its verbs ended, what they answered, and what they left running. A signal is never an exit code.

use serde_json::Value;

use super::Evidence;
use super::document::clip;
use super::matcher::{Fields, Mismatch, Scene};
use crate::conform::judge::Check;
use crate::conform::observe::ProcessEnd;
use crate::conform::spec::Reason;

/// The runtime ended by itself, where demanded with a code.
pub(super) fn ends(evidence: &Evidence<'_>, step: Option<usize>, code: Option<i32>, may_wait: bool) -> Check {
    let by_itself = match code {
        Some(code) => format!("the runtime to end by itself with {code}"),
        None => "the runtime to end by itself".to_owned(),
    };
    let expected = if may_wait { format!("{by_itself}, or to wait for its human") } else { by_itself };
    let Some((number, seen)) = evidence.driven(step) else {
        return Check::fail(Reason::DidNotEnd, expected, "the step never came");
    };
    let observed = in_words(&seen.end);
    let check = match &seen.end {
        ProcessEnd::Exited(found) if code.is_none_or(|code| code == *found) => Check::pass(expected, observed),
        ProcessEnd::Waiting if may_wait => Check::pass(expected, observed),
        ProcessEnd::Exited(_) => Check::fail(Reason::WrongExitCode, expected, observed),
        ProcessEnd::Signalled(_) => Check::fail(Reason::EndedBySignal, expected, observed),
        _ => Check::fail(Reason::DidNotEnd, expected, observed),
    };
    check.in_step(number).at_time(seen.ended)
}

/// No process of the case is left.
pub(super) fn no_orphans(evidence: &Evidence<'_>) -> Check {
    let expected = "no process left behind";
    let left = &evidence.seen.orphans;
    if left.is_empty() {
        return Check::pass(expected, "none");
    }
    let commands: Vec<_> = left.iter().map(|process| format!("{} {}", process.pid, process.command)).collect();
    Check::fail(Reason::LeftProcesses, expected, clip(&commands.join("; ")))
}

/// What the `state` verb answered.
pub(super) fn state(evidence: &Evidence<'_>, step: usize, fields: &Fields) -> Check {
    let expected = "the execution state as JSON";
    let Some(seen) = evidence.seen.steps.get(step) else {
        return Check::fail(Reason::VerbFailed, expected, "the step never came").in_step(step);
    };
    if seen.end != ProcessEnd::Exited(0) {
        return Check::fail(Reason::VerbFailed, expected, in_words(&seen.end)).in_step(step);
    }
    let answer = seen.stdout();
    let Ok(document) = serde_json::from_str::<Value>(&answer) else {
        return Check::fail(Reason::NotJson, expected, clip(&answer)).in_step(step);
    };
    let checks = Scene { evidence, checkpoints: &seen.checkpoints }.fields(fields, &document);
    let check = match checks {
        Ok(taken) => taken.into_check(evidence, expected, &clip(&answer)),
        Err(mismatch) => Mismatch::into_check(mismatch),
    };
    check.in_step(step).in_file("the answer of `state`").at_time(seen.ended)
}

/// What the `resolve` verb did.
pub(super) fn resolved(evidence: &Evidence<'_>, step: usize, accepted: bool) -> Check {
    let expected = if accepted { "the resolution to be accepted (exit 0)" } else { "the resolution to be refused" };
    let Some(seen) = evidence.seen.steps.get(step) else {
        return Check::fail(Reason::VerbFailed, expected, "the step never came").in_step(step);
    };
    let observed = in_words(&seen.end);
    let check = match (&seen.end, accepted) {
        (ProcessEnd::Exited(code), _) if (*code == 0) == accepted => Check::pass(expected, observed),
        (ProcessEnd::Exited(_), false) => Check::fail(Reason::NotRefused, expected, observed),
        (ProcessEnd::Exited(_), true) => Check::fail(Reason::NotAccepted, expected, observed),
        _ => Check::fail(Reason::VerbFailed, expected, observed),
    };
    check.in_step(step).at_time(seen.ended)
}

pub(super) fn in_words(end: &ProcessEnd) -> String {
    match end {
        ProcessEnd::Exited(code) => format!("it ended with {code}"),
        ProcessEnd::Signalled(signal) => format!("it died by {signal}"),
        ProcessEnd::KilledAsPlanned => "the judge killed it, as the case says".to_owned(),
        ProcessEnd::Waiting => "it waits for its human".to_owned(),
        ProcessEnd::OutOfBudget => "it did not end: nothing happened for the whole of the step's budget".to_owned(),
        ProcessEnd::TooSlow => "phases still started and ended when the largest budget was over".to_owned(),
        ProcessEnd::Runaway(times) => format!("it had started one phase {times} times when the judge ended it"),
        ProcessEnd::NotStarted(why) => format!("it could not be started: {why}"),
        ProcessEnd::AdapterFailed(why) => why.clone(),
        ProcessEnd::NoVerb => "the manifest has no such verb".to_owned(),
        ProcessEnd::Nothing => "nothing was started".to_owned(),
    }
}
