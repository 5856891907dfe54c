//! The runtime profile: anything that executes phases, by the runtime contract.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::{
    Act, Attestation, Case, CellWord, Column, Drive, Expectation, Knob, Manifest, ProfileName, Situation, Step,
    TimeMethod, plot, situation,
};
use super::{CONTRACT_CASE, RUNTIME_MANIFEST};
use super::{profile::CaseDocument, profile::Head, profile::ManifestDocument, profile::Profile};
use crate::diag::Diagnostic;
use crate::schema::Kind;

/// The pause before a first retry where nobody shortens it, in milliseconds.
const USUAL_PAUSE: u64 = 5_000;

/// Runtimes, judged by the phases that they are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeProfile;

impl Profile for RuntimeProfile {
    type Case = Case;
    type Manifest = Manifest;

    const NAME: ProfileName = ProfileName::Runtime;
    const CASE: &'static Kind = &CONTRACT_CASE;
    const MANIFEST: &'static Kind = &RUNTIME_MANIFEST;

    fn stories(seed: u64, count: usize) -> Vec<Case> {
        plot::stories(seed, count)
    }

    fn claims(case: &Case, column: Column, manifest: &Manifest) -> bool {
        let claimed = || manifest.claims.get(&column).is_some_and(|word| *word != CellWord::None);
        case.feature.map_or_else(claimed, |feature| manifest.features.contains(&feature))
    }
}

impl CaseDocument for Case {
    fn head(&self) -> Head<'_> {
        let Self { id, clause, title, needs, time, draw, .. } = self;
        Head { id, clause, title, needs, time: *time, drawn: draw }
    }

    fn scenario(&self) -> Self {
        if self.is_everywhere() {
            return self.clone();
        }
        let (id, clause, title) = Default::default();
        let (needs, requires, expect) = Default::default();
        Self { id, clause, title, needs, requires, feature: None, quick: false, expect, ..self.clone() }
    }

    fn is_plain(&self) -> bool {
        let untouched = self.config.is_empty() && self.files.is_empty() && self.knobs.is_empty();
        let usual = self.compactor.is_none() && self.time == TimeMethod::Real;
        untouched
            && usual
            && self.phases.is_empty()
            && self.draw.is_empty()
            && self.steps == [Step::Run(Drive::default())]
    }

    fn is_everywhere(&self) -> bool {
        self.wherever.is_some()
    }

    fn is_about_stories(&self) -> bool {
        self.wherever == Some(Situation::Story)
    }

    fn bound(&self) -> &'static [&'static str] {
        if self.is_everywhere() { &situation::BOUND } else { &[] }
    }

    fn measures_time(&self) -> bool {
        let waits = self.expect.iter().any(|it| matches!(it, Expectation::Backoff { .. }));
        // A story is held against a model for which it makes no difference that everything takes longer.
        waits || self.time != TimeMethod::Real && !self.is_story()
    }

    fn waits(&self) -> Duration {
        let pause = self.knobs.get(&Knob::InitialBackoff).copied().unwrap_or(USUAL_PAUSE);
        let acts = self.phases.values().flatten().flatten();
        let millis = acts.map(|act| match act {
            Act::Sleep(millis) => *millis,
            Act::Exit(code) if *code == 1 => pause,
            _ => 0,
        });
        Duration::from_millis(millis.sum())
    }

    fn faults(&self) -> Vec<Diagnostic> {
        let mut wrong = Vec::new();
        if self.expect.is_empty() || self.steps.is_empty() && !self.is_everywhere() {
            wrong.push(Diagnostic::error("case-empty", "a case without steps or expectations judges nothing"));
        }
        if self.is_everywhere() && !self.does_nothing() {
            let message = "a case that is about every other does nothing by itself: it has no steps, draws and phases";
            wrong.push(Diagnostic::error("case-everywhere", message).of("/wherever"));
        }
        let vacuous = self.expect.iter().filter_map(vacuity);
        wrong.extend(vacuous.map(|why| Diagnostic::error("case-vacuous", why).of("/expect")));
        wrong
    }

    fn is_quick(&self) -> bool {
        self.quick
    }

    fn expectations(&self) -> Value {
        serde_json::to_value(&self.expect).expect("an expectation is plain data")
    }
}

impl Case {
    /// Whether it is a drawn story: it asks what the model asks, and nothing else.
    pub(in crate::conform) fn is_story(&self) -> bool {
        !self.expect.is_empty() && self.expect.iter().all(|it| matches!(it, Expectation::Lawful(_)))
    }

    /// Whether nothing is given and nothing is done.
    fn does_nothing(&self) -> bool {
        let given = self.config.is_empty() && self.files.is_empty() && self.knobs.is_empty() && self.draw.is_empty();
        given && self.phases.is_empty() && self.steps.is_empty() && self.compactor.is_none() && self.requires.is_empty()
    }
}

/// Why nothing can fail this expectation, if so.
fn vacuity(expectation: &Expectation) -> Option<&'static str> {
    match expectation {
        Expectation::Events { at_least: 0, .. } => Some("`at_least: 0` is kept by whoever does nothing"),
        Expectation::Memories { has, lacks, .. } if has.is_empty() && lacks.is_empty() => {
            Some("memories of which nothing is asked are had by everybody")
        }
        Expectation::ContextState { fields, .. } | Expectation::State { fields, .. } if fields.is_empty() => {
            Some("a document without fields says nothing")
        }
        Expectation::Says { pattern, .. } if matches!(pattern.as_str(), "" | ".*" | ".") => {
            Some("every output matches this")
        }
        _ => None,
    }
}

impl ManifestDocument for Manifest {
    fn name(&self) -> &str {
        &self.runtime
    }

    fn attest(&self) -> &[Attestation] {
        &self.attest
    }

    fn expect(&self) -> &BTreeMap<Column, CellWord> {
        &self.expect
    }

    fn claims(&self) -> BTreeMap<Column, CellWord> {
        self.claims.clone()
    }

    fn install(&self) -> Option<&str> {
        self.install.as_deref()
    }
}
