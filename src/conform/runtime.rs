//! The runtime profile: anything that executes phases, by the runtime contract.

use std::collections::BTreeMap;

use serde_json::Value;

use super::profile::{CaseDocument, Head, ManifestDocument, Profile, Seen};
use super::suite::{CONTRACT_CASE, RUNTIME_MANIFEST};
use super::{
    Attestation, Case, CellWord, Check, Column, Drive, Evidence, Expectation, Manifest, Observation, ProfileName, Step,
    TimeMethod, TimelineMark, expect, timeline,
};
use crate::diag::Diagnostic;
use crate::schema::Kind;

/// Runtimes, judged by the phases that they are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeProfile;

impl Profile for RuntimeProfile {
    type Case = Case;
    type Manifest = Manifest;
    type Seen = Observation;

    const NAME: ProfileName = ProfileName::Runtime;
    const CASE: &'static Kind = &CONTRACT_CASE;
    const MANIFEST: &'static Kind = &RUNTIME_MANIFEST;

    fn judge(evidence: &Evidence<'_>) -> Vec<Check> {
        expect::judge(evidence)
    }

    fn unobservable(case: &Case, manifest: &Manifest) -> Option<Check> {
        expect::unobservable(case, manifest)
    }

    fn timeline(seen: &Observation) -> Vec<TimelineMark> {
        timeline::timeline(seen)
    }
}

impl CaseDocument for Case {
    fn head(&self) -> Head<'_> {
        let Self { id, clause, title, needs, time, draw, .. } = self;
        Head { id, clause, title, needs, time: *time, drawn: draw }
    }

    fn scenario(&self) -> Self {
        let (id, clause, title) = Default::default();
        Self { id, clause, title, needs: Vec::new(), requires: Vec::new(), expect: Vec::new(), ..self.clone() }
    }

    fn is_plain(&self) -> bool {
        let untouched = self.config.is_empty() && self.files.is_empty() && self.knobs.is_empty();
        untouched && self.phases.is_empty() && self.draw.is_empty() && self.steps == [Step::Run(Drive::default())]
    }

    fn measures_time(&self) -> bool {
        let waits = self.expect.iter().any(|it| matches!(it, Expectation::Backoff { .. }));
        waits || self.time == TimeMethod::Scaled
    }

    fn faults(&self) -> Vec<Diagnostic> {
        let mut wrong = Vec::new();
        if self.expect.is_empty() || self.steps.is_empty() {
            wrong.push(Diagnostic::error("case-empty", "a case without steps or expectations judges nothing"));
        }
        let vacuous = self.expect.iter().filter(|it| matches!(it, Expectation::Events { at_least: 0, .. }));
        wrong.extend(
            vacuous.map(|_| {
                Diagnostic::error("case-vacuous", "`at_least: 0` is kept by whoever does nothing").of("/expect")
            }),
        );
        wrong
    }

    fn expectations(&self) -> Value {
        serde_json::to_value(&self.expect).expect("an expectation is plain data")
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

impl Seen for Observation {
    fn broken(why: &str) -> Self {
        Self { rig_error: Some(why.to_owned()), ..Self::default() }
    }

    fn kept(&self) -> Option<&str> {
        self.kept.as_deref()
    }
}
