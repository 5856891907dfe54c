//! Sessions: by which name they go, and what of them comes back.

use super::ending::missing;
use super::requests::{carried, turns};
use super::{Evidence, clip};
use crate::conform::judge::Check;
use crate::conform::observe::agent::{repeat, stream};
use crate::conform::observe::{AgentEnd, AgentStepSeen};
use crate::conform::spec::Reason;

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

/// The session was resumed with what was said in it, or the agent ended without success. Neither is a new session under
/// the old one's name, nor an end with 0 without having worked.
pub(super) fn resumed_or_refused(evidence: &Evidence<'_>, step: usize, texts: &[String]) -> Check {
    let expected = "the session to be resumed, or the call to be refused";
    let Some(seen) = evidence.step(step) else { return missing(Reason::DidNotEnd, expected, step) };
    let observed = repeat::in_words(&seen.end);
    let check = match seen.end {
        AgentEnd::Exited(0) if turns(seen).is_empty() => {
            Check::fail(Reason::LooksLikeSuccess, expected, format!("{observed}, and the model was not asked"))
        }
        AgentEnd::Exited(_) if !turns(seen).is_empty() => return carried(evidence, step, texts),
        AgentEnd::Exited(_) => Check::pass(expected, observed),
        AgentEnd::Signalled(_) => Check::fail(Reason::WrongExitCode, expected, observed),
        AgentEnd::SeenEnough => Check::not_observed(Reason::SeenEnough, expected, observed),
        _ => Check::fail(Reason::DidNotEnd, expected, observed),
    };
    check.in_step(step).at_time(seen.ended)
}

/// Two runs at once: both ended well, in sessions of different names, and no request held the texts of both.
pub(super) fn apart(evidence: &Evidence<'_>, step: usize, texts: &[String; 2]) -> Check {
    let texts = texts.each_ref().map(|text| evidence.words(text));
    let expected = format!("two sessions, and no request that holds both {} and {}", texts[0], texts[1]);
    let both = evidence.step(step).and_then(|seen| Some((seen, seen.beside.as_deref()?)));
    let Some((one, other)) = both else { return missing(Reason::TooFewRequests, expected, step) };
    let pair: [&AgentStepSeen; 2] = [one, other];
    let fail = |reason, observed: String| Check::fail(reason, &expected, clip(&observed)).in_step(step);
    let names = pair.map(|seen| stream::session(&evidence.manifest.stream, seen));
    if let [Some(one), Some(other)] = &names
        && one == other
    {
        // Whatever else comes of it.
        return fail(Reason::SessionsMixed, format!("both go by {one}"));
    }
    if let Some(unwell) = pair.iter().find(|seen| seen.end != AgentEnd::Exited(0)) {
        return fail(Reason::WrongExitCode, repeat::in_words(&unwell.end));
    }
    let prompts = || turns(one).into_iter().filter_map(|request| request.prompt.as_ref());
    for text in &texts {
        if !prompts().any(|prompt| prompt.carries(text)) {
            return fail(Reason::TooFewRequests, format!("no request holds {text}"));
        }
    }
    if prompts().any(|prompt| texts.iter().all(|text| prompt.carries(text))) {
        return fail(Reason::SessionsMixed, "a request holds both".to_owned());
    }
    match names {
        [Some(one), Some(other)] => Check::pass(expected, format!("{one} and {other}")).in_step(step),
        _ => fail(Reason::NotTold, "no event names them".to_owned()),
    }
}
