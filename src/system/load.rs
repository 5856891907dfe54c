//! How busy the machine is: how many processes want a core, and how late a timer of our own rings. Who measures others by a
//! clock has to know it, for a busy machine makes everybody slow.

use std::collections::VecDeque;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::clock::{self, Moment};

/// How often it is looked.
const TICK: Duration = Duration::from_millis(25);
/// What counts as now.
const NOW: Duration = Duration::from_secs(1);
/// How long is remembered.
const REMEMBERED: Duration = Duration::from_mins(5);
/// More than this nothing is stretched, for then no measure is worth anything.
const MOST: f64 = 5.0;

/// Looks at the machine until it is dropped.
#[derive(Debug)]
pub struct Gauge {
    seen: Arc<Mutex<Seen>>,
    over: Arc<AtomicBool>,
}

/// How busy the machine was since a gauge was there.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Processes that wanted a core, for each that there is, on average.
    pub crowd: f64,
    /// How late a timer rang at worst.
    pub late: Duration,
}

#[derive(Debug, Default)]
struct Seen {
    recent: VecDeque<Sample>,
    count: u32,
    crowds: f64,
    late: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Moment,
    crowd: f64,
    late: Duration,
}

impl Gauge {
    /// Begins to look.
    #[must_use]
    pub fn start() -> Self {
        let gauge = Self { seen: Arc::default(), over: Arc::default() };
        let (seen, over) = (Arc::clone(&gauge.seen), Arc::clone(&gauge.over));
        std::thread::spawn(move || {
            let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            let cores = f64::from(u32::try_from(cores).unwrap_or(u32::MAX));
            while !over.load(Ordering::Relaxed) {
                let begun = clock::now();
                std::thread::sleep(TICK);
                let at = clock::now();
                let late = at.since(begun).saturating_sub(TICK);
                locked(&seen).take(Sample { at, crowd: f64::from(runnable()) / cores, late });
            }
        });
        gauge
    }

    /// How many times longer than on an idle machine things take now: 1 to 5.
    #[must_use]
    pub fn stretch(&self) -> f64 {
        stretch(&locked(&self.seen).within(clock::now(), NOW))
    }

    /// A time that is enough on an idle machine, for this one as it is now.
    #[must_use]
    pub fn stretched(&self, time: Duration) -> Duration {
        time.mul_f64(self.stretch())
    }

    /// How late a timer rang at worst within the last so much time.
    #[must_use]
    pub fn late_within(&self, time: Duration) -> Duration {
        locked(&self.seen).within(clock::now(), time).iter().map(|it| it.late).max().unwrap_or_default()
    }

    /// How busy the machine was so far; nothing before it was looked at for the first time.
    #[must_use]
    pub fn load(&self) -> Option<Load> {
        locked(&self.seen).load()
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Seen {
    fn take(&mut self, sample: Sample) {
        while self.recent.front().is_some_and(|it| sample.at.since(it.at) > REMEMBERED) {
            self.recent.pop_front();
        }
        self.recent.push_back(sample);
        self.count = self.count.saturating_add(1);
        self.crowds += sample.crowd;
        self.late = self.late.max(sample.late);
    }

    /// What was seen within so much time before now.
    fn within(&self, now: Moment, time: Duration) -> Vec<Sample> {
        self.recent.iter().rev().take_while(|it| now.since(it.at) <= time).copied().collect()
    }

    fn load(&self) -> Option<Load> {
        (self.count > 0).then(|| Load { crowd: self.crowds / f64::from(self.count), late: self.late })
    }
}

fn stretch(samples: &[Sample]) -> f64 {
    let Some(count) = u32::try_from(samples.len()).ok().filter(|count| *count > 0) else { return 1.0 };
    let crowd = samples.iter().map(|it| it.crowd).sum::<f64>() / f64::from(count);
    let late = samples.iter().map(|it| it.late).sum::<Duration>() / count;
    crowd.max(1.0 + late.as_secs_f64() / TICK.as_secs_f64()).clamp(1.0, MOST)
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().expect("no holder of what was seen panics")
}

/// How many processes run or could, besides the one that asks.
fn runnable() -> u32 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    running(&text).unwrap_or_default().saturating_sub(1)
}

/// `0.20 0.18 0.12 3/80 11206`: the fourth is how many run, of all.
fn running(loadavg: &str) -> Option<u32> {
    loadavg.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: Moment, crowd: f64, late: u64) -> Sample {
        Sample { at, crowd, late: Duration::from_millis(late) }
    }

    #[test]
    fn a_crowd_and_late_timers_stretch_every_bound_and_idleness_shortens_none() {
        let sample = |crowd, late| sample(clock::now(), crowd, late);
        for (samples, expected) in [
            (vec![], 1.0),
            (vec![sample(0.0, 0)], 1.0),
            (vec![sample(0.5, 5)], 1.2),
            (vec![sample(4.0, 0)], 4.0),
            (vec![sample(1.0, 0), sample(5.0, 0)], 3.0),
            (vec![sample(0.0, 50)], 3.0),
            (vec![sample(9.0, 900)], MOST),
        ] {
            let found = stretch(&samples);
            assert!((found - expected).abs() < 1e-9, "{samples:?}: {found} is not {expected}");
        }
    }

    #[test]
    fn the_load_is_that_of_all_times_and_what_is_recent_that_of_the_last() {
        let mut seen = Seen::default();
        assert_eq!(seen.load(), None, "nothing was looked at");
        let begun = clock::now();
        let after = |seconds| begun.later(Duration::from_secs(seconds));
        for (seconds, crowd, late) in [(1, 1.0, 70), (2, 3.0, 0), (3, 2.0, 9)] {
            seen.take(sample(after(seconds), crowd, late));
        }
        assert_eq!(seen.load(), Some(Load { crowd: 2.0, late: Duration::from_millis(70) }));
        let last = seen.within(after(4), Duration::from_secs(2));
        assert_eq!(last.iter().map(|it| it.late.as_millis()).collect::<Vec<_>>(), [9, 0]);
        seen.take(sample(begun.later(REMEMBERED * 2), 0.0, 0));
        assert_eq!(seen.recent.len(), 1, "what was long ago is forgotten");
    }

    #[test]
    fn who_runs_is_the_fourth_word_of_the_kernels() {
        for (text, found) in [("0.20 0.18 0.12 3/80 11206\n", Some(3)), ("", None), ("0 0 0 x", None)] {
            assert_eq!(running(text), found, "{text}");
        }
    }
}
