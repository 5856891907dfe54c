//! What must be told rather than passed over: a trouble, the end, the answer.

use super::ending::missing;
use super::told::{control, refused, shown};
use super::{Evidence, clip};
use crate::conform::judge::Check;
use crate::conform::observe::agent::repeat::in_words;
use crate::conform::observe::agent::stream;
use crate::conform::observe::{AgentEnd, AgentStepSeen};
use crate::conform::spec::Reason;
use crate::conform::spec::{EndLike, EndSign, Sign, StreamSigns, Trouble};

/// Where a trouble would be told.
fn signs(stream: &StreamSigns, trouble: Trouble) -> Option<&[Sign]> {
    let signs = match trouble {
        Trouble::CutOff => &stream.cut_off,
        Trouble::Refusal => &stream.refusal,
        Trouble::Denial => &stream.denial,
        Trouble::CompactionFailure => &stream.compaction_failure,
    };
    signs.as_deref()
}

/// The run ended without success, or an event tells the trouble.
pub(super) fn not_silent(evidence: &Evidence<'_>, step: usize, trouble: Trouble) -> Check {
    let expected = format!("the run to end without success, or an event to tell the {trouble}");
    let Some(seen) = evidence.step(step) else { return missing(Reason::DidNotEnd, expected, step) };
    let observed = in_words(&seen.end);
    let check = match &seen.end {
        AgentEnd::Exited(0) => match signs(&evidence.manifest.stream, trouble) {
            None => Check::not_observed(Reason::NoSight, expected, "it ended with 0, and the manifest names no event"),
            Some(signs) => {
                let check = shown(evidence, seen, Some(signs), &expected);
                if check.reason == Reason::NotTold {
                    Check::fail(Reason::LooksLikeSuccess, expected, "it ended with 0, and no event tells it")
                } else {
                    check
                }
            }
        },
        AgentEnd::Exited(_) | AgentEnd::Signalled(_) => Check::pass(expected, observed),
        AgentEnd::SeenEnough => Check::not_observed(Reason::SeenEnough, expected, observed),
        _ => Check::fail(Reason::DidNotEnd, expected, observed),
    };
    check.in_step(step).at_time(seen.ended)
}

/// The last event ends the stream and says how the run ended.
pub(super) fn end(evidence: &Evidence<'_>, step: usize, like: Option<EndLike>) -> Check {
    let expected = match like {
        None => "the last event to say that the run is over".to_owned(),
        Some(like) => format!("the last event to say that the run is over, as after a {like}"),
    };
    let Some(seen) = evidence.step(step) else { return missing(Reason::NotTold, expected, step) };
    if !matches!(seen.end, AgentEnd::Exited(_) | AgentEnd::Signalled(_)) {
        return Check::fail(Reason::DidNotEnd, expected, in_words(&seen.end)).in_step(step);
    }
    let signs = evidence.manifest.stream.end.as_deref().unwrap_or_default();
    let Some((how, is_last)) = ending(signs, seen) else {
        let last = stream::events(seen).last().map_or_else(|| "there is no event".to_owned(), |it| it.to_string());
        return Check::fail(Reason::NotTold, expected, format!("no event does; the last is {}", clip(&last)))
            .in_step(step);
    };
    if !is_last {
        return Check::fail(Reason::NotAtLast, expected, "others follow it").in_step(step);
    }
    let usual = control(evidence).and_then(|control| ending(signs, control)).map(|(how, _)| how);
    let observed = how.join(", ");
    let check = match (like, usual) {
        (None, _) => Check::pass(expected, observed),
        (Some(_), None) => refused(expected),
        (Some(like), Some(usual)) if (how == usual) == (like == EndLike::Success) => Check::pass(expected, observed),
        (Some(_), Some(usual)) => {
            let observed = format!("{observed}; where nothing goes wrong it is {}", usual.join(", "));
            Check::fail(Reason::ToldOtherwise, expected, observed)
        }
    };
    check.in_step(step)
}

/// What the last event of these signs says, and whether no other event follows it.
fn ending(signs: &[EndSign], seen: &AgentStepSeen) -> Option<(Vec<String>, bool)> {
    let mut found = None;
    for event in stream::events(seen) {
        found = match (signs.iter().find(|sign| stream::matches(&sign.when, &event)), found) {
            (Some(sign), _) => {
                let value =
                    |pointer: &String| event.pointer(pointer).map_or_else(|| "-".to_owned(), ToString::to_string);
                Some((sign.read.iter().map(value).collect(), true))
            }
            (None, found) => found.map(|(how, _)| (how, false)),
        };
    }
    found
}

/// The stream tells a text of the model's answer, in one piece or in several.
pub(super) fn answer(evidence: &Evidence<'_>, step: usize, text: &str) -> Check {
    let text = evidence.words(text);
    let expected = format!("events to tell the answer: {text}");
    let Some(seen) = evidence.step(step) else { return missing(Reason::NotTold, expected, step) };
    let signs = evidence.manifest.stream.answer.as_deref().unwrap_or_default();
    let told: String = stream::events(seen).filter_map(|event| stream::read(signs, &event)).collect();
    let check = if told.contains(&text) {
        Check::pass(expected, clip(&told))
    } else if told.is_empty() {
        Check::fail(Reason::NotTold, expected, "no event tells an answer")
    } else {
        Check::fail(Reason::ToldOtherwise, expected, clip(&told))
    };
    check.in_step(step)
}
