//! What a manifest keeps from being seen at all, whatever the runtime does: known before anything is run.

use crate::conform::{Act, Case, Check, Manifest, Reason, Step, TimeMethod, UsageWay, Verb};

/// Why nothing of this case can be seen of a runtime with this manifest, if so: a verb, a way to learn its usage or a knob
/// is missing.
#[must_use]
pub fn unobservable(case: &Case, manifest: &Manifest) -> Option<Check> {
    if let Some(verb) = missing_verb(case, manifest) {
        return Some(Check::not_observed(Reason::NoVerb, format!("a manifest with `{verb}`"), "it has none"));
    }
    let does = |asked: fn(&Act) -> bool| case.phases.values().flatten().flatten().any(asked);
    if does(|act| matches!(act, Act::Usage(_))) && manifest.usage.is_none() {
        let expected = "a manifest that says how the runtime learns its usage";
        return Some(Check::not_observed(Reason::NoUsageWay, expected, "it has no `usage`"));
    }
    if does(|act| matches!(act, Act::Signal(_))) && manifest.usage != Some(UsageWay::SignalFile) {
        let expected = "a runtime that reads the signal stream";
        return Some(Check::not_observed(Reason::NoSignalStream, expected, "`usage` is not `signal_file`"));
    }
    if case.time == TimeMethod::Accelerated && manifest.asks(Verb::Run) {
        let observed = "what an adapter starts has the clock of the wall, and nobody waits that long";
        return Some(Check::not_observed(Reason::NoKnob, "a `run` that can be given a faster clock", observed));
    }
    if case.compactor.is_some() && manifest.compactor.is_none() {
        let expected = "a manifest that says how the judge's own compactor is plugged in";
        return Some(Check::not_observed(Reason::NoCompactor, expected, "it has no `compactor`"));
    }
    missing_knob(case, manifest).map(|knob| {
        let observed = "the manifest has no such knob, and nobody waits that long";
        Check::not_observed(Reason::NoKnob, format!("a knob `{knob}`"), observed)
    })
}

fn missing_verb(case: &Case, manifest: &Manifest) -> Option<&'static str> {
    let lacking = |verb: Verb| (!manifest.offers(verb)).then_some(verb.as_str());
    case.steps.iter().find_map(|step| match step {
        Step::Run(drive) if drive.halt_during.is_some() => lacking(Verb::Halt),
        Step::Resume(drive) if drive.halt_during.is_some() => lacking(Verb::Resume).or(lacking(Verb::Halt)),
        Step::Resume(_) => lacking(Verb::Resume),
        Step::Resolve(_) => lacking(Verb::Resolve),
        Step::State => lacking(Verb::State),
        _ => None,
    })
}

/// A knob that the case cannot do without and the manifest lacks.
fn missing_knob(case: &Case, manifest: &Manifest) -> Option<String> {
    let scaled = case.time == TimeMethod::Scaled;
    let knob = case.knobs.keys().find(|knob| scaled && !manifest.knobs.contains_key(knob))?;
    serde_json::to_value(knob).ok()?.as_str().map(str::to_owned)
}
