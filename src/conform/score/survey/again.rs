//! What is done once more: whatever is red, or could not be seen, may have been bad luck.

use crate::conform::judge::{Check, Outcome};
use crate::conform::spec::Reason;

/// Whether a red may have been bad luck. A candidate that does nothing at all has had no luck to lose.
pub(super) fn deserves_another(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.outcome == Outcome::Fail && !is_nothing(check.reason)) || was_slow(checks)
}

/// Whether the machine was too slow for a verdict, so that nothing is known.
fn was_slow(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.reason == Reason::TooSlow)
}

/// Compares a red, or what could not be seen, with the second time: whatever is not red again is flaky.
pub(super) fn confirm(first: &mut Vec<Check>, second: &[Check]) {
    let is_red = |checks: &[Check]| Outcome::worst(checks.iter().map(|check| check.outcome)) == Some(Outcome::Fail);
    // Where the machine was too slow for one of them, a red of the other was seen once only, and nothing is held against the
    // candidate.
    if was_slow(second) || was_slow(first) && !is_red(second) {
        first.clear();
        first.extend_from_slice(second);
    }
    if was_slow(first) || is_red(second) {
        return;
    }
    for check in first.iter_mut().filter(|check| check.outcome == Outcome::Fail) {
        check.outcome = Outcome::Flaky;
    }
}

fn is_nothing(reason: Reason) -> bool {
    matches!(reason, Reason::NothingStarted | Reason::NoRequest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_red_counts_when_it_was_seen_twice_and_no_slow_machine_stands_for_either() {
        let green = || vec![Check::pass("e", "o")];
        let red = || vec![Check::fail(Reason::WentOn, "e", "o")];
        let slow = || vec![Check::new(Outcome::CouldNotRun, Reason::TooSlow, "e", "o")];
        let late = || vec![Check::new(Outcome::NotObserved, Reason::TooSlow, "e", "o")];
        for (first, second, outcome) in [
            (red(), red(), Outcome::Fail),
            (red(), green(), Outcome::Flaky),
            (red(), slow(), Outcome::CouldNotRun),
            (slow(), red(), Outcome::CouldNotRun),
            (slow(), slow(), Outcome::CouldNotRun),
            (slow(), green(), Outcome::Pass),
            (late(), red(), Outcome::NotObserved),
            (red(), late(), Outcome::NotObserved),
            (late(), green(), Outcome::Pass),
        ] {
            let mut checks = first.clone();
            assert!(deserves_another(&checks));
            confirm(&mut checks, &second);
            assert_eq!(checks[0].outcome, outcome, "{first:?} {second:?}");
        }
    }
}
