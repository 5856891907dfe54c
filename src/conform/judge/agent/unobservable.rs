//! What a manifest keeps from being seen at all, whatever the agent does: known before anything is run.

use super::context::COMPACTION;
use crate::conform::judge::Check;
use crate::conform::spec::{AgentCase, AgentExpectation, AgentManifest, AgentStep, Spoilt};
use crate::conform::spec::{Reason, TimeMethod};

/// Why nothing of this case can be seen of an agent with this manifest, if so: a verb, a knob or a place to look at is
/// missing.
pub(in crate::conform) fn unobservable(case: &AgentCase, manifest: &AgentManifest) -> Option<Check> {
    let resumes = case.steps.iter().any(|step| matches!(step, AgentStep::Resume(_)));
    if resumes && manifest.resume.is_none() {
        return Some(Check::not_observed(Reason::NoVerb, "a manifest with `resume`", "it has none"));
    }
    let scaled = case.time == TimeMethod::Scaled;
    if let Some(knob) =
        case.knobs.keys().find(|knob| (scaled || knob.is_the_point()) && !manifest.knobs.contains_key(knob))
    {
        let observed = "the manifest has no such knob";
        return Some(Check::not_observed(Reason::NoKnob, format!("a knob `{knob}`"), observed));
    }
    if case.memory.is_some() && manifest.memory.is_none() {
        return Some(Check::not_observed(Reason::NoSight, "a manifest that names the memory file", "it names none"));
    }
    if let Some(expected) = case.steps.iter().find_map(|step| unspoilable(step.errand().spoilt?, manifest)) {
        return Some(Check::not_observed(Reason::NoVerb, expected, "it has none"));
    }
    case.expect.iter().find_map(|expectation| unseen(expectation, manifest)).map(|what| {
        let expected = format!("a manifest that says where {what} stands in the stream");
        Check::not_observed(Reason::NoSight, expected, "it does not")
    })
}

/// What a manifest would need so that a call can be spoilt in this way, and has not.
fn unspoilable(spoilt: Spoilt, manifest: &AgentManifest) -> Option<&'static str> {
    let has = |wanted: &str| manifest.run.iter().any(|word| word == wanted);
    match spoilt {
        Spoilt::MissingFolder => manifest.folder.is_empty().then_some("a manifest with arguments that name a folder"),
        Spoilt::UnknownFlag => (!has("{knobs}")).then_some("a `run` with a place for `{knobs}`"),
        Spoilt::NoPrompt => (!has("{prompt}")).then_some("a `run` in which `{prompt}` is a word of its own"),
    }
}

/// What an expectation looks for and the manifest names no place of.
fn unseen(expectation: &AgentExpectation, manifest: &AgentManifest) -> Option<&'static str> {
    let signs = &manifest.stream;
    let missing = match expectation {
        AgentExpectation::SessionAtFirst { .. }
        | AgentExpectation::SameSession { .. }
        | AgentExpectation::Apart { .. } => (signs.session.is_none(), "the session"),
        AgentExpectation::EndTold { .. } => (signs.end.is_none(), "the end"),
        AgentExpectation::AnswerTold { .. } => (signs.answer.is_none(), "the answer"),
        AgentExpectation::ContextTold { .. } => (signs.context.is_none(), "the size of the context"),
        AgentExpectation::Compacted { .. } | AgentExpectation::GoesOn { .. } => {
            (!manifest.side.iter().any(|side| side.name == COMPACTION), "a request for a summary")
        }
        AgentExpectation::Usage { .. } => (signs.usage.is_none(), "the usage"),
        AgentExpectation::Told { .. } | AgentExpectation::NotTold { .. } => (signs.failure.is_none(), "a failure"),
        AgentExpectation::CompactionTold { .. } => (signs.compaction.is_none(), "a compaction"),
        AgentExpectation::TurnLimitTold { .. } => {
            (signs.turn_limit.is_none() && signs.turn_limit_exit.is_none(), "the bound of turns")
        }
        _ => return None,
    };
    missing.0.then_some(missing.1)
}
