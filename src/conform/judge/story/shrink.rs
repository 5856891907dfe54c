//! The shortest story that still shows a fault.

use std::num::NonZeroUsize;

use crate::conform::spec::Plot;

/// Leaves out of a plot whatever is not needed for it to show the fault. `first` tells stories, `at_once` of them at the same
/// time, and says which is the first that shows it; so many stories are told as `tries` says, at most.
pub fn shrunk(
    plot: &Plot,
    mut tries: usize,
    at_once: NonZeroUsize,
    mut first: impl FnMut(&[Plot]) -> Option<usize>,
) -> Plot {
    let mut shortest = plot.clone();
    // What was needed a moment ago most likely still is: the search goes on behind it, and comes back to it at its end.
    let mut passed = 0;
    loop {
        let mut smaller = shortest.smaller();
        let count = smaller.len();
        smaller.rotate_left(passed % count.max(1));
        let found = smaller.chunks(at_once.get()).enumerate().find_map(|(chunk, some)| {
            let told = &some[..some.len().min(tries)];
            tries -= told.len();
            let number = first(told)?;
            Some((told.get(number)?.clone(), chunk * at_once.get() + number))
        });
        let Some((smaller, number)) = found else { return shortest };
        // One thing less is left, and the next has moved into its place.
        passed = (passed + number) % count;
        shortest = smaller;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_fault_does_not_need_goes_and_what_it_needs_stays() {
        let plot = (1..1000).map(|number| Plot::of(3, number)).find(|it| it.case("x").title.contains("is blocked"));
        let plot = plot.expect("some story has a blocked phase");
        let needed = |it: &Plot| it.case("x").title.contains("is blocked");
        let first = |some: &[Plot]| some.iter().position(needed);
        let by_threes = NonZeroUsize::new(3).expect("not zero");
        let shortest = shrunk(&plot, 1000, by_threes, first);
        assert!(needed(&shortest) && shortest.smaller().iter().all(|it| !needed(it)), "{}", shortest.case("x").title);
        assert_eq!(shrunk(&plot, 0, by_threes, first), plot);
        assert_eq!(shrunk(&plot, 1000, NonZeroUsize::MIN, first), shortest, "how many at once makes no difference");
    }
}
