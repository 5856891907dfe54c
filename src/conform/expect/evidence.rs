//! What a verdict is computed from, and the questions that several expectations ask of it.

use serde_json::Value;

use crate::conform::{Act, Step, TimeMethod, WayIn};
use crate::conform::{
    AttemptSeen, Case, Clause, Manifest, Millis, Observation, OutputLine, ProcessEnd, StepSeen, UsageWay, names,
};

/// One case, the clause that it judges, the runtime's manifest, and what was seen.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The case.
    pub case: &'a Case,
    /// The clause, for its readings.
    pub clause: &'a Clause,
    /// The manifest, for what it lets the judge see.
    pub manifest: &'a Manifest,
    /// What was seen.
    pub seen: &'a Observation,
    /// What was seen of the same runtime in a run in which nothing goes wrong. Without it no pattern of the manifest counts.
    pub control: Option<&'a Observation>,
}

impl<'a> Evidence<'a> {
    /// A text of the case with the drawn values filled in.
    pub(super) fn text(&self, template: &str) -> String {
        names::text(&self.seen.drawn, template)
    }

    /// A value of the case with the drawn values filled in.
    pub(super) fn value(&self, template: &Value) -> Value {
        names::value(&self.seen.drawn, template)
    }

    /// The attempts in a step, or all.
    pub(super) fn attempts(&self, step: Option<usize>) -> impl Iterator<Item = &'a AttemptSeen> + use<'a> {
        self.seen.attempts.iter().filter(move |attempt| step.is_none_or(|step| attempt.step == step))
    }

    /// The last attempt of a phase in a step, or in the case.
    pub(super) fn last_attempt(&self, phase: &str, step: Option<usize>) -> Option<&'a AttemptSeen> {
        self.attempts(step).filter(|attempt| attempt.phase == phase).last()
    }

    /// The asked step, or else the last one that drove the runtime, with its number.
    pub(super) fn driven(&self, step: Option<usize>) -> Option<(usize, &'a StepSeen)> {
        let number =
            step.or_else(|| self.seen.steps.iter().rposition(|step| matches!(step.verb.as_str(), "run" | "resume")))?;
        Some((number, self.seen.steps.get(number)?))
    }

    /// Lines of a step's output between two moments.
    pub(super) fn lines(
        &self,
        step: usize,
        after: Millis,
        before: Millis,
    ) -> impl Iterator<Item = &'a OutputLine> + use<'a> {
        let lines = self.seen.steps.get(step).map(|step| step.output.as_slice()).unwrap_or_default();
        lines.iter().filter(move |line| line.at >= after && line.at < before)
    }

    /// Whether a reading of the clause asks for a remark.
    pub(super) fn warns(&self, reading: &str) -> bool {
        self.clause.readings.iter().any(|known| known.id == reading && known.warns)
    }

    /// The verb that the case needs and the manifest lacks, if any.
    pub(super) fn missing_verb(&self) -> Option<&'static str> {
        let manifest = self.manifest;
        let by_plan = self.case.steps.iter().find_map(|step| match step {
            Step::Run(drive) if drive.halt_during.is_some() && manifest.halt.is_none() => Some("halt"),
            Step::Resume(_) if manifest.resume.is_none() => Some("resume"),
            Step::Resume(drive) if drive.halt_during.is_some() && manifest.halt.is_none() => Some("halt"),
            Step::Resolve(_) if manifest.resolve.is_none() => Some("resolve"),
            Step::State if manifest.state.is_none() => Some("state"),
            _ => None,
        });
        let seen = || self.seen.steps.iter().any(|step| step.end == ProcessEnd::NoVerb).then_some("a verb of a step");
        by_plan.or_else(seen)
    }

    /// Whether a phase of the case reports usage.
    pub(super) fn reports_usage(&self) -> bool {
        self.acts().any(|act| matches!(act, Act::Usage(_)))
    }

    /// Whether a phase of the case speaks over the signal stream, which this runtime does not read.
    pub(super) fn signals_unheard(&self) -> bool {
        self.manifest.usage != Some(UsageWay::SignalFile) && self.acts().any(|act| matches!(act, Act::Signal(_)))
    }

    /// A knob that the case cannot do without and the manifest lacks.
    pub(super) fn missing_knob(&self) -> Option<String> {
        let scaled = self.case.time == TimeMethod::Scaled;
        let knob = self.case.knobs.keys().find(|knob| scaled && !self.manifest.knobs.contains_key(knob))?;
        serde_json::to_value(knob).ok()?.as_str().map(str::to_owned)
    }

    /// Whether the case is about results that phases hand over, and the runtime gave none of them a file for that.
    pub(super) fn lacks_result_file(&self) -> bool {
        let hands_over = |phase: &str| {
            let named = self.case.phases.iter().filter(|(name, _)| self.text(name) == phase);
            named.flat_map(|(_, attempts)| attempts.iter().flatten()).any(|act| matches!(act, Act::Result(_)))
        };
        let mut started = self.seen.attempts.iter().filter(|attempt| hands_over(&attempt.phase));
        self.case.requires.contains(&WayIn::ResultFile) && started.all(|it| !it.env.contains_key("LOA_RESULT_FILE"))
    }

    fn acts(&self) -> impl Iterator<Item = &'a Act> {
        self.case.phases.values().flatten().flatten()
    }
}
