//! What a manifest keeps from being seen at all, whatever the runtime does: known before anything is run.

use crate::conform::{Act, Case, Check, Manifest, Reason, Step, TimeMethod, UsageWay};

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
    case.steps.iter().find_map(|step| match step {
        Step::Run(drive) if drive.halt_during.is_some() && manifest.halt.is_none() => Some("halt"),
        Step::Resume(_) if manifest.resume.is_none() => Some("resume"),
        Step::Resume(drive) if drive.halt_during.is_some() && manifest.halt.is_none() => Some("halt"),
        Step::Resolve(_) if manifest.resolve.is_none() => Some("resolve"),
        Step::State if manifest.state.is_none() => Some("state"),
        _ => None,
    })
}

/// A knob that the case cannot do without and the manifest lacks.
fn missing_knob(case: &Case, manifest: &Manifest) -> Option<String> {
    let scaled = case.time == TimeMethod::Scaled;
    let knob = case.knobs.keys().find(|knob| scaled && !manifest.knobs.contains_key(knob))?;
    serde_json::to_value(knob).ok()?.as_str().map(str::to_owned)
}
