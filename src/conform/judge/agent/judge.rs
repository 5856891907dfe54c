//! From an observation to the checks of a case.

use super::{Evidence, context, ending, requests, sessions, silence, told, tools, unobservable};
use crate::conform::judge::{Check, Outcome};
use crate::conform::model::{Answered, RequestSeen, is_shell};
use crate::conform::observe::AgentEnd;
use crate::conform::spec::Reason;
use crate::conform::spec::{AgentExpectation, AgentKnob};

/// Judges every expectation of a case. Never empty: a case that could not be judged yields the one check that says why.
pub(in crate::conform) fn judge(evidence: &Evidence<'_>) -> Vec<Check> {
    if let Some(check) = unjudgeable(evidence) {
        return vec![check];
    }
    evidence.case.expect.iter().map(|expectation| check(evidence, expectation)).collect()
}

/// Why a case cannot be judged at all, if so.
fn unjudgeable(evidence: &Evidence<'_>) -> Option<Check> {
    let seen = evidence.seen;
    if let Some(why) = &seen.rig_error {
        return Some(Check::new(Outcome::HarnessError, Reason::RigFailed, "the judge's own rig to work", why));
    }
    if let Some(check) = unobservable(evidence.case, evidence.manifest) {
        return Some(check);
    }
    for (number, step) in seen.steps.iter().enumerate() {
        let verb = &step.verb;
        match &step.end {
            AgentEnd::NotStarted(why) => {
                let check = Check::new(Outcome::CouldNotRun, Reason::NotStarted, format!("`{verb}` to start"), why);
                return Some(check.in_step(number));
            }
            AgentEnd::NotAsked(why) => {
                let check = Check::not_observed(Reason::NoVerb, format!("`{verb}` to be possible"), why);
                return Some(check.in_step(number));
            }
            _ => {}
        }
    }
    if let Some(check) = uncallable(evidence) {
        return Some(check);
    }
    let mut asked = seen.steps.iter().flat_map(|step| &step.requests);
    if !asked.clone().any(RequestSeen::is_turn) {
        if let Some(request) = asked.find(|request| request.method == "POST" && is_lost_on_us(request)) {
            let why = request.fault.as_deref().unwrap_or("no API that the model speaks has such a path");
            let observed = format!("POST {}: {why}", request.path);
            let expected = "a request that the model understands";
            return Some(Check::new(Outcome::HarnessError, Reason::RigFailed, expected, observed));
        }
        let observed = "it asked nothing, so nothing that it did or left undone proves anything";
        return Some(Check::fail(Reason::NoRequest, "the model to be asked", observed));
    }
    undisturbed(evidence)
}

/// Whether it may have been a question that another server would have understood.
fn is_lost_on_us(request: &RequestSeen) -> bool {
    matches!(request.answer, Answered::Refused | Answered::NoSuchPath)
}

/// A command that the model could not call, since the request offered no tool that runs one.
fn uncallable(evidence: &Evidence<'_>) -> Option<Check> {
    let mut asked = evidence.seen.steps.iter().flat_map(|step| &step.requests).filter(|request| request.is_main());
    let why = asked.clone().find_map(|request| request.fault.as_ref())?;
    let expected = "the model to call its command";
    if evidence.case.knobs.contains_key(&AgentKnob::Permissions) {
        // An agent that may run nothing may offer nothing that does.
        let observed = format!("{why}, so nothing can be denied");
        return Some(Check::not_observed(Reason::NoSuchMoment, expected, observed));
    }
    let offers =
        |request: &RequestSeen| request.prompt.iter().flat_map(|prompt| &prompt.tools).any(|tool| is_shell(tool));
    if asked.any(offers) {
        return Some(Check::new(Outcome::HarnessError, Reason::RigFailed, "an answer as it is scripted", why));
    }
    let observed = format!("{why}, and no other request does");
    Some(Check::not_observed(Reason::NoSuchMoment, expected, observed))
}

/// A signal that was never sent, because its moment never came.
fn undisturbed(evidence: &Evidence<'_>) -> Option<Check> {
    let steps = evidence.case.steps.iter().zip(&evidence.seen.steps).enumerate();
    let mut missed = steps.filter(|(_, (asked, seen))| asked.errand().disturb.is_some() && seen.signal.is_none());
    missed.next().map(|(number, (_, seen))| {
        let expected = "the moment at which the signal is to be sent";
        let observed = crate::conform::observe::agent::repeat::in_words(&seen.end);
        Check::new(Outcome::CouldNotRun, Reason::NoSuchMoment, expected, observed).in_step(number)
    })
}

fn check(evidence: &Evidence<'_>, expectation: &AgentExpectation) -> Check {
    match expectation {
        AgentExpectation::Ends { step, code } => ending::ends(evidence, *step, *code),
        AgentExpectation::NoSuccess { step } => ending::no_success(evidence, *step),
        AgentExpectation::NoOrphans => ending::no_orphans(evidence),
        AgentExpectation::Requests { step, at_least, at_most } => requests::count(evidence, *step, *at_least, *at_most),
        AgentExpectation::TriedAgain { step, text } => requests::tried_again(evidence, *step, text),
        AgentExpectation::Gaps { step, at_least, each_ms, growth } => {
            requests::gaps(evidence, *step, *at_least, requests::Wish { each_ms: *each_ms, growth: *growth })
        }
        AgentExpectation::Carried { step, texts } => requests::carried(evidence, *step, texts),
        AgentExpectation::Told { step, class } => told::failure(evidence, *step, *class),
        AgentExpectation::NotTold { step, class } => told::not_failure(evidence, *step, *class),
        AgentExpectation::SessionAtFirst { step } => sessions::session_at_first(evidence, *step),
        AgentExpectation::SameSession { step } => sessions::same_session(evidence, *step),
        AgentExpectation::Usage { step } => context::usage(evidence, *step),
        AgentExpectation::CompactionTold { step } => context::told(evidence, *step),
        AgentExpectation::TurnLimitTold { step } => told::turn_limit(evidence, *step),
        AgentExpectation::ToolExit { step, marker, code } => tools::exit(evidence, *step, marker, *code),
        AgentExpectation::File { path, content } => tools::file(evidence, path, content),
        AgentExpectation::NoFile { path } => tools::no_file(evidence, path),
        AgentExpectation::NotSilent { step, about } => silence::not_silent(evidence, *step, *about),
        AgentExpectation::EndTold { step, like } => silence::end(evidence, *step, *like),
        AgentExpectation::AnswerTold { step, text } => silence::answer(evidence, *step, text),
        AgentExpectation::ContextTold { step } => context::size(evidence, *step),
        AgentExpectation::Compacted { step, yes } => context::compacted(evidence, *step, *yes),
        AgentExpectation::GoesOn { step } => context::goes_on(evidence, *step),
        AgentExpectation::EffortSent { step, level } => requests::effort(evidence, *step, level),
        AgentExpectation::MemoryRead { step, text } => requests::memory(evidence, *step, text),
        AgentExpectation::ReachedAgain { step } => requests::reached_again(evidence, *step),
        AgentExpectation::ResumedOrRefused { step, texts } => sessions::resumed_or_refused(evidence, *step, texts),
        AgentExpectation::Apart { step, texts } => sessions::apart(evidence, *step, texts),
    }
}
