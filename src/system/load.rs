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
    /// Processes that wanted a core, for each that there is: on average.
    pub mean: f64,
    /// The most at once.
    pub most: f64,
    /// How late a timer rang at worst.
    pub late: Duration,
}

#[derive(Debug, Default)]
struct Seen {
    recent: VecDeque<Sample>,
    count: u32,
    sum: f64,
    load: Load,
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
            while !over.load(Ordering::Relaxed) {
                let begun = clock::now();
                std::thread::sleep(TICK);
                let at = clock::now();
                let crowd = f64::from(runnable()) / f64::from(u32::try_from(cores).unwrap_or(1));
                locked(&seen).take(Sample { at, crowd, late: at.since(begun).saturating_sub(TICK) });
            }
        });
        gauge
    }

    /// How many times longer than on an idle machine things take now: 1 to 5.
    #[must_use]
    pub fn stretch(&self) -> f64 {
        let now = clock::now();
        let seen = locked(&self.seen);
        let samples: Vec<Sample> = seen.recent.iter().rev().take_while(|it| now.since(it.at) < NOW).copied().collect();
        stretch(&samples)
    }

    /// A time that is enough on an idle machine, for this one as it is now.
    #[must_use]
    pub fn stretched(&self, time: Duration) -> Duration {
        time.mul_f64(self.stretch())
    }

    /// How late a timer rang at worst since a moment.
    #[must_use]
    pub fn late_since(&self, moment: Moment) -> Duration {
        let now = clock::now();
        let taken = now.since(moment);
        let seen = locked(&self.seen);
        seen.recent.iter().rev().take_while(|it| now.since(it.at) <= taken).map(|it| it.late).max().unwrap_or_default()
    }

    /// How busy the machine was so far; nothing before it was looked at for the first time.
    #[must_use]
    pub fn load(&self) -> Option<Load> {
        let seen = locked(&self.seen);
        (seen.count > 0).then_some(seen.load)
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
        self.sum += sample.crowd;
        let Load { most, late, .. } = self.load;
        self.load =
            Load { mean: self.sum / f64::from(self.count), most: most.max(sample.crowd), late: late.max(sample.late) };
    }
}

fn stretch(samples: &[Sample]) -> f64 {
    let Ok(count) = u32::try_from(samples.len()) else { return MOST };
    if count == 0 {
        return 1.0;
    }
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

    #[test]
    fn a_crowd_and_late_timers_stretch_every_bound_and_idleness_shortens_none() {
        let sample = |crowd: f64, late: u64| Sample { at: clock::now(), crowd, late: Duration::from_millis(late) };
        for (samples, expected) in [
            (vec![], 1.0),
            (vec![sample(0.0, 0)], 1.0),
            (vec![sample(0.5, 5)], 1.2),
            (vec![sample(4.0, 0)], 4.0),
            (vec![sample(1.0, 0), sample(5.0, 0)], 3.0),
            (vec![sample(0.0, 50)], 3.0),
            (vec![sample(9.0, 900)], MOST),
        ] {
            assert!(
                (stretch(&samples) - expected).abs() < 1e-9,
                "{samples:?}: {} is not {expected}",
                stretch(&samples)
            );
        }
    }

    #[test]
    fn the_load_is_that_of_all_samples_and_the_latest_of_some() {
        let mut seen = Seen::default();
        let begun = clock::now();
        for (after, crowd, late) in [(1, 1.0, 70), (2, 3.0, 0), (3, 2.0, 9)] {
            let at = begun.later(Duration::from_secs(after));
            seen.take(Sample { at, crowd, late: Duration::from_millis(late) });
        }
        assert_eq!(seen.load, Load { mean: 2.0, most: 3.0, late: Duration::from_millis(70) });
        let sample = Sample { at: begun.later(REMEMBERED * 2), crowd: 0.0, late: Duration::ZERO };
        seen.take(sample);
        assert_eq!(seen.recent.len(), 1, "what was long ago is forgotten");
        assert_eq!(running("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        assert_eq!(running(""), None);
    }
}
