//! What was done in a case, in words and commands, so that somebody can do the same by hand.

use crate::conform::model::{By, RequestSeen};
use crate::conform::observe::timeline::bounded;
use crate::conform::observe::{AgentEnd, AgentObservation, AgentStepSeen};
use crate::conform::observe::{CommandReport, MarkKind, Seen, TimelineMark};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many requests are listed of one command.
const LISTED: usize = 12;

/// The commands of a case, in order.
pub(in crate::conform) fn commands(seen: &AgentObservation) -> Vec<CommandReport> {
    all(seen).filter(|step| !step.argv.is_empty()).map(command).collect()
}

/// The marks of a case: what was started, what the model was asked, what was sent to it, what it left.
pub(super) fn timeline(seen: &AgentObservation) -> Vec<TimelineMark> {
    bounded(all(seen).flat_map(marks).collect())
}

/// Every step, each with what was started beside it.
fn all(seen: &AgentObservation) -> impl Iterator<Item = &AgentStepSeen> {
    seen.steps.iter().flat_map(|step| std::iter::once(step).chain(step.beside.as_deref()))
}

fn marks(step: &AgentStepSeen) -> Vec<TimelineMark> {
    let exit = if let AgentEnd::Exited(code) = step.end { Some(code) } else { None };
    let label = format!("{}: {}", step.verb, in_words(&step.end));
    let mut marks =
        vec![TimelineMark::new(MarkKind::Step, step.started, label).lasting(Some(step.ended)).exiting(exit)];
    marks.extend(step.requests.iter().map(|it| {
        let status = it.status.map_or("no status".to_owned(), |status| status.to_string());
        let label = format!("{} {}: {}, {status}", it.method, it.path, it.answer);
        TimelineMark::new(MarkKind::Request, it.at, label).lasting(it.ended)
    }));
    marks.extend(step.signal.iter().map(|it| TimelineMark::new(MarkKind::Signal, it.at, &it.name)));
    let left = step.left.iter();
    marks.extend(left.map(|it| TimelineMark::new(MarkKind::Left, step.ended, format!("left behind: {}", it.command))));
    marks
}

fn command(step: &AgentStepSeen) -> CommandReport {
    let mut requests: Vec<String> = step.requests.iter().take(LISTED).map(|it| request(step, it)).collect();
    if step.requests.len() > LISTED {
        requests.push(format!("and {} more", step.requests.len() - LISTED));
    }
    CommandReport {
        argv: step.argv.clone(),
        env: step.env.clone(),
        meanwhile: step
            .signal
            .as_ref()
            .map(|it| format!("{} after {} ms", it.name, it.at.saturating_sub(step.started))),
        end: format!("{} after {} ms", in_words(&step.end), step.ended.saturating_sub(step.started)),
        requests,
    }
}

/// One request in one line: when, what, answered by which part of the script, and how.
fn request(step: &AgentStepSeen, it: &RequestSeen) -> String {
    let at = it.at.saturating_sub(step.started);
    let by = match &it.by {
        By::Step(number) => format!("step {number} of the script"),
        By::Route(name) => format!("side request {name}"),
        By::After => "the end of the script".to_owned(),
        By::Server => "the server itself".to_owned(),
    };
    let status = it.status.map_or("no status".to_owned(), |status| status.to_string());
    format!("{at} ms: {} {} by {by}: {}, {status}", it.method, it.path, it.answer)
}

/// How an agent ended, in words.
pub(in crate::conform) fn in_words(end: &AgentEnd) -> String {
    match end {
        AgentEnd::Exited(code) => format!("it ended with {code}"),
        AgentEnd::Signalled(signal) => format!("it died by {signal}"),
        AgentEnd::SeenEnough => "the judge had seen enough requests and ended it".to_owned(),
        AgentEnd::OutOfTime => "it did not end within the step's limit".to_owned(),
        AgentEnd::NotStarted(why) => format!("it could not be started: {why}"),
        AgentEnd::NotAsked(why) => format!("it was not started: {why}"),
    }
}

impl Seen for AgentObservation {
    fn broken(why: &str) -> Self {
        Self { rig_error: Some(why.to_owned()), ..Self::default() }
    }

    fn kept(&self) -> Option<&str> {
        self.kept.as_deref()
    }

    fn drawn(&self) -> &BTreeMap<String, Value> {
        &self.drawn
    }

    fn rig_error(&self) -> Option<&str> {
        self.rig_error.as_deref()
    }

    fn timeline(&self) -> Vec<TimelineMark> {
        timeline(self)
    }

    fn unseen(&self) -> Vec<String> {
        self.unseen.clone()
    }
}
