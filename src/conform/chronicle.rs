//! What happened in a case, one line an event, in order: for whoever wants to follow the judge step by step.

use super::{AgentEnd, AgentObservation, Millis, Observation, ProcessEnd};

/// Events with the time at which each happened.
pub type Chronicle = Vec<(Millis, String)>;

/// What happened to a runtime.
pub(super) fn of_runtime(seen: &Observation) -> Chronicle {
    let mut all = Chronicle::new();
    for (number, step) in seen.steps.iter().enumerate() {
        let argv = if step.argv.is_empty() { String::new() } else { format!(": {}", step.argv.join(" ")) };
        all.push((step.started, format!("step {number}, {}{argv}", step.verb)));
        all.extend(step.reports.iter().map(|report| (report.at, format!("a report appears: {}", report.path))));
        let checkpoints: Vec<&str> = step.checkpoints.keys().map(String::as_str).collect();
        let left = if checkpoints.is_empty() { "nothing".to_owned() } else { checkpoints.join(", ") };
        all.push((step.ended, format!("step {number} is over: {}; .loa-checkpoint has {left}", end(&step.end))));
    }
    for attempt in &seen.attempts {
        let name = format!("{} (attempt {})", attempt.phase, attempt.attempt);
        all.push((attempt.started, format!("{name} starts")));
        let how = match (attempt.exit, &attempt.signal) {
            (Some(code), _) => format!("ends with {code}"),
            (None, Some(signal)) => format!("dies by {signal}"),
            (None, None) => "is gone".to_owned(),
        };
        all.extend(attempt.ended.map(|ended| (ended, format!("{name} {how}"))));
    }
    all.extend(seen.usages.iter().map(|usage| (usage.at, format!("{} tokens are reported", usage.tokens))));
    all.extend(seen.events.iter().map(|event| (event.at, format!("an event: {}", event.line))));
    let last = seen.steps.last().map_or(0, |step| step.ended);
    all.extend(seen.orphans.iter().map(|it| (last, format!("left behind: {} {}", it.pid, it.command))));
    all.extend(seen.rig_error.iter().map(|why| (last, format!("the rig failed: {why}"))));
    sorted(all)
}

fn end(end: &ProcessEnd) -> String {
    match end {
        ProcessEnd::Exited(code) => format!("it ended with {code}"),
        ProcessEnd::Signalled(signal) => format!("it died by {signal}"),
        ProcessEnd::KilledAsPlanned => "the judge killed it, as the case says".to_owned(),
        ProcessEnd::Waiting => "it waits for its human, and the judge ended it".to_owned(),
        ProcessEnd::OutOfBudget => "its time was over, and the judge ended it".to_owned(),
        ProcessEnd::NotStarted(why) => format!("it could not be started: {why}"),
        ProcessEnd::NoVerb => "the manifest has no such verb".to_owned(),
        ProcessEnd::Nothing => "done".to_owned(),
    }
}

/// What happened to an agent.
pub(super) fn of_agent(seen: &AgentObservation) -> Chronicle {
    let mut all = Chronicle::new();
    for (number, step) in seen.steps.iter().enumerate() {
        all.push((step.started, format!("step {number}, {}: {}", step.verb, step.argv.join(" "))));
        all.extend(step.signal.iter().map(|signal| (signal.at, format!("the judge sends {}", signal.name))));
        let how = match &step.end {
            AgentEnd::Exited(code) => format!("it ended with {code}"),
            AgentEnd::Signalled(signal) => format!("it died by {signal}"),
            AgentEnd::SeenEnough => "the judge had seen enough".to_owned(),
            AgentEnd::OutOfTime => "its time was over, and the judge ended it".to_owned(),
            AgentEnd::NotStarted(why) | AgentEnd::NotAsked(why) => why.clone(),
        };
        let asked = step.requests.len();
        all.push((step.ended, format!("step {number} is over: {how}; the model had {asked} requests")));
        all.extend(step.left.iter().map(|it| (step.ended, format!("left behind: {} {}", it.pid, it.command))));
    }
    let last = seen.steps.last().map_or(0, |step| step.ended);
    all.extend(seen.rig_error.iter().map(|why| (last, format!("the rig failed: {why}"))));
    sorted(all)
}

/// By time; what happened at the same moment stays in the order in which it was noted.
fn sorted(mut all: Chronicle) -> Chronicle {
    all.sort_by_key(|(at, _)| *at);
    all
}
