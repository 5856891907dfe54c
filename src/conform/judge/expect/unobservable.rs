//! What a manifest keeps from being seen at all, whatever the runtime does: known before anything is run.

use crate::conform::judge::Check;
use crate::conform::spec::{Act, Case, Manifest, Plot, Reason, Step, TimeMethod, UsageWay, Verb};

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
    if let Some(why) = slow_clock(manifest).filter(|_| case.time == TimeMethod::Accelerated) {
        return Some(Check::not_observed(Reason::NoKnob, "a `run` that can be given a faster clock", why));
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

/// Why `run` has the clock of the wall, if so.
fn slow_clock(manifest: &Manifest) -> Option<&str> {
    let asked = "what an adapter starts has the clock of the wall, and nobody waits that long";
    manifest.no_fast_clock.as_deref().or(manifest.asks(Verb::Run).then_some(asked))
}

fn missing_verb(case: &Case, manifest: &Manifest) -> Option<&'static str> {
    let lacking = |verb: Verb| (!manifest.offers(verb)).then_some(verb.as_str());
    case.steps.iter().find_map(|step| match step {
        Step::Run(drive) if drive.halt_during.is_some() => lacking(Verb::Halt),
        Step::Resume(drive) if drive.halt_during.is_some() => lacking(Verb::Resume).or(lacking(Verb::Halt)),
        Step::Resume(_) => lacking(Verb::Resume),
        Step::Resolve(_) => lacking(Verb::Resolve),
        // A story goes on without it.
        Step::State => lacking(Verb::State).filter(|_| Plot::number(&case.id).is_none()),
        _ => None,
    })
}

/// A knob that the case cannot do without and the manifest lacks.
fn missing_knob(case: &Case, manifest: &Manifest) -> Option<String> {
    let scaled = case.time == TimeMethod::Scaled;
    let knob = case.knobs.keys().find(|knob| scaled && !manifest.knobs.contains_key(knob))?;
    serde_json::to_value(knob).ok()?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What is not observed, or `-`.
    fn unseen(time: &str, more: &serde_json::Value) -> String {
        let case = json!({ "id": "x", "clause": "X", "title": "t", "time": time, "steps": [{ "run": {} }],
            "expect": [{ "ends": { "code": 0 } }] });
        let mut manifest = json!({ "runtime": "r", "version": ["v"] });
        manifest.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        let case: Case = serde_json::from_value(case).expect("a case");
        let manifest: Manifest = serde_json::from_value(manifest).expect("a manifest");
        unobservable(&case, &manifest).map_or("-".to_owned(), |check| format!("{}: {}", check.reason, check.observed))
    }

    #[test]
    fn a_clock_that_must_run_faster_is_not_forced_on_anybody() {
        let (plain, asked) = (json!({ "run": ["r"] }), json!({ "adapter": ["a"] }));
        let refuses = json!({ "run": ["r"], "no_fast_clock": "it gives up" });
        assert_eq!(unseen("accelerated", &plain), "-");
        assert_eq!(unseen("accelerated", &refuses), "no-knob: it gives up");
        assert!(unseen("accelerated", &asked).starts_with("no-knob: what an adapter starts"));
        for manifest in [plain, asked, refuses] {
            assert_eq!(unseen("real", &manifest), "-");
        }
    }
}
