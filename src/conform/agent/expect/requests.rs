//! What the model was asked: how often, how soon again, and with which history. Side requests are no turns.

use super::ending::missing;
use super::told::refused;
use super::{Evidence, clip};
use crate::conform::agent::AgentStepSeen;
use crate::conform::model::{Effort, RequestSeen};
use crate::conform::{Check, Millis, Reason};

/// The turns of a step: what the script's steps answered.
pub(super) fn turns(step: &AgentStepSeen) -> Vec<&RequestSeen> {
    step.requests.iter().filter(|request| request.is_turn() && request.is_main()).collect()
}

/// The model was asked so often.
pub(super) fn count(evidence: &Evidence<'_>, step: usize, at_least: usize, at_most: Option<usize>) -> Check {
    let expected = match (at_least, at_most) {
        (0, Some(0)) => "the model not to be asked".to_owned(),
        (least, None) => format!("the model to be asked at least {}", times(least)),
        (least, Some(most)) if least == most => format!("the model to be asked {}", times(most)),
        (least, Some(most)) => format!("the model to be asked {least} to {most} times"),
    };
    let Some(seen) = evidence.step(step) else { return missing(Reason::TooFewRequests, expected, step) };
    let turns = turns(seen);
    let observed = format!("it was asked {}", times(turns.len()));
    let check = match turns.len() {
        found if found < at_least => Check::fail(Reason::TooFewRequests, expected, observed),
        found if at_most.is_some_and(|most| found > most) => {
            let check = Check::fail(Reason::TooManyRequests, expected, format!("{observed}; gaps {}", listed(&turns)));
            return turns.last().map_or(check.clone(), |last| check.at_time(last.at)).in_step(step);
        }
        _ => Check::pass(expected, observed),
    };
    check.in_step(step)
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// How the waits between requests ought to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    /// Each at least so long.
    pub(super) each_ms: Option<u64>,
    /// The last at least so many times the first.
    pub(super) growth: Option<f64>,
}

/// From the end of an answer to the next request.
fn waits(turns: &[&RequestSeen]) -> Vec<Millis> {
    let pairs = turns.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].ended.unwrap_or(pair[0].at)));
    pairs.collect()
}

fn listed(turns: &[&RequestSeen]) -> String {
    let waits: Vec<String> = waits(turns).iter().map(|wait| format!("{wait} ms")).collect();
    clip(&waits.join(", "))
}

/// The waits between the requests of a step.
pub(super) fn gaps(evidence: &Evidence<'_>, step: usize, at_least: usize, wish: Wish) -> Check {
    let mut wanted = vec![format!("at least {at_least} waits between requests")];
    wanted.extend(wish.each_ms.map(|least| format!("each of {least} ms at least")));
    wanted.extend(wish.growth.map(|growth| format!("the last {growth} times the first or more")));
    let expected = wanted.join(", ");
    let Some(seen) = evidence.step(step) else { return missing(Reason::TooFewGaps, expected, step) };
    let turns = turns(seen);
    let waits = waits(&turns);
    let observed = if waits.is_empty() { "there was no second request".to_owned() } else { listed(&turns) };
    if waits.len() < at_least {
        return Check::fail(Reason::TooFewGaps, expected, observed).in_step(step);
    }
    let soonest = waits.iter().copied().min().unwrap_or_default();
    if wish.each_ms.is_some_and(|least| soonest < least) {
        return Check::fail(Reason::RetriedTooSoon, expected, observed).in_step(step);
    }
    #[expect(clippy::cast_precision_loss, reason = "waits of a case are far below 2^52 milliseconds")]
    let grew = |growth: f64| waits.last().zip(waits.first()).is_some_and(|(z, a)| *z as f64 >= *a as f64 * growth);
    if wish.growth.is_some_and(|growth| !grew(growth)) {
        return Check::fail(Reason::DidNotGrow, expected, observed).in_step(step);
    }
    Check::pass(expected, observed).in_step(step)
}

