//! How full the context is, and what becomes of it when it is full.

use regex::Regex;

use super::Evidence;
use super::ending::missing;
use super::requests::turns;
use super::told::shown;
use crate::conform::judge::Check;
use crate::conform::model::RequestSeen;
use crate::conform::observe::AgentStepSeen;
use crate::conform::observe::agent::stream;
use crate::conform::spec::Reason;
use crate::conform::spec::UsageScope;

/// The side request for a summary, as manifests call it.
pub(super) const COMPACTION: &str = "compaction";

/// The stream's usage is what the model told.
pub(super) fn usage(evidence: &Evidence<'_>, step: usize) -> Check {
    let Some(seen) = evidence.step(step) else { return missing(Reason::NotTold, "the usage", step) };
    let signs = evidence.manifest.stream.usage.as_deref().unwrap_or_default();
    let Some((sign, input, output)) = stream::usage(signs, seen) else {
        return Check::fail(Reason::NotTold, "the stream to count tokens", "no event does").in_step(step);
    };
    let right = |steps: &[AgentStepSeen]| {
        let usages: Vec<_> = steps.iter().flat_map(|step| &step.requests).filter_map(|request| request.usage).collect();
        let counted = if sign.scope == UsageScope::Request { usages.len().saturating_sub(1) } else { 0 };
        usages[counted..].iter().fold((0, 0), |(input, output), it| (input + it.input, output + it.output))
    };
    let from = if sign.scope == UsageScope::Session { 0 } else { step };
    let (right_input, right_output) = right(&evidence.seen.steps[from..=step]);
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
pub(super) fn told(evidence: &Evidence<'_>, step: usize) -> Check {
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

/// An event tells how full the context is after the last request: what went in, with or without what came out.
pub(super) fn size(evidence: &Evidence<'_>, step: usize) -> Check {
    let Some(seen) = evidence.step(step) else { return missing(Reason::NotTold, "the size of the context", step) };
    // What it asks beside its work has a context of its own.
    let mut own = seen.requests.iter().rev().filter(|request| request.is_main());
    let Some(last) = own.find_map(|request| request.usage) else {
        return Check::fail(Reason::TooFewRequests, "the size of the context", "no answer told any").in_step(step);
    };
    let whole = last.input + last.output;
    let expected = format!("the last event of its kind to tell {} or {whole} tokens of context", last.input);
    let signs = evidence.manifest.stream.context.as_deref().unwrap_or_default();
    let check = match stream::size(signs, seen) {
        Some(found) if found == last.input || found == whole => Check::pass(expected, found.to_string()),
        Some(found) => Check::fail(Reason::NotTracked, expected, found.to_string()),
        None => Check::fail(Reason::NotTold, expected, "no event tells it"),
    };
    check.in_step(step)
}

/// The model was asked for a summary, or was not.
pub(super) fn compacted(evidence: &Evidence<'_>, step: usize, yes: bool) -> Check {
    let expected = if yes { "the model to be asked for a summary" } else { "the model not to be asked for a summary" };
    let Some(seen) = evidence.step(step) else { return missing(Reason::NoCompaction, expected, step) };
    let asked = seen.requests.iter().filter(|request| request.is_route(COMPACTION)).count();
    let observed = format!("{} turns, {asked} requests for a summary", turns(seen).len());
    let check = match (asked, yes) {
        (0, true) => Check::fail(Reason::NoCompaction, expected, observed),
        (1.., false) => Check::fail(Reason::UnwarrantedCompaction, expected, observed),
        _ => Check::pass(expected, observed),
    };
    check.in_step(step)
}

/// After the first summary the model was asked again, and the summary stood in that request.
pub(super) fn goes_on(evidence: &Evidence<'_>, step: usize) -> Check {
    let reply = evidence.manifest.side.iter().find(|side| side.name == COMPACTION).map(|side| side.reply.as_str());
    let summary = said(reply.unwrap_or_default());
    let expected = format!("the request after a summary to hold it: {summary}");
    let Some(seen) = evidence.step(step) else { return missing(Reason::NoCompaction, expected, step) };
    let after = seen.requests.iter().skip_while(|request| !request.is_route(COMPACTION));
    let after: Vec<&RequestSeen> = after.collect();
    if after.is_empty() {
        return Check::fail(Reason::NoCompaction, expected, "it was never asked for one").in_step(step);
    }
    let next = after.into_iter().find(|request| request.is_turn() && request.is_main());
    let Some((request, prompt)) = next.and_then(|it| Some((it, it.prompt.as_ref()?))) else {
        return Check::fail(Reason::TooFewRequests, expected, "there was no such request").in_step(step);
    };
    let check = if prompt.carries(&summary) {
        Check::pass(expected, "it does")
    } else {
        Check::fail(Reason::HistoryLost, expected, "it does not")
    };
    check.in_step(step).at_time(request.at)
}

/// A reply without its tags, which agents take off.
fn said(reply: &str) -> String {
    let tags = Regex::new("<[^<>]*>").expect("a pattern of ours");
    tags.replace_all(reply, "").trim().to_owned()
}
