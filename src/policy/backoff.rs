//! How long to wait before a retry: `min(initial * multiplier^n, max)`, and a little more so that many runs do not
//! strike at once. The contract asks for an exponential backoff and gives no numbers; these are the runtime's.

use std::time::Duration;

/// The growing delay between the attempts of one phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// Delay before the first retry.
    pub initial: Duration,
    /// Factor from one delay to the next, at least 1.
    pub multiplier: f64,
    /// No delay is longer than this, jitter apart.
    pub max: Duration,
    /// Largest share of the delay that is added at random, from 0 to 0.25.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial: Duration::from_secs(5), multiplier: 2.0, max: Duration::from_mins(1), jitter: 0.25 }
    }
}

impl Backoff {
    /// The delay before retry `n`, counted from 0. `random` lies in `0.0..=1.0` and says how much of the jitter to add.
    #[must_use]
    pub fn delay(&self, n: u32, random: f64) -> Duration {
        if self.initial.is_zero() {
            return Duration::ZERO;
        }
        let grown = self.initial.as_secs_f64() * self.multiplier.powf(f64::from(n));
        let capped = grown.min(self.max.as_secs_f64());
        Duration::try_from_secs_f64(capped * (1.0 + self.jitter * random.clamp(0.0, 1.0))).unwrap_or(self.max)
    }

    /// The delays before the first retry, the second and so on, one for each random number.
    pub fn delays(self, random: impl IntoIterator<Item = f64>) -> impl Iterator<Item = Duration> {
        (0..).zip(random).map(move |(n, random)| self.delay(n, random))
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    #[test]
    fn the_delay_doubles_up_to_a_minute() {
        let delays: Vec<u64> = Backoff::default().delays(iter::repeat_n(0.0, 6)).map(|delay| delay.as_secs()).collect();
        assert_eq!(delays, [5, 10, 20, 40, 60, 60]);
    }

    #[test]
    fn jitter_only_ever_adds_and_at_most_a_quarter() {
        for (random, millis) in [(0.0, 10_000), (0.5, 11_250), (1.0, 12_500), (7.0, 12_500), (-1.0, 10_000)] {
            assert_eq!(Backoff::default().delay(1, random).as_millis(), millis, "{random}");
        }
        let still = Backoff { jitter: 0.0, ..Backoff::default() };
        assert_eq!(still.delay(1, 1.0), Duration::from_secs(10));
    }

    #[test]
    fn no_number_of_retries_overflows() {
        for n in [64, 10_000, u32::MAX] {
            assert_eq!(Backoff::default().delay(n, 0.0), Duration::from_mins(1), "{n}");
        }
        let nothing = Backoff { initial: Duration::ZERO, ..Backoff::default() };
        assert_eq!(nothing.delay(u32::MAX, 1.0), Duration::ZERO, "not zero times infinity");
    }
}
