//! The time: of the calendar, for documents, and monotonic, for measuring, in one value.
#![expect(clippy::disallowed_methods, reason = "this is where the clock is read")]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};
use rustix::time::{ClockId, clock_gettime};

/// Milliseconds since something began, by the monotonic clock.
pub type Millis = u64;

/// One reading of all clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    wall: Timestamp,
    /// Since some moment of this process that is the same for all its readings.
    steady: Duration,
    /// The same as the kernel itself tells it, past whatever shows this process a clock of its own (`faketime`).
    kernel: Duration,
}

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Moment {
    /// A reading of clocks that are not the host's: the calendar's, and what the monotonic one shows.
    #[must_use]
    pub fn of(wall: Timestamp, steady: Duration) -> Self {
        Self { wall, steady, kernel: steady }
    }

    /// The same reading, with what the kernel's own clock shows.
    #[cfg(test)]
    pub(crate) fn by_kernel(self, kernel: Duration) -> Self {
        Self { kernel, ..self }
    }

    /// Calendar time, to the millisecond; it may jump when somebody sets the clock.
    #[must_use]
    pub fn wall(self) -> Timestamp {
        self.wall
    }

    /// Time that passed from `earlier` to here, by the monotonic clock; zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.steady.saturating_sub(earlier.steady)
    }

    /// How long a part of the time from `earlier` to here was by the kernel's own clock: just as long, unless somebody shows this
    /// process a clock that runs faster.
    #[must_use]
    pub fn really(self, earlier: Self, part: Duration) -> Duration {
        let (shown, real) = (self.since(earlier), self.kernel.saturating_sub(earlier.kernel));
        if shown.is_zero() { Duration::ZERO } else { part.mul_f64(real.div_duration_f64(shown)) }
    }

    /// The moment that lies `time` after this one.
    #[must_use]
    pub fn later(self, time: Duration) -> Self {
        let wall = self.wall.checked_add(time).unwrap_or(Timestamp::MAX);
        Self { wall, steady: self.steady.saturating_add(time), kernel: self.kernel.saturating_add(time) }
    }
}

/// Reads all clocks.
#[must_use]
pub fn now() -> Moment {
    let wall = Timestamp::now();
    let kernel = clock_gettime(ClockId::Monotonic).try_into().unwrap_or_default();
    // Rounding a time of this millennium down to its millisecond cannot leave the range of a timestamp.
    Moment { wall: wall.round(Unit::Millisecond).unwrap_or(wall), steady: BEGAN.elapsed(), kernel }
}

/// The zone of the people here; UTC where nobody said one.
#[must_use]
pub fn zone() -> TimeZone {
    TimeZone::system()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_measures_forwards_only() {
        let (first, second) = (now(), now());
        assert_eq!(first.since(second), Duration::ZERO);
        assert!(second.since(first) < Duration::from_mins(1));
        assert_eq!(first.wall().as_microsecond() % 1000, 0, "milliseconds are enough in a document");
    }

    #[test]
    fn what_a_faster_clock_shows_is_as_short_as_the_kernel_says() {
        let millis = Duration::from_millis;
        let at = |steady, kernel| Moment::of(Timestamp::UNIX_EPOCH, millis(steady)).by_kernel(millis(kernel));
        for (now, part, really) in [
            (at(1_000, 1_000), 400, 400),
            (at(7_200_000, 1_000), 720_000, 100),
            (at(1_000, 3_000), 1_000, 3_000),
            (at(0, 0), 0, 0),
        ] {
            assert_eq!(now.really(at(0, 0), millis(part)), millis(really), "{now:?}");
        }
        let (first, second) = (now(), now());
        assert!(second.kernel >= first.kernel && !first.kernel.is_zero(), "{first:?} {second:?}");
    }
}
