//! What a verdict is computed from, and the questions that several expectations ask of it.

use serde_json::Value;

use crate::conform::judge::Judged;
use crate::conform::observe::{AttemptSeen, OutputLine, StepSeen};
use crate::conform::spec::{Act, Clause, RuntimeProfile, WayIn, names};
use crate::system::clock::Millis;

/// One case, the clause that it judges, the candidate's manifest, and what was seen.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a, P: Judged = RuntimeProfile> {
    /// The case.
    pub case: &'a P::Case,
    /// The clause, for its readings.
    pub clause: &'a Clause,
    /// The manifest, for what it lets the judge see.
    pub manifest: &'a P::Manifest,
    /// What was seen.
    pub seen: &'a P::Seen,
    /// What was seen of the same candidate in a run in which nothing goes wrong. Without it no pattern of the manifest counts.
    pub control: Option<&'a P::Seen>,
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

    /// Whether the case is about results that phases hand over, and the runtime gave none of them a file for that.
    pub(super) fn lacks_result_file(&self) -> bool {
        let hands_over = |phase: &str| {
            let named = self.case.phases.iter().filter(|(name, _)| self.text(name) == phase);
            named.flat_map(|(_, attempts)| attempts.iter().flatten()).any(|act| matches!(act, Act::Result(_)))
        };
        let mut started = self.seen.attempts.iter().filter(|attempt| hands_over(&attempt.phase));
        self.case.requires.contains(&WayIn::ResultFile) && started.all(|it| !it.env.contains_key("LOA_RESULT_FILE"))
    }
}
