//! Where a moment lies on a line of pixels, when some stretches of time are cut out of it.

/// The width of a stretch that is cut out, in pixels.
pub(super) const CUT: f64 = 64.0;

/// A stretch of time, in milliseconds, and of pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    time: (u64, u64),
    place: (f64, f64),
}

/// Moments in milliseconds to pixels: proportional, apart from the cuts, which are as wide as each other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    pieces: Vec<Piece>,
    left: f64,
}

impl Scale {
    /// The time from 0 to `end` over the pixels from `left` to `right`, with `cuts` that may touch but not overlap; what
    /// reaches beyond `end` or into an earlier cut is left out.
    pub(super) fn new(end: u64, cuts: &[(u64, u64)], left: f64, right: f64) -> Self {
        let mut sorted: Vec<(u64, u64)> = cuts.iter().map(|(from, to)| (*from, (*to).min(end))).collect();
        sorted.sort_unstable();
        let mut whole = Vec::new();
        let mut at = 0;
        for (from, to) in sorted.into_iter().filter(|(from, to)| from < to) {
            if from >= at {
                whole.push(((at, from), false));
                whole.push(((from, to), true));
                at = to;
            }
        }
        whole.push(((at, end.max(at)), false));
        let counted = |cut: bool| whole.iter().filter(move |(_, is_cut)| *is_cut == cut);
        let cut_width = CUT.min((right - left) / 2.0 / as_f64(counted(true).count().max(1) as u64));
        let shown: u64 = counted(false).map(|((from, to), _)| to - from).sum();
        let room = right - left - cut_width * as_f64(counted(true).count() as u64);
        let mut place = left;
        let pieces = whole.iter().map(|(time, cut)| {
            let share = if shown == 0 { 0.0 } else { as_f64(time.1 - time.0) / as_f64(shown) };
            let width = if *cut { cut_width } else { room * share };
            let piece = Piece { time: *time, place: (place, place + width) };
            place += width;
            piece
        });
        Self { pieces: pieces.collect(), left }
    }

    /// Where a moment lies; one beyond the end lies at the end.
    pub(super) fn x(&self, at: u64) -> f64 {
        let Some(piece) = self.pieces.iter().find(|piece| at <= piece.time.1).or(self.pieces.last()) else {
            return self.left;
        };
        let (from, to) = piece.time;
        if from == to {
            return piece.place.0;
        }
        let share = as_f64(at.clamp(from, to) - from) / as_f64(to - from);
        piece.place.0 + share * (piece.place.1 - piece.place.0)
    }

    /// Round moments to label, so far apart that their labels do not touch.
    pub(super) fn ticks(&self, cuts: &[(u64, u64)]) -> Vec<u64> {
        let end = self.pieces.last().map_or(0, |piece| piece.time.1);
        let shown = end.saturating_sub(cuts.iter().map(|(from, to)| to.min(&end).saturating_sub(*from)).sum());
        let step = STEPS.iter().copied().find(|step| shown / step <= 8).unwrap_or(24 * HOUR * 7);
        let inside = |at: &u64| !cuts.iter().any(|(from, to)| from < at && at < to);
        let mut ticks: Vec<u64> = Vec::new();
        for at in (0..=end / step).map(|n| n * step).filter(inside) {
            if ticks.last().is_none_or(|last| self.x(at) - self.x(*last) > 60.0) {
                ticks.push(at);
            }
        }
        ticks
    }
}

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const STEPS: [u64; 18] = [
    10,
    50,
    100,
    500,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    24 * HOUR,
];

#[expect(clippy::cast_precision_loss, reason = "a pixel is coarser than the loss")]
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.01, "{found} is not {expected}");
    }

    #[test]
    fn time_is_proportional_and_a_cut_is_as_wide_as_any() {
        let plain = Scale::new(1000, &[], 100.0, 300.0);
        near(plain.x(0), 100.0);
        near(plain.x(500), 200.0);
        near(plain.x(9999), 300.0);
        let cut = Scale::new(100_000_000, &[(1000, 99_999_000)], 0.0, 264.0);
        near(cut.x(1000), 100.0);
        near(cut.x(99_999_000), 164.0);
        near(cut.x(100_000_000), 264.0);
    }

    #[test]
    fn nonsense_has_a_place_too() {
        near(Scale::new(0, &[], 10.0, 20.0).x(5), 10.0);
        let cuts = [(5, 5), (50, 9000), (60, 70), (20_000, 30_000)];
        let scale = Scale::new(100, &cuts, 0.0, 1000.0);
        near(scale.x(100), 1000.0);
        let everything = Scale::new(100, &[(0, 100)], 0.0, 1000.0);
        assert!(everything.x(0) < everything.x(100));
    }

    #[test]
    fn ticks_are_round_few_and_never_inside_a_cut() {
        let hour = 3_600_000;
        let scale = Scale::new(8 * hour, &[], 0.0, 900.0);
        assert_eq!(scale.ticks(&[]), (0..=8).map(|n| n * hour).collect::<Vec<_>>());
        let cuts = [(hour, 7 * hour)];
        let scale = Scale::new(8 * hour, &cuts, 0.0, 900.0);
        assert!(scale.ticks(&cuts).iter().all(|at| *at <= hour || *at >= 7 * hour));
    }
}
