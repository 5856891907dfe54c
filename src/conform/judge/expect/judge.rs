//! From an observation to the checks of a case.

use super::{
    Evidence, breakdown, checkpoint, checkpoint_times, context, ending, features, laid, lawful, phases, report, says,
    timing, unobservable, usages, warning,
};
use crate::conform::judge::{Check, Outcome};
use crate::conform::observe::ProcessEnd;
use crate::conform::spec::{Condition, Expectation, Reason};

/// Judges every expectation of a case. Never empty: a case that could not be judged yields the one check that says why.
#[must_use]
pub fn judge(evidence: &Evidence<'_>) -> Vec<Check> {
    if let Some(check) = unjudgeable(evidence) {
        return vec![check];
    }
    let checks = evidence.case.expect.iter().map(|expectation| conditional(evidence, check(evidence, expectation)));
    let checks: Vec<Check> = checks.collect();
    let is_red = checks.iter().any(|check| check.outcome == Outcome::Fail);
    let excuse = timing::late(evidence).filter(|_| is_red);
    excuse.map_or(checks, |check| vec![check])
}

/// Why a case cannot be judged at all, if so.
fn unjudgeable(evidence: &Evidence<'_>) -> Option<Check> {
    let seen = evidence.seen;
    if let Some(why) = &seen.rig_error {
        return Some(Check::new(Outcome::HarnessError, Reason::RigFailed, "the judge's own rig to work", why));
    }
    if let Some(check) = unobservable(evidence.case, evidence.manifest) {
        return Some(check);
    }
    if let Some(why) = seen.unseen.first() {
        return Some(Check::not_observed(Reason::NoFastClock, "a clock that runs faster than the wall's", why));
    }
    if let Some(check) = adapter_failed(evidence) {
        return Some(check);
    }
    if let Some(check) = cut_short(evidence).or_else(|| timing::too_slow(evidence)) {
        return Some(check);
    }
    if seen.steps.iter().any(|step| step.end == ProcessEnd::NoVerb) {
        return Some(Check::not_observed(Reason::NoVerb, "a manifest with every verb of the steps", "it lacks one"));
    }
    let unstarted = seen.steps.iter().enumerate().find_map(|(number, step)| match &step.end {
        ProcessEnd::NotStarted(why) => Some((number, &step.verb, why)),
        _ => None,
    });
    if let Some((number, verb, why)) = unstarted {
        let expected = format!("`{verb}` to start");
        return Some(Check::new(Outcome::CouldNotRun, Reason::NotStarted, expected, why).in_step(number));
    }
    if let Some(stranger) = seen.strangers.first() {
        let observed = format!("process {} spoke in the place of a phase: {}", stranger.pid, stranger.command);
        return Some(Check::fail(Reason::Forged, "phases to be started by the runtime", observed));
    }
    if seen.attempts.is_empty() {
        let observed = "the runtime started none, so nothing that it did or left undone proves anything";
        return Some(Check::fail(Reason::NothingStarted, "phases to be started", observed));
    }
    evidence.lacks_result_file().then(|| {
        let expected = "`LOA_RESULT_FILE` in the environment of a phase";
        Check::not_observed(Reason::NoResultFile, expected, "it was not set, so phases cannot hand anything over")
    })
}

/// A step that the judge cut short although the runtime was still at work: its slowness is this machine's, and no verdict.
fn cut_short(evidence: &Evidence<'_>) -> Option<Check> {
    let number = evidence.seen.steps.iter().position(|step| step.end == ProcessEnd::TooSlow)?;
    let observed = ending::in_words(&ProcessEnd::TooSlow);
    let expected = "a machine on which the step ends within five times its budget";
    Some(Check::new(Outcome::CouldNotRun, Reason::TooSlow, expected, observed).in_step(number))
}

/// An adapter that was at fault: what the runtime did behind it is unknown, so that it is neither passed nor failed.
fn adapter_failed(evidence: &Evidence<'_>) -> Option<Check> {
    let mut steps = evidence.seen.steps.iter().enumerate();
    let (number, verb, why) = steps.find_map(|(number, step)| match &step.end {
        ProcessEnd::AdapterFailed(why) => Some((number, &step.verb, why)),
        _ => None,
    })?;
    let expected = format!("the manifest's adapter to have `{verb}` done");
    Some(Check::new(Outcome::CouldNotRun, Reason::AdapterFailed, expected, why).in_step(number))
}

