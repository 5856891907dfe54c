//! A rig that sees nothing of its own: it answers with the observations of a bundle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::exhibit::{Label, place};
use crate::conform::judge::Judged;
use crate::conform::observe::{Identity, Seen};
use crate::conform::score::{ConformanceReport, Rig};
use crate::conform::spec::{CaseDocument, ManifestDocument};
use crate::conform::suite::Candidate;

/// The observations of a bundle, and which of them were asked for.
pub(super) struct Replay<'a, P: Judged> {
    pub(super) seen: BTreeMap<Label, P::Seen>,
    pub(super) stated: &'a ConformanceReport,
    pub(super) asked: Mutex<BTreeSet<Label>>,
}

impl<P: Judged> Replay<'_, P> {
    /// What was asked for so far, found or not.
    pub(super) fn asked(&self) -> MutexGuard<'_, BTreeSet<Label>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Judged> Rig<P> for Replay<'_, P> {
    /// What the report says: which program it was, no bundle can show.
    fn identify(&self, candidate: &Candidate<P>) -> Identity {
        let stated = self.stated.runtime(candidate.manifest.name());
        Identity {
            program: Some(PathBuf::new()),
            parts: Vec::new(),
            version: stated.and_then(|stated| stated.version.clone()),
            built: false,
            problem: stated.and_then(|stated| stated.problem.clone()),
        }
    }

    fn observe(&self, case: &P::Case, candidate: &Candidate<P>) -> P::Seen {
        let (runtime, case) = (candidate.manifest.name().to_owned(), case.head().id.to_owned());
        let mut asked = self.asked();
        let earlier = asked.range((runtime.clone(), case.clone(), 0)..=(runtime.clone(), case.clone(), u32::MAX));
        let attempt = u32::try_from(earlier.count() + 1).unwrap_or(u32::MAX);
        let label = (runtime, case, attempt);
        let missing = || P::Seen::broken(&format!("the bundle has no {}", place(&label)));
        let seen = self.seen.get(&label).cloned().unwrap_or_else(missing);
        asked.insert(label);
        seen
    }

    fn stopped(&self) -> bool {
        false
    }
}
