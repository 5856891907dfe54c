//! What the model was asked: how often, how soon again, and with which history. Side requests are no turns.

use super::ending::missing;
use super::told::refused;
use super::{Evidence, clip};
use crate::conform::judge::{Check, Outcome};
use crate::conform::model::{Answered, Effort, RequestSeen};
use crate::conform::observe::AgentStepSeen;
use crate::conform::spec::Reason;
use crate::system::clock::Millis;

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
    // What was not understood is no answer that counts, but it was a question.
    let refused = seen.requests.iter().filter(|request| request.answer == Answered::Refused).count();
    let observed = match refused {
        0 => format!("it was asked {}", times(turns.len())),
        _ => format!("it was asked {}, and {} in a way that was not understood", times(turns.len()), times(refused)),
    };
    let check = match turns.len() {
        found if found < at_least => Check::fail(Reason::TooFewRequests, expected, observed),
        found if at_most.is_some_and(|most| found + refused > most) => {
            let check = Check::fail(Reason::TooManyRequests, expected, format!("{observed}; gaps {}", listed(&turns)));
            return turns.last().map_or(check.clone(), |last| check.at_time(last.at)).in_step(step);
        }
        _ => Check::pass(expected, observed),
    };
    check.in_step(step)
}

/// A request that failed was made again. A background request that the manifest does not know may have met the failure, or
/// look like the retry, so nothing is said of a step whose requests are not all the same one.
pub(super) fn tried_again(evidence: &Evidence<'_>, step: usize, text: &str) -> Check {
    let text = evidence.words(text);
    let expected = format!("the request that ends with {text} to be made again, and no other");
    let Some(seen) = evidence.step(step) else { return missing(Reason::TooFewRequests, expected, step) };
    let turns = turns(seen);
    let last: Vec<&str> = turns.iter().filter_map(|turn| Some(turn.prompt.as_ref()?.last_text.as_str())).collect();
    let stranger = last.iter().find(|said| !said.contains(&text)).or(last.iter().find(|said| **said != last[0]));
    let observed = format!("it was asked {}", times(turns.len()));
    let check = match stranger {
        Some(said) => {
            let what = clip(&format!("{said:?}"));
            let observed =
                format!("{observed}, once with another message at the end, of which `side` may know nothing: {what}");
            Check::not_observed(Reason::NoSight, expected, observed)
        }
        None if turns.len() < 2 => Check::fail(Reason::TooFewRequests, expected, observed),
        None => Check::pass(expected, observed),
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
        // An agent that gives up sooner breaks nothing: of growth there is then nothing to be seen.
        let outcome = if wish.growth.is_some() { Outcome::NotObserved } else { Outcome::Fail };
        return Check::new(outcome, Reason::TooFewGaps, expected, observed).in_step(step);
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
    let expected = format!("every request to say `{level}`, or to count tokens that are {level} beside the usual ones");
    let Some(seen) = evidence.step(step) else { return missing(Reason::EffortLost, expected, step) };
    let plain = evidence.control.and_then(|control| control.steps.first());
    let Some(usual) = plain.and_then(|step| effort_of(turns(step).first()?)) else {
        return refused(expected).in_step(step);
    };
    let turns = turns(seen);
    let says: Vec<Outcome> = turns.iter().map(|request| says_effort(effort_of(request), usual, level)).collect();
    let observed: Vec<String> = turns.iter().map(|request| in_words(request)).collect();
    let observed = clip(&observed.join("; "));
    let check = if says.is_empty() || says.contains(&Outcome::Fail) {
        Check::fail(Reason::EffortLost, expected, observed)
    } else if says.contains(&Outcome::NotObserved) {
        let observed = format!("{observed}; in a plain run {}", said_of_effort(usual));
        Check::not_observed(Reason::NoBaseline, expected, observed)
    } else {
        Check::pass(expected, observed)
    };
    check.in_step(step)
}

/// Whether a request says a level by its word, or by a count of tokens on the right side of the usual one. Where nothing is
/// usual, a count only tells that something was set.
fn says_effort(found: Option<&Effort>, usual: &Effort, level: &str) -> Outcome {
    let holds = |holds: bool| if holds { Outcome::Pass } else { Outcome::Fail };
    let count = |effort: &Effort| effort.budget.filter(|tokens| *tokens >= 0);
    match found {
        Some(Effort { level: Some(word), .. }) => holds(word == level),
        None | Some(Effort { level: None, budget: None }) => Outcome::Fail,
        Some(found) if found.budget == usual.budget => Outcome::Fail,
        Some(found) => match (level, count(found), count(usual)) {
            ("low", Some(found), Some(usual)) => holds(found < usual),
            ("high", Some(found), Some(usual)) => holds(found > usual),
            _ => Outcome::NotObserved,
        },
    }
}

fn effort_of(request: &RequestSeen) -> Option<&Effort> {
    request.prompt.as_ref().map(|prompt| &prompt.effort)
}

/// What a request says of effort, with the header in which Anthropic once wanted it announced.
fn in_words(request: &RequestSeen) -> String {
    let said = effort_of(request).map_or("nothing".to_owned(), said_of_effort);
    let betas = request.headers.get("anthropic-beta").into_iter().flat_map(|betas| betas.split(','));
    match betas.map(str::trim).find(|beta| beta.starts_with("effort-")) {
        Some(beta) => format!("{said} (anthropic-beta: {beta})"),
        None => said,
    }
}

fn said_of_effort(effort: &Effort) -> String {
    let budget = effort.budget.map(|budget| format!("{budget} tokens"));
    let said = effort.level.clone().into_iter().chain(budget);
    said.reduce(|level, budget| format!("{level}, {budget}")).unwrap_or("nothing".to_owned())
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
