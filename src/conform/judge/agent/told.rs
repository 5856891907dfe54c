//! What the agent's stream tells, in fields and never in sentences. A sign that a run without trouble shows, too, does not
//! count.

use super::ending::missing;
use super::{Evidence, clip};
use crate::conform::judge::Check;
use crate::conform::observe::agent::stream::{self, Told};
use crate::conform::observe::{AgentEnd, AgentStepSeen};
use crate::conform::spec::Reason;
use crate::conform::spec::{FailureClass, Sign};

/// The stream tells a failure of this class.
pub(super) fn failure(evidence: &Evidence<'_>, step: usize, class: FailureClass) -> Check {
    let expected = format!("a field of the stream to say that the failure is {class}");
    let Some(seen) = evidence.step(step) else { return missing(Reason::NotTold, expected, step) };
    let signs = &evidence.manifest.stream;
    if seen.end == AgentEnd::SeenEnough {
        let observed = "the judge had seen enough requests and ended it, before it could tell";
        return Check::not_observed(Reason::SeenEnough, expected, observed).in_step(step);
    }
    if control(evidence).is_none_or(|control| stream::failure(signs, control) != Told::Nothing) {
        return refused(expected).in_step(step);
    }
    let check = match stream::failure(signs, seen) {
        Told::Class(word, found) if found == class => Check::pass(expected, format!("{word}, that is {found}")),
        Told::Class(word, found) => Check::fail(Reason::ToldOtherwise, expected, format!("{word}, that is {found}")),
        Told::Words(words) => {
            Check::fail(Reason::NotTold, expected, format!("{}, which means no class", clip(&words.join(", "))))
        }
        Told::Bare => Check::fail(Reason::NotTold, expected, "that it failed, but only prose says how"),
        Told::Nothing => Check::fail(Reason::NotTold, expected, "no event tells a failure"),
    };
    check.in_step(step)
}

/// The stream tells no failure of this class.
pub(super) fn not_failure(evidence: &Evidence<'_>, step: usize, class: FailureClass) -> Check {
    let expected = format!("no field of the stream to say that the failure is {class}");
    let Some(seen) = evidence.step(step) else { return missing(Reason::NotTold, expected, step) };
    let check = match stream::failure(&evidence.manifest.stream, seen) {
        Told::Class(word, found) if found == class => {
            Check::fail(Reason::ToldOtherwise, expected, format!("{word}, that is {found}"))
        }
        Told::Class(word, found) => Check::pass(expected, format!("{word}, that is {found}")),
        Told::Words(words) => Check::pass(expected, clip(&words.join(", "))),
        Told::Bare | Told::Nothing => Check::pass(expected, "no field says how it failed"),
    };
    check.in_step(step)
}

/// The run ended at its bound of turns, with a status of its own.
pub(super) fn turn_limit(evidence: &Evidence<'_>, step: usize) -> Check {
    let expected = "an event or an exit code to tell that the bound of turns was reached";
    let Some(seen) = evidence.step(step) else { return missing(Reason::NotTold, expected, step) };
    let signs = &evidence.manifest.stream;
    if let Some(code) = signs.turn_limit_exit.filter(|code| seen.end == AgentEnd::Exited(*code)) {
        return Check::pass(expected, format!("it ended with {code}")).in_step(step);
    }
    shown(evidence, seen, signs.turn_limit.as_deref(), expected).in_step(step)
}

/// Whether an event of these signs is in the stream, and in that of the plain run is none.
pub(super) fn shown(evidence: &Evidence<'_>, seen: &AgentStepSeen, signs: Option<&[Sign]>, expected: &str) -> Check {
    let signs = signs.unwrap_or_default();
    let found = |step: &AgentStepSeen| stream::events(step).find(|event| stream::is_one(signs, event));
    match found(seen) {
        Some(_) if control(evidence).is_none_or(|control| found(control).is_some()) => refused(expected),
        Some(event) => Check::pass(expected, clip(&event.to_string())),
        None => Check::fail(Reason::NotTold, expected, "no event tells it"),
    }
}

/// What was seen of the agent in the plain run.
pub(super) fn control<'a>(evidence: &Evidence<'a>) -> Option<&'a AgentStepSeen> {
    evidence.control.and_then(|control| control.steps.first())
}

pub(super) fn refused(expected: impl Into<String>) -> Check {
    let observed =
        "the manifest's sign also stands in a run in which nothing goes wrong, or there was none to compare with";
    Check::fail(Reason::PatternRefused, expected, observed)
}
