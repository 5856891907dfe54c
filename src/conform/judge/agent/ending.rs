//! How the agent ended, and what it left. A signal is never an exit code.

use super::{Evidence, clip};
use crate::conform::judge::Check;
use crate::conform::observe::agent::repeat::in_words;
use crate::conform::observe::{AgentEnd, AgentStepSeen};
use crate::conform::spec::Reason;

/// The agent ended by itself, where demanded with a code.
pub(super) fn ends(evidence: &Evidence<'_>, step: usize, code: Option<i32>) -> Check {
    let expected = match code {
        Some(code) => format!("the agent to end by itself with {code}"),
        None => "the agent to end by itself".to_owned(),
    };
    let Some(seen) = evidence.step(step) else { return missing(Reason::DidNotEnd, expected, step) };
    let observed = with_last_words(seen);
    let check = match &seen.end {
        AgentEnd::Exited(found) if code.is_none_or(|code| code == *found) => Check::pass(expected, in_words(&seen.end)),
        AgentEnd::Exited(_) => Check::fail(Reason::WrongExitCode, expected, observed),
        AgentEnd::Signalled(_) => Check::fail(Reason::EndedBySignal, expected, observed),
        AgentEnd::SeenEnough => Check::not_observed(Reason::SeenEnough, expected, observed),
        _ => Check::fail(Reason::DidNotEnd, expected, observed),
    };
    check.in_step(step).at_time(seen.ended)
}

/// The agent ended, and not as if all were well.
pub(super) fn no_success(evidence: &Evidence<'_>, step: usize) -> Check {
    let expected = "the agent to end, with another exit code than 0 or by a signal";
    let Some(seen) = evidence.step(step) else { return missing(Reason::DidNotEnd, expected, step) };
    let observed = in_words(&seen.end);
    let check = match &seen.end {
        AgentEnd::Exited(0) => Check::fail(Reason::LooksLikeSuccess, expected, observed),
        AgentEnd::Exited(_) | AgentEnd::Signalled(_) => Check::pass(expected, observed),
        AgentEnd::SeenEnough => Check::not_observed(Reason::SeenEnough, expected, observed),
        _ => Check::fail(Reason::DidNotEnd, expected, observed),
    };
    check.in_step(step).at_time(seen.ended)
}

/// No process of the case is left, and whoever got a signal is not itself what is left.
pub(super) fn no_orphans(evidence: &Evidence<'_>) -> Check {
    let expected = "no process left behind";
    let left = |step: &AgentStepSeen| step.left.iter().map(|it| it.command.clone()).collect::<Vec<_>>().join("; ");
    let steps = evidence.seen.steps.iter().enumerate();
    let mut all = steps
        .flat_map(|(number, step)| std::iter::once(step).chain(step.beside.as_deref()).map(move |it| (number, it)));
    if let Some((number, step)) = all.clone().find(|(_, step)| !step.left.is_empty()) {
        let observed = clip(&format!("{}, and left: {}", in_words(&step.end), left(step)));
        return Check::fail(Reason::LeftProcesses, expected, observed).in_step(number).at_time(step.ended);
    }
    let stays = |step: &AgentStepSeen| matches!(step.end, AgentEnd::OutOfTime | AgentEnd::SeenEnough);
    match all.find(|(_, step)| step.signal.is_some() && stays(step)) {
        Some((number, step)) => {
            let observed = format!("the agent itself, after the signal: {}", in_words(&step.end));
            Check::fail(Reason::DidNotEnd, expected, observed).in_step(number).at_time(step.ended)
        }
        None => Check::pass(expected, "none"),
    }
}

/// A step that never came.
pub(super) fn missing(reason: Reason, expected: impl Into<String>, step: usize) -> Check {
    Check::fail(reason, expected, "the step never came").in_step(step)
}

/// How it ended, and the last thing that it said on stderr.
fn with_last_words(seen: &AgentStepSeen) -> String {
    let mut errors = seen.output.iter().rev().filter(|line| line.stream == "stderr");
    let last = errors.find(|line| !line.text.trim().is_empty());
    let said = last.map(|line| format!("; it said: {}", line.text.trim())).unwrap_or_default();
    clip(&format!("{}{said}", in_words(&seen.end)))
}
