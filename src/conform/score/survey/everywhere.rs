//! Cases that are about every other: judged when nothing else is open, from what was seen until then.

use super::trial::{Trial, report};
use super::{Listener, Progress, Rig};
use crate::conform::judge::{Check, Judged, Outcome};
use crate::conform::score::lane::{self, Task};
use crate::conform::spec::{CaseDocument, ManifestDocument};

/// So many observations that break a rule are made again, before it counts as flaky.
const MOST_REPEATED: usize = 3;

impl<P: Judged> Trial<'_, P> {
    /// The first open case of this kind, once no other is open.
    pub(super) fn everywhere(&self, candidate: usize) -> Option<Task> {
        let is_everywhere = |index: &usize| self.suite.cases[*index].is_everywhere();
        let next = self.open.iter().copied().find(is_everywhere)?;
        let ready = self.open.iter().all(is_everywhere) && self.untold.is_empty();
        ready.then(|| Task { candidate, leader: next, cases: vec![next], timing: false })
    }

    /// Judges one. What breaks a rule is looked at once more: unless it breaks it again, the rule is flaky, not broken.
    pub(super) fn perform_everywhere(
        &self,
        task: &Task,
        rig: &dyn Rig<P>,
        listener: Listener<'_>,
    ) -> lane::Done<P::Seen> {
        let case = &self.suite.cases[task.leader];
        let all: Vec<(usize, &P::Seen)> =
            self.seen.iter().filter_map(|(leader, seen)| Some((*leader, seen.first()?))).collect();
        let mut checks = self.of_all(case, &all);
        let mut again = Vec::new();
        if is_red(&checks) && !rig.stopped() {
            let broken = all.iter().filter(|one| is_red(&self.of_all(case, &[**one]))).map(|(leader, _)| *leader);
            let mut confirmed = false;
            for leader in broken.take(MOST_REPEATED) {
                let second = self.second(leader, rig, &mut again);
                confirmed = is_red(&self.of_all(case, &[(leader, &second)]));
                if confirmed {
                    break;
                }
            }
            if !confirmed {
                checks.iter_mut().filter(|it| it.outcome == Outcome::Fail).for_each(|it| it.outcome = Outcome::Flaky);
            }
        }
        let reports = vec![(task.leader, report(case, checks))];
        for (_, judged) in &reports {
            listener(Progress::Judged(self.candidate.manifest.name(), judged));
        }
        (reports, again)
    }

    /// The second observation of a scenario: the one that there is, or a new one.
    fn second(&self, leader: usize, rig: &dyn Rig<P>, again: &mut Vec<(usize, P::Seen)>) -> P::Seen {
        if let Some(second) = self.seen.get(&leader).and_then(|seen| seen.get(1)) {
            return second.clone();
        }
        let second = lane::guarded(|| rig.observe(self.suite.scene(leader), self.candidate));
        again.push((leader, second.clone()));
        second
    }

    fn of_all(&self, case: &P::Case, all: &[(usize, &P::Seen)]) -> Vec<Check> {
        let all: Vec<_> = all.iter().map(|(leader, seen)| (self.suite.scene(*leader), *seen)).collect();
        P::everywhere(case, self.clause(case), &self.candidate.manifest, &all, self.control.as_ref())
    }
}

fn is_red(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.outcome == Outcome::Fail)
}
