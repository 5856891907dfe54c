//! The shortest story that still shows a fault.

use super::Plot;

/// Leaves out of a plot whatever is not needed for it to show the fault. `shows` tells a story and says whether it does; it
/// is asked `tries` times at most.
pub fn shrunk(plot: &Plot, mut tries: usize, mut shows: impl FnMut(&Plot) -> bool) -> Plot {
    let mut shortest = plot.clone();
    loop {
        let mut asked = |smaller: &Plot| {
            tries > 0 && {
                tries -= 1;
                shows(smaller)
            }
        };
        match shortest.smaller().into_iter().find(|smaller| asked(smaller)) {
            Some(smaller) => shortest = smaller,
            None => return shortest,
        }
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
        let shortest = shrunk(&plot, 1000, needed);
        assert!(needed(&shortest) && shortest.smaller().iter().all(|it| !needed(it)), "{}", shortest.case("x").title);
        assert_eq!(shrunk(&plot, 0, needed), plot);
    }
}
