//! What differs between the profiles before anything is seen. Ledger, presuppositions, scheduling, the second try of a red,
//! cells, reports and the proof of the judge are shared and ask only what stands here and in `Judged`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Attestation, CellWord, Column, Draw, ProfileName, Reason, SettingReport, TimeMethod};
use crate::diag::Diagnostic;
use crate::schema::Kind;

/// A profile: what is judged, and by which documents.
pub trait Profile: Debug + Clone + Copy + PartialEq + Send + Sync + 'static {
    /// What the judge does, and what it must see.
    type Case: CaseDocument;
    /// How a candidate is plugged in.
    type Manifest: ManifestDocument;

    /// Its name.
    const NAME: ProfileName;
    /// The kind of its cases.
    const CASE: &'static Kind;
    /// The kind of its manifests.
    const MANIFEST: &'static Kind;

    /// The drawn stories of a seed, which are told beside the cases.
    #[must_use]
    fn stories(_seed: u64, _count: usize) -> Vec<Self::Case> {
        Vec::new()
    }

    /// Whether the manifest claims what a clause with `when: claimed` is about.
    fn claims(_case: &Self::Case, column: Column, manifest: &Self::Manifest) -> bool {
        manifest.claims().get(&column).is_some_and(|word| *word != CellWord::None)
    }
}

/// A case, as far as everything but its driver and its verdict needs to know it.
pub trait CaseDocument: Debug + Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What every case has.
    fn head(&self) -> Head<'_>;

    /// The same with everything left out that only the verdict looks at: cases with equal scenarios share one run.
    #[must_use]
    fn scenario(&self) -> Self;

    /// Whether nothing goes wrong in it and nothing is asked but one plain run.
    fn is_plain(&self) -> bool;

    /// Whether it does nothing by itself, and is about what was seen of every other case.
    fn is_everywhere(&self) -> bool {
        false
    }

    /// Whether it is about every drawn story.
    fn is_about_stories(&self) -> bool {
        false
    }

    /// The names that stand for something in it without having been drawn.
    fn bound(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether it must not share the machine with many of its kind.
    fn measures_time(&self) -> bool;

    /// How long it waits by itself, whoever is judged: a guess by which what takes long begins early.
    fn waits(&self) -> Duration {
        Duration::ZERO
    }

    /// What is wrong with it that no schema can say, whatever else is in the suite.
    fn faults(&self) -> Vec<Diagnostic>;

    /// What must be seen, as plain data.
    fn expectations(&self) -> Value;

    /// Whether it belongs to the quick subset.
    fn is_quick(&self) -> bool {
        false
    }
}

/// What every case has.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// Its identifier.
    pub id: &'a str,
    /// The clause that it judges.
    pub clause: &'a str,
    /// Its title.
    pub title: &'a str,
    /// Clauses presupposed.
    pub needs: &'a [String],
    /// How time passes.
    pub time: TimeMethod,
    /// The names that it draws.
    pub drawn: &'a BTreeMap<String, Draw>,
}

/// A manifest, likewise.
pub trait ManifestDocument: Debug + Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The candidate's name.
    fn name(&self) -> &str;

    /// What people vouch for.
    fn attest(&self) -> &[Attestation];

    /// The cells that it is known to earn.
    fn expect(&self) -> &BTreeMap<Column, CellWord>;

    /// The cells that its makers claim.
    fn claims(&self) -> BTreeMap<Column, CellWord> {
        BTreeMap::new()
    }

    /// The clauses that it is known to break, where that is said one by one.
    fn reds(&self) -> BTreeMap<String, Reason> {
        BTreeMap::new()
    }

    /// What of it differs from its makers' defaults in every case.
    fn settings(&self) -> Vec<SettingReport> {
        Vec::new()
    }

    /// How to get the program.
    fn install(&self) -> Option<&str>;

    /// What is wrong with it that no schema can say.
    fn faults(&self) -> Vec<Diagnostic> {
        Vec::new()
    }
}
