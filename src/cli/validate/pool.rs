//! Many files at a time, their results in the order in which they were named.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Fewer files are not worth a thread.
const FEW: usize = 32;

/// Applies `work` to every item on up to `jobs` threads. With few items no thread is started.
pub(super) fn in_order<T: Sync, R: Send>(items: &[T], jobs: Option<u16>, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    let threads = jobs.map_or_else(processors, usize::from).min(items.len() / FEW);
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let (next, bar) = (AtomicUsize::new(0), progress(items.len()));
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<(usize, R)> = Vec::with_capacity(items.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((at, item)) = take(items, next) {
                    // The receiver lives until the last sender is gone.
                    let _ = sender.send((at, work(item)));
                }
            });
        }
        drop(sender);
        for result in receiver {
            results.push(result);
            bar.inc(1);
        }
    });
    bar.finish_and_clear();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

fn take<'i, T>(items: &'i [T], next: &AtomicUsize) -> Option<(usize, &'i T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    items.get(at).map(|item| (at, item))
}

/// A bar on a terminal, when there is enough to do that somebody might wonder.
fn progress(count: usize) -> ProgressBar {
    const MANY: usize = 2_000;
    // The library shows nothing where standard error is no terminal.
    let target = if count >= MANY { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(count as u64), target);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} files").expect("the template is well formed");
    bar.set_style(style);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1_000).collect();
        for jobs in [None, Some(1), Some(2), Some(7)] {
            let work = |item: &usize| {
                // The first ones take longest, so that the last are ready first.
                (0..(1_000 - item) * 20).fold(*item, |sum, step| std::hint::black_box(sum ^ step ^ step))
            };
            assert_eq!(in_order(&items, jobs, work), items, "{jobs:?}");
        }
        assert_eq!(in_order(&[] as &[usize], None, |item| *item), [0; 0]);
    }
}
