//! What the agent's stream tells, in fields and never in sentences. A sign that a run without trouble shows, too, does not
//! count.

use super::super::stream::{self, Told};
use super::super::{AgentEnd, AgentStepSeen, FailureClass, Sign, UsageScope};
use super::ending::missing;
use super::requests::turns;
use super::{Evidence, clip};
use crate::conform::{Check, Reason};

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

/// The first event names the session.
pub(super) fn session_at_first(evidence: &Evidence<'_>, step: usize) -> Check {
    let expected = "the first event to name the session";
    let Some(seen) = evidence.step(step) else { return missing(Reason::NotTold, expected, step) };
    let signs = &evidence.manifest.stream;
    let first = stream::events(seen).next();
    let at_first = first.as_ref().and_then(|event| stream::read(signs.session.as_deref()?, event));
    let check = match (at_first, stream::session(signs, seen), first) {
        (Some(name), ..) => Check::pass(expected, name),
        (None, Some(name), Some(first)) => {
            let observed = format!("{name} is named later; the first event is {}", clip(&first.to_string()));
            Check::fail(Reason::NotAtFirst, expected, observed)
        }
        _ => Check::fail(Reason::NotTold, expected, "no event names it"),
    };
    check.in_step(step)
}

/// The stream names the session of the first step.
pub(super) fn same_session(evidence: &Evidence<'_>, step: usize) -> Check {
    let signs = &evidence.manifest.stream;
    let name = |step: usize| evidence.step(step).and_then(|seen| stream::session(signs, seen));
    let Some(first) = name(0) else {
        return Check::fail(Reason::NotTold, "the session to be named", "the first step's stream names none")
            .in_step(0);
    };
    let expected = format!("the session to be {first} still");
    let check = match name(step) {
        Some(found) if found == first => Check::pass(expected, found),
        Some(found) => Check::fail(Reason::OtherSession, expected, found),
        None => Check::fail(Reason::NotTold, expected, "no event names it"),
    };
    check.in_step(step)
}

/// The stream's usage is what the model told.
pub(super) fn usage(evidence: &Evidence<'_>, step: usize) -> Check {
    let Some(seen) = evidence.step(step) else { return missing(Reason::NotTold, "the usage", step) };
    let signs = evidence.manifest.stream.usage.as_deref().unwrap_or_default();
    let Some((sign, input, output)) = stream::usage(signs, seen) else {
        return Check::fail(Reason::NotTold, "the stream to count tokens", "no event does").in_step(step);
    };
    let told = |steps: &[AgentStepSeen]| {
        let usages: Vec<_> = steps.iter().flat_map(|step| &step.requests).filter_map(|request| request.usage).collect();
        let counted = if sign.scope == UsageScope::Request { usages.len().saturating_sub(1) } else { 0 };
        usages[counted..].iter().fold((0, 0), |(input, output), it| (input + it.input, output + it.output))
    };
    let from = if sign.scope == UsageScope::Session { 0 } else { step };
    let (right_input, right_output) = told(&evidence.seen.steps[from..=step]);
    let expected = format!("{right_input} tokens in and {right_output} out, over the {}", sign.scope);
    let observed = format!("{input} in and {output} out");
    let check = if (input, output) == (right_input, right_output) {
        Check::pass(expected, observed)
    } else {
        Check::fail(Reason::NotTracked, expected, observed)
    };
    check.in_step(step)
}

/// The context was compacted, and the stream tells it.
pub(super) fn compaction(evidence: &Evidence<'_>, step: usize) -> Check {
    let expected = "the context to be compacted, and an event to tell it";
    let Some(seen) = evidence.step(step) else { return missing(Reason::NoCompaction, expected, step) };
    let asked = seen.requests.iter().find(|request| request.is_route("compaction"));
    let Some(asked) = asked else {
        let observed = format!("the model was asked {} times, never for a summary", turns(seen).len());
        return Check::fail(Reason::NoCompaction, expected, observed).in_step(step);
    };
    let check = shown(evidence, seen, evidence.manifest.stream.compaction.as_deref(), expected);
    check.in_step(step).at_time(asked.at)
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
fn shown(evidence: &Evidence<'_>, seen: &AgentStepSeen, signs: Option<&[Sign]>, expected: &str) -> Check {
    let signs = signs.unwrap_or_default();
    let found = |step: &AgentStepSeen| stream::events(step).find(|event| stream::is_one(signs, event));
    match found(seen) {
        Some(_) if control(evidence).is_none_or(|control| found(control).is_some()) => refused(expected),
        Some(event) => Check::pass(expected, clip(&event.to_string())),
        None => Check::fail(Reason::NotTold, expected, "no event tells it"),
    }
}

/// What was seen of the agent in the plain run.
fn control<'a>(evidence: &Evidence<'a>) -> Option<&'a AgentStepSeen> {
    evidence.control.and_then(|control| control.steps.first())
}

fn refused(expected: impl Into<String>) -> Check {
    let observed =
        "the manifest's sign also stands in a run in which nothing goes wrong, or there was none to compare with";
    Check::fail(Reason::PatternRefused, expected, observed)
}
