//! Plots in which the context fills over both limits and is emptied, again and again: at each limit itself, one token below it,
//! and beyond it, under limits that are configured and under the contract's own.

use fastrand::Rng;

use super::{HARD_LIMIT, Plot, SOFT_LIMIT};
use crate::conform::spec::Act;
use crate::contract::Phase;

/// The limits of the contract.
const USUAL: [u64; 2] = [80_000, 150_000];
/// Limits above the contract's.
const HIGH: [u64; 2] = [100_000, 200_000];
/// The phases that fill their context in a plot in which several do.
const SEVERAL: [Phase; 3] = [Phase::Discovery, Phase::Implementation, Phase::Deploy];

/// How the context fills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ramp {
    /// The limits in the configuration; the contract's are in force where it has none.
    configured: Option<[u64; 2]>,
    phases: Vec<Phase>,
    /// Draws the usages.
    seed: u64,
}

impl Ramp {
    pub(super) fn configured(&self) -> Option<[u64; 2]> {
        self.configured
    }

    pub(super) fn is_in(&self, phase: Phase) -> bool {
        self.phases.contains(&phase)
    }

    /// What a phase reports. Each limit is reached three times, twice by the token, and the hard one twice from between both
    /// and once from below them. Two usages in a row at the hard limit would call a human.
    pub(super) fn usages(&self) -> Vec<Act> {
        let mut rng = Rng::with_seed(self.seed);
        let [soft, hard] = self.configured.unwrap_or(USUAL);
        let mut below = || rng.u64(soft - soft / 10..soft);
        let ups = [
            [below(), soft - 1, soft, hard - hard / 10, hard],
            [below(), below(), soft, hard - 1, below()],
            [below(), hard, below(), soft + soft / 25, hard + hard / 25],
        ];
        ups.into_iter().flatten().chain([below()]).map(Act::Usage).collect()
    }
}

impl Plot {
    /// For each kind of limits each phase by itself, and three phases one after the other.
    #[must_use]
    pub fn filling(rng: &mut Rng) -> Vec<Self> {
        let limits = [Some([SOFT_LIMIT, HARD_LIMIT]), Some(HIGH), Some(USUAL), None];
        let phases = || Phase::ALL.iter().map(|phase| vec![*phase]).chain([SEVERAL.to_vec()]);
        let ramps = limits.into_iter().flat_map(|configured| phases().map(move |phases| (configured, phases)));
        let ramps = ramps.map(|(configured, phases)| Ramp { configured, phases, seed: rng.u64(..) });
        ramps.map(|ramp| Self { ramp: Some(ramp), ..Self::plain() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_fills_up_to_each_limit_by_the_token_and_never_stays_full() {
        let plots = Plot::filling(&mut Rng::with_seed(1));
        assert_eq!(plots.len(), 4 * 9);
        for plot in plots {
            let case = plot.case("story");
            let [soft, hard] = plot.ramp.as_ref().and_then(Ramp::configured).unwrap_or(USUAL);
            assert_eq!(
                case.config.len(),
                2 * usize::from(plot.ramp.as_ref().is_some_and(|it| it.configured.is_some()))
            );
            let acts = case.phases.values().flatten().flatten();
            let used: Vec<u64> =
                acts.filter_map(|act| if let Act::Usage(tokens) = act { Some(*tokens) } else { None }).collect();
            for limit in [soft, hard] {
                assert!(used.contains(&limit) && used.contains(&(limit - 1)), "{limit}: {used:?}");
            }
            assert!(used.windows(2).all(|two| two.iter().any(|it| *it < hard)), "{used:?}");
        }
    }
}
