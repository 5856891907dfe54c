//! What differs between the profiles in what is seen and what that proves.

use super::agent as agents;
use super::expect as runtimes;
use super::{Check, Evidence, Outcome};
use crate::conform::observe::agent::repeat;
use crate::conform::observe::{AgentObservation, CommandReport, Observation, Seen};
use crate::conform::spec::{
    AgentCase, AgentManifest, AgentProfile, Case, Clause, Manifest, Profile, QuotaLogin, Reason, RuntimeProfile,
    SettingReport,
};

/// A profile with its verdicts.
pub trait Judged: Profile {
    /// What was seen of a case.
    type Seen: Seen;

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

    /// What the case changed of the candidate's defaults, besides what its manifest always changes.
    fn turned(_case: &Self::Case, _manifest: &Self::Manifest) -> Vec<SettingReport> {
        Vec::new()
    }

    /// What was started, so that somebody can do the same by hand.
    fn commands(_seen: &Self::Seen) -> Vec<CommandReport> {
        Vec::new()
    }
}

impl Judged for RuntimeProfile {
    type Seen = Observation;

    fn judge(evidence: &Evidence<'_>) -> Vec<Check> {
        runtimes::judge(evidence)
    }

    fn everywhere(
        case: &Case,
        clause: &Clause,
        manifest: &Manifest,
        all: &[(&Case, &Observation)],
        control: Option<&Observation>,
    ) -> Vec<Check> {
        runtimes::everywhere(case, clause, manifest, all, control)
    }

    fn unobservable(case: &Case, manifest: &Manifest) -> Option<Check> {
        runtimes::unobservable(case, manifest)
    }
}

impl Judged for AgentProfile {
    type Seen = AgentObservation;

    fn judge(evidence: &Evidence<'_, Self>) -> Vec<Check> {
        agents::judge(evidence)
    }

    fn unobservable(case: &AgentCase, manifest: &AgentManifest) -> Option<Check> {
        agents::unobservable(case, manifest)
    }

    fn turned(case: &AgentCase, manifest: &AgentManifest) -> Vec<SettingReport> {
        let turned = case.knobs.iter().filter_map(|(knob, value)| {
            let way = manifest.knobs.get(knob)?;
            let why = format!("the case sets {knob} to {value}");
            Some(SettingReport { what: way.set(value).in_words(), default: way.default.clone(), why })
        });
        let login = QuotaLogin::of(case, manifest).map(|login| SettingReport {
            what: login.set().in_words(),
            default: "the login of every other case".to_owned(),
            why: login.why.clone(),
        });
        login.into_iter().chain(turned).collect()
    }

    fn commands(seen: &AgentObservation) -> Vec<CommandReport> {
        repeat::commands(seen)
    }
}
