//! A rig that somebody looks over the shoulder of: evidence is stored, drawn and traced here, and nowhere inside a survey.

use super::{Rig, lane};
use crate::conform::judge::Judged;
use crate::conform::observe::Identity;
use crate::conform::spec::{Profile, RuntimeProfile};
use crate::conform::suite::Candidate;

/// Is shown every observation as soon as it is made, and hands on what is judged.
pub type Watch<'a, P = RuntimeProfile> =
    &'a (dyn Fn(&Candidate<P>, &<P as Profile>::Case, <P as Judged>::Seen) -> <P as Judged>::Seen + Sync);

/// A rig whose observations somebody sees before they are judged. The case is the one whose scenario was done; its second
/// observation is the second try of a red. Called from several threads.
pub struct Watched<'a, P: Judged = RuntimeProfile> {
    /// The rig.
    pub rig: &'a dyn Rig<P>,
    /// Who looks.
    pub watch: Watch<'a, P>,
}

impl<P: Judged> Rig<P> for Watched<'_, P> {
    fn identify(&self, candidate: &Candidate<P>) -> Identity {
        self.rig.identify(candidate)
    }

    fn observe(&self, case: &P::Case, candidate: &Candidate<P>) -> P::Seen {
        // A panic is an observation, too: that of a rig that broke.
        (self.watch)(candidate, case, lane::guarded(|| self.rig.observe(case, candidate)))
    }

    fn stopped(&self) -> bool {
        self.rig.stopped()
    }
}