/// The model was asked again after it had been away; by an agent whose turns follow one another so quickly that one of
/// them fell into its absence.
pub(super) fn reached_again(evidence: &Evidence<'_>, step: usize) -> Check {
    let expected = "the model to be asked again after it had been away";
    let Some(seen) = evidence.step(step) else { return missing(Reason::TooFewRequests, expected, step) };
    let turns = turns(seen);
    let gone = turns.iter().position(|request| request.away_ms.is_some());
    let Some((at, away)) = gone.and_then(|at| Some((at, Millis::from(turns[at].away_ms?)))) else {
        return Check::fail(Reason::TooFewRequests, expected, "it was not asked often enough to go away").in_step(step);
    };
    let Some(back) = turns.get(at + 1) else {
        return Check::fail(Reason::TooFewRequests, expected, "it was not asked again").in_step(step);
    };
    let usual = waits(&turns[..=at]).into_iter().max();
    let observed = format!("away for {away} ms; gaps {}", listed(&turns));
    let check = if usual.is_some_and(|usual| usual * 2 < away) {
        Check::pass(expected, observed)
    } else {
        Check::not_observed(Reason::NoSuchMoment, expected, format!("{observed}: it may not have asked meanwhile"))
    };
    check.in_step(step).at_time(back.at)
}

/// Every turn of the step says how hard the model is to think.
pub(super) fn effort(evidence: &Evidence<'_>, step: usize, level: &str) -> Check {
    let expected = format!("every request to say `{level}`, or another count of tokens than usual");
    let Some(seen) = evidence.step(step) else { return missing(Reason::EffortLost, expected, step) };
    let plain = evidence.control.and_then(|control| control.steps.first());
    let Some(usual) = plain.and_then(|step| effort_of(turns(step).first()?)) else {
        return refused(expected).in_step(step);
    };
    let says = |request: &&RequestSeen| match effort_of(request) {
        Some(Effort { level: Some(found), .. }) => found == level,
        Some(Effort { level: None, budget: Some(budget) }) => usual.budget != Some(*budget),
        _ => false,
    };
    let turns = turns(seen);
    let observed: Vec<String> = turns.iter().map(|request| in_words(request)).collect();
    let observed = clip(&observed.join("; "));
    let check = if !turns.is_empty() && turns.iter().all(says) {
        Check::pass(expected, observed)
    } else {
        Check::fail(Reason::EffortLost, expected, observed)
    };
    check.in_step(step)
}

fn effort_of(request: &RequestSeen) -> Option<&Effort> {
    request.prompt.as_ref().map(|prompt| &prompt.effort)
}

/// What a request says of effort, with the header in which Anthropic once wanted it announced.
fn in_words(request: &RequestSeen) -> String {
    let effort = effort_of(request).into_iter();
    let said = effort.flat_map(|effort| {
        let budget = effort.budget.map(|budget| format!("{budget} tokens"));
        effort.level.clone().into_iter().chain(budget)
    });
    let said = said.reduce(|level, budget| format!("{level}, {budget}")).unwrap_or("nothing".to_owned());
    let betas = request.headers.get("anthropic-beta").into_iter().flat_map(|betas| betas.split(','));
    match betas.map(str::trim).find(|beta| beta.starts_with("effort-")) {
        Some(beta) => format!("{said} (anthropic-beta: {beta})"),
        None => said,
    }
}

/// The first request of the step holds what the memory file says, in what was said or in what stands before it.
pub(super) fn memory(evidence: &Evidence<'_>, step: usize, text: &str) -> Check {
    let text = evidence.words(text);
    let expected = format!("the first request to hold {text}, which stands in the memory file alone");
    let Some(seen) = evidence.step(step) else { return missing(Reason::MemoryUnread, expected, step) };
    let Some((request, prompt)) = turns(seen).first().and_then(|it| Some((*it, it.prompt.as_ref()?))) else {
        return Check::fail(Reason::TooFewRequests, expected, "there was none").in_step(step);
    };
    let check = if prompt.carries(&text) || prompt.system.contains(&text) {
        Check::pass(expected, "it does")
    } else {
        Check::fail(Reason::MemoryUnread, expected, "it does not")
    };
    check.in_step(step).at_time(request.at)
}

/// The first request of a step holds what was said before.
pub(super) fn carried(evidence: &Evidence<'_>, step: usize, texts: &[String]) -> Check {
    let texts: Vec<String> = texts.iter().map(|text| evidence.words(text)).collect();
    let expected = format!("the first request to hold {}", texts.join(" and "));
    let Some(seen) = evidence.step(step) else { return missing(Reason::HistoryLost, expected, step) };
    let Some((request, prompt)) = turns(seen).first().and_then(|it| Some((*it, it.prompt.as_ref()?))) else {
        return Check::fail(Reason::TooFewRequests, expected, "there was none").in_step(step);
    };
    let lost: Vec<&String> = texts.iter().filter(|text| !prompt.carries(text)).collect();
    let check = match lost.as_slice() {
        [] => Check::pass(expected, "it does"),
        [lost, ..] => Check::fail(Reason::HistoryLost, expected, format!("it does not hold {lost}")),
    };
    check.in_step(step).at_time(request.at)
}
