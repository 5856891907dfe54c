//! What is sure to come up: whatever the seed, no score leaves a cause, a phase or an answer to chance.

use fastrand::Rng;

use super::PREFIX;
use super::incident::Cause;
use crate::conform::spec::draw::seed_of;
use crate::contract::{Phase, ResolutionAction};

/// The stories over which each cause is sure to come up in each phase.
const SURE: usize = 60;
/// What a human may answer.
pub(super) const ANSWERS: [ResolutionAction; 4] =
    [ResolutionAction::FixAndResume, ResolutionAction::SkipPhase, ResolutionAction::Reset, ResolutionAction::Abort];

/// What is sure to come up in a story.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sure {
    pub(super) cause: Cause,
    pub(super) phase: Phase,
    pub(super) answer: ResolutionAction,
}

impl Sure {
    /// Whether nothing comes up after it.
    fn is_last(self) -> bool {
        self.cause == Cause::OutOfTime || self.cause.calls_a_human() && self.answer == ResolutionAction::Abort
    }
}

/// What is sure to come up in the story of this number: over the first sixty of a seed every cause does in every phase, and is
/// given every answer. What a manifest may lack the way for is in few of them.
pub(super) fn sure(seed: u64, number: usize) -> Vec<Sure> {
    let mut rng = Rng::with_seed(seed_of(seed, PREFIX));
    let mut all = every_cause_in_every_phase(&mut rng);
    rng.shuffle(&mut all);
    all.sort_by_key(|it| !it.cause.wants_a_way());
    let mut stories: Vec<Vec<Sure>> = vec![Vec::new(); SURE];
    for (place, it) in all.into_iter().enumerate() {
        let first = if it.cause.wants_a_way() { 0 } else { place };
        let mut turns = (first..first + SURE).map(|turn| turn % SURE);
        let turn = turns.find(|turn| fits(&stories[*turn], it)).expect("there are more stories than phases");
        stories[turn].push(it);
    }
    rng.shuffle(&mut stories);
    stories.swap_remove(number.saturating_sub(1) % SURE)
}

/// Whether something can come up in a story besides what is sure to: once a phase, and before the run is over.
fn fits(story: &[Sure], new: Sure) -> bool {
    story.iter().all(|other| {
        let kept_apart = other.phase != new.phase && other.cause.wants_a_way() == new.cause.wants_a_way();
        let before = |one: Sure, then: Sure| !one.is_last() || then.phase < one.phase;
        kept_apart && before(*other, new) && before(new, *other)
    })
}

/// Every cause in every phase, answered in turn by each answer.
pub(super) fn every_cause_in_every_phase(rng: &mut Rng) -> Vec<Sure> {
    let mut all = Vec::new();
    for &cause in &Cause::ALL {
        let first = rng.usize(0..ANSWERS.len());
        let answers = ANSWERS.iter().copied().cycle().skip(first);
        all.extend(Phase::ALL.iter().zip(answers).map(|(&phase, answer)| Sure { cause, phase, answer }));
    }
    all
}