pub(super) fn check(evidence: &Evidence<'_>, expectation: &Expectation) -> Check {
    match expectation {
        Expectation::Starts { phase, step, count, accept } => phases::starts(evidence, phase, *step, *count, accept),
        Expectation::Order(order) => phases::order(evidence, order),
        Expectation::NothingAfter { phase, step } => phases::nothing_after(evidence, phase, *step),
        Expectation::Backoff { phase, growth } => timing::backoff(evidence, phase, *growth),
        Expectation::Ends { step, code, may_wait } => ending::ends(evidence, *step, *code, *may_wait),
        Expectation::NoOrphans => ending::no_orphans(evidence),
        Expectation::State { step, fields } => ending::state(evidence, *step, fields),
        Expectation::Resolved { step, accepted } => ending::resolved(evidence, *step, *accepted),
        Expectation::Checkpoint { phase, at, present, or_absent, fields } => {
            let asked = checkpoint::Asked { at, present: *present, or_absent: or_absent.as_deref(), fields };
            checkpoint::checkpoint(evidence, phase, &asked)
        }
        Expectation::CheckpointFolder => checkpoint::folder(evidence),
        Expectation::CheckpointTimes => checkpoint_times::times(evidence),
        Expectation::CheckpointFiles(phases) => checkpoint::files(evidence, phases),
        Expectation::OneExecution { unique_across_runs } => checkpoint::one_execution(evidence, *unique_across_runs),
        Expectation::Report { step, present, fields } => report::report(evidence, *step, *present, fields),
        Expectation::Surfaced { phase, from_start } => report::surfaced(evidence, phase, *from_start),
        Expectation::Decided { phase } => breakdown::decided(evidence, phase),
        Expectation::NotAgain { phase, code } => phases::not_again(evidence, phase, code),
        Expectation::OneAtATime => phases::one_at_a_time(evidence),
        Expectation::Says { phase, step, control, pattern } => {
            says::says(evidence, phase.as_deref(), says::Words { step: *step, control: *control, pattern })
        }
        Expectation::ContextState { usage, fields } => context::state(evidence, *usage, fields),
        Expectation::Tracked { usage } => context::tracked(evidence, *usage),
        Expectation::Warned { usage, level, fields } => warning::warned(evidence, *usage, level, fields),
        Expectation::Compacted { usage, level } => warning::compacted(evidence, *usage, level),
        Expectation::Events { r#type, at_least, fields } => context::events(evidence, r#type, *at_least, fields),
        Expectation::Signalled { usage, r#type, present, fields } => {
            let signal = features::Signal { kind: r#type, present: *present, fields };
            features::signalled(evidence, *usage, signal)
        }
        Expectation::Effort { phase, level, budget, level_alone } => {
            let wanted = features::Wanted { level, budget: *budget, level_alone: level_alone.as_deref() };
            features::effort(evidence, phase, wanted)
        }
        Expectation::Memories { phase, has, lacks } => features::memories(evidence, phase, has, lacks),
        Expectation::CompactorTold { clear, preserve, recent_turns } => {
            let told = features::Told { clear, preserve, recent_turns: *recent_turns };
            features::compactor_told(evidence, told)
        }
        Expectation::NotTorn { phase, step } => checkpoint::not_torn(evidence, phase, *step),
        Expectation::Within { step, minutes } => timing::within(evidence, *step, *minutes),
        Expectation::Reopened { phase, since, step } => phases::reopened(evidence, phase, *since, *step),
        Expectation::Unchanged(path) => laid::unchanged(evidence, path),
        Expectation::EveryUsage(rule) => usages::every(evidence, *rule),
        Expectation::Lawful(rule) => lawful::lawful(evidence, *rule),
    }
}

/// A clause that binds only those who emit the thing does not bind whoever never emits it.
pub(super) fn conditional(evidence: &Evidence<'_>, check: Check) -> Check {
    if evidence.clause.when == Condition::Emitted && check.reason.is_absence() {
        let Check { expected, observed, place, .. } = check;
        return Check { place, ..Check::new(Outcome::NotApplicable, Reason::NotEmitted, expected, observed) };
    }
    check
}
