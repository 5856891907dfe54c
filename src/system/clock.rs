//! The time: of the calendar, for documents, and monotonic, for measuring, in one value.
#![expect(clippy::disallowed_methods, reason = "this is where the clock is read")]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};

/// Milliseconds since something began, by the monotonic clock.
pub type Millis = u64;

/// One reading of both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    wall: Timestamp,
    /// Since some moment of this process that is the same for all its readings.
    steady: Duration,
}

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Moment {
    /// A reading of clocks that are not the host's: the calendar's, and what the monotonic one shows.
    #[must_use]
    pub fn of(wall: Timestamp, steady: Duration) -> Self {
        Self { wall, steady }
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

    /// The moment that lies `time` after this one.
    #[must_use]
    pub fn later(self, time: Duration) -> Self {
        let wall = self.wall.checked_add(time).unwrap_or(Timestamp::MAX);
        Self { wall, steady: self.steady.saturating_add(time) }
    }
}

/// Reads both clocks.
#[must_use]
pub fn now() -> Moment {
    let wall = Timestamp::now();
    // Rounding a time of this millennium down to its millisecond cannot leave the range of a timestamp.
    Moment { wall: wall.round(Unit::Millisecond).unwrap_or(wall), steady: BEGAN.elapsed() }
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
}
