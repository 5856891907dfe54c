//! What differs between the profiles. Ledger, presuppositions, scheduling, the second try of a red, cells, reports and the
//! proof of the judge are shared and ask only what stands here.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    Attestation, CellWord, Check, Clause, Column, CommandReport, Evidence, Outcome, ProfileName, Reason, SettingReport,
    TimeMethod, TimelineMark,
};
use crate::diag::Diagnostic;
use crate::schema::Kind;

/// A profile: what is judged, by which documents, from which observations.
pub trait Profile: Debug + Clone + Copy + PartialEq + Send + Sync + 'static {
    /// What the judge does, and what it must see.
    type Case: CaseDocument;
    /// How a candidate is plugged in.
    type Manifest: ManifestDocument;
    /// What was seen of a case.
    type Seen: Seen;

    /// Its name.
    const NAME: ProfileName;
    /// The kind of its cases.
    const CASE: &'static Kind;
    /// The kind of its manifests.
    const MANIFEST: &'static Kind;

    /// Judges every expectation of a case. Never empty: a case that could not be judged yields the one check that says why.
    fn judge(evidence: &Evidence<'_, Self>) -> Vec<Check>;

    /// Why nothing of this case can be seen of a candidate with this manifest, if so: known before anything is run.
    fn unobservable(case: &Self::Case, manifest: &Self::Manifest) -> Option<Check>;

    /// Judges a case that is about every other: from what was seen of these, in their order. Never empty.
    fn everywhere(
        _case: &Self::Case,
        _clause: &Clause,
        _manifest: &Self::Manifest,
        _all: &[(&Self::Case, &Self::Seen)],
        _control: Option<&Self::Seen>,
    ) -> Vec<Check> {
        vec![Check::new(Outcome::HarnessError, Reason::RigFailed, "a case of its own", "this profile has no others")]
    }

    /// The drawn stories of a seed, which are told beside the cases.
    #[must_use]
    fn stories(_seed: u64, _count: usize) -> Vec<Self::Case> {
        Vec::new()
    }

    /// Whether the manifest claims what a clause with `when: claimed` is about.
    fn claims(_case: &Self::Case, column: Column, manifest: &Self::Manifest) -> bool {
        manifest.claims().get(&column).is_some_and(|word| *word != CellWord::None)
    }

    /// What the case changed of the candidate's defaults, besides what its manifest always changes.
    fn turned(_case: &Self::Case, _manifest: &Self::Manifest) -> Vec<SettingReport> {
        Vec::new()
    }

    /// What was started, so that somebody can do the same by hand.
    fn commands(_seen: &Self::Seen) -> Vec<CommandReport> {
        Vec::new()
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

    /// Whether it must not share the machine with many others.
    fn measures_time(&self) -> bool;

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
    pub drawn: &'a BTreeMap<String, super::Draw>,
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

/// An observation, likewise.
pub trait Seen: Debug + Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// That of a rig that failed.
    fn broken(why: &str) -> Self;

    /// Where the case's folder was kept.
    fn kept(&self) -> Option<&str>;

    /// The values that were drawn, by name.
    fn drawn(&self) -> &BTreeMap<String, Value>;

    /// Why the rig itself failed, if it did.
    fn rig_error(&self) -> Option<&str>;

    /// What happened, as marks on a line of time.
    fn timeline(&self) -> Vec<TimelineMark>;

    /// What the machine did not let the judge see.
    fn unseen(&self) -> Vec<String> {
        Vec::new()
    }
}
