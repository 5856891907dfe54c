//! The windows of time in which a subscription counts what it was used for (Usage and Rate Limiting of the backend layer).

use jiff::tz::TimeZone;
use std::collections::BTreeMap;

use jiff::civil::{Date, Weekday};
use jiff::{SignedDuration, Timestamp, ToSpan};
use serde::Serialize;

/// How long a cycle lasts.
const CYCLE: SignedDuration = SignedDuration::from_hours(5);

/// A span of time, its end not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Its first moment.
    pub start: Timestamp,
    /// The moment after its last.
    pub end: Timestamp,
}

impl Window {
    /// Whether the moment lies in it.
    #[must_use]
    pub fn holds(&self, moment: Timestamp) -> bool {
        self.start <= moment && moment < self.end
    }

    /// The cycle of five hours that `now` lies in. Cycles meet at `boundary`, before it as well as behind it; without one, at
    /// the beginning of Unix time.
    #[must_use]
    pub fn cycle(now: Timestamp, boundary: Option<Timestamp>) -> Self {
        let boundary = boundary.unwrap_or(Timestamp::UNIX_EPOCH);
        // Whole seconds would be rounded towards the boundary, before it to the next cycle.
        let cycles = now.duration_since(boundary).as_nanos().div_euclid(CYCLE.as_nanos());
        let whole = i32::try_from(cycles).unwrap_or(i32::MAX);
        let start = boundary.checked_add(CYCLE.checked_mul(whole).unwrap_or_default()).unwrap_or(now);
        Self { start, end: start.checked_add(CYCLE).unwrap_or(Timestamp::MAX) }
    }

    /// The week that `now` lies in, from a Monday's midnight to the next in this zone.
    #[must_use]
    pub fn week(now: Timestamp, zone: &TimeZone) -> Self {
        let today = now.to_zoned(zone.clone()).date();
        let monday = today.nth_weekday(-1, Weekday::Monday).unwrap_or(today);
        let monday = if today.weekday() == Weekday::Monday { today } else { monday };
        let midnight = |date: Date| date.to_zoned(zone.clone()).map(|zoned| zoned.timestamp());
        let next = monday.checked_add(1.week()).unwrap_or(monday);
        Self { start: midnight(monday).unwrap_or(now), end: midnight(next).unwrap_or(Timestamp::MAX) }
    }
}

/// What a subscription was used for in two windows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// In the present cycle.
    pub cycle: Tally,
    /// In the present week.
    pub week: Tally,
    /// Lines that are no line of a log, and files that could not be read to their end: they count as nothing.
    pub unread: u64,
}

/// What was used in one window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// The window.
    #[serde(flatten)]
    pub window: Window,
    /// Prompts, by people and by programs in their place.
    pub prompts: u64,
    /// Sessions in which something was said or answered.
    pub sessions: usize,
    /// Answers and tokens, by model.
    pub models: BTreeMap<String, Answers>,
}

/// What one model did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Answers {
    /// How often it answered.
    pub answers: u64,
    /// Tokens that it read, those from a cache too.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
}

impl Usage {
    /// When further prompts are allowed, if at most so many are in a cycle; `None` when some are allowed now.
    #[must_use]
    pub fn used_up(&self, most: u64) -> Option<Timestamp> {
        (self.cycle.prompts >= most).then_some(self.cycle.window.end)
    }
}

impl Answers {
    /// Adds what is told later of the same model.
    pub fn add(&mut self, more: Self) {
        self.answers += more.answers;
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn cycles_meet_at_their_boundary_before_it_and_behind_it() {
        for (now, boundary, start) in [
            ("1970-01-01T00:00:00Z", None, "1970-01-01T00:00:00Z"),
            ("1970-01-01T04:59:59Z", None, "1970-01-01T00:00:00Z"),
            ("1970-01-01T05:00:00Z", None, "1970-01-01T05:00:00Z"),
            ("2026-03-01T12:00:00Z", Some("2026-03-01T09:00:00Z"), "2026-03-01T09:00:00Z"),
            ("2026-03-01T13:59:59.999Z", Some("2026-03-01T09:00:00Z"), "2026-03-01T09:00:00Z"),
            ("2026-03-01T14:00:00Z", Some("2026-03-01T09:00:00Z"), "2026-03-01T14:00:00Z"),
            ("2026-03-01T08:59:59Z", Some("2026-03-01T09:00:00Z"), "2026-03-01T04:00:00Z"),
            ("2026-03-01T08:59:59.999999999Z", Some("2026-03-01T09:00:00Z"), "2026-03-01T04:00:00Z"),
            ("2026-03-01T04:00:00Z", Some("2026-03-01T09:00:00Z"), "2026-03-01T04:00:00Z"),
            ("2026-03-01T03:59:59.5Z", Some("2026-03-01T09:00:00Z"), "2026-02-28T23:00:00Z"),
            ("2026-03-01T03:59:59Z", Some("2026-03-01T14:30:00+05:30"), "2026-02-28T23:00:00Z"),
        ] {
            let cycle = Window::cycle(at(now), boundary.map(at));
            assert_eq!(cycle.start, at(start), "{now} {boundary:?}");
            assert_eq!(cycle.end.duration_since(cycle.start), CYCLE, "{now}");
            assert!(cycle.holds(at(now)) && !cycle.holds(cycle.end), "{now}");
        }
    }

    /// Zones of half an hour, to the west too, and a change of clocks within the week.
    #[test]
    fn a_week_begins_on_monday_where_the_people_are() {
        for (now, zone, start, end) in [
            ("2026-11-22T12:00:00Z", "UTC0", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"),
            ("2026-11-16T00:00:00Z", "UTC0", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"),
            ("2026-11-22T18:29:59Z", "IST-5:30", "2026-11-15T18:30:00Z", "2026-11-22T18:30:00Z"),
            ("2026-11-22T18:30:00Z", "IST-5:30", "2026-11-22T18:30:00Z", "2026-11-29T18:30:00Z"),
            ("2026-11-23T03:29:59Z", "NST3:30", "2026-11-16T03:30:00Z", "2026-11-23T03:30:00Z"),
            ("2026-11-23T03:30:00Z", "NST3:30", "2026-11-23T03:30:00Z", "2026-11-30T03:30:00Z"),
            ("2026-03-25T12:00:00Z", "CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"),
        ] {
            let zone = TimeZone::posix(zone).expect("a zone");
            assert_eq!(Window::week(at(now), &zone), Window { start: at(start), end: at(end) }, "{now} {zone:?}");
        }
    }

    #[test]
    fn a_quota_is_used_up_at_its_figure_until_the_cycle_ends() {
        let window = Window::cycle(at("2026-03-01T12:00:00Z"), None);
        let tally = |prompts| Tally { window, prompts, sessions: 1, models: BTreeMap::new() };
        for (prompts, most, limited) in
            [(100, 900, false), (899, 900, false), (900, 900, true), (950, 900, true), (50, 40, true)]
        {
            // What was said earlier in the week is none of the cycle's.
            let usage = Usage { cycle: tally(prompts), week: tally(99_999), unread: 0 };
            assert_eq!(usage.used_up(most), limited.then_some(window.end), "{prompts} of {most}");
        }
    }
}
