//! Many files at a time, their results in the order in which they were named.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Fewer files are not worth a thread.
const FEW: usize = 32;

/// Applies `work` to every item on up to `jobs` threads, and hands the results to `tell`, batch by batch and in the order
/// of the items, while the next batch is worked at. With few items no thread is started.
///
/// # Errors
/// What `tell` says; nothing more is begun then.
pub(super) fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    batches: Vec<Range<usize>>,
    jobs: Option<u16>,
    work: impl Fn(&T) -> R + Sync,
    mut tell: impl FnMut(Vec<R>) -> Result<(), E>,
) -> Result<(), E> {
    let bar = progress(items.len());
    let mut ready = Vec::new();
    for batch in batches {
        let done = batch.end as u64;
        let items = &items[batch];
        let (results, told) = beside(items, threads(jobs, items.len()), &work, || tell(std::mem::take(&mut ready)));
        told?;
        ready = results;
        bar.set_position(done);
    }
    bar.finish_and_clear();
    tell(ready)
}

fn threads(jobs: Option<u16>, items: usize) -> usize {
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    jobs.map_or_else(processors, usize::from).min(items / FEW)
}

/// The results of the items in their order, and that of something that this thread does meanwhile.
fn beside<T: Sync, R: Send, M>(
    items: &[T],
    threads: usize,
    work: &(impl Fn(&T) -> R + Sync),
    meanwhile: impl FnOnce() -> M,
) -> (Vec<R>, M) {
    if threads < 2 {
        let other = meanwhile();
        return (items.iter().map(work).collect(), other);
    }
    let next = AtomicUsize::new(0);
    let share = || std::iter::from_fn(|| take(items, &next)).map(|(at, item)| (at, work(item))).collect::<Vec<_>>();
    let (shares, other) = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(share)).collect();
        let other = meanwhile();
        let shares = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (shares.collect::<Vec<_>>(), other)
    });
    let mut results: Vec<(usize, R)> = shares.into_iter().flatten().collect();
    results.sort_by_key(|(at, _)| *at);
    (results.into_iter().map(|(_, result)| result).collect(), other)
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

    /// What `tell` was given, a list a batch.
    fn told(items: &[usize], batches: Vec<Range<usize>>, jobs: Option<u16>) -> Vec<Vec<usize>> {
        let mut told = Vec::new();
        let work = |item: &usize| {
            // The first ones take longest, so that the last are ready first.
            (0..(1_000 - item) * 20).fold(*item, |sum, step| std::hint::black_box(sum ^ step ^ step))
        };
        let tell = |results| -> Result<(), ()> {
            told.push(results);
            Ok(())
        };
        in_order(items, batches, jobs, work, tell).expect("nothing fails");
        told
    }

    #[test]
    fn results_come_in_the_order_of_the_items_and_batch_by_batch() {
        let items: Vec<usize> = (0..1_000).collect();
        for jobs in [None, Some(1), Some(2), Some(7)] {
            let told = told(&items, vec![0..400, 400..410, 410..1_000], jobs);
            assert_eq!(told.concat(), items, "{jobs:?}");
            assert_eq!(told.iter().map(Vec::len).collect::<Vec<_>>(), [0, 400, 10, 590], "{jobs:?}");
        }
        assert_eq!(told(&[], Vec::new(), None).concat(), [0; 0]);
    }

    #[test]
    fn nothing_is_begun_after_an_error() {
        let begun = AtomicUsize::new(0);
        let work = |_: &u8| begun.fetch_add(1, Ordering::Relaxed);
        let tell = |results: Vec<usize>| if results.is_empty() { Ok(()) } else { Err("full") };
        let ended = in_order(&[0; 300], vec![0..100, 100..200, 200..300], Some(1), work, tell);
        assert_eq!((ended, begun.into_inner()), (Err("full"), 200));
    }
}
