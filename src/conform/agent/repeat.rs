//! What was done in a case, in words and commands, so that somebody can do the same by hand.

use super::{AgentEnd, AgentObservation, AgentStepSeen};
use crate::conform::CommandReport;
use crate::conform::model::{By, RequestSeen};

/// How many requests are listed of one command.
const LISTED: usize = 12;

/// The commands of a case, in order.
pub(super) fn commands(seen: &AgentObservation) -> Vec<CommandReport> {
    seen.steps.iter().filter(|step| !step.argv.is_empty()).map(command).collect()
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
pub(super) fn in_words(end: &AgentEnd) -> String {
    match end {
        AgentEnd::Exited(code) => format!("it ended with {code}"),
        AgentEnd::Signalled(signal) => format!("it died by {signal}"),
        AgentEnd::SeenEnough => "the judge had seen enough requests and ended it".to_owned(),
        AgentEnd::OutOfTime => "it did not end within the step's limit".to_owned(),
        AgentEnd::NotStarted(why) => format!("it could not be started: {why}"),
        AgentEnd::NotAsked(why) => format!("it was not started: {why}"),
    }
}
