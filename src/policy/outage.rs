//! How long a provider that is out of order, or out of reach, is waited for, and when it is asked again.

use std::time::Duration;

use super::Backoff;

/// The pauses between probes: an outage of seconds is over soon, and one of hours is not asked after each minute.
const PROBES: Backoff =
    Backoff { initial: Duration::from_secs(15), multiplier: 2.0, max: Duration::from_mins(5), jitter: 0.25 };

/// The pause before the next probe, of an outage in which `probes` failed and that is waited for this much longer; `None`
/// when nothing is left. The last probe comes when patience ends. `chance` lies in `0.0..=1.0`.
#[must_use]
pub fn next_probe(probes: u32, left: Duration, chance: f64) -> Option<Duration> {
    // Whole milliseconds are recorded, and a pause of none would not end.
    let left = Duration::from_millis(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
    (!left.is_zero()).then(|| PROBES.delay(probes, chance).min(left))
}

/// Whether these codes, which a configuration names, hold the one that a process ended with.
#[must_use]
pub fn is_outage_code(codes: &[u8], code: i32) -> bool {
    codes.iter().any(|known| i32::from(*known) == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_come_less_and_less_often_and_the_last_one_when_patience_ends() {
        let seconds =
            |probes, left, chance| next_probe(probes, Duration::from_secs(left), chance).map(|pause| pause.as_secs());
        let pauses: Vec<_> = (0..7).map(|probes| seconds(probes, 7200, 0.0)).collect();
        assert_eq!(pauses, [15, 30, 60, 120, 240, 300, 300].map(Some));
        for (probes, left, chance, pause) in [
            (1, 7200, 1.0, Some(37)),
            (u32::MAX, 7200, 1.0, Some(375)),
            (0, 14, 0.0, Some(14)),
            (6, 1, 1.0, Some(1)),
            (0, 0, 0.5, None),
        ] {
            assert_eq!(seconds(probes, left, chance), pause, "{probes} {left} {chance}");
        }
        assert_eq!(next_probe(0, Duration::from_micros(999), 0.0), None, "no pause is endlessly short");
    }
}
